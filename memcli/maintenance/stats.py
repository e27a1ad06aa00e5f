"""What is in memory, in numbers, and the index of it brought up to date: changed files read, every text embedded."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime, tzinfo
from heapq import nsmallest
from itertools import chain
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

from ..beliefs.supersession import is_in_conflict, over
from ..dataclass import dataclass
from ..errors import BusyError, MemError, UnavailableError
from ..formats.ids import parse_time
from ..formats.text_lines import FileProblem, FileProblems
from ..index import database
from ..index.database import Health
from ..index.embedding_model import missing_libraries
from ..index.filters import Filter
from ..index.index import Index, ask
from ..recall.retention import COLUMNS, last_accessed, verdicts
from ..results import FilePath, Id, Numbers, Result, Summary
from ..store import access_log
from ..store.access_log import Access
from ..store.settings import Settings
from ..store.workspace import Workspace

_AGE_LIMITS = (1, 7, 30, 90, 365)
_AGE_NAMES = ("under 1 day", "under 1 week", "under 1 month", "under 3 months", "under 1 year", "older")
MONTHS = 12
TOP = 5

Row = Mapping[str, Any]


class UsedEntry(NamedTuple):
    """An entry, and how often it was read."""

    id: Id
    path: FilePath
    summary: Summary
    accesses: Annotated[int, "how often it was read"]


class StaleEntry(NamedTuple):
    """An entry, and how little of it is left."""

    id: Id
    path: FilePath
    summary: Summary
    score: Annotated[float, "the score it is ordered or judged by"]
    age_days: Annotated[float, "days since it was created or changed"]


class EntryInConflict(NamedTuple):
    """An entry, and those it is flagged with."""

    id: Id
    path: FilePath
    summary: Summary
    conflicts_with: Annotated[Sequence[str], "ids of the entries it may contradict; always a list"]


class PageSize(NamedTuple):
    """The size of the page of long-term memory."""

    path: FilePath
    bytes: Annotated[int, "size"]
    budget: Annotated[int, "the size that is aimed at"]


@dataclass(frozen=True)
class Stats(Result):
    """What is in a workspace, in numbers: of the active entries, unless it says another thing."""

    statuses: Annotated[Numbers, "entries by status"] = field(default_factory=dict)  # of all entries
    types: Annotated[Numbers, "entries by type"] = field(default_factory=dict)
    layers: Annotated[Numbers, "entries by layer"] = field(default_factory=dict)
    sources: Annotated[Numbers, "entries by source"] = field(default_factory=dict)
    ages: Annotated[Numbers, "entries by age"] = field(default_factory=dict)  # since they were made or last changed
    tags: Annotated[Numbers, "entries by tag"] = field(default_factory=dict)  # the commonest
    projects: Annotated[Numbers, "entries by project"] = field(default_factory=dict)  # the commonest
    growth: Annotated[Numbers, "entries by the month they were made in"] = field(default_factory=dict)  # of all entries
    most_used: Annotated[Sequence[UsedEntry], "entries read most"] = ()
    stalest: Annotated[Sequence[StaleEntry], "entries that were left alone longest"] = ()  # those of the lowest score
    conflicts: Annotated[Sequence[EntryInConflict], "entries that may contradict each other"] = ()
    faded: Annotated[int, "how many entries have faded"] = 0
    pinned: Annotated[int, "how many entries never fade"] = 0
    workspace: Annotated[str, "the folder of the workspace"] = ""
    memory: Annotated[PageSize, "the page of long-term memory"] = PageSize("", 0, 0)
    index: Annotated[Health, "the state of the index"] = Health({}, 0, 0, 0, 0, 0, 0)
    problems: FileProblems = ()

    @property
    def entries(self) -> Annotated[int, "how many entries"]:
        """Return how many entries there are, whatever their status."""
        return sum(self.statuses.values())

    @property
    def files(self) -> Annotated[Numbers, "the files"]:
        """Return how many files there are of each kind."""
        return self.index.kinds


def survey(workspace: Workspace) -> Stats:
    """Count what is in a workspace, how it grows, what is used and what fades; the index is brought up to date."""

    def asked(index: Index) -> tuple[list[dict[str, Any]], list[FileProblem], Health]:
        index.refresh()
        columns = (*COLUMNS, "status", "project", "conflicts_with")
        rows = index.list_entries(Filter(statuses=(), managed=True, items=True), "file", columns=columns)
        return rows, index.problems(), index.health()

    rows, problems, state = ask(workspace, asked)
    counts = access_log.counts(workspace, last_accessed(rows))
    name = workspace.layout.memory
    page = workspace.path(name)
    return replace(
        stats(rows, counts, workspace.now, workspace.zone, workspace.settings),
        workspace=str(workspace.root),
        memory=PageSize(name, page.stat().st_size if page.is_file() else 0, workspace.settings["memory.budget"]),
        index=state,
        problems=tuple(problems),
    )


def stats(
    rows: Iterable[Row], accesses: Mapping[str, Access], now: datetime, zone: tzinfo, settings: Settings
) -> Stats:
    """Count entries, given as rows of every status."""
    rows = list(rows)
    active = [row for row in rows if row["status"] == "active"]
    ages, used, stale, faded = [0] * len(_AGE_NAMES), [], [], 0
    for row, (age, _, count, _), score, verdict, _ in verdicts(active, now, settings, accesses):
        days = round(age, 3)
        ages[bisect_right(_AGE_LIMITS, days)] += 1
        entry = row["id"], row["path"], row["summary"]
        if count:
            used.append((-count, *entry))
        if verdict != "spare":
            stale.append((round(score, 6), *entry, days))
        faded += verdict == "archive"
    flagged = sorted((row for row in active if row["conflicts_with"]), key=itemgetter("id"))
    retired_ids = over(rows) if flagged else ()
    return Stats(
        _counted(map(itemgetter("status"), rows)),
        _counted(map(itemgetter("type"), active)),
        _counted(map(itemgetter("layer"), active)),
        _counted(map(itemgetter("source"), active)),
        {name: number for name, number in zip(_AGE_NAMES, ages, strict=True) if number},
        _top(chain.from_iterable(map(itemgetter("tags"), active))),
        _top(filter(None, map(itemgetter("project"), active))),
        _growth(rows, now, zone),
        [UsedEntry._make((*entry, -count)) for count, *entry in nsmallest(TOP, used)],
        [StaleEntry._make((*entry, score, days)) for score, *entry, days in nsmallest(TOP, stale)],
        [
            EntryInConflict(row["id"], row["path"], row["summary"], row["conflicts_with"])
            for row in flagged
            if is_in_conflict(row, retired_ids)
        ],
        faded,
        sum(map(itemgetter("pinned"), active)),
    )


def _counted(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda pair: (-pair[1], pair[0])))


def _top(values: Iterable[str]) -> dict[str, int]:
    return dict(list(_counted(values).items())[:TOP])


def _growth(rows: Sequence[Row], now: datetime, zone: tzinfo) -> dict[str, int]:
    """Count the entries made in each of the last months, those without one included."""
    counts = Counter[str]()
    for text, number in Counter(map(itemgetter("created_at"), rows)).items():
        if moment := parse_time(text or "", UTC):
            local = moment.astimezone(zone)
            counts[f"{local.year:04}-{local.month:02}"] += number
    local = now.astimezone(zone)
    months = [divmod(local.year * 12 + local.month - 1 - back, 12) for back in reversed(range(MONTHS))]
    names = [f"{year:04}-{month + 1:02}" for year, month in months]
    first = next((position for position, name in enumerate(names) if counts[name]), len(names) - 1)
    return {name: counts[name] for name in names[first:]}


BUSY = "another process writes the index; run `mem index` again"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Indexed:
    """What is in a workspace's index, and what was new."""

    where: Workspace
    files: Annotated[int, "how many files"]
    added: Annotated[int, "how many were new"]
    changed: Annotated[int, "how many were changed"]
    removed: Annotated[int, "files that are gone"]
    entries: Annotated[int, "how many entries"]
    chunks: Annotated[int, "texts in the index"]
    not_embedded: Annotated[int, "texts known only by their words so far"]
    vectors: Annotated[int, "vectors kept"]
    embedded: Annotated[int, "texts embedded in this run"]
    model: Annotated[str | None, "the embedding model; null where none was used"]
    elsewhere: Annotated[
        str, "the folder the index is kept in where nothing can be written to the workspace, else empty"
    ]
    unfinished: Annotated[str, "why not all is embedded; empty where it is"]
    pushed: Annotated[int, "texts that went to the server in this run"]
    behind: Annotated[int, "files of which the server has another text, which stays there"]
    unreached: Annotated[str, "why the server could not be had; empty where it could, or none was asked"]
    faults: tuple[FileProblem, ...]  # what is wrong with its files

    @property
    def workspace(self) -> Annotated[str, "the folder of the workspace"]:
        """Return the folder."""
        return str(self.where.root)


