"""Measure commands against what they cannot do without, as ratios in one run; `--write` keeps them in results/.

Usage: python -m bench speed [--entries 10000] [--runs 10] [--write]. Every row is the median of so many runs after a
warm-up.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from bench import measures
from bench.first_index import first_index
from bench.timing import PYTHON, QUERY, Bench, Row, row, say, table
from bench.workspaces import make

ROOT = Path(__file__).parents[1]
FLOOR = str(ROOT / "bench" / "floor.py")


SCAN = """
import os, sys
for base, folders, names in os.walk(sys.argv[1]):
    for name in names:
        os.stat(os.path.join(base, name))
"""

IN_PROCESS = """
import json, os, statistics, sys, time
from datetime import UTC, datetime
from pathlib import Path
from memcli.index import database, updater
from memcli.index.index import Index
from memcli.index.scan import scan
from memcli.store.workspace import Surroundings, opened
root, runs = Path(sys.argv[1]), int(sys.argv[2])
workspace = opened(Surroundings(root, os.environ, datetime.now(UTC)), root)

def walk():
    stack = [os.fspath(root)]
    while stack:
        with os.scandir(stack.pop()) as found:
            for item in found:
                if item.is_dir(follow_symlinks=False):
                    if item.name != ".mem":
                        stack.append(item.path)
                else:
                    item.stat(follow_symlinks=False)

def hashed():
    from hashlib import blake2b
    for base, folders, names in os.walk(root):
        if ".mem" in folders:
            folders.remove(".mem")
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                blake2b(file.read(), digest_size=16).digest()

def median(work, times):
    spent = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        spent.append(1000 * (time.perf_counter() - start))
    return statistics.median(spent)

index = Index(workspace, database.connect(None)[0], None)
updater.refresh(index.connection, workspace, talk=False)
time.sleep(0.1)
updater.refresh(index.connection, workspace, talk=False)
refresh, bare = [], []
for _ in range(runs):
    refresh.append(median(lambda: updater.refresh(index.connection, workspace, talk=False), 1))
    bare.append(median(walk, 1))

def anew():
    Index(workspace, database.connect(None)[0], None).refresh()

few = max(3, runs // 3)
new, read = [], []
for _ in range(few):
    new.append(median(anew, 1))
    read.append(median(hashed, 1))
print(json.dumps({"refresh": statistics.median(refresh), "scan": statistics.median(bare),
                  "new": statistics.median(new), "hash": statistics.median(read)}))
"""

DEDUP = """
import json, os, statistics, sys, time
from datetime import UTC, datetime
from pathlib import Path
from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.beliefs.deduplication import dedup_plan
from memcli.store.workspace import Surroundings, opened
root, runs = Path(sys.argv[1]), int(sys.argv[2])
workspace = opened(Surroundings(root, os.environ, datetime.now(UTC)), root)

def vectors(index):
    table, matrix = index.embedding.rows(Filter(kinds=("entry",)))
    return matrix.take(table[:, 1])

dedup_plan(workspace)
rows = ask(workspace, vectors)

def product():
    for start in range(0, len(rows), 1024):
        (rows[start : start + 1024] @ rows.T > 0.85).sum()

spent = {"dedup": [], "product": []}
for _ in range(runs):
    for name, work in (("dedup", lambda: dedup_plan(workspace)), ("product", product)):
        start = time.perf_counter()
        work()
        spent[name].append(1000 * (time.perf_counter() - start))
print(json.dumps({name: statistics.median(times) for name, times in spent.items()}))
"""


def main() -> None:
    """Run everything and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Bench(Path(folder), chosen.runs), Path(folder), chosen.entries)
    text = table(rows, chosen.entries, chosen.runs)
    measures.show("speed", text, write=chosen.write)


