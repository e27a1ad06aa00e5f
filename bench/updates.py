"""Measure whether search prefers what was said later when two memories say different things.

    python -m bench.updates PAIRS [--cache FOLDER]

PAIRS has a JSON object a line: older{text, at}, newer{text, at}, question, background (sentences).
Everything becomes one workspace, the older and the newer text as separate memories. A question is
answered well if the newer memory is a hit and comes before the older one, or if the older hit names
the newer one as `newer`. Marks on other hits are false alarms.
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from memcli.formats.dates import parse_time
from memcli.index.index import close_index, open_index
from memcli.search.search import Hit, SearchOptions, search
from memcli.store.workspace import Workspace

from .retrieval import CachingEmbedder, Collection, build_workspace

HITS = 10


def read_pairs(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def build_documents(pairs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield both texts of every pair, and the background at dates before, between and after."""
    for number, pair in enumerate(pairs):
        for name in ("older", "newer"):
            yield build_document(f"{name}-{number}", pair[name]["text"], get_moment(pair, name))
        first, last = get_moment(pair, "older"), get_moment(pair, "newer")
        step = (last - first) / 2
        for position, text in enumerate(pair["background"]):
            moment = first + step * (2 * position - 1)
            yield build_document(f"background-{number}-{position}", text, moment)


def build_document(name: str, text: str, moment: datetime) -> dict[str, Any]:
    return {"id": name, "text": text, "timestamp": moment.isoformat()}


def get_moment(pair: dict[str, Any], name: str) -> datetime:
    moment = parse_time(pair[name]["at"])
    assert moment is not None, pair
    return moment


def ask(workspace: Workspace, places: dict[tuple[str, int], str], question: str) -> list[Hit]:
    """Return the hits of a question, with the documents' names instead of ids."""
    hits = search([workspace], question, SearchOptions(limit=HITS)).hits
    names = {
        entry.id: places[entry.path, 0] for entry in workspace.resources["index"].list_entries()
    }
    for hit in hits:
        hit.id, hit.newer = names[hit.id], names.get(hit.newer, "")
    return hits


def is_answered_well(hits: list[Hit], number: int) -> bool:
    for hit in hits:
        if hit.id == f"newer-{number}":
            return True
        if hit.id == f"older-{number}" and hit.newer == f"newer-{number}":
            return True
        if hit.id == f"older-{number}":
            return False
    return False


def is_right_mark(hit: Hit) -> bool:
    return hit.id.startswith("older-") and hit.newer == hit.id.replace("older", "newer")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("pairs", type=Path)
    options.add_argument("--cache", type=Path)
    chosen = options.parse_args()
    pairs = read_pairs(chosen.pairs)
    embedder = CachingEmbedder(chosen.cache)
    results: dict[str, list[bool]] = defaultdict(list)
    shown = marked = right = 0
    with tempfile.TemporaryDirectory() as folder:
        collection = Collection("updates", list(build_documents(pairs)), (), {})
        workspace, places = build_workspace(collection, Path(folder), embedder)
        open_index(workspace).embed_missing(None)
        for number, pair in enumerate(pairs):
            hits = ask(workspace, places, pair["question"])
            results[pair.get("style", "pairs")].append(is_answered_well(hits, number))
            shown += len(hits)
            marked += sum(bool(hit.newer) for hit in hits)
            right += sum(is_right_mark(hit) for hit in hits)
        close_index(workspace)
    embedder.save()
    for style, answers in results.items():
        print(f"{style:10} {sum(answers):3} of {len(answers)}")
    everything = [answer for answers in results.values() for answer in answers]
    print(f"newer first, or the older marked: {sum(everything) / len(everything):.3f}")
    print(f"marks: {marked} on {shown} hits, {right} of them right")


if __name__ == "__main__":
    main()
