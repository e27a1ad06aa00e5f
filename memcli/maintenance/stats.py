"""What is in memory, in numbers, and the index of it brought up to date: changed files read, every text embedded."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime, tzinfo
from typing import Any

from ..beliefs.supersession import is_in_conflict, over
from ..dataclass import dataclass
from ..formats.text_lines import FileProblem
from ..formats.times import parse_time
from ..index import schema
from ..index.database import Health
from ..index.filters import Filter
from ..index.index import Index, ask
from ..recall.retention import Judged, judged, last_accessed
from ..store import access_log
from ..store.access_log import Access
from ..store.settings import Settings
from ..store.workspace import Workspace
from .access_counters import with_edits

AGES = ((1, "under 1 day"), (7, "under 1 week"), (30, "under 1 month"), (90, "under 3 months"), (365, "under 1 year"))
OLDER = "older"
MONTHS = 12
TOP = 5

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Stats:
    """The numbers of one workspace's entries. Of the active ones, unless the name says another thing."""

    statuses: Mapping[str, int] = field(default_factory=dict)  # of all entries
    types: Mapping[str, int] = field(default_factory=dict)
    layers: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, int] = field(default_factory=dict)
    ages: Mapping[str, int] = field(default_factory=dict)  # since they were made or last changed
    tags: Mapping[str, int] = field(default_factory=dict)  # the commonest
    projects: Mapping[str, int] = field(default_factory=dict)  # the commonest
    growth: Mapping[str, int] = field(default_factory=dict)  # month → entries made in it, whatever their status
    used: Sequence[Judged] = ()  # those read most
    stale: Sequence[Judged] = ()  # those of the lowest score
    conflicts: Sequence[Row] = ()
    faded: int = 0  # how many would go to the archive
    pinned: int = 0


def survey(workspace: Workspace) -> tuple[Stats, list[FileProblem], Health]:
    """Count the entries of a workspace, list what is wrong with files, and count what is in the index."""

    def asked(index: Index) -> tuple[list[dict[str, Any]], list[FileProblem], Health]:
        index.refresh()
        return index.list_entries(Filter(statuses=(), items=True), "id"), index.problems(), index.health()

    rows, problems, state = ask(workspace, asked)
    counts = with_edits(workspace, rows, access_log.counts(workspace, last_accessed(rows)))
    return stats(rows, counts, workspace.now, workspace.zone, workspace.settings), problems, state


def stats(
    rows: Iterable[Row], accesses: Mapping[str, Access], now: datetime, zone: tzinfo, settings: Settings
) -> Stats:
    """Count entries, given as rows of every status."""
    rows = list(rows)
    active = [row for row in rows if row["status"] == "active"]
    gone = over(rows)
    found = judged(active, now, settings, accesses)
    used = sorted((one for one in found if one.fading.accesses), key=lambda one: (-one.fading.accesses, one.row["id"]))
    ages = Counter(_age(one.fading.age) for one in found)
    return Stats(
        _counted(row["status"] for row in rows),
        _counted(row["type"] for row in active),
        _counted(row["layer"] for row in active),
        _counted(row["source"] for row in active),
        {name: ages[name] for name in (*(name for _, name in AGES), OLDER) if ages[name]},
        _top(tag for row in active for tag in row["tags"]),
        _top(row["project"] for row in active if row["project"]),
        _growth(rows, now, zone),
        used[:TOP],
        [one for one in found if one.verdict != "spare"][:TOP],
        [row for row in active if is_in_conflict(row, gone)],
        sum(one.verdict == "archive" for one in found),
        sum(bool(row["pinned"]) for row in active),
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    """Count, the most frequent first."""
    return dict(sorted(Counter(values).items(), key=lambda one: (-one[1], one[0])))


def _top(values: Iterable[str]) -> dict[str, int]:
    return dict(list(_counted(values).items())[:TOP])


def _age(days: float) -> str:
    return next((name for most, name in AGES if days < most), OLDER)


def _growth(rows: Sequence[Row], now: datetime, zone: tzinfo) -> dict[str, int]:
    """Count the entries made in each of the last months, those without one included."""
    made = Counter(
        f"{moment.astimezone(zone):%Y-%m}" for row in rows if (moment := parse_time(row["created_at"] or "", UTC))
    )
    local = now.astimezone(zone)
    months = [divmod(local.year * 12 + local.month - 1 - back, 12) for back in reversed(range(MONTHS))]
    names = [f"{year:04}-{month + 1:02}" for year, month in months]
    first = next((place for place, name in enumerate(names) if made[name]), len(names) - 1)
    return {name: made[name] for name in names[first:]}


BUSY = "another process writes the index; run `mem index` again"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Indexed:
    """What is in a workspace's index, and what was new."""

    workspace: Workspace
    files: int
    added: int  # files, as the next two
    changed: int
    removed: int
    entries: int
    chunks: int
    not_embedded: int  # chunks without a vector
    vectors: int
    embedded: int  # texts embedded since the index was made
    model: str | None  # the embedding model; None where none was used yet
    elsewhere: str  # where the index is kept if not in the workspace; else empty
    unfinished: str  # why chunks were left without a vector that should have got one; else empty
    problems: tuple[FileProblem, ...]

    @property
    def is_busy(self) -> bool:
        """Return whether another process kept this one from embedding."""
        return self.unfinished == BUSY


def index(
    workspace: Workspace, *, embed: bool, rebuild: bool, reading: Progress | None, embedding: Progress | None
) -> Indexed:
    """Take in what changed and, with `embed`, embed every text; with `rebuild` throw the old index away first."""
    if rebuild:
        schema.discard(schema.folder_of(workspace.derived, workspace.cache) or workspace.derived)
    return ask(workspace, lambda index: _indexed(index, embed=embed, reading=reading, embedding=embedding))


def _indexed(index: Index, *, embed: bool, reading: Progress | None, embedding: Progress | None) -> Indexed:
    where = index.workspace
    seen = index.refresh(reading, talk=True)
    if embed:
        index.embedding.embed_all(embedding)
    state = index.health()
    return Indexed(
        where,
        seen.files,
        seen.added,
        seen.changed,
        seen.removed,
        state.entries,
        state.chunks,
        state.not_embedded,
        state.vectors,
        state.embedded,
        index.meta("model"),
        str(index.folder) if index.folder not in (None, where.derived) else "",
        _obstacle(index) if embed and state.not_embedded else "",
        tuple(index.problems()),
    )


def _obstacle(index: Index) -> str:
    """Return why what should have been embedded was not; empty if it only came in meanwhile."""
    if index.folder is not None:
        return ""
    return BUSY if index.is_overtaken else "; ".join(schema.NO_PLACE)
