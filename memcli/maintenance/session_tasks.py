"""What `mem tend` does with conversations: consolidate what waits, compact long sessions, sum up projects."""

from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import BusyError, LlmError, MemError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..store.workspace import Workspace
from .tend import Noise, Task

if TYPE_CHECKING:
    from ..consolidation.plan import Outcome
    from ..consolidation.rollup import EpisodeGroup, RolledUp
    from ..store.sessions.sessions import Session

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


def _consolidate(workspace: Workspace, chosen: "list[Session]", noise: Noise) -> str:
    from ..consolidation.backlog import is_over
    from ..consolidation.consolidate import consolidate_all
    from ..llm import chosen_llm

    live = workspace.settings["consolidate.keep"]
    llm = chosen_llm(workspace.settings)
    outcomes: list[Outcome] = []
    faults: list[MemError] = []
    with suppress(BusyError):  # whoever is at it does the same
        for one in consolidate_all(workspace, chosen, llm, keep=lambda one: 0 if is_over(one) else live, wait=0.0):
            if isinstance(one, MemError):
                faults.append(one)
            else:
                outcomes.append(one)
    if faults:
        raise faults[0]
    failed = [outcome for outcome in outcomes if outcome.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(outcomes)}: {failed[0].error}", "the messages stay due")
    messages = sum(outcome.messages for outcome in outcomes if outcome.how != "nothing")
    return f"{messages:,} messages, {sum(outcome.entries for outcome in outcomes):,} memories" if messages else ""


def _long(workspace: Workspace) -> "list[Session]":
    if not workspace.settings["session.compact"] or not _has_sessions(workspace):
        return []
    from ..consolidation.backlog import is_long
    from ..store.sessions.sessions import sessions

    return [one for one in sessions(workspace) if not one.problem and is_long(workspace, one)]


def _compact(workspace: Workspace, chosen: "list[Session]", noise: Noise) -> str:
    from ..consolidation.compaction import compact
    from ..llm import chosen_llm

    llm = chosen_llm(workspace.settings)
    done, fault = _each(chosen, lambda one: compact(workspace, one, llm, wait=0.0))
    if fault:
        raise fault
    moved = sum(one.moved for one in done)
    return f"{moved:,} events of {len(chosen):,} long sessions archived" if moved else ""


def _unsummed(workspace: Workspace) -> "list[EpisodeGroup]":
    """Return the projects of at least `EPISODES` episodes whose page does not tell of all of them."""
    if not workspace.settings["consolidate.enabled"]:
        return []

    def episodes(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return index.list_entries(Filter(types=("episode",)), "path")

    counts = Counter(row["project"] for row in ask(workspace, episodes) if row["project"])
    if max(counts.values(), default=0) < EPISODES:
        return []
    from ..consolidation.rollup import unsummed

    return unsummed(workspace, EPISODES)


def _rollup(workspace: Workspace, chosen: "list[EpisodeGroup]", noise: Noise) -> str:
    from ..beliefs.plan import applied
    from ..consolidation.rollup import rollup_plan
    from ..llm import chosen_llm

    llm = chosen_llm(workspace.settings)

    def summed(group: "EpisodeGroup") -> "RolledUp":
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
    """Do the work on each in turn and return the first error: what is wrong with one stops none of the rest."""
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


SESSION_TASKS = (
    Task("consolidate", _waiting, _consolidate),
    Task("compact", _long, _compact),
    Task("rollup", _unsummed, _rollup),
)
