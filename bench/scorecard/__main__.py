"""Measure mem and other tools of agent memory on the same texts, the same questions and the same machine.

Each tool runs in an environment of its own below the folder `--tools` (bench/README.md says how they are made) with a
home of its own. What is found is kept in the folder `--lines`, a file of JSON lines for each test and tool, and what is
there is not measured again. The page is made of all that is there.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from bench.measures import rows, show
from bench.scorecard.endpoint import endpoint
from bench.scorecard.page import page
from bench.scorecard.place import Broken, Place, commit, environment
from bench.scorecard.questions import MOST, Line, replaced, retrieved, sample
from bench.scorecard.tools import TOOLS, Tool
from bench.scorecard.trials import costs, crowded, edited, killed
from bench.timing import say

TESTS = ("retrieval", "facts", "edits", "writers", "kills", "costs")


def main() -> None:
    """Measure what is asked for and not there yet, and print the page of all that is."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder of the sets")
    options.add_argument("--tools", type=Path, required=True, help="folder with an environment for each tool")
    options.add_argument("--lines", type=Path, required=True, help="folder in which what is found is kept")
    options.add_argument("--tests", nargs="*", default=TESTS, metavar="TEST", help=f"of {', '.join(TESTS)}; none: page")
    options.add_argument("--questions", type=int, default=MOST, help=f"of each workspace, at most ({MOST})")
    options.add_argument("--write", action="store_true", help="write the page into bench/results")
    chosen = options.parse_args()
    chosen.lines.mkdir(parents=True, exist_ok=True)
    if chosen.tests:
        measure([tool for tool in TOOLS if _is_here(tool, chosen.tools)], chosen)
    lines = [line for file in sorted(chosen.lines.glob("*.jsonl")) for line in rows(file)]
    show("scorecard", page(lines), write=chosen.write)


def measure(wanted: Sequence[Tool], chosen: argparse.Namespace) -> None:
    """Run the tests that are chosen, tool after tool, and keep their lines."""
    real = [tool for tool in wanted if not tool.is_variant]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, endpoint() as address:

        def run(test: str, trial: Callable[[Place], Iterable[Line]], among: Sequence[Tool]) -> None:
            for tool in among:
                file = chosen.lines / f"{test}.{tool.short}.jsonl"
                if not file.exists():
                    say(f"{tool.name}: {test}")
                    place = Place(tool, chosen.tools, Path(folder) / test / tool.short, address)
                    keep(file, place, test.partition(".")[0], tried(trial(place)))

        trials: dict[str, Callable[[Place], Iterable[Line]]] = {
            "facts": partial(replaced, chosen.data), "edits": edited, "writers": crowded, "kills": killed,
        }  # fmt: skip
        for test in chosen.tests:
            if test == "retrieval":
                for one in sample(chosen.data, chosen.questions):
                    run(f"retrieval.{one.set}.{one.name}", partial(retrieved, one), wanted)
            elif test in trials:
                run(test, trials[test], real)
            elif not all((chosen.lines / f"costs.{tool.short}.jsonl").exists() for tool in real):
                places = [Place(tool, chosen.tools, Path(folder) / test / tool.short, address) for tool in real]
                found = list(costs(places))
                for place in places:
                    own = (line for name, line in found if name == place.tool.name)
                    keep(chosen.lines / f"costs.{place.tool.short}.jsonl", place, "costs", own)


def tried(lines: Iterable[Line]) -> Iterable[Line]:
    """Yield what a tool brings until it breaks, and how it broke."""
    try:
        yield from lines
    except Broken as error:
        say(str(error))
        yield {"broken": str(error)}


def keep(file: Path, place: Place, test: str, lines: Iterable[Line]) -> None:
    """Keep what a test of a tool brought."""
    head = {"tool": place.tool.name, "test": test, "commit": commit(place.installed)}
    text = "".join(json.dumps({**head, **line}, ensure_ascii=False) + "\n" for line in lines)
    file.write_text(text, encoding="utf-8")


def _is_here(tool: Tool, tools: Path) -> bool:
    place = environment(tool, tools)
    found = (place / "bin" / "python").exists()
    if not found:
        say(f"{tool.name} is not here: python -m venv {place}; {place}/bin/pip install {' '.join(tool.pip)}")
    return found


if __name__ == "__main__":
    sys.exit(main())
