"""An entry: one memory, read from a markdown file's frontmatter and body, whoever wrote it."""

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ..dataclass import dataclass, field, fields_stated
from .entry_fields import (
    EARLIEST,
    EITHER,
    JOINED,
    KEPT,
    LATEST,
    LOWER,
    MOST,
    SUM,
    UNION,
    Field,
    about,
    read_count,
    read_key,
    read_map,
    read_salience,
    read_sentences,
    read_share,
    read_source,
    read_status,
    read_strength,
    read_tags,
    read_text,
    read_texts,
    read_things,
    read_time,
    read_truth,
    read_type,
    stated,
)
from .entry_fields import EPISODIC as EPISODIC
from .entry_fields import LAYERS as LAYERS
from .entry_fields import PROCEDURAL as PROCEDURAL
from .entry_fields import REPOSITORY as REPOSITORY
from .entry_fields import SEMANTIC as SEMANTIC
from .entry_fields import SOURCES as SOURCES
from .entry_fields import STATUSES as STATUSES
from .entry_fields import TRUST as TRUST
from .entry_fields import TYPES as TYPES
from .frontmatter.document import Document
from .ids import day_in, parse_time, stamp
from .text_lines import Problem, first_line, shorten, summarise


@dataclass(frozen=True)
class Entry:
    """One memory as the file states it, with the defaults of what it leaves out.

    A field that is `stated` is a key of the frontmatter, and this is all there is to say of it: from here it is read,
    written in this order, merged, and told in the documents by the text below it.
    """

    id: str = field(metadata=about(read_text, "memory_id", "uuid", merge=KEPT))
    """`mem_` and 16 characters; ids sort by the time they were made. A unique beginning or ending is enough in
    commands."""
    body: str
    type: str = stated("fact", read_type, "category", "kind", "memory_type", merge=KEPT)
    """fact, preference, constraint, correction, observation, entity (layer semantic); procedure, lesson (procedural);
    episode, summary (episodic)."""
    key: str = stated("", read_key)
    """The slot it fills, such as `staging/port`. One active entry a key and project: a new value supersedes the old
    one, unless that is trusted more; then both are flagged. `mem read --key KEY --history` lists every value."""
    title: str = stated("", read_text, "name")
    """A short name."""
    tags: tuple[str, ...] = stated((), read_tags, "tag", "keywords", "labels", merge=JOINED, branches=UNION)
    """A list of words."""
    aliases: tuple[str, ...] = stated((), read_texts, "alias", merge=JOINED, branches=UNION)
    """Other names of what the title names, or names of one thing, such as `[Kate, Emi]`: a search for one of them, or
    for the title, finds what names another too, and `mem read` and `[[links]]` take each of them for the entry. "Kate
    = Emi" is two, "(until 2021)" and "formerly" are left out, an everyday word such as Will is one as it is spelt."""
    project: str = stated("")
    """What it belongs to."""
    created_at: str = stated("", read_time, "createdAt", "created", "date", merge=KEPT, branches=EARLIEST)
    """A time, RFC 3339 in UTC."""
    updated_at: str = stated(
        "", read_time, "updatedAt", "updated", "modified", "last_modified", merge=KEPT, branches=LATEST
    )
    """A time, RFC 3339 in UTC."""
    source: str = stated("observed", read_source, "provenance", merge=KEPT, branches=LOWER, is_claim=True)
    """`user` (trust 1.0), `observed` (0.7), `inferred` (0.5); `repository` (0.5) in a workspace not trusted. Words that
    are put in by who is not known to be the user make it `observed` at most."""
    trust: float = stated(
        TRUST["observed"], read_share, "trust_score", "trustScore", merge=KEPT, branches=LOWER, is_claim=True
    )
    """From 0 to 1."""
    confidence: float | None = stated(None, read_share, "confidence_score", merge=MOST, is_claim=True)
    """From 0 to 1."""
    salience: float | None = stated(None, read_salience, "importance", "priority", merge=MOST, is_claim=True)
    """From 0 to 1."""
    strength: int = stated(1, read_strength, "confirmations", merge=KEPT, branches=SUM, is_claim=True)
    """How often it was confirmed, 1 or more. A confirmation counts beside the file, in `.mem/`, until
    `mem decay --apply` folds it in with its sources, so that confirming makes no noise in git."""
    sources: tuple[Any, ...] = stated((), read_things, merge=KEPT, branches=UNION)
    """Sessions with message ranges (`session:ID#3:8`), commits (`commit:SHA`) or imported memories (`import:ID`) it
    came from; of a rewording also what the user said (`user: …`)."""
    references: tuple[str, ...] = stated((), read_texts, "refs", "related", merge=JOINED, branches=UNION)
    """Ids or links it refers to."""
    files: tuple[str, ...] = stated((), read_texts, merge=JOINED, branches=UNION)
    """Files it is about."""
    cited: tuple[str, ...] = stated((), read_sentences, merge=KEPT, branches=UNION)
    """Lines of these that are watched, as `src/api.py:12-20@3f2a19c4d5e6#…`: the start of git's id of the file, and a
    hash of the lines. Paths are as from the top of the repository the workspace lies in, or from the folder around it.
    Lines that only moved within their file, or that end in CRLF now, have not changed. A path and its lines alone,
    written by hand, is filled in by `mem check --refresh ID`."""
    status: str = stated("active", read_status, "state", merge=KEPT)
    """active, superseded or archived. What has another status is not recalled, found only when asked for it
    (`--status proposed`), and named by `mem check`."""
    superseded_by: str = stated("", read_text, "supersededBy", merge=KEPT)
    """The id of what took its place."""
    superseded_at: str = stated("", read_time, "supersededAt", merge=KEPT, branches=LATEST)
    """The time something took its place."""
    version_of: str = stated("", merge=KEPT)
    """The id of the entry whose text this was, until `write --id` or an edit put another one in its place. Such a
    version lies in `archive/`; `mem read ID --history` lists it and `mem restore` brings it back. Of MEMORY.md and
    notes the whole text of before lies there, named by the time."""
    forgotten_at: str = stated("", read_time, merge=KEPT, branches=LATEST, is_claim=True)
    """The time it was forgotten, of a file in `archive/`: in a trusted workspace what says the same does not come back
    without a yes. What decay puts there has none; `mem restore` takes it off."""
    forgotten_by: str = stated("", merge=KEPT, is_claim=True)
    """Who forgot it: `user`, or `observed` where an agent or a script did."""
    reason: str = stated("", merge=KEPT)
    """Why it was forgotten, as `mem forget --reason` told."""
    wordings: tuple[str, ...] = stated((), read_sentences, merge=KEPT, branches=UNION)
    """Other texts that say the same, found by search as the entry itself is."""
    conflicts_with: tuple[str, ...] = stated((), read_texts, "conflictsWith", merge=KEPT, branches=UNION)
    """Flag: ids of entries that say otherwise, by their key or a verdict; `mem review` settles it."""
    verdicts: tuple[str, ...] = stated((), read_texts, merge=KEPT, branches=UNION)
    """Those of `conflicts_with` that rest on a verdict: of an LLM, of a merge of two clones, or of a correction that is
    trusted less."""
    verdict_reasons: tuple[str, ...] = stated((), read_sentences, merge=KEPT, branches=UNION)
    """Why an LLM let another entry take its place or flagged it with one, as the LLM said, behind the id of that one:
    `mem_…: the LLM finds it an update: …`. Goes with the mark it is about."""
    distinct: tuple[str, ...] = stated((), read_texts, merge=KEPT, branches=UNION)
    """Ids of entries that stand beside this one: the two are not flagged again."""
    pinned: bool = stated(False, read_truth, "pin", merge=MOST, branches=EITHER, is_claim=True)
    """true keeps it from decaying."""
    expires_at: str = stated("", read_time, "expiresAt", "expires", "valid_until", merge=KEPT)
    """The time it stops being true, RFC 3339 in UTC."""
    access_count: int = stated(0, read_count, "accessCount", "access", merge=KEPT, branches=SUM, is_claim=True)
    """How often it was read, folded in by `mem decay --apply`."""
    last_accessed_at: str = stated("", read_time, "lastAccessedAt", "last_accessed", merge=KEPT, branches=LATEST)
    """The time it was read last, RFC 3339 in UTC."""
    metadata: Mapping[str, Any] = field(default_factory=dict, metadata=about(read_map))
    """A map of anything else."""
    description: str = ""  # a one-line summary that some tools keep beside the title

    @property
    def layer(self) -> str:
        """Return the layer of the type; a type of another tool is semantic."""
        return layer_of(self.type)

    @property
    def summary(self) -> str:
        """Return the memory in one line."""
        return summarise(self.title, self.description or self.body)


