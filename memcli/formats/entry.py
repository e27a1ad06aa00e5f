"""An entry: one memory, read from the frontmatter and body of a Markdown file.

`FIELDS` declares every key once: its type, default, the spellings of other tools, and its text in
the documentation. Reading, writing, filters and help all come from there.

How far a memory has faded is one number, made of its type, age, use and trust. The formula is the
decay of the memory system jcode.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ..data import pattern
from . import frontmatter
from .dates import find_day_in_name, format_time, parse_time
from .text import Problem, collapse_blanks, find_strings, summarize

SEMANTIC = ("fact", "preference", "constraint", "correction", "observation", "entity")
PROCEDURAL = ("procedure", "lesson")
EPISODIC = ("episode", "summary")
TYPES = (*SEMANTIC, *PROCEDURAL, *EPISODIC)
# The user's words count fully, and an untrusted clone as little as a guess.
TRUST = {"user": 1.0, "observed": 0.7, "inferred": 0.5, "repository": 0.5}
SOURCES = ("user", "observed", "inferred")
STATUSES = ("active", "superseded", "forgotten", "faded")
# Values that other tools store for the same claim.
SOURCE_SPELLINGS = {
    "user_stated": "user",
    "human": "user",
    "agent": "observed",
    "assistant": "observed",
}
STATUS_SPELLINGS = {
    "obsolete": "superseded",
    "deprecated": "superseded",
    "replaced": "superseded",
    "archived": "faded",
}
KIND_TYPES = {"rule": "constraint", "preference": "preference", "correction": "correction"}
# The patterns that tell the type of a memory from its first clause, the most certain first.
FIRST_WORDS = ("lesson", "constraint", "fact")
CLAUSE_END = re.compile(r"[.!?;](?:\s|$)|\n")
LONGEST_CLAUSE = 200  # characters
KEY_LENGTH = 200
# An agent may change these fields. Other fields say whose word a memory is, and if it counts.
AGENT_FIELDS = "type title tags aliases key updated_at expires_at files metadata".split()
# Days after which a memory without any use has 1/e of its value, from jcode.
DECAY_DAYS = {
    "correction": 365.0,
    "preference": 90.0,
    "constraint": 90.0,
    "observation": 7.0,
}
DEFAULT_DECAY_DAYS = 30.0
FADED = 0.1
# Rules hold until somebody changes them. `mem tend` replaces old episodes by summaries.
LASTING_TYPES = ("constraint", "entity", "episode", "summary")


class Field(NamedTuple):
    """One key of the frontmatter."""

    read: Callable[[Any], Any]
    default: Any
    help: str
    spellings: tuple[str, ...] = ()


def read_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ValueError("should be a text")
    # A name with a line break could forge a line of the output.
    return " ".join(str(value).splitlines()).strip()


def read_list(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple):
        raise ValueError("should be a list")
    texts = [read_text(item) for item in items if item is not None]
    return tuple(dict.fromkeys(text for text in texts if text))


def read_tags(value: Any) -> tuple[str, ...]:
    # Obsidian's users write a tag as `#infra`.
    tags = [tag.lstrip("#") for tag in read_list(value)]
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def read_key(value: Any) -> str:
    parts = [collapse_blanks(part) for part in read_text(value).split("/")]
    key = "/".join(part for part in parts if part)
    if len(key) > KEY_LENGTH or not key.isprintable():
        raise ValueError(f"should be at most {KEY_LENGTH} printable characters")
    return key


def read_time(value: Any) -> str:
    moment = parse_time(read_text(value))
    if moment is None:
        raise ValueError("should be a date such as 2026-11-21 or 2026-11-21T20:15:03Z")
    return format_time(moment)


def read_share(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("should be a number")
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ValueError("should be a number between 0 and 1")
    return number


def read_count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("should be a whole number, 1 or more")
    return value


def read_bool(value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "yes", "on", "false", "no", "off"):
        raise ValueError("should be true or false")
    return word in ("true", "yes", "on")


def read_source(value: Any) -> str:
    word = read_text(value).lower()
    source = SOURCE_SPELLINGS.get(word, word)
    return source if source in TRUST else "observed"


def read_status(value: Any) -> str:
    word = str(value).strip().lower()
    return STATUS_SPELLINGS.get(word, word) or "active"


def read_type(value: Any) -> str:
    word = read_text(value).lower()
    if word not in TYPES:
        # Other tools and people have types of their own, which stay.
        from difflib import get_close_matches

        for known in get_close_matches(word, TYPES, 1, 0.85):
            raise ValueError(f"should be {known}")
    return word


def read_map(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("should be a map of keys and values")
    return dict(value)


# In the order in which a new file has them.
FIELDS: dict[str, Field] = {
    "id": Field(
        read_text, "", "`mem_` and 16 characters; ids sort by creation time", ("memory_id", "uuid")
    ),
    "type": Field(read_type, "fact", ", ".join(TYPES), ("category", "kind", "memory_type")),
    "title": Field(read_text, "", "a short name", ("name",)),
    "tags": Field(read_tags, (), "a list of words", ("tag", "keywords", "labels")),
    "aliases": Field(read_list, (), "other names; search and links accept them", ("alias",)),
    "key": Field(read_key, "", "a slot with one current value, such as `staging/port`"),
    "project": Field(read_text, "", "the project that the memory belongs to"),
    "owner": Field(read_text, "", "whose memory it is, if several people share the workspace"),
    "source": Field(
        read_source, "observed", "user, observed, inferred or repository", ("provenance",)
    ),
    "trust": Field(
        read_share, 0.7, "0 to 1; by default from the source", ("trust_score", "trustScore")
    ),
    "confidence": Field(read_share, None, "0 to 1", ("confidence_score",)),
    "strength": Field(read_count, 1, "how often it was confirmed", ("confirmations",)),
    "pinned": Field(read_bool, False, "true: it never fades", ("pin",)),
    "status": Field(read_status, "active", ", ".join(STATUSES), ("state",)),
    "superseded_by": Field(
        read_text, "", "the id of the memory that replaced it", ("supersededBy",)
    ),
    "conflicts_with": Field(
        read_list, (), "ids of memories that disagree with it", ("conflictsWith",)
    ),
    "created_at": Field(read_time, "", "when it was stated", ("createdAt", "created", "date")),
    "updated_at": Field(
        read_time,
        "",
        "when its text changed",
        ("updatedAt", "updated", "modified", "last_modified"),
    ),
    "expires_at": Field(
        read_time, "", "when it stops being true", ("expiresAt", "expires", "valid_until")
    ),
    "forgotten_at": Field(read_time, "", "when it was forgotten"),
    "reason": Field(read_text, "", "why it was forgotten"),
    "sources": Field(read_list, (), "messages, commits or imports it came from"),
    "files": Field(read_list, (), "files it is about"),
    "metadata": Field(read_map, None, "a map of anything else"),
}
# Every spelling, in lower case, with its key. Our own name ranks before other spellings.
SPELLINGS = {
    spelling.lower(): (key, rank)
    for key, spec in FIELDS.items()
    for rank, spelling in enumerate((key, *spec.spellings))
}


@dataclass(frozen=True)
class Entry:
    """One memory, with the default of every key that its file does not have."""

    id: str
    body: str
    type: str = "fact"
    title: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    key: str = ""
    project: str = ""
    owner: str = ""
    source: str = "observed"
    trust: float = 0.7
    confidence: float | None = None
    strength: int = 1
    pinned: bool = False
    status: str = "active"
    superseded_by: str = ""
    conflicts_with: tuple[str, ...] = ()
    created_at: str = ""
    updated_at: str = ""
    expires_at: str = ""
    forgotten_at: str = ""
    reason: str = ""
    sources: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The memory in one line."""
        # Many notes start with the same heading, such as "## Summary", or with a task.
        if self.title and self.body.startswith(("##", "- [")):
            return self.title
        return summarize(self.body) or self.title or "(empty)"


