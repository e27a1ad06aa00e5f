"""Take a picture of every view of the page, light and dark, wide and narrow, and check it with axe.

    python -m bench.pictures FOLDER [--axe axe.min.js]

The workspace is a copy of fixtures/workspace with a memory that has all kinds of Markdown, a
conflict, and an item in the inbox.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.browser.chromium import Browser
from tests.helpers import get_process_environment

FIXTURE = Path(__file__).parents[1] / "fixtures" / "workspace"
PLAN = """---
title: Plan for the kitchen
type: fact
tags: [home, kitchen]
aliases: [Kitchen]
---

# What is left

- [x] Measure the *worktop*: **2.40 m** by 62 cm
- [ ] Order the tiles from [the shop](https://tiles.example)
  - [ ] ask for a sample in `RAL 6021`

![[tiles.svg]]

## Costs

| what | cost |
|---|---|
| worktop | 410 € |
| tiles | 265 € |

> Jonas lends us the saw.

```sh
mem search "tiles" --tag kitchen
```

1. Take out the old sink, see [[MEMORY]].
2. Cut the worktop.
"""
TILES = """<svg xmlns="http://www.w3.org/2000/svg" width="560" height="120">
<rect width="560" height="120" fill="#5b8a72"/><path d="M0 60h560M70 0v120M140 0v120M210 0v120M280
0v120M350 0v120M420 0v120M490 0v120" stroke="#fff" stroke-width="3"/></svg>"""
VIEWS = {
    "memories": "memories",
    "search": "memories?q=staging+database",
    "nothing": "memories?tag=none",
    "memory": "memory?id=entries/plan.md",
    "conflict": "memory?id=entries/port.md",
    "replaced": "memory?id=entries/old-port.md",
    "page": "memory?id=MEMORY.md",
    "saved": "memory?id=entries/plan.md&done=1",
    "edit": "edit?id=entries/plan.md",
    "history": "history?id=entries/plan.md",
    "new": "new",
    "review": "review",
    "days": "days",
    "changes": "changes",
    "insights": "insights",
    "problem": "memory?id=nowhere",
}
WIDTHS = (1280, 390)
AXE = """axe.run().then((result) => result.violations
  .filter((item) => ["serious", "critical"].includes(item.impact))
  .map((item) => `${item.id}: ${item.nodes[0].html}`))"""


def fill_workspace(root: Path, environment: dict[str, str]) -> None:
    shutil.copytree(FIXTURE, root)
    (root / "entries" / "plan.md").write_text(PLAN)
    (root / "tiles.svg").write_text(TILES)
    waiting = "---\ntype: preference\nsource: inferred\n---\nRita prefers trains to planes.\n"
    (root / "inbox").mkdir(exist_ok=True)
    (root / "inbox" / "train.md").write_text(waiting)
    key = ["--key", "staging/port", "--type", "fact"]
    for words in (
        ["trust"],
        ["edit", "entries/plan.md", "--replace", "410 €", "395 €"],
        [
            "write",
            "The staging database listens on port 6543.",
            *key,
            "--source",
            "user",
            "--path",
            "old-port",
        ],
        ["write", "The staging database listens on port 7654.", *key, "--source", "user"],
        ["write", "The staging database listens on port 8765.", *key, "--path", "port"],
        ["index"],
    ):
        command = [sys.executable, "-m", "memcli", *words]
        subprocess.run(command, env=environment, check=True, capture_output=True)


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve the page of a new workspace in a folder, and return its address."""
    environment = {**get_process_environment(folder), "MEM_WORKSPACE": str(folder / "memory")}
    fill_workspace(folder / "memory", environment)
    command = [sys.executable, "-m", "memcli", "ui"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()


def visit_views(axe: str, pictures: Path | None = None) -> list[str]:
    """Show every view, save its picture, and return the serious problems that axe finds."""
    problems = []
    with tempfile.TemporaryDirectory() as name, serve(Path(name)) as url:
        browser = Browser(Path(name, "browser"))
        for scheme in ("light", "dark"):
            browser.set_scheme(scheme)
            for width in WIDTHS:
                browser.resize(width, 900)
                for view, address in VIEWS.items():
                    browser.open(url + address)
                    browser.run("document.fonts.ready.then(() => 1)")
                    browser.wait("document.querySelector('#pending').textContent")
                    if axe:
                        browser.run(axe)
                        found = browser.run(AXE)
                        problems += [f"{view} {scheme} {width}: {item}" for item in found]
                    if pictures:
                        browser.save_picture(
                            pictures / f"{view}-{scheme}-{width}.png", is_whole=True
                        )
        browser.close()
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--axe", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    problems = visit_views(options.axe.read_text() if options.axe else "", options.folder)
    print(f"axe: {len(problems)} serious", *problems, sep="\n  ")


if __name__ == "__main__":
    main()
