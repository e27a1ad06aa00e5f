"""Read the memories of other tools: a record of JSON as the fields and the text of an entry, and the items of a file.

What a record says in keys of its own is kept as metadata, but for what is derived from its text. Dates are read as
other tools and people write them: seconds since 1970, RFC 3339, `Nov 27, 2026`.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from .entry import FIELDS, SOURCES, SPELLINGS, TYPES, Entry, entry_fields, key_of, layer_of, read_entry, spelled
from .entry_fields import read_time
from .frontmatter import document as frontmatter
from .frontmatter.document import Document
from .ids import blake2b, parse_time, slug, stamp
from .session_event import load, since_1970

CONTENTS = ("content", "memory", "text", "body")
_TYPES = {
    "decision": "fact",
    "project_fact": "fact",
    "failure": "lesson",
    "fix": "lesson",
    "task_state": "observation",
    "command_result": "observation",
}
_NOT_HELD = ("active", "isActive", "is_active", "enabled", "valid", "is_valid")
_RETIRED = ("deleted", "isDeleted", "is_deleted", "archived", "isArchived", "is_archived", "retracted", "forgotten")
_DERIVED = re.compile(r"(?i)(?:.*_)?(?:embedding|vector)s?(?:_.*)?|(?-i:search_text|(?:embedding|vector)s?[A-Z].*)")
_NUMBERS = 32
"""From so many numbers on a list is no memory but a vector."""
_TRUST_WORDS = {"high": "user", "medium": "observed", "low": "inferred"}
_TRUST_SCORES = ((0.9, "user"), (0.6, "observed"), (0, "inferred"))
"""From which score on a memory is whose word: without that it would count for no more than what was observed."""
_KNOWN = {name for key, others in SPELLINGS.items() for name in (key, *others)}
_NOTHING: tuple[Any, ...] = (None, "", [], {})
_OF_LAYER = {"episodic": "episode", "procedural": "procedure"}
"""The type of a memory whose own type belongs to another layer than it says."""
ID = re.compile(r"[\w.:-]{1,80}")
"""An id of another tool that is kept."""
TOOL, TOOL_ID = "tool", "tool_id"
"""Keys of an imported memory's metadata: the tool it comes from, and its id there where it has another one here."""
GRAPH_TOOL = "MCP memory server"


class Shape(NamedTuple):
    """How the records of a tool are told from others, and what its keys are called here."""

    tool: str
    has: tuple[str, ...]  # all of these keys
    either: tuple[str, ...]  # and one of these
    renamed: Mapping[str, str] = {}
    derived: tuple[str, ...] = ()


_NAMES = {"categories": "tags", "expiration_date": "expires_at"}
SHAPES = (
    Shape(
        "mem0",
        ("memory",),
        ("user_id", "agent_id", "run_id", "app_id", "actor_id", "categories", "hash"),
        _NAMES,
        ("hash", "score"),
    ),
    Shape("mem0", ("content", "state"), ("app", "app_id", "categories", "category_ids"), _NAMES),
)


def memory_of(record: Mapping[str, Any], zone: tzinfo = UTC) -> tuple[dict[str, Any], str]:
    """Return the fields and the text of another tool's memory; raise ValueError for a record that is none.

    A time that names no zone is in the one given; a date that cannot be read is kept as metadata.
    """
    if record.get("type") == "entity" and isinstance(record.get("name"), str):
        return _entity(record)
    if record.get("type") == "relation" and (ends := _relation(record)):
        return ends
    key = next((key for key in CONTENTS if isinstance(record.get(key), str)), "")
    if not key:
        raise ValueError("no memory: it has neither a path nor a content")
    for shape in SHAPES:
        if all(name in record for name in shape.has) and any(name in record for name in shape.either):
            plain = {shape.renamed.get(name, name): record[name] for name in record if name not in shape.derived}
            fields = _item(plain, key, zone)
            return {**fields, "metadata": {TOOL: shape.tool, **fields.get("metadata", {})}}, record[key]
    return _item(record, key, zone), record[key]


