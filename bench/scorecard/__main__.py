"""Measure mem and other tools of agent memory on the same texts, the same questions and the same machine.

Each tool runs in an environment of its own below the folder `--tools` (bench/README.md says how they are made) with a
home of its own. What a test finds is kept in the folder `--lines`, a file of JSON lines for each tool and test, and the
page is made of all that is there: a tool or a test can be measured again alone.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from bench.measures import rows, show
from bench.scorecard.endpoint import endpoint
from bench.scorecard.page import page
from bench.scorecard.place import Broken, Place, environment
from bench.scorecard.questions import Line, replaced, retrieved, sample
from bench.scorecard.tools import TOOLS, Tool
from bench.scorecard.trials import costs, crowded, edited, killed
from bench.timing import say

TESTS = ("retrieval", "facts", "edits", "writers", "kills", "costs")


def main() -> None:
    """Measure what is asked for and print the page of all that is known."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder of the sets")
    options.add_argument("--tools", type=Path, required=True, help="folder with an environment for each tool")
    options.add_argument("--lines", type=Path, required=True, help="folder in which what is found is kept")
    options.add_argument("--only", nargs="+", metavar="NAME", help=f"of {', '.join(tool.name for tool in TOOLS)}")
    options.add_argument("--tests", nargs="*", default=TESTS, metavar="TEST", help=f"of {', '.join(TESTS)}; none: page")
    options.add_argument("--questions", type=int, default=40, help="of each set (40)")
    options.add_argument("--write", action="store_true", help="write the page into bench/results")
    chosen = options.parse_args()
    wanted = [tool for tool in TOOLS if not chosen.only or tool.name in chosen.only]
    chosen.lines.mkdir(parents=True, exist_ok=True)
    if chosen.tests:
        measure([tool for tool in wanted if _is_here(tool, chosen.tools)], chosen)
    lines = [line for file in sorted(chosen.lines.glob("*.jsonl")) for line in rows(file)]
    show("scorecard", page(lines), write=chosen.write)


def measure(wanted: list[Tool], chosen: argparse.Namespace) -> None:
    """Run the tests that are chosen and keep their lines."""

    def place(tool: Tool, name: str) -> Place:
        return Place(tool, chosen.tools, Path(folder) / tool.name.replace(", ", "-").replace(" ", "-") / name, address)

    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, endpoint() as address:
        trials: dict[str, Callable[[Tool], Iterable[Line]]] = {
            "retrieval": lambda tool: retrieved(
                sample(chosen.data, chosen.questions), lambda name: place(tool, f"retrieval-{name}")
            ),
            "facts": lambda tool: replaced(chosen.data, place(tool, "facts")),
            "edits": lambda tool: edited(place(tool, "edits")),
            "writers": lambda tool: crowded(place(tool, "writers")),
            "kills": lambda tool: killed(place(tool, "kills")),
        }
        for test, trial in trials.items():
            for tool in wanted if test in chosen.tests else ():
                if test == "retrieval" or not tool.is_variant:
                    say(f"{tool.name}: {test}")
                    keep(chosen.lines, tool.name, test, tried(trial(tool)))
        if "costs" in chosen.tests:
            found = list(costs([place(tool, "costs") for tool in wanted if not tool.is_variant]))
            for name in dict(found):
                keep(chosen.lines, name, "costs", (line for tool, line in found if tool == name))


def tried(lines: Iterable[Line]) -> Iterable[Line]:
    """Yield what a tool brings until it breaks, and how it broke."""
    try:
        yield from lines
    except Broken as error:
        say(str(error))
        yield {"broken": str(error)}


def keep(folder: Path, name: str, test: str, lines: Iterable[Line]) -> None:
    """Keep what a test of a tool brought."""
    text = "".join(json.dumps({"tool": name, "test": test, **line}, ensure_ascii=False) + "\n" for line in lines)
    (folder / f"{name.replace(', ', '-').replace(' ', '-')}.{test}.jsonl").write_text(text, encoding="utf-8")


def _is_here(tool: Tool, tools: Path) -> bool:
    place = environment(tool, tools)
    found = (place / "bin" / "python").exists()
    if not found:
        say(f"{tool.name} is not here: python -m venv {place}; {place}/bin/pip install {' '.join(tool.pip)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
