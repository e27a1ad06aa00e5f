"""Find memories: search them by meaning and by words, list entries, and grep every file for its exact text."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from ..dataclass import dataclass
from ..errors import UsageError
from ..formats.ids import is_id as is_id
from ..formats.ids import parse_time, past
from ..formats.text_lines import FileProblem, FileProblems
from ..index.filters import SORTS, Filter
from ..results import (
    ConflictsWith,
    CreatedAt,
    EntryType,
    Expired,
    FileLine,
    FilePath,
    Id,
    Result,
    Scope,
    Source,
    Status,
    Summary,
    SupersededBy,
    Title,
    Trust,
    UpdatedAt,
)
from ..search.results import DOCUMENT, MODES
from ..search.results import Hit as Hit
from ..search.results import SearchResults as SearchResults
from .choice import KINDS, require_stored
from .choice import Choice as Choice
from .workspace import Workspace, Workspaces, every

if TYPE_CHECKING:
    from ..index.index import Index
    from ..search.grep import Pattern


def search(
    workspaces: Workspaces,
    query: str,
    *,
    limit: int | None = None,
    mode: str = "hybrid",
    min_score: float | None = None,
    choice: Choice = Choice(),
    explain: bool = False,
    within: float = 0.0,
) -> SearchResults:
    """Return the memories that answer a query, the best first, with a relevance in [0, 1] that queries share.

    `mode` is one of `MODES`. `limit` and `min_score`, the least relevance, default to the settings search.limit
    and search.min_score of the first workspace. With `explain` the document says what each relevance is made of. The
    kind `DOCUMENT` in the choice looks in the folders of the setting index.include. Where this process looked at the
    disk `within` so many seconds it does not look again, so that the answer may be as old as that. Raise UsageError for
    an empty query or a value out of its range, UnavailableError where the index fails, or where the mode is `vector`
    and there is no model for it.
    """
    from ..search.index_search import SearchRequest
    from ..search.search import search as found_by

    if not query.strip():
        raise UsageError("the query is empty", "say what to look for; `mem ls` lists entries")
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", f"use one of {', '.join(MODES)}")
    found_in = every(workspaces)
    require_stored(choice, found_in)
    if limit is not None and limit < 1:
        raise UsageError(f"a limit of {limit}", "ask for at least one hit")
    if min_score is not None and not 0 <= min_score <= 1:
        raise UsageError(f"a least relevance of {min_score}", "give --min-score between 0 and 1")
    wanted = choice.filter(found_in[0], found_in[0].settings["search.kinds"], also=(DOCUMENT,))
    request = SearchRequest.of(
        found_in[0],
        query,
        replace(wanted, paths=tuple(path for workspace in found_in for path in choice.paths(workspace))),
        limit=limit,
        min_score=min_score,
        mode=mode,
        may_mean_alone=True,
        draws_on_talk=choice.is_open,
        folder=found_in[0].folder,
        within=within,
        reaches_others=True,
    )
    results = replace(found_by(found_in, request), query=query)
    if not explain:
        return results
    return replace(results, hits=tuple(replace(hit, is_explained=True) for hit in results.hits))


class EntryRow(dict[str, Any]):
    """One entry of a list without its text: the fields of its JSON, which are attributes too."""

    workspace: Workspace
    id: Id
    type: EntryType
    layer: Annotated[str, "semantic, procedural or episodic"]
    title: Title
    tags: Annotated[list[str], "its tags"]
    aliases: Annotated[list[str], "its other names"]
    project: Annotated[str, "the project it belongs to"]
    created_at: CreatedAt
    updated_at: UpdatedAt
    source: Source
    status: Status
    trust: Trust
    confidence: Annotated[float | None, "how sure whoever wrote it was, 0 to 1; null where nothing was said"]
    salience: Annotated[float | None, "how much it matters, 0 to 1; null where nothing was said"]
    strength: Annotated[int, "how often it was confirmed"]
    pinned: Annotated[bool, "whether it never fades"]
    expires_at: Annotated[str, "when it stops being true; empty where it does not"]
    expired: Expired
    superseded_by: SupersededBy
    conflicts_with: ConflictsWith
    verdicts: Annotated[list[str], "of conflicts_with, ids that rest on a verdict and not on a key; always a list"]
    access_count: Annotated[int, "how often it was read, as its file says"]
    last_accessed_at: Annotated[str, "when it was read last"]
    summary: Summary
    key: Annotated[str, "the slot it fills, empty where none"]
    superseded_at: Annotated[str, "when it was superseded; empty where it was not"]
    version_of: Annotated[str, "id of the entry it is an older wording of; empty where none"]
    path: FilePath
    scope: Scope

    def __getattr__(self, name: str) -> Any:
        """Return a field."""
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class EntryList(Result):
    """The entries listed, in the order asked for, and the files that an answer may lack."""

    entries: Annotated[tuple[EntryRow, ...], "the entries"]
    problems: FileProblems
    total: int = 0  # how many there are, whatever the limit


def list_entries(
    workspaces: Workspaces,
    prefix: str = "",
    *,
    sort: str = "updated",
    limit: int = 0,
    offset: int = 0,
    conflicts: bool = False,
    forgotten: bool = False,
    choice: Choice = Choice(),
) -> EntryList:
    """Return the entries whose path begins with `prefix`, from the folder, in the workspace or in its entries.

    `sort` is one of `SORTS`. `limit` 0 lists all; with `offset` so many are passed over first. `conflicts` lists only
    entries that one that is in use contradicts, `forgotten` only what was forgotten, which lies in the archive. Raise
    UsageError for another order, a limit below 0, or a wrong choice.
    """
    from ..index.index import ask
    from ..index.lookups import count_entries
    from ..store.addresses import prefixes

    if sort not in SORTS:
        raise UsageError(f"no order {sort!r}", f"use one of {', '.join(SORTS)}")
    if limit < 0 or offset < 0:
        raise UsageError(f"a limit of {limit}", "ask for at least one, or leave it out for all")
    found_in = every(workspaces)
    most = limit + offset if limit else -1
    require_stored(choice, found_in)
    for kind in choice.kind or ():
        if kind != "entry":
            raise UsageError(f"a list of entries has no kind {kind!r}", f"`mem search --kind {kind}` looks for it")
    rows: list[EntryRow] = []
    problems: list[FileProblem] = []
    total = 0
    for where in found_in:
        wanted = choice.filter(where)
        if forgotten:
            wanted = replace(wanted, statuses=(), forgotten=True)
        if prefix:
            wanted = replace(wanted, below=prefixes(where, prefix, where.folder))

        def answer(index: "Index", wanted: Filter = wanted) -> tuple[list[dict[str, Any]], list[FileProblem], int]:
            index.refresh()
            listed = index.list_entries(wanted, SORTS[sort], -1 if conflicts else most)
            listed = _in_conflict(index, listed) if conflicts else listed
            count = count_entries(index, wanted) if most == len(listed) else len(listed)
            return listed, index.problems(wanted), count

        entries, faults, count = ask(where, answer)
        total += count
        for fields in entries:
            fields.pop("file", None)
            expired = past(fields["expires_at"], parse_time(wanted.as_of) or where.now)
            row = EntryRow(fields, scope=where.scope, expired=expired)
            row.workspace = where
            rows.append(row)
        problems += faults
    return EntryList(tuple(rows[offset : most if limit else None]), tuple(problems), total)


def why_nothing(workspaces: Workspaces, choice: Choice) -> str:
    """Return why no memory lies where the paths of a choice lead, in a line; empty where some do."""
    from ..index.index import ask

    def any_at(name: str, *statuses: str) -> bool:
        paths = [
            (where, Filter(statuses=statuses, paths=Choice(path=[name]).paths(where))) for where in every(workspaces)
        ]
        return any(ask(where, partial(_files, wanted=wanted)) for where, wanted in paths)

    for name in () if DOCUMENT in (choice.kind or ()) else choice.path or ():
        if not any_at(name):
            return f"no memory's path begins with {name!r}"
        if not (choice.archived or choice.status or any_at(name, "active")) and any_at(name, "archived"):
            return f"what lies at {name} is in the archive: add --archived"
    return ""


def _files(index: "Index", wanted: Filter) -> list[tuple[str, str]]:
    return index.files(wanted)


def values_in_use(workspace: Workspace) -> Mapping[str, Sequence[str]]:
    """Return the types, projects, tags and keys of the entries in use, the most used first, some hundreds of each.

    They are those of the last look at the files: what is offered to choose from need not wait for one.
    """
    from ..index.index import ask
    from ..index.lookups import field_values

    return ask(workspace, field_values)


def _in_conflict(index: "Index", rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the entries that contradict one that is not over."""
    from ..beliefs.supersession import is_in_conflict, over

    retired = over(index.list_entries(Filter(statuses=()), "id"))
    return [row for row in rows if is_in_conflict(row, retired)]


