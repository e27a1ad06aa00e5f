"""The retrieval sets of a data folder, each made into a real workspace by mem's own writers.

A set is a folder with `corpus.jsonl` {id, text, timestamp?, meta?}, `queries.jsonl` {id, text, meta?} and `qrels.tsv`
(query, document, grade). A folder of such folders is one set of several workspaces.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any

from bench.measures import rows
from memcli.formats.ids import parse_time, stamp
from memcli.formats.session_event import Event, render_event
from memcli.store import entries
from memcli.store.workspace import Surroundings, Workspace, opened

HELD_CONVERSATIONS = ("conv-41",)
"""Conversations nothing was tuned on; elsewhere it is every other query, or every other workspace."""

FOREIGN = 40
"""Questions to another workspace of the same set, which this one cannot answer."""
ABSTENTION = "abstention"
"""The kind of question that asks what nobody told."""


@dataclass(frozen=True)
class Query:
    """A question with the documents that answer it."""

    id: str
    text: str
    grades: Mapping[str, float]
    category: str
    is_held: bool  # nothing was tuned on it


@dataclass(frozen=True, eq=False)
class Collection:
    """The documents of one workspace and what is asked of them."""

    set: str
    name: str
    documents: tuple[Mapping[str, Any], ...]
    queries: tuple[Query, ...]
    now: datetime | None = None  # when they are asked, if that is known
    unanswerable: tuple[Query, ...] = ()  # what no document answers

    @property
    def is_talk(self) -> bool:
        """Tell turns of conversations, which begin with who speaks, from other texts."""
        return all(one["text"].startswith(f"{_speaker(one)}: ") for one in self.documents)


def collections(data: Path, wanted: tuple[str, ...] = ()) -> Iterator[Collection]:
    """Read the sets of a data folder, or the ones named."""
    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        if wanted and folder.name not in wanted:
            continue
        parts = sorted(path.parent for path in folder.rglob("corpus.jsonl"))
        read = []
        for number, part in enumerate(parts):
            held = None
            if len(parts) > 1:
                is_conversations = parts[0].name.startswith("conv-")
                held = part.name in HELD_CONVERSATIONS if is_conversations else bool(number % 2)
            read.append(collection(folder.name, part, held))
        for one, other in zip(read, read[1:] + read[:1], strict=True):
            asked = other.queries[:FOREIGN] if other is not one else ()
            foreign = tuple(replace(query, grades={}, category="asked of another conversation") for query in asked)
            yield replace(one, unanswerable=one.unanswerable + foreign)


def languages(file: Path) -> Collection:
    """Read the table of languages: language, memory, a question that it answers."""
    told = [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:]]
    documents = tuple({"id": f"m{number}", "text": memory} for number, (_, memory, _) in enumerate(told))
    queries = tuple(
        Query(f"q{number}", question, {f"m{number}": 1.0}, language, True)
        for number, (language, _, question) in enumerate(told)
    )
    return Collection("languages", "languages", documents, queries)


def build(collection: Collection, root: Path, model: str = "") -> tuple[Workspace, dict[tuple[str, int], str]]:
    """Fill a new folder with the documents; give the workspace, and the document of each path and line.

    Line 0 stands for the whole file. `model` is the embedding model as the settings name it.
    """
    root.mkdir(parents=True)
    (root / "mem.yaml").write_text("timezone: UTC\n", encoding="utf-8")
    home = {"HOME": str(root), "XDG_CACHE_HOME": str(root.parent / "cache"), "MEM_EMBEDDING_MODEL": model}
    workspace = opened(Surroundings(root, home, asked_at(collection)), root)
    if collection.is_talk:
        return workspace, _write_turns(collection, workspace)
    known = {}
    for number, document in enumerate(collection.documents):
        name = str(document["id"])
        if name.endswith(".md") or "/" in name:
            path = f"entries/{name.removesuffix('.md')}.md"
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(document["text"], encoding="utf-8")
        else:
            path = write_fact(workspace, document, number)
        known[path, 0] = name
    return workspace, known


def asked_at(collection: Collection) -> datetime:
    """Give the day after the last thing was said, when its questions are asked: "last week" must mean something."""
    if collection.now:
        return collection.now
    latest = max((day for document in collection.documents if (day := _moment(document))), default=None)
    return (latest or datetime(2026, 1, 1, tzinfo=UTC)) + timedelta(days=1)


def write_fact(workspace: Workspace, document: Mapping[str, Any], number: int) -> str:
    """Write a document as an entry; give its path."""
    told = {"type": "fact"} | {name: document[name] for name in ("title", "aliases") if document.get(name)}
    moment = _moment(document)
    if moment:
        told["created_at"] = stamp(moment)
    return entries.write(workspace, told, document["text"], _noise(number, 0)).path


def _noise(*numbers: int) -> bytes:
    """Give the random part of an id, the same in every run: an id takes the first bits of it."""
    return blake2b(repr(numbers).encode(), digest_size=8).digest()


def _write_turns(collection: Collection, workspace: Workspace) -> dict[tuple[str, int], str]:
    """Write the turns of a conversation as events, a session for each day they met."""
    known: dict[tuple[str, int], str] = {}
    lines: dict[str, list[str]] = {}
    for document in collection.documents:
        path = f"sessions/{collection.name}-{document['meta']['session']}/session.jsonl"
        speaker, _, said = document["text"].partition(": ")
        moment = _moment(document)
        session = lines.setdefault(path, [])
        about = {"role": speaker} if speaker in ("user", "assistant") else {"name": speaker}
        event = Event(document["id"], **about, text=said, timestamp=stamp(moment) if moment else "")
        session.append(render_event(event))
        known[path, len(session)] = document["id"]
    for path, events in lines.items():
        file = workspace.root / path
        file.parent.mkdir(parents=True)
        file.write_text("\n".join(events) + "\n", encoding="utf-8")
    return known


def _speaker(document: Mapping[str, Any]) -> str | None:
    meta = document.get("meta") or {}
    return meta.get("speaker") or meta.get("role")


def _moment(document: Mapping[str, Any]) -> datetime | None:
    return parse_time(document.get("timestamp", ""))


def collection(name: str, folder: Path, held: bool | None = None) -> Collection:
    """Read one set; `held` says of all its queries whether they are, None that every other one is."""
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, document, grade = line.split("\t")
        grades.setdefault(query, {})[document] = float(grade)
    queries, unanswerable = [], []
    for number, query in enumerate(rows(folder / "queries.jsonl")):
        meta = query.get("meta") or {}
        category = str(meta.get("category_name") or meta.get("category") or "")
        is_held = bool(number % 2) if held is None else held
        if query["id"] in grades:
            queries.append(Query(query["id"], query["text"], grades[query["id"]], category, is_held))
        elif category == ABSTENTION:
            unanswerable.append(Query(query["id"], query["text"], {}, category, is_held))
    documents = tuple(rows(folder / "corpus.jsonl"))
    return Collection(name, folder.name, documents, tuple(queries), unanswerable=tuple(unanswerable))
