"""Move entries that have faded to the archive, and write the counters of the others into their files.

Archiving moves a file as it is. Which entries have faded is decided in `recall/retention.py`.
"""

import os
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import compress
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

from ..beliefs.plan import Plan, listed, put_away
from ..beliefs.supersession import hidden_with, put_away_note
from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.ids import stamp
from ..formats.text_lines import FileProblem, FileProblems
from ..index.filters import Filter
from ..index.index import MemoryIndex, ask
from ..recall.retention import COLUMNS, Judged, judged, last_accessed, unread_paths, verdicts
from ..results import Applied, FilePath, Reason, Result, number_of
from ..store import access_log
from ..store.access_log import Access
from ..store.history import history_steps
from ..store.journal import Move, Step, apply, exclusive
from ..store.workspace import Workspace
from .access_counters import begin_folding

FRACTION = 0.25
"""Share of the active entries that goes in one run unless more is allowed."""


_FADED = "what has faded"


class SkippedFile(NamedTuple):
    """A file that was passed over."""

    path: FilePath
    reason: Reason


@dataclass(frozen=True)
class DecayReport(Result):
    """The verdicts on all active entries, the lowest score first, and what was archived."""

    entries: Annotated[tuple[Judged, ...], "the entries"]
    as_of: Annotated[str, "the moment it was judged at"]
    threshold: Annotated[float, "the score below which an entry has faded"]
    problems: FileProblems
    applied: Applied = False
    superseded: Annotated[
        tuple[str, ...], "ids of what had been superseded by what has faded, and went to the archive with it"
    ] = ()
    folded: Annotated[tuple[str, ...], "files that took their counters in"] = ()
    failed: Annotated[tuple[SkippedFile, ...], "what could not be done, and why"] = ()
    archived: tuple[tuple[str, str], ...] = ()  # id and path in the archive of all that went there

    @property
    def faded(self) -> list[Judged]:
        """Return what goes to the archive, or went there."""
        return [entry for entry in self.entries if entry.verdict == "archive"]

    @property
    def needed_fraction(self) -> float:
        """Return the share to allow if more than a quarter has faded; else 0."""
        return needed_fraction(self.entries)

    @property
    def notices(self) -> tuple[str, ...]:
        """Say what went to the archive with what has faded."""
        return put_away_note(_FADED, self.superseded)


def survey(workspace: Workspace, moment: datetime | None = None) -> DecayReport:
    """Judge every active entry that mem keeps as of a moment, by default now; the index is brought up to date first."""
    rows, counts, unread, problems = _asked(workspace)
    moment = moment or workspace.now
    entries = judged(rows, moment, workspace.settings, counts, unread)
    return DecayReport(tuple(entries), stamp(moment), workspace.settings["decay.threshold"], tuple(problems))


def outlook(workspace: Workspace, days: int) -> tuple[list[Judged], list[tuple[Judged, int]]]:
    """Return what has faded, the lowest score first, and what will have in so many days, with how many until then.

    The latter is what will be left alone from now on, the first to fade first.
    """
    rows, counts, unread, _ = _asked(workspace)

    def has_faded(among: Sequence[Mapping[str, Any]], after: int) -> list[bool]:
        moment = workspace.now + timedelta(days=after)
        return [verdict == "archive" for *_, verdict, _ in verdicts(among, moment, workspace.settings, counts, unread)]

    entries = judged(rows, workspace.now, workspace.settings, counts, unread)
    remaining = [entry for entry in entries if entry.verdict == "keep"]
    fading = compress(remaining, has_faded([entry.row for entry in remaining], days))
    until: list[tuple[Judged, int]] = []
    for entry in fading:
        row = [entry.row]
        until.append((entry, 1 + bisect_left(range(1, days), True, key=lambda day: has_faded(row, day)[0])))
    return [entry for entry in entries if entry.verdict == "archive"], sorted(until, key=itemgetter(1))


def _asked(
    workspace: Workspace,
) -> tuple[list[dict[str, Any]], Mapping[str, Access], frozenset[str], list[FileProblem]]:
    """Return the rows of the active entries, their accesses, the paths of those that do not parse, all problems."""

    def asked(index: MemoryIndex) -> tuple[list[dict[str, Any]], list[FileProblem]]:
        index.refresh()
        return index.list_entries(Filter(managed=True), "file", columns=COLUMNS), index.problems()

    rows, problems = ask(workspace, asked)
    named = {problem.path for problem in problems}
    unread = unread_paths(workspace, [row["path"] for row in rows if row["path"] in named])
    counts = access_log.counts(workspace, last_accessed(rows))
    return rows, counts, unread, problems