@dataclass(frozen=True)
class IndexReport(Indexed, Result):
    """What is in the index of each workspace, and what was new; its own fields are those of the first."""

    workspaces: Annotated[tuple[Indexed, ...], "the same for each workspace"]

    @property
    def problems(self) -> FileProblems:
        """Return what is wrong with files of any workspace."""
        return tuple(problem for indexed in self.workspaces for problem in indexed.faults)

    @property
    def error(self) -> MemError | None:
        """Return why texts are left without a vector, or a server could not be had: BusyError or UnavailableError.

        None where nothing is left, or where `mem` was installed to go by words alone.
        """
        unreached = [indexed.unreached for indexed in self.workspaces if indexed.unreached]
        if unreached:
            return UnavailableError(unreached[0])
        reasons = [indexed.unfinished for indexed in self.workspaces if indexed.unfinished]
        if not reasons or missing_libraries():
            return None
        return (BusyError if BUSY in reasons else UnavailableError)(reasons[0])


_WITHHELD = "holds a secret: it stays on this machine"


def index(
    workspace: Workspace, *, embed: bool, rebuild: bool, reading: Progress | None, embedding: Progress | None
) -> Indexed:
    """Take in what changed and, with `embed`, embed every text; with `rebuild` throw the old index away first."""
    if rebuild and (folder := database.folder_of(workspace.derived, workspace.cache)):
        database.renew(folder)
    return ask(workspace, lambda index: _indexed(index, embed=embed, reading=reading, embedding=embedding))


def _indexed(index: Index, *, embed: bool, reading: Progress | None, embedding: Progress | None) -> Indexed:
    where = index.workspace
    seen = index.refresh(reading, talk=True)
    before = int(index.meta("embedded") or 0)
    by_words = ""
    if embed:
        try:
            index.embedding.embed_all(embedding)
        except UnavailableError as error:
            if not missing_libraries():
                raise
            by_words = str(error)
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
        state.embedded - before,
        index.meta("model"),
        str(index.folder) if index.folder not in (None, where.derived) else "",
        by_words or _obstacle(index) if embed and state.not_embedded else "",
        index.pushed,
        index.behind,
        index.failure,
        (*index.problems(), *(FileProblem(path, 1, _WITHHELD, scope=where.scope) for path in index.withheld)),
    )


def _obstacle(index: Index) -> str:
    """Return why what should have been embedded was not; empty if it only came in meanwhile."""
    if index.folder is not None:
        return ""
    return BUSY if index.is_overtaken else "; ".join(database.NO_PLACE)
