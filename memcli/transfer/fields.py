"""A record of another tool as a draft of a memory.

Keys that tools commonly use become fields. Everything else is kept as metadata, except what a tool
computed from the text, such as vectors.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import lru_cache
from random import Random
from typing import Any

from ..formats import (
    SPELLINGS,
    TYPES,
    Entry,
    build_id,
    build_slug,
    build_text_digest,
    format_entry,
    format_time,
    parse_time,
    read_key,
    read_list,
    read_tags,
    summarize,
)
from ..reconcile.draft import Draft
from .items import Content, Source, TransferFile

TEXT = "text"
TEXT_NAMES = ("content", "memory", "text", "body", "note", "fact", "observation", "statement")
# Names that tools give to the fields, in addition to the spellings in files. A tool's `source` and
# `trust` are metadata: an imported record is not the user's word.
NAMES = {
    "categories": "tags",
    "concepts": "tags",
    "user_id": "owner",
    "userid": "owner",
    "user": "owner",
    "owner_id": "owner",
    "timestamp": "created_at",
    "time": "created_at",
    "datetime": "created_at",
    "created_at_epoch": "created_at",
    "expiration_date": "expires_at",
    "references": "files",
    "files_modified": "files",
}
FIELD_NAMES = (
    *(TEXT, "id", "type", "title", "tags", "aliases", "key", "project", "owner", "confidence"),
    *("pinned", "created_at", "updated_at", "expires_at", "files"),
)
TYPE_NAMES = {
    "decision": "fact",
    "project_fact": "fact",
    "discovery": "fact",
    "bugfix": "lesson",
    "failure": "lesson",
    "fix": "lesson",
    "task_state": "observation",
    "command_result": "observation",
    "feature": "episode",
    "refactor": "episode",
    "change": "episode",
    "episodic": "episode",
    "procedural": "procedure",
}
DERIVED = re.compile(
    r"(?i)(?:.*_)?(?:embedding|vector)s?(?:_.*|[A-Z].*)?|search_text|hash|fingerprint|score"
)
VECTOR_LENGTH = 32  # a longer list of numbers is no property
NO_WORDS = ("false", "0", "no")
YES_WORDS = ("true", "1", "yes")
DATE_FORMATS = ("%Y/%m/%d", "%d.%m.%Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y")
EPOCH = re.compile(r"\d{9,10}(?:\.\d+)?|\d{12,13}")
LAST_UNDATED = 2**32  # milliseconds after 1970 by which undated memories differ in their ids


@lru_cache(1000)
def find_field(name: str) -> str:
    """Return the field that a tool's key means, or an empty string."""
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    if plain in TEXT_NAMES:
        return TEXT
    field = NAMES.get(plain) or SPELLINGS.get(plain, ("", 0))[0]
    return field if field in FIELD_NAMES else ""


def find_text(record: Mapping[str, Any]) -> str:
    """Return the text of a memory, or an empty string for a record that is something else."""
    names = [*TEXT_NAMES, *(name for name in record if find_field(name) == TEXT)]
    texts = (record.get(name) for name in names)
    return next((text for text in texts if isinstance(text, str) and text.strip()), "")


def build_content(
    record: Mapping[str, Any], tool: str, source: Source, unread_dates: list[str]
) -> Content | None:
    """Return what to save for a record: a draft, or the file of a memory that is not active.

    None: the tool's user deleted it. Adds the dates that cannot be read to `unread_dates`.
    """
    if is_deleted(record):
        return None
    fields, metadata = split_record(record, tool)
    text = fields[TEXT]
    dates = read_dates(fields, metadata, unread_dates)
    created_at = dates.get("created_at") or dates.get("updated_at") or ""
    ttl = record.get("ttlDays")
    if created_at and isinstance(ttl, int) and 0 < ttl < 36500:
        moment = parse_time(created_at) or datetime.now(UTC)
        dates["expires_at"] = format_time(moment + timedelta(days=ttl))
    given_id = str(fields.get("id", ""))
    if given_id:
        metadata["tool_id"] = given_id
    draft = Draft(
        text,
        choose_type(fields.get("type"), record.get("layer"), metadata),
        title=" ".join(str(fields.get("title", "")).split())[:200],
        tags=read_words(fields.get("tags"), read_tags),
        aliases=read_words(fields.get("aliases"), read_list),
        key=read_slot(fields.get("key"), metadata),
        project=str(fields.get("project", "")),
        owner=str(fields.get("owner", "")),
        source=source.memory_source or "inferred",
        confidence=read_share(fields.get("confidence")),
        pinned=str(fields.get("pinned", "")).lower() in YES_WORDS,
        expires_at=dates.get("expires_at", ""),
        created_at=created_at or source.modified,
        updated_at=dates.get("updated_at") or created_at or source.modified,
        files=read_words(fields.get("files"), read_list),
        sources=[f"{tool}:{given_id or build_text_digest(text).hex()[:12]}"],
        metadata=metadata,
    )
    draft.id = build_stable_id(f"{tool}:{given_id or text}:{draft.owner}", created_at)
    status = find_status(record)
    return build_inactive_file(draft, status) if status else draft


