"""Processes timed side by side, and the table of their ratios."""

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path

PYTHON = sys.executable
QUERY = "which editor theme does the user like"
Row = tuple[str, str, str, float, float | None]
"""What was measured, the figure, what it is compared with, the ratio and its limit."""


class Bench:
    """Processes run in a home of their own, one after the other, interleaved so that a busy moment hits them all."""

    def __init__(self, place: Path, runs: int) -> None:
        self.place = place
        self.runs = runs
        self.environ = {**os.environ, "HOME": str(place), "CI": "1"}
        self.environ.pop("PYTHONDONTWRITEBYTECODE", None)

    def timed(self, commands: dict[str, list[str]]) -> dict[str, float]:
        """Give the median milliseconds of each command; a new number is put in the place of {n}."""
        times: dict[str, list[float]] = {name: [] for name in commands}
        for turn in range(self.runs + 1):
            for name, command in commands.items():
                words = [word.replace("{n}", str(turn)) for word in command]
                start = time.perf_counter()
                done = subprocess.run(words, env=self.environ, cwd=self.place, capture_output=True, check=False)
                if done.returncode not in (0, 1):
                    raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stderr.decode()}")
                if turn:
                    times[name].append(1000 * (time.perf_counter() - start))
        return {name: statistics.median(values) for name, values in times.items()}

    def peak(self, command: list[str]) -> float:
        """Give the peak memory of a command in MB."""
        code = (
            "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
        )
        done = subprocess.run(
            [PYTHON, "-c", code, *command], env=self.environ, cwd=self.place, capture_output=True, check=True
        )
        return float(done.stdout)

    def inside(self, code: str, *arguments: str) -> dict[str, float]:
        """Run a script that prints JSON."""
        done = subprocess.run(
            [PYTHON, "-c", code, *arguments], env=self.environ, cwd=self.place, capture_output=True, check=False
        )
        if done.returncode:
            raise SystemExit(done.stderr.decode())
        result: dict[str, float] = json.loads(done.stdout)
        return result


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
