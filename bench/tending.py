"""What tending costs against reading and parsing the entries: decay, stats, check, and the count of an access.

Usage: python -m bench tending [--entries N] [--runs N]. Prints a table; each ratio is taken in one run on one machine.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench.workspaces import make
from memcli.formats.entry import read_entry
from memcli.formats.frontmatter import document
from memcli.index.filters import Filter
from memcli.index.index import Index, ask
from memcli.maintenance.checks import check
from memcli.maintenance.decay import decay
from memcli.maintenance.stats import stats
from memcli.recall.retention import Judged, judged, last_accessed
from memcli.store import access_log
from memcli.store.workspace import Surroundings, Workspace, opened

LIMIT = 2.0
Row = dict[str, object]


def parse(workspace: Workspace) -> int:
    """Read and parse every entry: what everything here is compared with."""
    count = 0
    for path in (workspace.root / "entries").rglob("*.md"):
        text = path.read_bytes().decode("utf-8")
        read_entry(document.parse(text), path.name, workspace.now)
        count += 1
    return count


def rows(workspace: Workspace, *statuses: str) -> list[Row]:
    """List entries as the commands do, the index brought in step first."""

    def listed(index: Index) -> list[Row]:
        index.refresh()
        index.problems()
        return index.list_entries(Filter(statuses=statuses), "id")

    return ask(workspace, listed)


def faded(workspace: Workspace) -> list[Judged]:
    """Judge every active entry."""
    found = rows(workspace, "active")
    counts = access_log.counts(workspace, last_accessed(found))
    return judged(found, workspace.now, workspace.settings, counts)


def counted(workspace: Workspace) -> object:
    """Make the numbers of `mem stats`."""
    return stats(rows(workspace), access_log.counts(workspace), workspace.now, workspace.zone, workspace.settings)


def median(work: Callable[[], object], runs: int) -> float:
    """Give the median time of a piece of work, in milliseconds."""
    spent = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)


def measured(entries: int, runs: int) -> dict[str, float]:
    """Make a workspace and give the median milliseconds of each, and how much the archiving had to do."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        ids = make(root, entries)
        around = Surroundings(root, {"HOME": folder, "PATH": os.environ["PATH"]}, datetime(2026, 11, 21, tzinfo=UTC))
        workspace = opened(around, root)
        rows(workspace)  # makes the index
        time.sleep(0.1)
        found = {
            "parse": median(lambda: parse(workspace), runs),
            "note": median(lambda: access_log.note(workspace, [ids[0]]), 1000),
        }
        access_log.note(workspace, ids[::3])
        found["decay"] = median(lambda: faded(workspace), runs)
        found["stats"] = median(lambda: counted(workspace), runs)
        found["check"] = median(lambda: check(workspace), min(3, runs))
        judged_now = faded(workspace)
        done = []
        found["apply"] = median(lambda: done.append(decay(workspace, judged_now, 1.0)), 1)
        return found | {"archived": len(done[0].archived), "folded": len(done[0].folded)}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=5)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    found = measured(chosen.entries, chosen.runs)
    if chosen.json:
        print(json.dumps(found))
        return
    base = found["parse"]
    lines = [
        ("decay", found["decay"], LIMIT),
        ("stats", found["stats"], None),
        ("check", found["check"], None),
        (f"decay --apply: {found['archived']:,} archived, {found['folded']:,} counters folded", found["apply"], None),
    ]
    print(f"{chosen.entries:,} entries; parsing them all {base:.0f} ms; noting one access {found['note']:.3f} ms\n")
    print("| what | measured | ratio to parsing | limit |\n|---|---|---|---|")
    for what, spent, limit in lines:
        told = "" if limit is None else f"{limit:g}" + ("" if spent <= limit * base else " **over**")
        print(f"| {what} | {spent:.0f} ms | {spent / base:.2f} | {told} |")
    sys.exit(any(limit is not None and spent > limit * base for _, spent, limit in lines))