def split_record(record: Mapping[str, Any], tool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of our fields, and everything else as metadata."""
    text = find_text(record)
    fields: dict[str, Any] = {TEXT: text}
    metadata: dict[str, Any] = {"tool": tool}
    for name, value in record.items():
        if value in (None, "", [], {}, text) or is_derived(name, value):
            continue
        field = find_field(name)
        if field and field not in fields:
            fields[field] = value
        elif name == "metadata" and isinstance(value, Mapping):
            metadata |= {key: item for key, item in value.items() if not is_derived(key, item)}
        else:
            metadata[name] = value
    return fields, metadata


def build_stable_id(name: str, created_at: str) -> str:
    """Return the id that a record gets in each import."""
    noise = Random(build_text_digest(name))
    moment = parse_time(created_at) if created_at else None
    # Thousands of records may share a second or have no date, and their ids must differ.
    extra = noise.randrange(1000 if moment else LAST_UNDATED)
    moment = (moment or datetime.fromtimestamp(0, UTC)) + timedelta(milliseconds=extra)
    return build_id("mem", moment, noise)


def build_inactive_file(draft: Draft, status: str) -> TransferFile:
    """Return the file of a memory that its tool no longer shows."""
    entry = Entry(
        id=draft.id,
        body=draft.body.strip(),
        type=draft.type,
        title=draft.title,
        tags=tuple(draft.tags),
        project=draft.project,
        owner=draft.owner,
        source=draft.source,
        status=status,
        created_at=draft.created_at,
        updated_at=draft.updated_at,
        sources=tuple(draft.sources),
        metadata=draft.metadata,
    )
    name = f"{build_slug(entry.title or summarize(entry.body))}-{entry.id[-6:]}".lstrip("-")
    path = f"entries/{draft.created_at[:7] or 'imported'}/{name}.md"
    return TransferFile(path, "entry", format_entry(entry), draft.created_at)


def is_derived(name: str, value: Any) -> bool:
    """Return whether a tool computed a value from the text, such as a vector."""
    if isinstance(value, list) and len(value) >= VECTOR_LENGTH:
        return all(isinstance(number, int | float) for number in value)
    return DERIVED.fullmatch(name) is not None


def is_deleted(record: Mapping[str, Any]) -> bool:
    flags = (record.get("event"), record.get("state"))
    if any(str(flag).lower() in ("delete", "deleted") for flag in flags):
        return True
    names = ("deleted", "is_deleted", "isDeleted", "deleted_at")
    return any(str(record.get(name) or "false").lower() not in NO_WORDS for name in names)


def find_status(record: Mapping[str, Any]) -> str:
    """Return the status of a memory that is no longer active, or an empty string."""
    if record.get("superseded_by") or record.get("supersededBy"):
        return "superseded"
    actives = (record.get(name) for name in ("active", "is_active", "isActive", "valid", "enabled"))
    if any(str(value).lower() in NO_WORDS for value in actives):
        return "superseded"
    states = {str(record.get(name, "")).lower() for name in ("state", "status")}
    is_archived = str(record.get("archived", "")).lower() in YES_WORDS
    if is_archived or states & {"archived", "paused"}:
        return "faded"
    return "superseded" if states & {"superseded", "obsolete", "deprecated", "replaced"} else ""


def choose_type(given: Any, layer: Any, metadata: dict[str, Any]) -> str:
    """Return a type of ours. Another one is kept as metadata."""
    if isinstance(given, Mapping):  # jcode writes {"custom": "workflow"}
        given = next((value for value in given.values() if isinstance(value, str)), "")
    words = [str(word).lower() for word in (given, layer) if word]
    known = [TYPE_NAMES.get(word, word) for word in words]
    if words and words[0] not in TYPES and given:
        metadata["kind"] = str(given)
    return next((kind for kind in known if kind in TYPES), "")


def read_words(value: Any, read: Any) -> Sequence[str]:
    """Return a list of texts. A table has them in one cell."""
    if isinstance(value, str):
        value = [word.strip(" '\"") for word in re.split(r"[,;|\n]", value.strip("[] "))]
    try:
        return read(value) if isinstance(value, list) else ()
    except ValueError:
        return ()


def read_slot(value: Any, metadata: dict[str, Any]) -> str:
    try:
        return read_key(value) if value else ""
    except ValueError:
        metadata["key"] = value
        return ""


def read_share(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number <= 1 else None


def read_dates(
    fields: Mapping[str, Any], metadata: dict[str, Any], unread: list[str]
) -> dict[str, str]:
    """Return the dates as stored. One that cannot be read becomes metadata."""
    dates = {}
    for name in ("created_at", "updated_at", "expires_at"):
        if name in fields:
            dates[name] = read_date(fields[name])
            if not dates[name]:
                metadata[name] = fields[name]
                unread.append(f"{name} {fields[name]!r}")
    return dates


def read_date(value: Any) -> str:
    """Return a date as stored: from seconds or milliseconds, ISO 8601, e-mail or plain words.

    03/04/2026 is another day in America than elsewhere, so it is no date.
    """
    text = str(value).strip()
    try:
        if EPOCH.fullmatch(text):
            seconds = float(text) / (1000 if len(text) > 11 and "." not in text else 1)
            return format_time(datetime.fromtimestamp(seconds, UTC))
        moment = parse_time(text) or parse_written_date(text)
        return format_time(moment) if moment else ""
    except (ValueError, OverflowError, OSError):
        return ""


def parse_written_date(text: str) -> datetime | None:
    for form in DATE_FORMATS:
        for clock in ("", " %H:%M", " %H:%M:%S"):
            with suppress(ValueError):
                return datetime.strptime(text, form + clock).replace(tzinfo=UTC)
    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