@dataclass(frozen=True)
class LineMatch:
    """A line that matches, or stands beside one."""

    workspace: Workspace
    path: FilePath  # absolute for a workspace that is not the first
    line: FileLine
    text: Annotated[str, "the text"]  # without its end
    is_match: Annotated[bool, "whether the line matches, or is context"]


@dataclass(frozen=True)
class GrepResults(Result):
    """What grep found, and what it could not look at."""

    pattern: Annotated[str, "what was looked for"]
    matches: Annotated[tuple[LineMatch, ...], "the lines"]
    is_cut: Annotated[bool, "whether there are more than the limit"]
    late: tuple[FileProblem, ...]  # files that took too long, or of which only the beginning was looked through
    unindexed: tuple[FileProblem, ...]  # files that are not in the index as they should be

    @property
    def problems(self) -> FileProblems:
        """Return what is wrong with files."""
        return (*self.late, *self.unindexed)


def grep(
    workspaces: Workspaces,
    pattern: str,
    *,
    fixed: bool = False,
    ignore_case: bool = False,
    words: bool = False,
    context: int = 0,
    limit: int = 0,
    choice: Choice = Choice(),
) -> GrepResults:
    """Return the lines of every file that match a regular expression, or a `fixed` text, in the order of their files.

    `words` matches whole words only. `context` is how many lines around a match come with it; `limit` is the
    most matches, 0 is no limit. Superseded memories count too, and
    conversations only where the choice has their kind. Raise UsageError for an empty or bad expression, and for one
    that takes longer than the setting grep.timeout before anything is found.
    """
    from ..index.index import ask
    from ..search.grep import Pattern

    if not pattern:
        raise UsageError("the pattern is empty", "say what to look for")
    if context < 0 or limit < 0:
        raise UsageError(f"context {context}, limit {limit}", "give 0 or more")
    found_in = every(workspaces)
    require_stored(choice, found_in)
    matches: list[LineMatch] = []
    problems: list[FileProblem] = []
    late: list[FileProblem] = []
    is_cut = False
    for where in found_in:
        looked = Pattern(pattern, fixed, ignore_case, words, where.settings["grep.timeout"])
        wanted = _everything(choice, where)
        room = limit - sum(match.is_match for match in matches) if limit else None
        root = "" if where is found_in[0] else str(where.root)
        job = _Grep(where, looked, wanted, context, room, root)
        part = ask(where, job.answer)
        matches += part.matches
        is_cut |= part.is_cut
        late += part.late
        problems += part.unindexed
    if not matches and any(not problem.left_out for problem in late):
        raise UsageError(
            f"{pattern!r} took more than {found_in[0].settings['grep.timeout']:g} s",
            "simplify it, or raise the setting grep.timeout",
        )
    return GrepResults(pattern, tuple(matches), is_cut, tuple(late), tuple(problems))