def _entity(record: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    observations = record.get("observations")
    observations = observations if isinstance(observations, list) else []
    texts = [line.get("content") if isinstance(line, dict) else line for line in observations]
    lines = [text for text in texts if isinstance(text, str)]
    kind, name = record.get("entityType"), record["name"]
    digest = blake2b(name.encode("utf-8", "replace"), digest_size=4).hexdigest()
    fields = {
        "id": f"{slug(name)}-{digest}".lstrip("-"),
        "type": "entity",
        "title": name,
        "tags": [kind] if isinstance(kind, str) and kind else [],
        "metadata": {TOOL: GRAPH_TOOL},
    }
    return fields, "\n".join(f"- {' '.join(line.split())}" for line in lines) or name


_RELATIONS = (
    (GRAPH_TOOL, ("from", "relationType", "to")),
    ("mem0", ("source", "relationship", "target")),
    ("mem0", ("source", "relationship", "destination")),
)


def _relation(record: Mapping[str, Any]) -> tuple[dict[str, Any], str] | None:
    for tool, keys in _RELATIONS:
        words = [record.get(key) for key in keys]
        if all(isinstance(word, str) for word in words):
            return {
                "type": "fact",
                "metadata": {TOOL: tool},
            }, f"{words[0]} {str(words[1]).replace('_', ' ')} {words[2]}"
    return None


def _item(record: Mapping[str, Any], content: str, zone: tzinfo) -> dict[str, Any]:
    """Return the keys that are an entry's, the others as metadata; a time to live becomes a date."""
    record = {key: value for key, value in record.items() if not _is_derived(key, value)}
    undated = unread_dates(record, zone)
    for key in filter(_is_date, [*record]):
        if day := read_date(record[key], zone):
            record[key] = stamp(day)
        else:
            del record[key]
    fields = {key: value for key, value in record.items() if key in _KNOWN and key != content and value is not None}
    given = fields.pop(spelled(fields, "type"), "")
    if isinstance(given, Mapping):  # a variant of its own, as Rust writes it: {"custom": "workflow"}
        given = next((value for value in given.values() if isinstance(value, str)), "")
    kind = _TYPES.get(str(given).lower(), str(given).lower())
    layer = str(record.get("layer", "")).lower()
    fields["type"] = kind if kind in TYPES else "fact"
    if layer in _OF_LAYER and layer_of(fields["type"]) != layer:
        fields["type"] = _OF_LAYER[layer]
    days, created = record.get("ttlDays"), read_date(record.get("createdAt"), zone)
    if isinstance(days, int) and 0 < days < 36500 and created:
        with suppress(OverflowError):  # after the year 9999 is never
            fields["expires_at"] = stamp(created + timedelta(days=days))
    if status := _retired(record, fields):
        fields["status"] = status
    aside = {
        key: value
        for key, value in record.items()
        if key not in (*_KNOWN, content, *_NOT_HELD, *_RETIRED) and value not in _NOTHING
    } | undated
    if fields["type"] not in (kind, "") and given:
        aside["kind"] = given
    if "source" in fields and str(fields["source"]).lower() not in SOURCES:
        aside["source"] = fields.pop("source")
    trust = fields.get(spelled(fields, "trust"))
    if str(trust).lower() in _TRUST_WORDS:
        fields.setdefault("source", _TRUST_WORDS[str(fields.pop(spelled(fields, "trust"))).lower()])
    elif isinstance(trust, int | float) and 0 <= trust <= 1 and not isinstance(trust, bool):
        fields.setdefault("source", next(source for least, source in _TRUST_SCORES if trust >= least))
    nested = fields.get("metadata")
    nested = nested if isinstance(nested, dict) else {} if nested in _NOTHING else {"metadata": nested}
    nested = {key: value for key, value in nested.items() if not _is_derived(key, value)}
    if aside or "metadata" in fields:
        fields["metadata"] = {**nested, **aside}
    return fields


def unread_dates(record: Mapping[str, Any], zone: tzinfo) -> dict[str, Any]:
    """Return what a record says in the keys of dates and cannot be read as one."""
    dates = {key: record[key] for key in filter(_is_date, record)}
    return {key: value for key, value in dates.items() if value not in _NOTHING and not read_date(value, zone)}


def _is_date(key: str) -> bool:
    field = FIELDS.get(key_of(key))
    return field is not None and field.read is read_time


def _retired(record: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """Return the status of a memory that is no longer held; empty if it is, or if it states a status itself."""
    is_deleted = record.get("event") == "DELETE" and "memory" in record  # mem0's answer to what was added
    if is_deleted or str(record.get("state", "")).lower() in ("deleted", "paused"):  # OpenMemory's words
        return "archived"
    if any(fields.get(name) for name in ("status", *SPELLINGS["status"])):
        return ""
    if any(fields.get(name) for name in ("superseded_by", *SPELLINGS["superseded_by"])):
        return "superseded"
    is_off = any(_truth(record.get(key)) is False for key in _NOT_HELD)
    return "superseded" if is_off else "archived" if any(_truth(record.get(key)) for key in _RETIRED) else ""


def _truth(value: object) -> bool | None:
    """Return yes or no, however it is written; None for anything else."""
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(str(value).lower())


def _is_derived(key: str, value: object) -> bool:
    """Return whether a tool computed a value from the text, so that it says nothing to a reader: vectors above all."""
    if isinstance(value, list) and len(value) >= _NUMBERS:
        return all(isinstance(number, int | float) for number in value)
    return _DERIVED.fullmatch(key) is not None


class Item(NamedTuple):
    """A line of a file of another tool's, as an entry."""

    line: int  # from 1
    anchor: str  # what it is called within its file: its id, or `L` and its line
    text: str  # as a file of its own would say it
    entry: Entry


def items_of(path: str, text: str, modified: datetime, layer: str = "") -> dict[str, Item]:
    """Return the memories among the lines of a file, as `items`, by their anchors; of two with one id the later one."""
    return {item.anchor: item for item in items(path, text, modified, layer)}


def items(path: str, text: str, modified: datetime, layer: str = "") -> Iterator[Item]:
    """Yield the memories among the lines of a file; `layer` and `modified` are those of records that name none."""
    for number, line in enumerate(text.split("\n"), 1):
        record = load(line) if line.strip("\ufeff \t\r") else None
        if not isinstance(record, Mapping):
            continue
        try:
            fields, body = memory_of({"layer": layer, **record} if layer else record)
        except ValueError:
            continue
        given = str(fields.pop(spelled(fields, "id"), ""))
        anchor = given if ID.fullmatch(given) and not re.fullmatch(r"L\d+|.*\.md", given) else f"L{number}"
        fields["id"] = anchor if anchor == given else f"{path}#{anchor}"
        entry, _ = read_entry(Document(False, "\n", None, 0, body, 1, fields, None), path, modified)
        if body.strip():
            yield Item(number, anchor, frontmatter.render(entry_fields(entry), entry.body), entry)


_DAYS = ("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d %b %Y", "%d-%b-%Y", "%b %d %Y", "%m/%d/%Y", "%d/%m/%Y")
_BASIC = re.compile(r"\d{8}(?:T\d{4}(?:\d\d)?(?:Z|[+-]\d{4})?)?")
_CLOCK = (
    r"(?P<minute>\d{1,2}:\d\d)(?P<second>:\d\d)?(?: ?(?P<half>[ap]m))?"
    r"(?: ?(?P<zone>(?:utc|gmt)?[+-]\d\d:?\d\d|utc|gmt|z))?(?: (?P<year>\d{4}))?"
)
_WRITTEN = re.compile(rf"(?:(?:mon|tue|wed|thu|fri|sat|sun) )?(?P<day>[^:]*?)(?: {_CLOCK})?", re.IGNORECASE)


def read_date(value: object, zone: tzinfo = UTC) -> datetime | None:
    """Return the instant a value stands for, one without an offset in the zone given; None for none, or if unsure.

    A day alone begins at midnight UTC. 03/04/2026 is no day: it is one in America and another elsewhere.
    """
    try:
        if instant := since_1970(value):
            return instant
        if not isinstance(value, str) or len(value) > 100:
            return None
        text = re.sub(r"\s*[(\[].*[)\]]$", "", value.strip())  # the name of the zone, behind its offset
        is_day = len(text) <= 10
        return parse_time(text, UTC if is_day else zone) or _written(text, zone)
    except (ValueError, OverflowError):
        return None


def _written(text: str, zone: tzinfo) -> datetime | None:
    """Read a date as people, mail (RFC 2822), JavaScript and ISO 8601 write it; of two days that it may be, none."""
    if _BASIC.fullmatch(text):
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone if "T" in text else UTC)).astimezone(UTC)
    plain = re.sub(r"([a-z]{3})[a-z]*\.?", r"\1", re.sub(r",| at ", " ", text), flags=re.IGNORECASE)
    match = _WRITTEN.fullmatch(" ".join(plain.split()))
    if not match:
        return None
    day, minute, second, half, offset, year = match.groups("")
    clock, form = (f" {minute}{second or ':00'}{half}", " %I:%M:%S%p" if half else " %H:%M:%S") if minute else ("", "")
    stated = (
        datetime.strptime(offset.lower().strip("utcgmz") or "Z", "%z").tzinfo if offset else zone if minute else UTC
    )
    whole = f"{day} {year}".strip() + clock
    moments = set[datetime]()
    for written in _DAYS:
        with suppress(ValueError):
            moments.add(datetime.strptime(whole, written + form).replace(tzinfo=stated))
    return moments.pop().astimezone(UTC) if len(moments) == 1 else None
