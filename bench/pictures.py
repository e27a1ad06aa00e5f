"""Take a picture of every view of the page, light and dark, wide and narrow, and check it with axe.

    python -m bench.pictures FOLDER [--axe axe.min.js]

The workspace is fixtures/workspace with a memory that has all kinds of Markdown, a conflict, and an
item in the inbox.
"""

import argparse
import itertools
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
FILES = Path(__file__).with_name("data") / "page"
PORT = ["--key", "staging/port", "--type", "fact", "--path"]
COMMANDS = (
    ["trust"],
    ["edit", "entries/plan.md", "--replace", "410 €", "395 €"],
    ["write", "Staging listens on port 6543.", *PORT, "old-port", "--source", "user"],
    ["write", "Staging listens on port 7654.", *PORT, "new-port", "--source", "user"],
    ["write", "Staging listens on port 8765.", *PORT, "port"],
    ["index"],
)
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
AXE = """axe.run().then((result) => result.violations
  .filter((item) => ["serious", "critical"].includes(item.impact))
  .map((item) => `${item.id}: ${item.nodes[0].html}`))"""


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve the page of a new workspace in a folder, and return its address."""
    root = folder / "memory"
    shutil.copytree(FIXTURE, root)
    for name, target in (("plan.md", "entries"), ("tiles.svg", "."), ("train.md", "inbox")):
        (root / target).mkdir(exist_ok=True)
        shutil.copy(FILES / name, root / target)
    environment = {**get_process_environment(folder), "MEM_WORKSPACE": str(root)}
    mem = [sys.executable, "-m", "memcli"]
    for words in COMMANDS:
        subprocess.run([*mem, *words], env=environment, check=True, capture_output=True)
    with subprocess.Popen([*mem, "ui"], env=environment, stdout=-1, stderr=-3) as server:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()
        server.terminate()


def visit_views(axe: str, pictures: Path | None = None) -> list[str]:
    """Show every view, save its picture, and return the serious problems that axe finds."""
    problems = []
    with tempfile.TemporaryDirectory() as name, serve(Path(name)) as url:
        browser = Browser(Path(name, "browser"))
        cases = itertools.product(("light", "dark"), (1440, 390), VIEWS)
        for scheme, width, view in cases:
            browser.set_scheme(scheme)
            browser.resize(width, 900)
            browser.open(url + VIEWS[view])
            browser.wait("document.fonts.status === 'loaded'")
            browser.wait("document.querySelector('#pending').textContent")
            case = f"{view}-{scheme}-{width}"
            if axe:
                browser.run(axe)
                problems += [f"{case}: {problem}" for problem in browser.run(AXE)]
            if pictures:
                browser.save_picture(pictures / f"{case}.png", is_whole=True)
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