_STATED = {name: (spec.metadata["field"], spec.stated.get("default")) for name, spec in fields_stated(Entry).items()}
FIELDS: dict[str, Field] = {name: spec for name, (spec, _) in _STATED.items()}
"""The keys of the frontmatter in the order a new file has them."""
SPELLINGS = {name: spec.spellings for name, spec in FIELDS.items()}
_KEYS = {name: (key, rank) for key, others in SPELLINGS.items() for rank, name in enumerate((key, *others))}
"""Every spelling with the key it stands for; the lower rank wins where a file has two of them."""
_CLAIMS: dict[str, Any] = {name: default for name, (spec, default) in _STATED.items() if spec.is_claim}
_FROM_OTHERS: dict[str, Any] = {"source": REPOSITORY, "trust": TRUST[REPOSITORY]}


def as_from_others(entry: Entry) -> Entry:
    """Return an entry of a workspace that is not trusted: what it says of its own weight does not count."""
    from dataclasses import replace

    return replace(entry, **{**_CLAIMS, **_FROM_OTHERS})


def as_own_note(entry: Entry) -> Entry:
    """Return a note that a person keeps and mem does not: a `status`, `key` or `source` of it is a word of theirs."""
    names = ("type", "title", "tags", "aliases", "project", "created_at", "updated_at", "description", "metadata")
    own = {name: getattr(entry, name) for name in names}
    return Entry(id=entry.id, body=entry.body, source="observed", trust=TRUST["observed"], **own)


