"""Measure how well search finds the documents that answer questions.

    python -m bench.retrieval DATA [--sets NAME …] [--cache FOLDER] [--mode keyword]

DATA is a folder of sets. A set is a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a
folder of such folders. Every set becomes real workspaces: turns of conversations become sessions,
facts become entries, pages become files. Prints recall@5 and nDCG@10 per set, and their mean.
"""

import argparse
import io
import json
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import log2
from pathlib import Path
from typing import Any

from memcli.context import CommonOptions, Context
from memcli.formats.dates import format_time, parse_time
from memcli.formats.entry import Entry, format_entry
from memcli.formats.ids import build_id
from memcli.formats.text import build_text_digest
from memcli.index.filters import Filter
from memcli.index.index import KINDS, close_index, open_index
from memcli.index.model import DIMENSION, Embedder, open_embedder
from memcli.search.search import SearchOptions, search
from memcli.store.init import create_workspace
from memcli.store.workspace import Workspace, get_workspaces


@dataclass(frozen=True)
class Collection:
    """The documents of one workspace and the questions about them."""

    set_name: str
    documents: Sequence[dict[str, Any]]
    queries: Sequence[dict[str, Any]]
    grades: dict[str, dict[str, float]]


class CachingEmbedder:
    """An embedder that remembers vectors, also from one run to the next."""

    def __init__(self, folder: Path | None) -> None:
        import numpy as np

        self.workers = 2
        self.inner: Embedder | None = None
        self.file = folder / "vectors.npz" if folder else None
        self.known: dict[bytes, Any] = {}
        if self.file and self.file.exists():
            stored = np.load(self.file)
            self.known = {
                key.tobytes(): row for key, row in zip(stored["keys"], stored["rows"], strict=True)
            }

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        keys = [build_text_digest(text) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.known}
        if new:
            self.inner = self.inner or open_embedder(None, is_bulk=True)
            self.known.update(zip(new, self.inner.embed(list(new.values())), strict=True))
        return np.array([self.known[key] for key in keys], np.float32).reshape(-1, DIMENSION)

    def save(self) -> None:
        import numpy as np

        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            keys = np.array([np.frombuffer(key, np.uint8) for key in self.known])
            np.savez(self.file, keys=keys, rows=np.array(list(self.known.values())))


def read_collections(data: Path, names: Sequence[str]) -> Iterator[Collection]:
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if names and folder.name not in names:
            continue
        for corpus in sorted(folder.rglob("corpus.jsonl")):
            grades: dict[str, dict[str, float]] = {}
            for line in (corpus.parent / "qrels.tsv").read_text("utf-8").splitlines():
                query, document, grade = line.split("\t")
                grades.setdefault(query, {})[document] = float(grade)
            queries = [
                row for row in read_rows(corpus.parent / "queries.jsonl") if row["id"] in grades
            ]
            yield Collection(folder.name, read_rows(corpus), queries, grades)


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def build_workspace(
    collection: Collection, root: Path, embedder: Any
) -> tuple[Workspace, dict[tuple[str, int], str]]:
    """Create a workspace with the documents. Return it, and the document of each path and line."""
    moments = [parse_time(str(row.get("timestamp", ""))) for row in collection.documents]
    latest = max((moment for moment in moments if moment), default=datetime(2026, 1, 1, tzinfo=UTC))
    context = Context(
        environment={"HOME": str(root / "home")},
        folder=root,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: latest + timedelta(days=1),
        noise=random.Random(1),
        common=CommonOptions(workspace=str(root / "memory")),
    )
    create_workspace(context, root / "memory")
    (workspace,) = get_workspaces(context)
    workspace.resources["embedder"] = embedder
    places = write_documents(collection, workspace)
    return workspace, places


def write_documents(collection: Collection, workspace: Workspace) -> dict[tuple[str, int], str]:
    places: dict[tuple[str, int], str] = {}
    sessions: dict[str, list[str]] = {}
    is_talk = all(row["text"].startswith(f"{get_speaker(row)}: ") for row in collection.documents)
    for number, row in enumerate(collection.documents):
        moment = parse_time(str(row.get("timestamp", "")))
        stamp = format_time(moment) if moment else ""
        if is_talk:
            path = f"sessions/{row['meta']['session']}/session.jsonl"
            speaker, _, text = row["text"].partition(": ")
            event = {"role": speaker, "content": text, "timestamp": stamp, "id": row["id"]}
            sessions.setdefault(path, []).append(json.dumps(event))
            places[path, len(sessions[path])] = row["id"]
        elif row["id"].endswith(".md") or "/" in row["id"]:
            path = f"entries/{row['id'].removesuffix('.md')}.md"
            write_file(workspace, path, row["text"])
            places[path, 0] = row["id"]
        else:
            created = moment or datetime(2026, 1, 1, tzinfo=UTC)
            entry_id = build_id("mem", created, random.Random(number))
            path = f"entries/{number}.md"
            entry = Entry(
                entry_id, row["text"], title=row.get("title") or "", created_at=format_time(created)
            )
            write_file(workspace, path, format_entry(entry))
            places[path, 0] = row["id"]
    for path, lines in sessions.items():
        write_file(workspace, path, "\n".join(lines) + "\n")
    return places


def get_speaker(row: dict[str, Any]) -> str:
    meta = row.get("meta") or {}
    return str(meta.get("speaker") or meta.get("role"))


def write_file(workspace: Workspace, path: str, text: str) -> None:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def ask(
    collection: Collection, workspace: Workspace, places: dict[tuple[str, int], str], mode: str
) -> Iterator[tuple[float, float]]:
    """Yield recall@5 and nDCG@10 of every question."""
    options = SearchOptions(limit=10, mode=mode, wanted=Filter(kinds=KINDS))
    for query in collection.queries:
        hits = search([workspace], query["text"], options).hits
        found = [places.get((hit.path, 0)) or places.get((hit.path, hit.line), "") for hit in hits]
        yield score(found, collection.grades[query["id"]])


def score(found: Sequence[str], grades: dict[str, float]) -> tuple[float, float]:
    relevant = {document: grade for document, grade in grades.items() if grade > 0}
    recall = len(relevant.keys() & set(found[:5])) / max(len(relevant), 1)
    gain = sum(grades.get(document, 0) / log2(rank + 2) for rank, document in enumerate(found[:10]))
    best = sorted(relevant.values(), reverse=True)[:10]
    ideal = sum(grade / log2(rank + 2) for rank, grade in enumerate(best))
    return recall, gain / ideal if ideal else 0.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path)
    options.add_argument("--sets", nargs="+", default=[])
    options.add_argument("--cache", type=Path)
    options.add_argument("--mode", default="hybrid")
    chosen = options.parse_args()
    embedder = CachingEmbedder(chosen.cache)
    scores: dict[str, list[tuple[float, float]]] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for number, collection in enumerate(read_collections(chosen.data, chosen.sets)):
            workspace, places = build_workspace(collection, Path(folder) / str(number), embedder)
            open_index(workspace).embed_missing(None)
            scores.setdefault(collection.set_name, []).extend(
                ask(collection, workspace, places, chosen.mode)
            )
            close_index(workspace)
    embedder.save()
    means = []
    for name, values in scores.items():
        recall, gain = (sum(column) / len(values) for column in zip(*values, strict=True))
        means.append((recall + gain) / 2)
        print(f"{name:24} {len(values):5} questions  recall@5 {recall:.3f}  nDCG@10 {gain:.3f}")
    print(f"{'mean':24} {sum(means) / len(means):.4f}   {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
