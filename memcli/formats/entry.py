"""An entry: one memory, read from a markdown file's frontmatter and body, whoever wrote it."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from .entry_values import EPISODIC as EPISODIC
from .entry_values import LAYERS as LAYERS
from .entry_values import PROCEDURAL as PROCEDURAL
from .entry_values import READERS, read_text, read_texts
from .entry_values import REPOSITORY as REPOSITORY
from .entry_values import SEMANTIC as SEMANTIC
from .entry_values import SOURCES as SOURCES
from .entry_values import STATUSES as STATUSES
from .entry_values import TRUST as TRUST
from .entry_values import TYPES as TYPES
from .frontmatter.document import Document
from .history import day_in
from .text_lines import Problem, first_line, shorten, summarise
from .times import parse_time, stamp

# Keys in the order a new file has them; what other tools call the same thing comes after the colon.
SPELLINGS: dict[str, tuple[str, ...]] = {
    "id": ("memory_id", "uuid"),
    "type": ("category", "kind", "memory_type"),
    "key": (),
    "title": ("name",),
    "tags": ("tag", "keywords", "labels"),
    "project": (),
    "created_at": ("createdAt", "created", "date"),
    "updated_at": ("updatedAt", "updated", "modified", "last_modified"),
    "source": ("provenance",),
    "trust": ("trust_score", "trustScore"),
    "confidence": ("confidence_score",),
    "salience": ("importance", "priority"),
    "strength": ("confirmations",),
    "sources": (),
    "references": ("refs", "related"),
    "files": (),
    "cited": (),
    "status": ("state",),
    "superseded_by": ("supersededBy",),
    "superseded_at": ("supersededAt",),
    "version_of": (),
    "wordings": (),
    "conflicts_with": ("conflictsWith",),
    "likely_same": (),
    "distinct": (),
    "pinned": ("pin",),
    "expires_at": ("expiresAt", "expires", "valid_until"),
    "access_count": ("accessCount", "access"),
    "last_accessed_at": ("lastAccessedAt", "last_accessed"),
    "metadata": (),
}
_KEYS = {name: (key, rank) for key, others in SPELLINGS.items() for rank, name in enumerate((key, *others))}
"""Every spelling with the key it stands for; the lower rank wins where a file has two of them."""
_SOURCE_SPELLINGS = {"user_stated": "user", "human": "user", "agent": "observed", "assistant": "observed"}


@dataclass(frozen=True)
class Entry:
    """One memory as the file states it, with the defaults of what it leaves out."""

    id: str
    body: str
    type: str = "fact"
    key: str = ""  # the slot it fills, such as staging/port
    title: str = ""
    tags: tuple[str, ...] = ()
    project: str = ""
    created_at: str = ""  # RFC 3339, UTC
    updated_at: str = ""
    source: str = "observed"
    trust: float = TRUST["observed"]
    confidence: float | None = None
    salience: float | None = None
    strength: int = 1
    sources: tuple[Any, ...] = ()  # sessions with message ranges, commits
    references: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    cited: tuple[str, ...] = ()  # lines of files it is about, as `formats/links.py` writes them
    status: str = "active"
    superseded_by: str = ""
    superseded_at: str = ""
    version_of: str = ""  # the entry whose text this was until it was written anew
    wordings: tuple[str, ...] = ()  # other texts that say the same
    conflicts_with: tuple[str, ...] = ()
    likely_same: tuple[str, ...] = ()  # those of these that probably say the same
    distinct: tuple[str, ...] = ()  # ids of entries that somebody found to stand beside this one
    pinned: bool = False
    expires_at: str = ""
    access_count: int = 0
    last_accessed_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""  # a one-line summary that some tools keep beside the title

    @property
    def layer(self) -> str:
        """Return the layer of the type; a type of another tool is semantic."""
        return layer_of(self.type)

    @property
    def summary(self) -> str:
        """Return the memory in one line."""
        return summarise(self.title, self.description or self.body)


def as_from_others(entry: Entry) -> Entry:
    """Return an entry of a workspace that is not trusted: what it says of its own weight does not count."""
    return replace(
        entry,
        source=REPOSITORY,
        trust=TRUST[REPOSITORY],
        confidence=None,
        salience=None,
        strength=1,
        pinned=False,
        access_count=0,
    )


def fields_from_others(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry's file as `as_from_others` reads them."""
    claims = ("source", "trust", "confidence", "salience", "strength", "pinned", "access_count")
    kept = {name: value for name, value in fields.items() if _KEYS.get(name, ("", 0))[0] not in claims}
    return {**kept, "source": REPOSITORY, "trust": TRUST[REPOSITORY]}


def layer_of(kind: str) -> str:
    """Return the layer of a type; an unknown type is semantic."""
    if kind in PROCEDURAL:
        return "procedural"
    return "episodic" if kind in EPISODIC else "semantic"


