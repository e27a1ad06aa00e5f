"""Retention: how much of a memory is left, which orders recall, and which memories have faded.

score = relevance × e^(−age / days) × (1 + ln(accesses + 1)) × trust, where `days` is the time constant of the type.
Spared are pinned entries, constraints, entities, what the user prefers, episodes, summaries and what does not parse;
kept is what was read or recalled lately. An entry past its `expires_at` has faded whatever its score. One that was
restored, or edited by hand, is as young as if it had changed that day. `maintenance/decay.py` archives.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Annotated, Any, NamedTuple, Protocol

from ..errors import MemError, UsageError
from ..formats.entry import EPISODIC, TRUST, slot_of
from ..formats.entry_fields import RULE_TYPES
from ..formats.frontmatter import document
from ..formats.ids import parse_time, past
from ..results import EntryType, FilePath, Id, Reason, Summary
from ..store import access_log, atomic_files
from ..store.access_log import Access
from ..store.settings import Settings
from ..store.workspace import Workspace

UNKNOWN_TYPE = "fact"
"""The type by whose days a type of another tool fades."""
SPARED = (*EPISODIC, "constraint", "entity")
"""Types whose entries stay: a rule holds until somebody changes it, and whom or what one knows is not worth less for
being known long."""
LATELY = 30.0
"""Days after a reading in which nothing goes; the time constant of the type where that is longer."""


_EXPIRED = "expired at"
_SHOWN = ("id", "path", "type", "tags", "summary", "pinned", "expires_at")
COLUMNS = (
    *(name for name in _SHOWN if name != "path"),
    *("created_at", "updated_at", "layer", "source", "trust", "access_count", "last_accessed_at"),
)
"""What `judged` reads of an entry's row, beside its path."""


class Values(Protocol):
    """Settings, or a plain mapping of their names."""

    def __getitem__(self, name: str, /) -> Any:
        """Return the value in force."""


class Fading(NamedTuple):
    """The numbers a score is made of."""

    age: float  # days since the memory was made or last changed, whichever is later; 0 for a date in the future
    days: float  # the time constant; infinite for what does not fade
    accesses: int
    trust: float

    @property
    def score(self) -> float:
        """Return their product; a memory read often scores above 1."""
        return math.exp(-self.age / self.days) * (1 + math.log(self.accesses + 1)) * self.trust


class Judged(NamedTuple):
    """An entry with its score and the verdict on it."""

    row: Mapping[str, Any]  # of the index
    id: Id
    path: FilePath
    type: EntryType
    tags: Annotated[Sequence[str], "its tags"]
    summary: Summary
    pinned: Annotated[bool, "whether it never fades"]
    expires_at: Annotated[str, "when it stops being true; empty where it does not"]
    age_days: Annotated[float, "days since it was created or changed"]
    decay_days: Annotated[float | None, "the time constant of its type; null for what never fades"]
    accesses: Annotated[int, "how often it was read"]
    trust: Annotated[float, "how far to trust it, 0 to 1"]
    score: Annotated[float, "the score it is ordered or judged by"]
    verdict: Annotated[str, "keep, archive, spare or unread"]
    reason: Reason
    archived: Annotated[str | None, "where it lies in the archive; null where it does not"] = None

    @property
    def is_expired(self) -> bool:
        """Return whether the entry goes to the archive for its `expires_at`, whatever its score."""
        return self.verdict == "archive" and f"; {_EXPIRED} " in self.reason


def retention(row: Mapping[str, Any], now: datetime, settings: Values, accesses: int = 0) -> float:
    """Return the score of an entry's row clipped to 1, for recall; `accesses` are those not yet in its file."""
    return min(1.0, fading(row, now, settings, accesses).score)


def fading(row: Mapping[str, Any], now: datetime, settings: Values, accesses: int = 0) -> Fading:
    """Return an entry's numbers; a value that is absent or makes no sense counts as its default."""
    return Fading(
        age(row, now),
        _days(row, settings),
        _count(row.get("access_count")) + accesses,
        _trust(row),
    )


def age(row: Mapping[str, Any], now: datetime) -> float:
    """Return the days since an entry was made or last changed."""
    latest = None
    for time in {row.get("created_at"), row.get("updated_at")}:  # the same for most
        moment = parse_time(str(time or ""))
        if moment is not None and (latest is None or moment > latest):
            latest = moment
    return 0.0 if latest is None or latest > now else (now - latest).total_seconds() / 86400


def judged(
    rows: Iterable[Mapping[str, Any]],
    now: datetime,
    settings: Settings,
    accesses: Mapping[str, Access],
    unread: Collection[str] = (),
) -> list[Judged]:
    """Return active entries with what is to become of them, the lowest score first.

    `unread` are paths whose frontmatter does not parse.
    """
    shown = itemgetter(*_SHOWN)
    entries = [
        Judged._make(
            (
                *(row, *shown(row), round(age, 3), days if days < math.inf else None, count, trust),
                *(round(score, 6), verdict),
                f"e^(-{age:.1f}/{days:g}) × (1 + ln({count} + 1)) × {trust:g} = {score:.3f}; {why}",
                None,
            )
        )
        for row, (age, days, count, trust), score, verdict, why in verdicts(rows, now, settings, accesses, unread)
    ]
    return sorted(entries, key=attrgetter("score", "id", "path"))