def _everything(choice: Choice, workspace: Workspace) -> Filter:
    """Let superseded memories pass too: grep is for what is written, not for what holds."""
    chosen = choice.filter(workspace, tuple(kind for kind in KINDS if kind != "session"))
    return chosen if choice.status else replace(chosen, statuses=(*chosen.statuses, "superseded"))


@dataclass(frozen=True)
class _Grep:
    """What is asked of one workspace's index, which may ask more than once."""

    workspace: Workspace
    pattern: "Pattern"
    wanted: Filter
    context: int
    room: int | None  # matches that are still asked for
    root: str  # put before paths; empty for relative ones

    def answer(self, index: "Index") -> GrepResults:
        from ..search.grep import first_matches
        from ..search.grep import grep as matches

        late: list[FileProblem] = []
        index.refresh(talk="session" in self.wanted.kinds)
        every_line = matches(index, self.pattern, self.wanted, self.context, late)
        lines, is_cut = first_matches(every_line, self.room, self.context)
        all_matches = tuple(
            LineMatch(self.workspace, self._path(line.path), line.line, line.text, line.is_match) for line in lines
        )
        problems = index.problems(self.wanted, within="texts")
        return GrepResults(self.pattern.text, all_matches, is_cut, tuple(late), tuple(problems))

    def _path(self, path: str) -> str:
        return str(self.workspace.root / path) if self.root else path