def fields_from_others(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an entry's file as `as_from_others` reads them."""
    unclaimed = {name: value for name, value in fields.items() if key_of(name) not in _CLAIMS}
    return {**unclaimed, **_FROM_OTHERS}


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
            value = FIELDS[key].read(value)
            if key == "status" and name != key and value not in STATUSES:  # `state` may be that of an address
                continue
            values[key] = value
            ranks[key] = rank
        except (TypeError, ValueError) as error:
            if name == key:  # another tool's key may mean something else, such as importance from 1 to 10
                wrong(name, shorten(f"{name}: {error}"))
    if "type" not in values and isinstance(metadata.get("type"), str):
        values["type"] = checked("type", metadata["type"])
    if fields.get("active") is False and "status" not in values:
        values["status"] = "superseded"
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
        for key in ("conflicts_with", "verdicts"):
            values[key] = tuple(identifier for identifier in values.get(key, ()) if identifier not in settled)
    if isinstance(fields.get("description"), str):
        values["description"] = fields["description"]
    values.setdefault("title", "")
    body = document.body.strip("\r\n")
    if not values["title"] and body.startswith("# "):
        values["title"] = first_line(body)
    return Entry(body=body, **values), tuple(problems)


def spelled(fields: Mapping[str, object], key: str) -> str:
    """Return the name under which a file's fields have a key, our own before others; empty where they have none."""
    return next((name for name in (key, *SPELLINGS[key]) if name in fields), "")


def key_of(name: str) -> str:
    """Return the key for which a name stands in frontmatter; empty for a name of no field."""
    return _KEYS.get(name, ("", 0))[0]


def as_spelled(fields: Mapping[str, object], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return changes of fields under the names that a file has for their keys, tuples as lists."""
    return {
        spelled(fields, key) or key: list(value) if isinstance(value, tuple) else value
        for key, value in changes.items()
    }


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


def slot_of(key: str, project: str) -> tuple[str, str]:
    """Return what two memories with a key share that fill the same slot."""
    return same_key(key), project


def checked(key: str, value: object) -> Any:
    """Return a value as its key demands; raise ValueError or TypeError, which say what is wrong with it."""
    return FIELDS[key].read(value)


def listed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a file under its own names for them, with the ids it conflicts with always as a list."""
    names = ("conflicts_with", *SPELLINGS["conflicts_with"])
    return {
        name: (list(read_texts(value)) if isinstance(value, str | list) else [str(value)]) if name in names else value
        for name, value in fields.items()
    }


def _line_of(document: Document, key: str) -> int:
    for number, line in enumerate((document.head or "").splitlines(), document.head_line):
        if line.startswith((f"{key}:", f'"{key}"', f"'{key}'")):
            return number
    return max(document.head_line, 1)
