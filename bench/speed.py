"""Time one-shot commands of two checkouts of mem, interleaved, as ratios in one run.

    python -m bench.speed BASE THIS [--entries 1000 10000] [--runs 15]

Each checkout is a folder that contains `memcli`. Both get a copy of the same workspace. Machines are
noisy, so only the ratio of medians from the same run means something.
"""

import argparse
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memcli.formats.dates import format_time
from memcli.formats.entry import Entry, format_entry
from memcli.formats.ids import build_id

SUBJECTS = "the boiler|our staging server|the nightly backup|Ana|the invoice tool|the kiln|team blue|the choir".split(
    "|"
)
VERBS = "needs|prefers|stores|rejects|forwards|checks|prints|replaces|moves|measures".split("|")
OBJECTS = "a new valve|port {n}|the table of {n} rows|invoices above {n} euros|green tea|version {n}|slow queries".split(
    "|"
)
PLACES = "in Lisbon|on Mondays|every {n} days|before the release|since March|at {h}:30|for the audit".split(
    "|"
)


def make_workspace(root: Path, count: int) -> str:
    """Fill a workspace, and return the id of one entry."""
    noise = random.Random(1)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    entry_id = ""
    for number in range(count):
        moment = start + timedelta(minutes=13 * number)
        words = [noise.choice(part) for part in (SUBJECTS, VERBS, OBJECTS, PLACES)]
        sentence = " ".join(words).format(n=noise.randint(2, 9999), h=noise.randint(7, 21))
        entry_id = build_id("mem", moment, noise)
        body = f"{sentence[0].upper()}{sentence[1:]}. Note {number}."
        entry = Entry(
            entry_id,
            body,
            tags=(noise.choice(VERBS),),
            source="user",
            trust=1.0,
            created_at=format_time(moment),
        )
        path = root / "entries" / f"{moment:%Y-%m}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(format_entry(entry), encoding="utf-8")
    (root / "mem.yaml").write_text("timezone: UTC\n", encoding="utf-8")
    return entry_id


def run(tree: Path, home: Path, root: Path, arguments: list[str]) -> float:
    """Run a command and return its seconds."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PYTHONPATH": str(tree),
        "OPENBLAS_CORETYPE": os.environ.get("OPENBLAS_CORETYPE", ""),
    }
    command = [sys.executable, "-m", "memcli", *arguments]
    began = time.perf_counter()
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, check=False)
    seconds = time.perf_counter() - began
    if done.returncode not in (0, 1):
        raise SystemExit(f"{tree} {arguments}: {done.stderr.decode()}")
    return seconds


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("base", type=Path)
    options.add_argument("this", type=Path)
    options.add_argument("--entries", nargs="+", type=int, default=[1000, 10_000])
    options.add_argument("--runs", type=int, default=15)
    chosen = options.parse_args()
    for count in chosen.entries:
        with tempfile.TemporaryDirectory() as folder:
            measure(Path(folder), chosen.base.resolve(), chosen.this.resolve(), count, chosen.runs)


def measure(folder: Path, base: Path, this: Path, count: int, runs: int) -> None:
    entry_id = make_workspace(folder / "this", count)
    shutil.copytree(folder / "this", folder / "base")
    homes = {name: folder / f"home-{name}" for name in ("base", "this")}
    trees = {"base": base, "this": this}
    for name, home in homes.items():
        home.mkdir()
        run(trees[name], home, folder / name, ["trust"])
        run(trees[name], home, folder / name, ["index"])
    rows = {
        "--version": ["--version"],
        "read": ["read", entry_id],
        "ls": ["ls"],
        "grep": ["grep", "port 77"],
        "search": ["search", "when does the boiler need a valve"],
        "search --mode keyword": ["search", "boiler valve Lisbon", "--mode", "keyword"],
        "write": ["write", "The fence of plot {n} is painted.", "--source", "user"],
        "write --no-dedup": [
            "write",
            "The fence of plot {n} is painted.",
            "--source",
            "user",
            "--no-dedup",
        ],
    }
    print(f"{count:,} entries, median of {runs} interleaved runs\n")
    print("| command | base ms | this ms | this / base |\n|---|---|---|---|")
    for label, arguments in rows.items():
        times: dict[str, list[float]] = {"base": [], "this": []}
        for number in range(runs + 1):
            # The order alternates, so that a slow moment of the machine hits both.
            for name in ("base", "this") if number % 2 else ("this", "base"):
                words = [word.format(n=f"{label}{number}") for word in arguments]
                seconds = run(trees[name], homes[name], folder / name, words)
                if number:
                    times[name].append(seconds)
        before, after = (1000 * statistics.median(times[name]) for name in ("base", "this"))
        print(f"| {label} | {before:.0f} | {after:.0f} | {after / before:.2f} |", flush=True)
    print()


if __name__ == "__main__":
    main()