def measure(bench: Bench, place: Path, entries: int) -> list[Row]:
    """Make the workspaces and measure every row."""
    big, middle, small = place / "big", place / "middle", place / "small"
    ids = make(big, entries)
    make(middle, min(1000, entries))
    make(small, 100)
    mem = [PYTHON, "-m", "memcli"]
    say("indexing")
    for root in (small, middle, big):
        bench.cost([*mem, "index", "--workspace", str(root)])
    for name, root in (("big", big), ("middle", middle)):
        matrix = next((root / ".mem").glob("vectors-*.f32"))
        (place / f"{name}.f32").write_bytes(matrix.read_bytes()[64:])
    counts = {name: (place / f"{name}.f32").stat().st_size // (4 * 384) for name in ("big", "middle")}

    def on(root: Path, *words: str) -> list[str]:
        return [*mem, *words, "--workspace", str(root)]

    say("starting")
    start = bench.timed({
        "pass": [PYTHON, "-c", "pass"],
        "typer": [PYTHON, "-c", "import typer"],
        "scan": [PYTHON, "-c", SCAN, str(big)],
        "version": [*mem, "--version"],
        "help": [*mem, "--help"],
        "read": on(big, "read", ids[len(ids) // 2]),
        "write small": on(small, "write", "--no-dedup", "Bench writes number {n} here."),
        "write": on(big, "write", "--no-dedup", "Bench writes number {n} there."),
    })  # fmt: skip
    bench.timed({"settle": on(big, "search", "settle", "--mode", "keyword")})
    say("finding")
    find = bench.timed({
        "typer": [PYTHON, "-c", "import typer"],
        "ls": on(big, "ls", "-n", "20"),
        "keyword": on(big, "search", QUERY, "--mode", "keyword"),
        "floor middle": [PYTHON, FLOOR, str(place / "middle.f32"), str(counts["middle"]), QUERY],
        "search middle": on(middle, "search", QUERY),
        "floor": [PYTHON, FLOOR, str(place / "big.f32"), str(counts["big"]), QUERY],
        "search": on(big, "search", QUERY),
        "recall": on(big, "recall", QUERY, "--session", "bench"),
        "grep": on(big, "grep", "port 12[0-9]+ and"),
        **({"rg": ["rg", "-n", "port 12[0-9]+ and", str(big / "entries")]} if shutil.which("rg") else {}),
    })  # fmt: skip
    say("admitting")
    admission = bench.timed({
        "search": on(big, "search", QUERY),
        "write small": on(small, "write", "The bench admits number {n} here."),
        "write": on(big, "write", "The bench admits number {n} there."),
    })  # fmt: skip
    say("tending")
    run = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from bench.tending import main; main()"
    tending = bench.inside(run, "--json", "--entries", str(entries), "--runs", "3")
    twins = bench.inside(DEDUP, str(big), str(max(3, bench.runs // 3)))
    scan = start["scan"] - start["pass"]
    say("refreshing")
    inner = bench.inside(IN_PROCESS, str(big), str(bench.runs))
    say("embedding")
    embedding = first_index(bench, middle, 5)
    peak = bench.cost(on(big, "search", QUERY)).peak
    rows: list[Row] = [
        row("`mem --version`", start["version"], "`python -c pass`", start["pass"], 3),
        row("`mem --help`, a command that does nothing", start["help"], "typer", start["typer"], 1.1),
        row("`mem read ID`", start["read"], "typer", start["typer"], 1.5),
        row("`mem write --no-dedup`", start["write"], "typer", start["typer"], 1.5),
        row("`mem write --no-dedup`", start["write"], "the same at 100 entries", start["write small"], 1.1),
        row("`mem write`", admission["write"], "the same at 100 entries", admission["write small"], 1.3),
        row("`mem write`", admission["write"], "`mem search`", admission["search"], 1.3),
        row("`mem dedup`, in one process", twins["dedup"], "blocked matrix product", twins["product"], 2),
        row("`mem decay`, in one process", tending["decay"], "reading and parsing them", tending["parse"], 2),
        row(
            f"`mem decay --apply`: {tending['archived']:,.0f} archived, {tending['folded']:,.0f} counters folded",
            tending["apply"],
            "reading and parsing them",
            tending["parse"],
            None,
        ),
        row("`mem ls`", find["ls"], "1.5 × typer + 2 × scan", 1.5 * find["typer"] + 2 * scan, 1),
        row(
            "`mem search --mode keyword`", find["keyword"], "1.5 × typer + 2 × scan", 1.5 * find["typer"] + 2 * scan, 1
        ),
        row("`mem search` at 1,000", find["search middle"], "floor", find["floor middle"], 1.5),
        row("`mem search`", find["search"], "floor", find["floor"], 1.7),
        row("`mem recall`", find["recall"], "`mem search`", find["search"], 1.3),
        ("`mem search`, peak memory", f"{peak:.0f} MB", "260 MB", peak / 260, 1),
        row("refresh, nothing changed", inner["refresh"], "scan, in one process", inner["scan"], 2),
        row("keyword-indexing new files", inner["new"], "reading and hashing them", inner["hash"], 5),
        *embedding,
    ]
    if "rg" in find:
        rows.append(row("`mem grep`", find["grep"], "5 × rg + typer", 5 * find["rg"] + find["typer"], 1))
    return rows
