"""An entry: one memory, read from a markdown file's frontmatter and body, whoever wrote it."""

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from .frontmatter.document import Document
from .history import day_in
from .text_lines import Problem, first_line, shorten, summarise
from .times import parse_time, stamp

LONGEST_KEY = 200
"""Characters of a key at most."""
SEMANTIC = ("fact", "preference", "constraint", "correction", "observation", "entity")
PROCEDURAL = ("procedure", "lesson")
EPISODIC = ("episode", "summary")
TYPES = (*SEMANTIC, *PROCEDURAL, *EPISODIC)
LAYERS = ("semantic", "procedural", "episodic")
REPOSITORY = "repository"
"""Source of all that lies in a workspace that came from others and is not trusted yet."""
TRUST = {"user": 1.0, "observed": 0.7, "inferred": 0.5, REPOSITORY: 0.5}
SOURCES = ("user", "observed", "inferred")
STATUSES = ("active", "superseded", "archived")

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
    cited: tuple[str, ...] = ()  # lines of files it is about, as `text.citation` writes them
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
        """Give the layer the type belongs to; a type of another tool counts as semantic."""
        return layer_of(self.type)

    @property
    def summary(self) -> str:
        """Name the memory in one line."""
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
    """Give the layer of a type; an unknown type counts as semantic."""
    if kind in PROCEDURAL:
        return "procedural"
    return "episodic" if kind in EPISODIC else "semantic"


def read_entry(document: Document, path: str, modified: datetime) -> tuple[Entry, tuple[Problem, ...]]:
    """Make an entry of a parsed file; a key with a wrong value is a problem, and its default is used.

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
    """Give the id that a file's fields state, under whatever spelling; empty where they state none."""
    for name in ("id", *SPELLINGS["id"]):
        value = fields.get(name)
        if isinstance(value, str | int | float) and (identifier := _text(value)):
            return identifier
    return ""


def entry_fields(entry: Entry) -> dict[str, Any]:
    """Give the frontmatter of a new entry: what is always written, and the rest where it says something."""
    always = {"id", "type", "tags", "created_at", "updated_at", "source"}
    plain = Entry(id="", body="", source=entry.source, trust=TRUST.get(entry.source, 0.5))
    fields = {}
    for key in SPELLINGS:
        value = getattr(entry, key)
        if key in always or value != getattr(plain, key):
            fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


def same_key(key: str) -> str:
    """Give a key as it is compared: without letter case and without white space around its parts."""
    parts = (" ".join(part.split()) for part in unicodedata.normalize("NFC", key).split("/"))
    return "/".join(part for part in parts if part).casefold()


def checked(key: str, value: object) -> Any:
    """Read one value as its key demands; ValueError or TypeError says what is wrong with it."""
    return _READERS[key](value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError("should be a text")


def listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields of a file under the names it has for them, the ids an entry conflicts with always as a list."""
    names = ("conflicts_with", *SPELLINGS["conflicts_with"])
    return {
        name: (list(_texts(value)) if isinstance(value, str | list) else [str(value)]) if name in names else value
        for name, value in fields.items()
    }


def _texts(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        raise TypeError("should be a list")
    found = [_text(item) for item in value if item is not None]
    return tuple(dict.fromkeys(item for item in found if item))


def _sentences(value: object) -> tuple[str, ...]:
    """Read texts that may hold commas."""
    if not isinstance(value, str | list | tuple):
        raise TypeError("should be a list of texts")
    found = [_text(item) for item in ([value] if isinstance(value, str) else value) if item is not None]
    return tuple(dict.fromkeys(item for item in found if item))


def _key(value: object) -> str:
    key = "/".join(part for part in (" ".join(part.split()) for part in _text(value).split("/")) if part)
    if len(key) > LONGEST_KEY:
        raise ValueError(f"is longer than {LONGEST_KEY} characters")
    if not key.isprintable():
        raise ValueError("has control characters in it")
    return key


def _tags(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.lstrip("#") for tag in _texts(value) if tag.lstrip("#")))


def _time(value: object) -> str:
    moment = parse_time(_text(value))
    if moment is not None and isinstance(value, str) and len(value) == 20 and value.isascii() and value[10::9] == "TZ":
        return value
    if moment is None:
        what = "not a date that exists" if str(value)[:1].isdigit() else "no date"
        raise ValueError(f"{value!r} is {what}; write it as 2026-11-21 or 2026-11-21T20:15:03Z")
    return stamp(moment)


def _share(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{value!r} should be between 0 and 1")
    return number


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TypeError("should be a number")
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a number") from None


def _salience(value: object) -> float:
    words = {"low": 0.2, "medium": 0.5, "normal": 0.5, "high": 0.8, "critical": 1.0}
    return words[value] if isinstance(value, str) and value in words else _share(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} should be a whole number, 0 or more")
    return value


def _strength(value: object) -> int:
    count = _count(value)
    if count < 1:
        raise ValueError("should be 1 or more")
    return count


def _truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("yes", "no", "on", "off"):
        return value.lower() in ("yes", "on")
    raise ValueError(f"{value!r} should be true or false")


def _things(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _map(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("should be a map of keys and values")
    return value


def _source(value: object) -> str:
    text = _text(value)
    known = _SOURCE_SPELLINGS.get(text.lower(), text.lower())
    return known if known in TRUST else "observed"


def _status(value: object) -> str:
    text = _text(value).lower()
    if text in ("obsolete", "deprecated", "replaced"):
        return "superseded"
    return text if text in STATUSES else "active"


_READERS = {
    "id": _text,
    "type": lambda value: _text(value).lower(),
    "key": _key,
    "title": _text,
    "tags": _tags,
    "project": _text,
    "created_at": _time,
    "updated_at": _time,
    "source": _source,
    "trust": _share,
    "confidence": _share,
    "salience": _salience,
    "strength": _strength,
    "sources": _things,
    "references": _texts,
    "files": _texts,
    "cited": _sentences,
    "status": _status,
    "superseded_by": _text,
    "superseded_at": _time,
    "version_of": _text,
    "wordings": _sentences,
    "conflicts_with": _texts,
    "likely_same": _texts,
    "distinct": _texts,
    "pinned": _truth,
    "expires_at": _time,
    "access_count": _count,
    "last_accessed_at": _time,
    "metadata": _map,
}


def _line_of(document: Document, key: str) -> int:
    for number, line in enumerate(_head_lines(document), document.head_line):
        if line.startswith((f"{key}:", f'"{key}"', f"'{key}'")):
            return number
    return max(document.head_line, 1)


def _head_lines(document: Document) -> Iterator[str]:
    yield from (document.head or "").splitlines()
