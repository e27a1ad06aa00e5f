"""Measure what becomes of new memories: confirmed, superseded, flagged; `--write` writes results/beliefs.md.

Usage: python -m bench beliefs DATA [--fresh FILE] [--sizes 6k,64k] [--wrong] [--write]. Everything goes through the
command line, in real workspaces. Below DATA are sought `natural.tsv` (label, old, new: measuring only, nothing is
trained or chosen on it) and `fact-consolidation/*.json` (facts in the order they were said, questions, answers). FILE
has more such pairs. What is right is told from the texts alone: nothing here calls the code that it judges.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from bench import measures
from bench.beliefs.costs import comparison_time, costs, fixtures_anew, marking
from bench.beliefs.facts import FACTS, consolidated, outcome_row
from bench.beliefs.pairs import PAIRS, confusion, judged_pairs, pair_rows, worst
from memcli.index import embeddings
from memcli.index.embedder import open_embedder


def main() -> None:
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder with natural.tsv and fact-consolidation, anywhere below it")
    options.add_argument("--fresh", type=Path, help="pairs written after the model was fixed")
    options.add_argument("--sizes", default="6k,64k", help="sets of facts to write")
    options.add_argument(
        "--keys", action=argparse.BooleanOptionalAction, default=True, help="write the facts with keys too"
    )
    options.add_argument("--wrong", action="store_true", help="print the twenty worst errors")
    options.add_argument("--write", action="store_true", help="write results/beliefs.md")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "MEM_TIMEZONE": "UTC"}
        for name in ("MEM_WORKSPACE", "MEM_SEED", "MEM_NOW", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
        opened = open_embedder(None, bulk=True, cache=Path(home) / "cache" / "mem")
        # Commands in one process share the model: to open it took most of their time.
        embeddings.open_embedder = lambda *_, **__: opened
        page = _page(chosen)
    print(page)
    if chosen.write:
        (measures.RESULTS / "beliefs.md").write_text(page, encoding="utf-8")


def _page(chosen: argparse.Namespace) -> str:
    sets: list[tuple[str, Path]] = [("natural.tsv", path) for path in sorted(chosen.data.rglob("natural.tsv"))]
    sets += [("fresh pairs", chosen.fresh)] if chosen.fresh else []
    rows, matrices = [], []
    for name, path in sets:
        pairs = judged_pairs(path)
        rows += pair_rows(name, pairs)
        print(*rows, sep="\n", file=sys.stderr, flush=True)
        matrices += [f"\n{name}:\n", *confusion(pairs)]
        if chosen.wrong:
            worst(pairs)
    outcomes = []
    for size in chosen.sizes.split(",") if chosen.sizes else ():
        for path in sorted(chosen.data.rglob(f"fact-consolidation/{size}.json")):
            outcomes += [consolidated(path, keyed) for keyed in ((False, True) if chosen.keys else (False,))]
    count, lost, flagged = fixtures_anew()
    for body, others in flagged if chosen.wrong else ():
        print(f"flagged: {body} | {' | '.join(others)}")
    write, search = costs()
    marked = marking()
    lines = [
        "# What becomes of new memories\n",
        "Written by `python -m bench beliefs DATA --write`: through the command line, in real workspaces. Each pair",
        "has a workspace of its own. Facts replace each other in the order they were said; nothing says which does",
        "so.\n",
        PAIRS,
        "|---|" + "---|" * PAIRS.count(" | "),
        *rows,
        *matrices,
    ]
    if outcomes:
        lines += ["", FACTS, "|---|" + "---|" * FACTS.count(" | "), *map(outcome_row, outcomes)]
    lines += [
        f"\nThe {count} entries of fixtures/workspace written anew one after the other: {len(flagged)} writes flagged"
        f" ({100 * len(flagged) / count:.1f} in 100), {lost} texts lost.\n",
        f"`mem write` with five neighbours among 1,000 entries takes {write.processor:.0f} ms of one core, `mem search`"
        f" {search.processor:.0f} ms: ratio {write.processor / search.processor:.2f} ({write.elapsed:.0f} and"
        f" {search.elapsed:.0f} ms elapsed: {write.elapsed / search.elapsed:.2f}). Comparing a new text with five"
        f" neighbours takes {comparison_time():.0f} ms of one core, embedding included.\n",
        f"Marking {marked.hits} hits that cite lines of files of 1,000 lines, {marked.changed} of which changed, takes"
        f" {marked.milliseconds:.1f} ms of one core in a new process, imports included.\n",
    ]
    return "\n".join(lines)
