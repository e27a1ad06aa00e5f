"""What `tend` does about conversations: consolidate what waits, shorten what is long, sum up what has happened."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from ..errors import BusyError, LlmError, MemError
from ..store.sessions import Session, sessions
from ..store.workspace import Workspace
from .llm.choice import chosen_llm
from .rollup import Group, RolledUp, rollup_plan, unsummed
from .tend import Noise, Task
from .waiting import due, is_over

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
    from .consolidate import consolidate_all
    from .consolidation import Outcome

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
    from .compact import is_long

    return [one for one in sessions(workspace) if not one.problem and is_long(workspace, one)]


def _compact(workspace: Workspace, chosen: list[Session], noise: Noise) -> str:
    from .compact import compact

    llm = chosen_llm(workspace.settings)
    done, fault = _each(chosen, lambda one: compact(workspace, one, llm, wait=0.0))
    if fault:
        raise fault
    moved = sum(one.moved for one in done)
    return f"{moved:,} events of {len(chosen):,} long sessions archived" if moved else ""


def _unsummed(workspace: Workspace) -> list[Group]:
    return unsummed(workspace, EPISODES) if workspace.settings["consolidate.enabled"] else []


def _rollup(workspace: Workspace, chosen: list[Group], noise: Noise) -> str:
    from .plan import applied

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