def read_entry(document: Document, path: str, modified: datetime) -> tuple[Entry, tuple[Problem, ...]]:
    """Return the entry of a parsed file and its problems; a key with a wrong value is one, and its default is used.

    A file that states no id has `path` as its id, and one that states no time has `modified`.
    """
    fields = document.fields
    problems: list[Problem] = []

    def wrong(key: str, reason: str) -> None:
        problems.append(Problem(_line_of(document, key), reason))

    nested = fields.get("metadata")
    metadata = nested if isinstance(nested, Mapping) else {}
    values: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for name, value in fields.items():
        key, rank = _KEYS.get(name, ("", 0))
        if not key or value is None or ranks.get(key, rank) < rank:
            continue
        if isinstance(value, str) and not value.strip():  # an empty id would be shared by many files
            continue
        try:
            values[key] = _READERS[key](value)
            ranks[key] = rank
        except (TypeError, ValueError) as error:
            if name == key:  # another tool's key may mean something else, such as importance from 1 to 10
                wrong(name, shorten(f"{name}: {error}"))
    if "type" not in values and isinstance(metadata.get("type"), str):
        values["type"] = checked("type", metadata["type"])
    if fields.get("active") is False and "status" not in values:
        values["status"] = "archived"
    source = values.setdefault("source", "observed")
    values.setdefault("trust", TRUST.get(source, TRUST["inferred"]))
    if "created_at" not in values and "modified" not in metadata and (day := parse_time(day_in(path))):
        values["created_at"] = stamp(day)
    # Claude Code stamps its files there; their mtime is lost in every clone.
    if "created_at" not in values or "modified" in metadata:
        moment = stamp(parse_time(str(metadata.get("modified", ""))) or modified)
        created = values.setdefault("created_at", moment)
        values.setdefault("updated_at", max(created, moment) if "modified" in metadata else created)
    values.setdefault("updated_at", values["created_at"])
    values.setdefault("id", path)
    if settled := values.get("distinct"):  # a merge of two clones may bring a flag back that one of them settled
        values["conflicts_with"] = tuple(one for one in values.get("conflicts_with", ()) if one not in settled)
    if isinstance(fields.get("description"), str):
        values["description"] = fields["description"]
    values.setdefault("title", "")
    body = document.body.strip("\r\n")
    if not values["title"] and body.startswith("# "):
        values["title"] = first_line(body)
    return Entry(body=body, **values), tuple(problems)


def stated_id(fields: Mapping[str, object]) -> str:
    """Return the id that a file's fields state, under any spelling, or an empty text."""
    for name in ("id", *SPELLINGS["id"]):
        value = fields.get(name)
        if isinstance(value, str | int | float) and (identifier := read_text(value)):
            return identifier
    return ""


def entry_fields(entry: Entry) -> dict[str, Any]:
    """Return the frontmatter of a new entry: the keys always written, and those whose value is not the default."""
    always = {"id", "type", "tags", "created_at", "updated_at", "source"}
    plain = Entry(id="", body="", source=entry.source, trust=TRUST.get(entry.source, 0.5))
    fields = {}
    for key in SPELLINGS:
        value = getattr(entry, key)
        if key in always or value != getattr(plain, key):
            fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


def same_key(key: str) -> str:
    """Return a key as keys are compared: without letter case and without white space around its parts."""
    parts = (" ".join(part.split()) for part in unicodedata.normalize("NFC", key).split("/"))
    return "/".join(part for part in parts if part).casefold()


def checked(key: str, value: object) -> Any:
    """Return a value as its key demands; raise ValueError or TypeError, which say what is wrong with it."""
    return _READERS[key](value)


def listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a file under its own names for them, with the ids it conflicts with always as a list."""
    names = ("conflicts_with", *SPELLINGS["conflicts_with"])
    return {
        name: (list(read_texts(value)) if isinstance(value, str | list) else [str(value)]) if name in names else value
        for name, value in fields.items()
    }


def _source(value: object) -> str:
    text = read_text(value)
    known = _SOURCE_SPELLINGS.get(text.lower(), text.lower())
    return known if known in TRUST else "observed"


def _status(value: object) -> str:
    text = read_text(value).lower()
    if text in ("obsolete", "deprecated", "replaced"):
        return "superseded"
    return text if text in STATUSES else "active"


_READERS = {**READERS, "source": _source, "status": _status}


def _line_of(document: Document, key: str) -> int:
    for number, line in enumerate(_head_lines(document), document.head_line):
        if line.startswith((f"{key}:", f'"{key}"', f"'{key}'")):
            return number
    return max(document.head_line, 1)


def _head_lines(document: Document) -> Iterator[str]:
    yield from (document.head or "").splitlines()