def decay_plan(
    workspace: Workspace, entries: Sequence[Judged], fraction: float = FRACTION
) -> tuple[Plan, dict[str, str]]:
    """Return the moves of all that has faded and what it had taken the place of, and the history record of them.

    Return also the ids and paths of the latter. Raise RefusedError for more than `fraction` of the active entries. A
    file that is gone or cannot be read is left out.
    """
    faded = [entry for entry in entries if entry.verdict == "archive"]
    if needed := needed_fraction(entries, fraction):
        count = sum(not entry.is_expired for entry in faded)
        raise RefusedError(
            f"{count:,} of {number_of(len(entries), 'active entry')} faded, more than {fraction:.0%}",
            f"look at them with `mem decay`; --max-fraction {needed:g} archives them all",
        )
    moves: list[Step] = []
    moved = {}
    for entry in faded:
        with suppress(MemError):
            moves.append(put_away(workspace, entry.path))
            moved[entry.path] = entry
    if not moves:
        return Plan(), {}
    earlier = hidden_with(workspace, moved)
    moves += [put_away(workspace, path) for path in earlier.values()]
    names = [entry.id for entry in moved.values()]
    reasons = (*(f"{entry.id}: {entry.reason}" for entry in moved.values()), *put_away_note(_FADED, earlier))
    noise = workspace.noise(" ".join(entry.id for entry in faded))
    return Plan((*moves, *history_steps(workspace, _told(names, earlier), noise)), reasons), earlier


def decay(workspace: Workspace, report: DecayReport, fraction: float = FRACTION) -> DecayReport:
    """Archive what has faded and write the counters of the rest into their files, as one journaled change.

    Raise RefusedError if decay is switched off, the workspace is not trusted, and as `decay_plan`.
    """
    if not workspace.settings["decay.enabled"]:
        raise RefusedError("decay is switched off", "switch it on with `mem config set decay.enabled true`")
    if not workspace.is_trusted:  # there everything fades: what its files say of their weight does not count
        raise RefusedError(f"{workspace.root} is not trusted", "look through it, then run `mem trust`")
    entries = report.entries
    staying = [entry.row for entry in entries if entry.verdict in ("keep", "spare")]
    with exclusive(workspace, "mem decay") as held:
        # Under the lock, since another run may just have archived the same, or having the lock finished a killed one.
        plan, earlier = decay_plan(workspace, entries, fraction)
        folding = begin_folding(workspace, staying)
        apply(workspace, [*folding.changes, *plan.steps], held, folded=folding.folded)
        folding.finish(workspace)
    problems = list(folding.problems)
    moves = {step.path: step.to for step in plan.steps if isinstance(step, Move)}
    for entry in entries:
        path = entry.path
        if entry.verdict == "unread":
            problems.append((path, entry.reason.rpartition("; ")[2]))
        elif entry.verdict == "archive" and path not in moves and os.path.lexists(workspace.root / path):
            problems.append((path, "cannot be read"))
    paths = {entry.id: entry.path for entry in entries if entry.path in moves} | earlier
    return replace(
        report,
        entries=tuple(entry._replace(archived=moves.get(entry.path)) for entry in entries),
        applied=True,
        superseded=tuple(earlier),
        folded=folding.ids,
        failed=tuple(SkippedFile(*problem) for problem in problems),
        archived=tuple((identifier, moves[path]) for identifier, path in paths.items()),
    )


def needed_fraction(entries: Sequence[Judged], fraction: float = FRACTION) -> float:
    """Return the share to allow, rounded up to two digits, if more than `fraction` has faded; else 0.

    What has expired does not count: whoever wrote it said when it goes.
    """
    faded = sum(entry.verdict == "archive" and not entry.is_expired for entry in entries)
    return min(1.0, -(-100 * faded // len(entries)) / 100) if faded > fraction * len(entries) else 0.0


def _told(ids: Sequence[str], earlier: Collection[str]) -> str:
    what = number_of(len(ids), "entry", "has", "have")
    more = f", with what had been superseded: {listed(earlier)}" if earlier else ""
    return f"{what} faded and went to the archive: {listed(ids)}{more}."
