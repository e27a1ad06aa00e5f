"""Do what is due in a workspace, one task after another: what cron and hooks ask for.

A task that fails does not keep the others from their turn. Knows the order and who is next, not how each is done.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ..beliefs.plan import applied
from ..consolidation.backlog import due, is_over
from ..consolidation.rollup import Group, RolledUp, rollup_plan, unsummed
from ..errors import BusyError, LlmError, MemError, UnavailableError
from ..formats.times import stamp
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.schema import NO_PLACE
from ..llm.command import chosen_llm
from ..recall.retention import Judged, judged, last_accessed, unread_paths
from ..store import file_steps, local_log
from ..store.lock import locked
from ..store.sessions.sessions import Session, sessions
from ..store.workspace import Workspace
from .access_counters import with_edits
from .decay import decay, needed_fraction
from .fixes import abandoned, removed
from .promotion import Promotion, promote_plan

Noise = Callable[[str], bytes]
"""The random source of new ids, for a seed."""


@dataclass(frozen=True)
class Task:
    """Something that is due now and then."""

    name: str
    due: Callable[[Workspace], Any]  # what there is to do, to be handed to `run`; nothing where it is not due
    run: Callable[[Workspace, Any, Noise], str]  # does it and says so in one line


@dataclass(frozen=True)
class Tended:
    """What became of a task that was due."""

    name: str
    said: str = ""
    error: MemError | None = None


def tend(workspace: Workspace, noise: Noise, tasks: Sequence[Task]) -> list[Tended]:
    """Run the tasks that are due; BusyError while another `tend` is at it."""
    done = []
    with file_steps.naming("write", workspace.derived):
        file_steps.make_folder(workspace.derived)
    with locked(workspace.derived / "tend", command="mem tend", now=stamp(workspace.now), wait=0):
        for task in tasks:
            try:
                what = task.due(workspace)
                if what:
                    done.append(Tended(task.name, task.run(workspace, what, noise)))
            except MemError as error:
                done.append(Tended(task.name, error=error))
    return done


def _rows(index: Index) -> tuple[list[dict[str, Any]], set[str]]:
    index.refresh()
    return index.list_entries(Filter(statuses=()), "id"), {one.path for one in index.problems()}


def _faded(workspace: Workspace) -> list[Judged]:
    """Judge the entries, where the settings let `tend` archive and any has faded."""
    is_on = workspace.settings["decay.enabled"] and workspace.settings["decay.auto"]
    if not is_on or workspace.layout.is_vault:
        return []
    rows, named = ask(workspace, _rows)
    active = [row for row in rows if row["status"] == "active"]
    unread = unread_paths(workspace, [row["path"] for row in active if row["path"] in named])
    counts = with_edits(workspace, active, local_log.counts(workspace, last_accessed(active)))
    found = judged(active, workspace.now, workspace.settings, counts, unread)
    return found if any(one.verdict == "archive" for one in found) else []


def _archive(workspace: Workspace, entries: list[Judged], noise: Noise) -> str:
    if needed_fraction(entries):  # a person has to look at so many, and a failure every night would be read by nobody
        faded = sum(one.verdict == "archive" for one in entries)
        return f"{faded:,} of {len(entries):,} have faded, too many to archive unasked: look at them with `mem decay`"
    seed = " ".join(one.row["id"] for one in entries if one.verdict == "archive")
    done = decay(workspace, entries, lambda attempt: noise(f"{seed} {attempt}"))
    return f"archived {len(done.archived):,} that have faded"


def _confirmed(workspace: Workspace) -> Promotion | None:
    """Propose what the rule promotes and drops, where the settings let `tend` do it."""
    if not (workspace.settings["promote.enabled"] and workspace.settings["promote.auto"]):
        return None
    rows, _ = ask(workspace, _rows)
    proposed = promote_plan(workspace, rows, local_log.counts(workspace, last_accessed(rows)), auto=True)
    return proposed if proposed.plan else None


def _promote(workspace: Workspace, proposed: Promotion, noise: Noise) -> str:
    applied(workspace, proposed.plan, "mem tend")
    parts = (len(proposed.promoted), "promoted"), (len(proposed.changed), "changed"), (len(proposed.dropped), "dropped")
    counts = ", ".join(f"{count:,} {what}" for count, what in parts if count)
    return f"{workspace.layout.memory}: {counts}"


def _removed(workspace: Workspace, paths: list[str], noise: Noise) -> str:
    count = len(removed(workspace, paths))
    return f"removed {count:,} unfinished file{'s' * (count != 1)} of killed writes"


def _unembedded(workspace: Workspace) -> int:
    """Count the texts that have no vector yet, what has just changed on disk included."""

    def counted(index: Index) -> int:
        index.refresh()
        return index.embedding.coverage().missing

    return ask(workspace, counted)


def _index(workspace: Workspace, missing: int, noise: Noise) -> str:
    def embed(index: Index) -> tuple[int, bool]:
        index.refresh()
        left = index.embedding.embed_missing(None)
        index.embedding.tidy()
        index.embedding.fold()
        return left, index.folder is not None

    left, is_kept = ask(workspace, embed)
    if left and not is_kept:
        raise UnavailableError(f"{left:,} texts are not embedded: {NO_PLACE[0]}", NO_PLACE[1])
    return f"embedded {missing - left:,} texts" + (f", {left:,} left" if left else "")


TASKS = (
    Task("decay", _faded, _archive),
    Task("promote", _confirmed, _promote),
    Task("check", abandoned, _removed),
    Task("index", _unembedded, _index),  # last, since the others change files
)


T = TypeVar("T")
R = TypeVar("R")
EPISODES = 2
"""Episodes a project has before it is summed up unasked."""


def _waiting(workspace: Workspace) -> list[Session]:
    """Find what has waited long enough: live sessions beyond the window, and all that was put away."""
    if not workspace.settings["consolidate.enabled"]:
        return []
    return due(workspace, workspace.settings["consolidate.window"])


def _consolidate(workspace: Workspace, chosen: list[Session], noise: Noise) -> str:
    from ..consolidation.apply import Outcome
    from ..consolidation.consolidate import consolidate_all

    live = workspace.settings["consolidate.keep"]
    llm = chosen_llm(workspace.settings)
    outcomes: list[Outcome] = []
    faults: list[MemError] = []
    with suppress(BusyError):  # whoever is at it does the same
        for one in consolidate_all(workspace, chosen, llm, keep=lambda one: 0 if is_over(one) else live, wait=0.0):
            if isinstance(one, Outcome):
                outcomes.append(one)
            else:
                faults.append(one)
    if faults:
        raise faults[0]
    failed = [outcome for outcome in outcomes if outcome.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(outcomes)}: {failed[0].error}", "the messages stay due")
    messages = sum(outcome.messages for outcome in outcomes if outcome.how != "nothing")
    return f"{messages:,} messages, {sum(outcome.entries for outcome in outcomes):,} memories" if messages else ""


def _long(workspace: Workspace) -> list[Session]:
    if not workspace.settings["session.compact"]:
        return []
    from ..consolidation.compaction import is_long

    return [one for one in sessions(workspace) if not one.problem and is_long(workspace, one)]


def _compact(workspace: Workspace, chosen: list[Session], noise: Noise) -> str:
    from ..consolidation.compaction import compact

    llm = chosen_llm(workspace.settings)
    done, fault = _each(chosen, lambda one: compact(workspace, one, llm, wait=0.0))
    if fault:
        raise fault
    moved = sum(one.moved for one in done)
    return f"{moved:,} events of {len(chosen):,} long sessions archived" if moved else ""


def _unsummed(workspace: Workspace) -> list[Group]:
    return unsummed(workspace, EPISODES) if workspace.settings["consolidate.enabled"] else []


def _rollup(workspace: Workspace, chosen: list[Group], noise: Noise) -> str:
    from ..beliefs.plan import applied

    llm = chosen_llm(workspace.settings)

    def summed(group: Group) -> RolledUp:
        proposed = rollup_plan(workspace, group, llm, noise(f"rollup {group.path}"))
        applied(workspace, proposed.plan, "mem tend")
        return proposed

    done, fault = _each(chosen, summed)
    if fault:
        raise fault
    failed = [one for one in done if one.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(done)}: {failed[0].error}", "told in the episodes' own words")
    return ", ".join(one.path for one in done if one.plan)


def _each(chosen: Sequence[T], work: Callable[[T], R]) -> tuple[list[R], MemError | None]:
    """Do the work on one after the other and give the first error: what is wrong with one stops none of the rest."""
    done: list[R] = []
    fault: MemError | None = None
    for one in chosen:
        try:
            done.append(work(one))
        except BusyError:
            break  # whoever is at it does the same
        except MemError as error:
            fault = fault or error
    return done, fault


TALK = (
    Task("consolidate", _waiting, _consolidate),
    Task("compact", _long, _compact),
    Task("rollup", _unsummed, _rollup),
)
