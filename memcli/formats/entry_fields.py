"""What a field of an entry is: the words it takes, readers of its values, and what becomes of it in a merge.

A reader returns the value as it is kept; ValueError and TypeError say what is wrong.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..dataclass import field
from .ids import parse_time, stamp

SEMANTIC = ("fact", "preference", "constraint", "correction", "observation", "entity")
PROCEDURAL = ("procedure", "lesson")
RULE_TYPES = ("constraint", "preference")
"""Types of rules, which hold until somebody changes them."""
EPISODIC = ("episode", "summary")
TYPES = (*SEMANTIC, *PROCEDURAL, *EPISODIC)
LAYERS = ("semantic", "procedural", "episodic")
REPOSITORY = "repository"
"""Source of all that lies in a workspace that came from others and is not trusted yet."""
TRUST = {"user": 1.0, "observed": 0.7, "inferred": 0.5, REPOSITORY: 0.5}
SOURCES = ("user", "observed", "inferred")
STATUSES = ("active", "superseded", "archived")
_SOURCE_SPELLINGS = {"user_stated": "user", "human": "user", "agent": "observed", "assistant": "observed"}

WORDING = "wording"
"""Anchor of a piece of the index that is another wording of an entry, from its frontmatter."""
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
    texts = [read_text(item) for item in value if item is not None]
    return tuple(dict.fromkeys(item for item in texts if item))


def read_sentences(value: object) -> tuple[str, ...]:
    """Read texts that may hold commas."""
    if not isinstance(value, str | list | tuple):
        raise TypeError("should be a list of texts")
    texts = [read_text(item) for item in ([value] if isinstance(value, str) else value) if item is not None]
    return tuple(dict.fromkeys(item for item in texts if item))


def read_key(value: object) -> str:
    key = "/".join(part for part in (" ".join(part.split()) for part in read_text(value).split("/")) if part)
    if len(key) > LONGEST_KEY:
        raise ValueError(f"is longer than {LONGEST_KEY} characters")
    if not key.isprintable():
        raise ValueError("has control characters in it")
    return key


def read_tags(value: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tag.lstrip("#") for tag in read_texts(value) if tag.lstrip("#")))


def read_time(value: object) -> str:
    moment = parse_time(read_text(value))
    if moment is not None and isinstance(value, str) and len(value) == 20 and value.isascii() and value[10::9] == "TZ":
        return value
    if moment is None:
        what = "not a date that exists" if str(value)[:1].isdigit() else "no date"
        raise ValueError(f"{value!r} is {what}; write it as 2026-11-21 or 2026-11-21T20:15:03Z")
    return stamp(moment)


def read_share(value: object) -> float:
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


def read_salience(value: object) -> float:
    words = {"low": 0.2, "medium": 0.5, "normal": 0.5, "high": 0.8, "critical": 1.0}
    return words[value] if isinstance(value, str) and value in words else read_share(value)


def read_count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} should be a whole number, 0 or more")
    return value


def read_strength(value: object) -> int:
    count = read_count(value)
    if count < 1:
        raise ValueError("should be 1 or more")
    return count


def read_truth(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.lower() in ("yes", "no", "on", "off"):
        return value.lower() in ("yes", "on")
    raise ValueError(f"{value!r} should be true or false")


def read_things(value: object) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def read_map(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError("should be a map of keys and values")
    return value


def read_type(value: object) -> str:
    """Return a type in small letters; another tool's type is kept."""
    return read_text(value).lower()


def read_source(value: object) -> str:
    """Return who said it, in the words of `TRUST`; an unknown word is `observed`."""
    text = read_text(value)
    source = _SOURCE_SPELLINGS.get(text.lower(), text.lower())
    return source if source in TRUST else "observed"


def read_status(value: object) -> str:
    """Return the status in small letters; one that is not of `STATUSES` is kept, and nothing takes it for active."""
    text = str(value).strip().lower()  # a list or a map too is a status, if none that is known
    return "superseded" if text in ("obsolete", "deprecated", "replaced") else text or "active"


FILLED, JOINED, MOST, KEPT = "filled", "joined", "most", "kept"
"""What becomes of a field when a memory is said again: the new value is taken where there was none, of a map key by key
(FILLED), is added to the old one (JOINED), or is taken where it is higher (MOST); or `merging` says more (KEPT)."""


NEWER, UNION, SUM, LATEST, EARLIEST, LOWER, EITHER = "newer", "union", "sum", "latest", "earliest", "lower", "either"
"""What becomes of a field that two branches changed: the value of the side that was updated last (NEWER), what stands
in either list (UNION), the base and what each side added to it (SUM), the LATEST or EARLIEST time, the LOWER trust, or
true where EITHER side says so."""


class Field(NamedTuple):
    """A field of the frontmatter, besides its type and its default."""

    read: Callable[[object], Any]
    spellings: tuple[str, ...]
    """What other tools call it; of several in one file the one named first here counts."""
    merge: str
    branches: str
    is_claim: bool
    """It says what the memory weighs, which is not believed in a workspace that is not trusted."""


def about(
    read: Callable[[object], Any] = read_text,
    *spellings: str,
    merge: str = FILLED,
    branches: str = NEWER,
    is_claim: bool = False,
) -> Mapping[str, Field]:
    """Return a field as `dataclasses.field` takes it for metadata."""
    return {"field": Field(read, spellings, merge, branches, is_claim)}


def stated(default: object, *arguments: Any, **more: Any) -> Any:
    """Return a field of a dataclass with its default; the rest is what `about` takes."""
    return field(default=default, metadata=about(*arguments, **more))
