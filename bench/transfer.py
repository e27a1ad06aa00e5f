"""Measure an export and its import into an empty workspace: time, memory above the start, and whether both are equal.

Usage: python -m bench transfer [--memories 100000] [--write]. The real command line is run, each time in a process of
its own; the first export makes the index too. An import is killed half way and run again.
"""

import argparse
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from bench import measures
from bench.timing import PYTHON, Bench, Cost
from bench.workspaces import make

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--memories", type=int, default=100_000)
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measures.show("transfer", measure(Path(folder), chosen.memories), write=chosen.write)


def measure(place: Path, count: int) -> str:
    """Return the table for a workspace of so many memories."""
    bench = Bench(place, 1)
    bench.environ["PYTHONPATH"] = str(ROOT)
    mem = [PYTHON, "-m", "memcli"]
    make(place / "a", count)
    start = bench.cost([*mem, "--version"]).peak
    costs: dict[str, Cost] = {}
    for name in ("export, index made", "export"):
        costs[name] = bench.cost([*mem, "export", "--workspace", "a", "-o", "a.jsonl"])
    bench.cost([*mem, "init", "b"])
    costs["import"] = bench.cost([*mem, "import", "a.jsonl", "--workspace", "b"])
    bench.cost([*mem, "export", "--workspace", "b", "-o", "b.jsonl"])
    same = (place / "a.jsonl").read_bytes() == (place / "b.jsonl").read_bytes()
    shutil.rmtree(place / "b")
    bench.cost([*mem, "init", "b"])
    kill_halfway(bench, [*mem, "import", "a.jsonl", "--workspace", "b"], place / "b", count)
    costs["import after a kill at half"] = bench.cost([*mem, "import", "a.jsonl", "--workspace", "b"])
    bench.cost([*mem, "export", "--workspace", "b", "-o", "c.jsonl"])
    again = (place / "a.jsonl").read_bytes() == (place / "c.jsonl").read_bytes()
    rows = [
        f"| {name} | {cost.elapsed / 1000:.0f} | {cost.processor / 1000:.0f} |"
        f" {count / cost.processor * 1000:,.0f} | {cost.peak - start:.0f} |"
        for name, cost in costs.items()
    ]
    head = [
        f"| of {count:,} memories | s | s of one core | memories a second of one core | MB above start |",
        "|---|---|---|---|---|",
    ]
    equal = f"Exported again, both are the same byte for byte: {same}; after the kill: {again}."
    return "\n".join([*head, *rows, "", equal])


def kill_halfway(bench: Bench, command: list[str], target: Path, count: int) -> None:
    """Kill an import once half of the memories are there."""
    with subprocess.Popen(command, env=bench.environ, cwd=bench.folder, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None and sum(len(names) for _, _, names in os.walk(target / "entries")) < count / 2:
            time.sleep(1)
        os.kill(running.pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