def read_id(text: str) -> str:
    """Return the id in a file, or an empty string."""
    fields = {name.lower(): value for name, value in read_document(text).fields.items()}
    names = ("id", *FIELDS["id"].spellings)
    return next((str(fields[name]) for name in names if fields.get(name) not in (None, "")), "")


def read_entry(
    document: frontmatter.Document, path: str, modified: datetime, *, is_note: bool = False
) -> tuple[Entry, list[Problem]]:
    """Read the entry of a parsed file, and the keys whose values are wrong.

    A wrong value counts as absent. A file without an id has its path as id, and a file without a
    date has `modified`. Without a type, a note of a vault is a fact, and the type of another file
    is guessed.
    """
    values: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    problems: list[Problem] = []
    for name, value in document.fields.items():
        key, rank = SPELLINGS.get(name.lower(), ("", 0))
        is_empty = value is None or value == ""
        if not key or is_empty or ranks.get(key, rank) < rank:
            continue
        try:
            read_value = FIELDS[key].read(value)
        except ValueError as error:
            # Another tool's key of the same name may mean something else, so it is no problem.
            if name == key:
                problems.append(Problem(find_key_line(document.head, name), f"{name} {error}"))
            continue
        if key == "status" and read_value not in STATUSES:
            continue  # the progress of a task or the state of an address, for example
        values[key] = read_value
        ranks[key] = rank
    nested = values.get("metadata") or {}
    if "type" not in values and isinstance(nested.get("type"), str):
        with suppress(ValueError):
            values["type"] = read_type(nested["type"])  # Claude Code writes it there
    # Jarvis marks replaced memories this way.
    if document.fields.get("active") is False:
        values.setdefault("status", "superseded")
    values.setdefault("status", "active")
    # A merge of two clones may bring a forgetting together with an older status.
    if values.get("forgotten_at"):
        values["status"] = "forgotten"
    elif values.get("superseded_by") and values["status"] == "active":
        values["status"] = "superseded"
    values.setdefault("trust", TRUST[values.get("source", "observed")])
    day = parse_time(find_day_in_name(path), modified.tzinfo or UTC)
    values.setdefault("created_at", format_time(day or modified))
    values.setdefault("updated_at", values["created_at"])
    values.setdefault("id", path)
    body = document.body.strip("\r\n")
    if "type" not in values and not is_note:
        values["type"] = guess_type(body)
    # Notes of Obsidian and Notion begin with their title as a heading.
    if "title" not in values and body.startswith("# "):
        values["title"] = body.splitlines()[0][2:].strip()
    return Entry(body=body, **values), problems


