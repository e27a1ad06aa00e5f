"""Measure whether search answers with the current fact when later facts replace earlier ones.

    python -m bench.truth DATA/fact-consolidation/6k.json … [--cache FOLDER]

A file has `facts` in the order they were said, `questions`, and `answers`, a list of accepted
strings for each question. The facts become memories a second apart, without keys. Prints how many
first hits contain an accepted answer (FactConsolidation of MemoryAgentBench, single hop).
"""

import argparse
import json
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memcli.index.index import close_index, open_index
from memcli.search.search import SearchOptions, search

from .retrieval import CachingEmbedder, Collection, build_workspace


def count_current_answers(data: dict[str, Any], folder: Path, embedder: CachingEmbedder) -> int:
    """Return for how many questions the first hit contains an accepted answer."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    documents = [
        {"id": str(number), "text": fact, "timestamp": (start + timedelta(0, number)).isoformat()}
        for number, fact in enumerate(data["facts"])
    ]
    workspace, _ = build_workspace(Collection("facts", documents, (), {}), folder, embedder)
    open_index(workspace).embed_missing(None)
    current = 0
    for question, answers in zip(data["questions"], data["answers"], strict=True):
        hits = search([workspace], question, SearchOptions(limit=1)).hits
        text = hits[0].text.casefold() if hits else ""
        current += any(answer.casefold() in text for answer in answers)
    close_index(workspace)
    return current


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("files", nargs="+", type=Path)
    options.add_argument("--cache", type=Path)
    chosen = options.parse_args()
    embedder = CachingEmbedder(chosen.cache)
    for path in chosen.files:
        data = json.loads(path.read_text("utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            current = count_current_answers(data, Path(folder), embedder)
        print(f"{path.stem:4} current answers first: {current} of {len(data['questions'])}")
    embedder.save()


if __name__ == "__main__":
    main()
