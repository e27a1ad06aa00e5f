"""Do what is due in a workspace, one task after another: what cron and hooks ask for.

A task that fails does not keep the others from their turn. What a task needs for its work is imported once it is due.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from ..dataclass import dataclass
from ..errors import BusyError, LlmError, MemError, UnavailableError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.scan import abandoned, scan
from ..results import Result, number_of
from ..store.lock import alone
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..beliefs.supersession import EntryFile
    from ..consolidation.plan import Outcome
    from ..consolidation.rollup import EpisodeGroup, RolledUp
    from ..store.sessions.sessions import Session
    from .decay import DecayReport
    from .promotion import Promotion


@dataclass(frozen=True)
class Task:
    """Something that is due now and then."""

    name: str
    due: Callable[[Workspace], Any]  # what there is to do, to be handed to `run`; nothing where it is not due
    run: Callable[[Workspace, Any], str]  # does it and returns one line that says so


@dataclass(frozen=True)
class Tended:
    """What became of a task that was due."""

    task: Annotated[str, "name of the task"]
    said: Annotated[str, "what was done"] = ""
    error: MemError | None = None


@dataclass(frozen=True)
class TendReport(Result):
    """What became of the tasks that were due."""

    tasks: tuple[Tended, ...] = ()

    @property
    def done(self) -> Annotated[tuple[Tended, ...], "the tasks that had something to do"]:
        """Return the tasks that did not fail."""
        return tuple(task for task in self.tasks if not task.error)

    @property
    def errors(self) -> tuple[MemError, ...]:
        """Return the errors of the tasks that failed."""
        return tuple(task.error for task in self.tasks if task.error)


def tend(workspace: Workspace, tasks: Sequence[Task]) -> TendReport:
    """Run the tasks that are due; raise BusyError while another `tend` works here."""
    done = []
    with alone(workspace, "tend", "mem tend"):
        for task in tasks:
            try:
                what = task.due(workspace)
                if what:
                    done.append(Tended(task.name, task.run(workspace, what)))
            except MemError as error:
                done.append(Tended(task.name, error=error))
    return TendReport(tuple(done))


def _faded(workspace: Workspace) -> "DecayReport | None":
    """Judge the entries; return nothing if none has expired, or faded where the settings let `tend` archive that."""
    settings = workspace.settings
    if not settings["decay.enabled"] or not workspace.is_trusted:
        return None
    if not settings["decay.auto"] and not ask(workspace, _has_expired):
        return None
    from .decay import survey

    report = survey(workspace)
    if not settings["decay.auto"]:
        report = _of_expired(report)
    return report if report.faded else None


def _of_expired(report: "DecayReport") -> "DecayReport":
    entries = (entry for entry in report.entries if entry.is_expired or entry.verdict != "archive")
    return replace(report, entries=tuple(entries))


def _has_expired(index: Index) -> bool:
    index.refresh()
    return index.has_expired()


def _archive(workspace: Workspace, report: "DecayReport") -> str:
    from .decay import decay

    left, total = "", len(report.entries)
    if report.needed_fraction:  # a person has to look at so many, and a failure every night would be read by nobody
        faded = sum(not entry.is_expired for entry in report.faded)
        left = f"{faded:,} of {total:,} faded, too many to archive unasked: look at them with `mem decay`"
        report = _of_expired(report)
    if not report.faded:
        return left
    report = decay(workspace, report)
    expired = [entry for entry in report.entries if entry.archived and entry.is_expired]
    count = sum(entry.archived is not None for entry in report.entries)
    counts = (count - len(expired), "faded"), (len(expired), "expired")
    done = " and ".join(f"{count:,} that {what}" for count, what in counts if count)
    return "; ".join(filter(None, (f"archived {done or 'nothing'}", left)))


def _confirmed(workspace: Workspace) -> "Promotion | None":
    """Propose what the rule promotes and drops, if the settings let `tend` do it."""
    if not (workspace.settings["promote.enabled"] and workspace.settings["promote.auto"]):
        return None
    from .promotion import promotion

    proposed = promotion(workspace, auto=True)
    return proposed if proposed.plan else None


def _promote(workspace: Workspace, proposed: "Promotion") -> str:
    from ..beliefs.plan import applied

    applied(workspace, proposed.plan, "mem tend")
    parts = (len(proposed.promoted), "promoted"), (len(proposed.changed), "changed"), (len(proposed.dropped), "dropped")
    counts = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{workspace.layout.memory}: {counts}"


def _unfinished(workspace: Workspace) -> list[str]:
    return abandoned(workspace.root, scan(workspace.root, workspace.layout))


def _remove(workspace: Workspace, paths: list[str]) -> str:
    from .checks import removed

    count = len(removed(workspace, paths))
    return f"removed {number_of(count, 'unfinished file')} of killed writes"


def _undecided(workspace: Workspace) -> "Sequence[EntryFile]":
    if not workspace.inbox:
        return ()
    from ..beliefs.forgotten import expired

    return expired(workspace)


def _drop(workspace: Workspace, files: "Sequence[EntryFile]") -> str:
    from ..beliefs.forgotten import dropping
    from ..beliefs.plan import applied

    applied(workspace, dropping(files), "mem tend")
    return f"{len(files):,} dropped that nobody decided about for 90 days"


def _unembedded(workspace: Workspace) -> int:
    """Count the texts without a vector of the model that the settings name, what has just changed on disk included."""

    def counted(index: Index) -> int:
        from ..index.embedding_model import built_in_name, missing_libraries

        index.refresh()
        if missing_libraries():
            return 0
        if not workspace.settings["embedding.model"] and index.meta("model") == built_in_name():
            return index.health().not_embedded  # which loads no module of the vectors
        return index.embedding.pending()

    return ask(workspace, counted)


def _embed(workspace: Workspace, missing: int) -> str:
    from ..index.database import NO_PLACE

    def embed(index: Index) -> tuple[int, bool]:
        index.refresh()
        return index.embedding.embed_all(), index.folder is not None

    left, is_kept = ask(workspace, embed)
    if left and not is_kept:
        raise UnavailableError(f"{number_of(left, 'text', 'is', 'are')} not embedded: {NO_PLACE[0]}", NO_PLACE[1])
    return f"embedded {number_of(missing - left, 'text')}" + (f", {left:,} left" if left else "")


TASKS = (
    Task("decay", _faded, _archive),
    Task("promote", _confirmed, _promote),
    Task("inbox", _undecided, _drop),
    Task("check", _unfinished, _remove),
    Task("index", _unembedded, _embed),  # last, since the others change files
)


T = TypeVar("T")
R = TypeVar("R")
EPISODES = 2
"""Episodes a project has before it is summed up unasked."""


def _has_sessions(workspace: Workspace) -> bool:
    """Return whether there may be a live session, without loading what reads one."""
    return (workspace.root / "sessions").is_dir()


def _waiting(workspace: Workspace) -> "list[Session]":
    """Return the live sessions in which more than the window waits, and all that was put away with any messages."""
    if not workspace.settings["consolidate.enabled"] or not _has_sessions(workspace):
        return []
    from ..consolidation.backlog import due

    return due(workspace, workspace.settings["consolidate.window"])


def _consolidate(workspace: Workspace, chosen: "list[Session]") -> str:
    from ..consolidation.backlog import is_over
    from ..consolidation.consolidate import consolidate_all
    from ..llm import chosen_llm

    live = workspace.settings["consolidate.keep"]
    llm = chosen_llm(workspace.settings)
    outcomes: list[Outcome] = []
    faults: list[MemError] = []
    sessions = [(session, 0 if is_over(session) else live) for session in chosen]
    with suppress(BusyError):  # whoever is at it does the same
        for outcome in consolidate_all(workspace, sessions, llm, wait=0.0):
            if isinstance(outcome, MemError):
                faults.append(outcome)
            else:
                outcomes.append(outcome)
    if faults:
        raise faults[0]
    failed = [outcome for outcome in outcomes if outcome.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(outcomes)}: {failed[0].error}", "the messages stay due")
    messages = sum(outcome.messages for outcome in outcomes if outcome.how != "nothing")
    memories = sum(outcome.entries for outcome in outcomes)
    return f"{number_of(messages, 'message')}, {number_of(memories, 'memory')}" if messages else ""


def _long(workspace: Workspace) -> "list[Session]":
    if not workspace.settings["session.compact"] or not _has_sessions(workspace):
        return []
    from ..consolidation.backlog import is_long
    from ..store.sessions.sessions import sessions

    return [session for session in sessions(workspace) if not session.problem and is_long(workspace, session)]


def _compact(workspace: Workspace, chosen: "list[Session]") -> str:
    from ..consolidation.compaction import compact
    from ..llm import chosen_llm

    llm = chosen_llm(workspace.settings)
    done, fault = _each(chosen, lambda session: compact(workspace, session, llm, wait=0.0))
    if fault:
        raise fault
    moved = sum(report.moved for report in done)
    return f"{number_of(moved, 'event')} of {number_of(len(chosen), 'long session')} archived" if moved else ""


def _unsummed(workspace: Workspace) -> "list[EpisodeGroup]":
    """Return the projects of at least `EPISODES` episodes whose page does not tell of all of them."""
    if not workspace.settings["consolidate.enabled"]:
        return []

    def episodes(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return index.list_entries(Filter(types=("episode",), managed=True), "path")

    counts = Counter(row["project"] for row in ask(workspace, episodes) if row["project"])
    if max(counts.values(), default=0) < EPISODES:
        return []
    from ..consolidation.rollup import unsummed

    return unsummed(workspace, EPISODES)


def _rollup(workspace: Workspace, chosen: "list[EpisodeGroup]") -> str:
    from ..beliefs.plan import applied
    from ..consolidation.rollup import rollup_plan
    from ..llm import chosen_llm

    llm = chosen_llm(workspace.settings)

    def summed(group: "EpisodeGroup") -> "RolledUp":
        proposed = rollup_plan(workspace, group, llm, workspace.noise(f"rollup {group.path}"))
        applied(workspace, proposed.plan, "mem tend")
        return proposed

    done, fault = _each(chosen, summed)
    if fault:
        raise fault
    failed = [report for report in done if report.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(done)}: {failed[0].error}", "told in the episodes' own words")
    return ", ".join(report.path for report in done if report.plan)


def _each(chosen: Sequence[T], work: Callable[[T], R]) -> tuple[list[R], MemError | None]:
    """Do the work on each in turn and return the first error: what is wrong with one stops none of the rest."""
    done: list[R] = []
    fault: MemError | None = None
    for item in chosen:
        try:
            done.append(work(item))
        except BusyError:
            break  # whoever is at it does the same
        except MemError as error:
            fault = fault or error
    return done, fault


SESSION_TASKS = (
    Task("consolidate", _waiting, _consolidate),
    Task("compact", _long, _compact),
    Task("rollup", _unsummed, _rollup),
)