def read_document(text: str | None) -> frontmatter.Document:
    """Parse a file. If it does not parse, it counts as plain text."""
    try:
        return frontmatter.parse(text or "")
    except frontmatter.FrontmatterError:
        return frontmatter.Document("", {}, text or "")


def find_claim(before: str, after: str, path: str, now: datetime) -> str:
    """Return a changed field that only the user may change, or an empty string.

    A lower trust is no claim, because the words of an agent count less than the user's.
    """
    old, new = (read_entry(read_document(text), path, now)[0] for text in (before, after))
    if TRUST[new.source] < TRUST[old.source] and new.trust < old.trust:
        old = replace(old, source=new.source, trust=new.trust)
    changed = (name for name in FIELDS if getattr(old, name) != getattr(new, name))
    return next((name for name in changed if name not in AGENT_FIELDS), "")


def find_new_strings(before: str | None, after: str | None) -> str:
    """Return the texts in the frontmatter of a changed file that it did not have before."""
    known, strings = (set(find_strings(read_document(text).fields)) for text in (before, after))
    return "\n".join(sorted(strings - known))


def is_forgotten_reworded(before: str | None, after: str | None) -> bool:
    """Return whether an edit changes the text of a forgotten memory."""
    if after is None or not is_forgotten(before):
        return False
    return read_document(before).body.strip() != read_document(after).body.strip()


def is_forgotten(text: str | None) -> bool:
    """Return whether the text of a file is that of a forgotten memory."""
    if text is None or "forgotten" not in text:
        return False
    entry, _ = read_entry(read_document(text), "", read_file_time(0))
    return entry.status == "forgotten"


def distrust_entry(entry: Entry) -> Entry:
    """Return an entry of an untrusted clone: claims about its own weight do not count."""
    return replace(
        entry,
        source="repository",
        trust=TRUST["repository"],
        confidence=None,
        strength=1,
        pinned=False,
        # A clone cannot make mem refuse or hide texts.
        forgotten_at="",
        status="faded" if entry.status == "forgotten" else entry.status,
    )


def format_entry(entry: Entry) -> str:
    """Return the text of a new file. Keys without information are left out."""
    fields: dict[str, Any] = {}
    for key, spec in FIELDS.items():
        value = getattr(entry, key)
        default = TRUST.get(entry.source) if key == "trust" else spec.default
        is_default = value == default or value in ((), {}, None, "")
        if key == "updated_at" and value == entry.created_at:
            is_default = True
        if key in ("id", "type", "source") or not is_default:
            fields[key] = list(value) if isinstance(value, tuple) else value
    return frontmatter.format_document(fields, entry.body.strip("\n"))


