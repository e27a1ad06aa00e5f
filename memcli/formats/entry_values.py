"""The words that fields of an entry take, and readers of their values; ValueError and TypeError say what is wrong."""

from collections.abc import Callable, Mapping
from typing import Any

from .times import parse_time, stamp

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

LONGEST_KEY = 200
"""Characters of a key at most."""


def read_text(value: object) -> str:
    """Return a text, number or truth value as text."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise TypeError("should be a text")


def read_texts(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or those between the commas of one text, each once."""
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, list | tuple):
        raise TypeError("should be a list")
    found = [read_text(item) for item in value if item is not None]
    return tuple(dict.fromkeys(item for item in found if item))


def _sentences(value: object) -> tuple[str, ...]:
    """Read texts that may hold commas."""
    if not isinstance(value, str | list | tuple):
        raise TypeError("should be a list of texts")
    found = [read_text(item) for item in ([value] if isinstance(value, str) else value) if item is not None]
    return tuple(dict.fromkeys(item for item in found if item))


def _key(value: object) -> str:
    key = "/".join(part for part in (" ".join(part.split()) for part in read_text(value).split("/")) if part)
    if len(key) > LONGEST_KEY:
        raise ValueError(f"is longer than {LONGEST_KEY} characters")
    if not key.isprintable():
        raise ValueError("has control characters in it")
    return key


def _tags(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.lstrip("#") for tag in read_texts(value) if tag.lstrip("#")))


def _time(value: object) -> str:
    moment = parse_time(read_text(value))
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


READERS: dict[str, Callable[[object], Any]] = {
    "id": read_text,
    "type": lambda value: read_text(value).lower(),
    "key": _key,
    "title": read_text,
    "tags": _tags,
    "project": read_text,
    "created_at": _time,
    "updated_at": _time,
    "trust": _share,
    "confidence": _share,
    "salience": _salience,
    "strength": _strength,
    "sources": _things,
    "references": read_texts,
    "files": read_texts,
    "cited": _sentences,
    "superseded_by": read_text,
    "superseded_at": _time,
    "version_of": read_text,
    "wordings": _sentences,
    "conflicts_with": read_texts,
    "likely_same": read_texts,
    "distinct": read_texts,
    "pinned": _truth,
    "expires_at": _time,
    "access_count": _count,
    "last_accessed_at": _time,
    "metadata": _map,
}
"""The reader of each key that takes any words; the others are read by `entry`."""
