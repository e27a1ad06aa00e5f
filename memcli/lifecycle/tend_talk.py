"""What `tend` does about conversations: consolidate what waits, shorten what is long, sum up what has happened."""

from ..errors import BusyError, LlmError
from ..store.sessions import Session, sessions
from ..store.workspace import Workspace
from .llm.choice import chosen_llm
from .rollup import Group, rollup_plan, unsummed
from .tend import Noise, Task
from .waiting import due, is_over

EPISODES = 2
"""Episodes a project has before it is summed up unasked."""


def _waiting(workspace: Workspace) -> list[Session]:
    """Find what has waited long enough: live sessions beyond the window, and all that was put away."""
    if not workspace.settings["consolidate.enabled"]:
        return []
    return due(workspace, workspace.settings["consolidate.window"])


def _consolidate(workspace: Workspace, chosen: list[Session], noise: Noise) -> str:
    from .consolidate import consolidate

    llm = chosen_llm(workspace.settings)
    outcomes = []
    for session in chosen:
        keep = 0 if is_over(session) else workspace.settings["consolidate.keep"]
        try:
            outcomes += consolidate(workspace, session, llm, keep=keep, wait=0.0)
        except BusyError:
            break  # whoever is at it does the same
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
    moved = 0
    for session in chosen:
        try:
            moved += compact(workspace, session, llm, wait=0.0).moved
        except BusyError:
            break
    return f"{moved:,} events of {len(chosen):,} long sessions archived" if moved else ""


def _unsummed(workspace: Workspace) -> list[Group]:
    return unsummed(workspace, EPISODES) if workspace.settings["consolidate.enabled"] else []


def _rollup(workspace: Workspace, chosen: list[Group], noise: Noise) -> str:
    from .plan import applied

    llm = chosen_llm(workspace.settings)
    done = []
    for group in chosen:
        seed = noise(f"rollup {group.path}")
        proposed = rollup_plan(workspace, group, llm, seed)
        applied(workspace, proposed.plan, "mem tend")
        done.append(proposed)
    failed = [one for one in done if one.error]
    if failed:
        raise LlmError(f"{len(failed)} of {len(done)}: {failed[0].error}", "told in the episodes' own words")
    return ", ".join(one.path for one in done if one.plan)


TALK = (
    Task("consolidate", _waiting, _consolidate),
    Task("compact", _long, _compact),
    Task("rollup", _unsummed, _rollup),
)