def edit_entry(text: str, changes: Mapping[str, Any]) -> str:
    """Set keys in the text of an entry, under the spelling that the file uses.

    None, an empty string and an empty list delete the key. Raises FrontmatterError.
    """
    fields = frontmatter.parse(text).fields
    spelled: dict[str, Any] = {}
    for key, value in changes.items():
        names = [name for name in fields if SPELLINGS.get(name.lower(), ("", 0))[0] == key]
        name = min(names, key=lambda name: SPELLINGS[name.lower()][1], default=key)
        if name in fields and is_personal(fields, name, key, value):
            continue
        is_empty = value is None or value in ("", (), [])
        spelled[name] = None if is_empty else value
    return frontmatter.edit(text, spelled)


def is_personal(fields: Mapping[str, Any], name: str, key: str, value: Any) -> bool:
    """Return whether a property that mem would change belongs to a person.

    `forgotten_at` and `superseded_by` override the status, so mem can leave it as it is.
    """
    if key == "status":
        is_ours = read_status(fields[name]) in ("superseded", "forgotten", "faded")
        return value in (None, "forgotten") and not is_ours
    names = list(fields)
    # mem writes its reason below the date.
    return key == "reason" and "forgotten_at" not in names[: names.index(name)]


def replace_body(text: str, body: str) -> str:
    """Return a file with another body. Its frontmatter, blank lines and line ends stay."""
    before, body = frontmatter.get_body(text), body.strip()
    if body.splitlines() == before.splitlines():
        return text
    newline = "\r\n" if "\r\n" in text else "\n"
    head, _, tail = text.rpartition(before) if before else (text and text + newline, "", newline)
    return head + body.replace("\r\n", "\n").replace("\n", newline) + tail


def fold_key(key: str) -> str:
    """Return a key for comparisons, without letter case."""
    return unicodedata.normalize("NFC", key).casefold()


def find_key_line(head: str, key: str) -> int:
    """Return the line of a key in the file."""
    start, _ = frontmatter.find_key_lines(head, key)
    # Line 1 of the file is the fence.
    return head.count("\n", 0, start) + 2


def read_file_time(nanoseconds: int) -> datetime:
    """Return the time of a file, kept within the years that a date can have."""
    # An archive can give a file any time. The limit is the end of the year 9999.
    seconds = min(max(nanoseconds // 10**9, 0), 253402300799)
    return datetime.fromtimestamp(seconds, UTC)


def compute_retention(entry: Any, now: datetime, access_count: int = 0) -> float:
    """Return e^(−age / decay days) × (1 + ln(accesses + 1)) × trust.

    `entry` is an Entry or IndexedEntry. Its age counts from its latest date. Use can lift the
    value above 1.
    """
    stated = parse_time(max(entry.created_at, entry.updated_at))
    # A clock that went back must not make a memory stronger than new.
    days = max((now - stated).total_seconds() / 86400, 0.0) if stated else 0.0
    decay_days = DECAY_DAYS.get(entry.type, DEFAULT_DECAY_DAYS)
    use = 1 + math.log(access_count + 1)
    return float(math.exp(-days / decay_days) * use * entry.trust)


def can_fade(entry: Any) -> bool:
    """Return whether a memory fades at all."""
    if entry.pinned or entry.type in LASTING_TYPES:
        return False
    return not (entry.type == "preference" and entry.source == "user")


def guess_type(text: str) -> str:
    """Return the type of a memory from its first clause. Agents are reminded of rules."""
    clause = CLAUSE_END.split(text[:LONGEST_CLAUSE], maxsplit=1)[0]
    for type_ in FIRST_WORDS:
        if pattern("statements.toml", f"first_words_of_{type_}").match(clause):
            return type_
    return KIND_TYPES.get(find_kind(clause), "fact")


def find_kind(sentence: str) -> str:
    """Return the kind of a sentence without full stop: rule, preference or nothing."""

    def fits(name: str) -> bool:
        return bool(pattern("statements.toml", name).search(sentence))

    is_preference = fits("preference") and not fits("no_preference")
    if is_preference and fits("first_person"):
        return "preference"
    if fits("rule") and not fits("no_rule"):
        return "rule"
    return "preference" if is_preference else ""
