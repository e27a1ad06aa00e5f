"""Processes timed side by side, and the table of their ratios."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PYTHON = sys.executable
QUERY = "which editor theme does the user like"
Row = tuple[str, str, str, float, float | None]
"""What was measured, the figure, what it is compared with, the ratio and its limit."""


COST = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
elapsed, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
if done.returncode:
    sys.exit(f"{sys.argv[1:]} ended with {done.returncode}")
print(json.dumps([1000 * elapsed, 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024]))
"""


class Cost(NamedTuple):
    """What a command took."""

    elapsed: float  # milliseconds
    processor: float  # milliseconds of one core
    peak: float  # MB


class Bench:
    """Commands run in a home of their own, one after the other, interleaved so that a busy moment hits them all."""

    def __init__(self, place: Path, runs: int, folder: Path | None = None) -> None:
        """Take the home, the runs to take the median of, and the folder to run in, which is the home if None."""
        self.runs = runs
        self.folder = folder or place
        self.environ = {**os.environ, "HOME": str(place), "CI": "1"}
        for name in ("PYTHONDONTWRITEBYTECODE", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            self.environ.pop(name, None)

    def timed(
        self,
        commands: Mapping[str, list[str]],
        fed: Mapping[str, bytes] = {},
        rest: float = 0.0,
        codes: Collection[int] = (0, 1),
    ) -> dict[str, float]:
        """Return the median milliseconds of each command.

        A new number is put in the place of {n}, in its words and in what it is `fed` on standard input. `rest` are the
        seconds between two rounds, in which what a command left behind ends. A search that finds nothing ends with 1.
        """
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(self.runs + 1):
            for name, command in commands.items():
                words = [word.replace("{n}", str(turn)) for word in command]
                told = fed.get(name, b"").replace(b"{n}", str(turn).encode())
                start = time.perf_counter()
                self._run(words, told, codes)
                times[name].append(1000 * (time.perf_counter() - start))
            time.sleep(rest)
        return {name: statistics.median(values[1:]) for name, values in times.items()}

    def cost(self, command: list[str]) -> Cost:
        """Return what a command takes, without the start of the process that measures it."""
        return Cost(*json.loads(self._run([PYTHON, "-c", COST, *command])))

    def inside(self, code: str, *arguments: str) -> Any:
        """Return the document that a script prints as JSON."""
        return json.loads(self._run([PYTHON, "-c", code, *arguments]))

    def _run(self, words: list[str], told: bytes = b"", codes: Collection[int] = (0,)) -> bytes:
        done = subprocess.run(words, input=told, env=self.environ, cwd=self.folder, capture_output=True, check=False)
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(words)[:400]}: {done.returncode}\n{done.stderr.decode()}")
        return done.stdout


def row(what: str, figure: float, against: str, base: float, limit: float | None) -> Row:
    """Compare two times in milliseconds."""
    return what, f"{figure:.0f} ms", f"{against}, {base:.0f} ms", figure / base, limit


def table(rows: list[Row], entries: int, runs: int) -> str:
    """Write the rows as markdown."""
    lines = [
        f"{entries:,} entries unless said, medians of {runs}, Python {platform.python_version()},"
        f" {os.cpu_count()} cores.\n",
        "| what | measured | against | ratio | limit |",
        "|---|---|---|---|---|",
    ]
    for what, figure, against, ratio, limit in rows:
        told = "" if limit is None else f"{limit:.2f}" + ("" if ratio <= limit else " **over**")
        lines.append(f"| {what} | {figure} | {against} | {ratio:.2f} | {told} |")
    return "\n".join(lines) + "\n"


def say(text: str) -> None:
    """Tell how far it is."""
    print(f"{text} …", file=sys.stderr, flush=True)