def verdicts(
    rows: Iterable[Mapping[str, Any]],
    now: datetime,
    settings: Settings,
    accesses: Mapping[str, Access],
    unread: Collection[str] = (),
) -> Iterator[tuple[Mapping[str, Any], Fading, float, str, str]]:
    """Yield each active entry's row with its numbers, its score, the verdict on it and why."""
    values = settings.values
    threshold = values["decay.threshold"]
    for row in rows:
        noted, back, aged_row = None, "", row
        if accesses:
            noted = accesses.get(row["id"])
            back, edited = (_last(accesses, kind + row["id"]) for kind in (access_log.RESTORED, access_log.EDITED))
            aged_row = _as_young_as(row, max(back, edited))
        numbers = fading(aged_row, now, values, noted.count if noted else 0)
        score = numbers.score
        if row["path"] in unread:
            verdict, why = "unread", "left alone: its frontmatter does not parse"
        else:
            read = noted.last if noted else ""
            verdict, why = _verdict(row, numbers.days, score, back, read, now, threshold)
        yield row, numbers, score, verdict, why


def last_accessed(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the time of the last access that each entry's file knows of."""
    return {row["id"]: row["last_accessed_at"] for row in rows if row["last_accessed_at"]}


def unread_paths(workspace: Workspace, named: Iterable[str]) -> frozenset[str]:
    """Return the paths among `named`, files with problems, of files whose frontmatter does not parse."""
    unread = set()
    for path in named:
        try:
            text = atomic_files.read(workspace.path(path)).decode("utf-8")
        except (MemError, UnicodeDecodeError):
            unread.add(path)
            continue
        if document.parse(text).problem:
            unread.add(path)
    return frozenset(unread)


@lru_cache(maxsize=4)
def tag_days(items: tuple[str, ...]) -> Mapping[str, float]:
    """Return the days by tag of the setting `decay.tags`, a list of TAG=DAYS; raise UsageError for anything else."""
    days_by_tag = {}
    for item in items:
        tag, _, days = item.rpartition("=")
        try:
            number = float(days)
        except ValueError:
            number = math.nan
        if not tag or not 0 < number < math.inf:
            raise UsageError(f"decay.tags: {item!r} is no TAG=DAYS", "write it as work=90")
        days_by_tag[tag.lstrip("#").casefold()] = number
    return days_by_tag


def _days(row: Mapping[str, Any], settings: Values) -> float:
    """Return the time constant: of a tag, the longest where several have one, else of the type."""
    if settings["decay.tags"]:
        days_by_tag = tag_days(tuple(settings["decay.tags"]))
        tagged = [days_by_tag[tag.casefold()] for tag in row.get("tags") or () if tag.casefold() in days_by_tag]
        if tagged:
            return max(tagged)
    kind = row.get("type") or UNKNOWN_TYPE
    if kind in EPISODIC:
        return math.inf
    try:
        return float(settings[f"decay.days.{kind}"])
    except KeyError:
        return float(settings[f"decay.days.{UNKNOWN_TYPE}"])


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _trust(row: Mapping[str, Any]) -> float:
    value = row.get("trust")
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    return TRUST.get(str(row.get("source")), TRUST["inferred"])


def _as_young_as(row: Mapping[str, Any], moment: str) -> Mapping[str, Any]:
    """Return an entry's row with its age counted from a moment, if that is later than its own times."""
    return {**row, "updated_at": moment} if moment > max(row["created_at"] or "", row["updated_at"] or "") else row


def _last(accesses: Mapping[str, Access], key: str) -> str:
    return accesses[key].last if key in accesses else ""


def _verdict(
    row: Mapping[str, Any], days: float, score: float, back: str, read: str, now: datetime, threshold: float
) -> tuple[str, str]:
    if row["pinned"]:
        return "spare", "pinned"
    if row["expires_at"] and past(row["expires_at"], now) and back < row["expires_at"]:
        return "archive", f"{_EXPIRED} {row['expires_at']}"
    if row["layer"] == "episodic" or row["type"] in SPARED:
        return "spare", f"{_a(row['type'])} does not fade"
    if row["type"] == "preference" and row["source"] == "user":
        return "spare", "what the user prefers does not fade"
    if score >= threshold:
        restored = f", restored at {back}" if back else ""
        return "keep", f"not below {threshold:g}{restored}"
    days = max(LATELY, days)
    read = max(read, row.get("last_accessed_at") or "")
    moment = parse_time(read)
    if moment is not None and now - moment < timedelta(days=days):
        return "keep", f"read at {read}, less than {days:g} days ago"
    return "archive", f"below {threshold:g}"


def _a(word: str) -> str:
    return f"{'an' if word[:1] in 'aeiou' else 'a'} {word}"


def waiting_count(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> int:
    """Count the questions about active entries, given as rows of the index, and what lies in the inbox.

    They are those of `beliefs/review.py`, told by the rows alone.
    """
    slots = {row["id"]: slot_of(row["key"], row["project"]) if row["key"] else row["id"] for row in rows}
    sizes = Counter(slots.values())
    pairs = {
        frozenset((row["id"], other))
        for row in rows
        for other in row["verdicts"]
        if other in slots and slots[other] != slots[row["id"]]
    }
    rules = [rule.id for rule in faded_rules(workspace, rows)]
    asked = {*rules, *chain.from_iterable(pairs), *(name for name, slot in slots.items() if sizes[slot] > 1)}
    disputed = (access_log.read_review(workspace).disputed & slots.keys()) - asked
    same_slot_pairs = sum(count * (count - 1) // 2 for count in sizes.values())
    return len(pairs) + same_slot_pairs + len(rules) + len(disputed) + len(workspace.inbox)


def faded_rules(workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Return the rules below the threshold of decay that it spares."""
    rules = [row for row in rows if row["type"] in RULE_TYPES]
    counts = access_log.counts(workspace, last_accessed(rules))
    threshold = workspace.settings["decay.threshold"]
    return [
        rule
        for rule in judged(rules, workspace.now, workspace.settings, counts)
        if rule.verdict == "spare" and rule.score < threshold and not rule.pinned
    ]
