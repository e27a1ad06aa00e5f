"""The context of a session that starts: what always holds, what the session was about, what needs a person."""

from collections.abc import Sequence

from ...api.agents import Workspace, log, session_recap, unexplained_files, waiting_questions
from ...errors import MemError
from .event import HookAnswer, HookContext

ROOM = 9_000
"""Characters of an answer that are for memories; the rest is for what else is told."""
_RECAP_ROOM = 3_000
_LOOKED_AT, _NAMED = 1_000, 3
"""Archived files that are compared with their records, the last changed first, and those that are named."""


def session_start(here: HookContext) -> HookAnswer:
    """Return what always holds and, if the conversation was cut, what it was about."""
    from ...api.recall import STANDING

    event = here.event
    is_cut = event.source in ("resume", "compact", "fork") and bool(event.session)
    room, fresh = ROOM - (_RECAP_ROOM if is_cut else 0), event.source in ("compact", "clear")
    text, is_late = recalled(here, sections=STANDING, characters=room, fresh=fresh)
    recap = session_recap(here.keeper, event.session, text) if is_cut and here.keeper else ""
    parts = (*map(_untrusted, here.workspaces), _unexplained(here), _questions(here), text, recap)
    return HookAnswer(event.name, "\n\n".join(part for part in parts if part), is_late)


def recalled(
    here: HookContext,
    query: str = "",
    *,
    sections: Sequence[str],
    characters: int = ROOM,
    gate: bool = False,
    fresh: bool = False,
) -> tuple[str, bool]:
    """Return the memories for an event, and whether a thread may be busy still; the log says why there are none."""
    from ...api.recall import Budget, recall

    pack = recall(
        here.workspaces,
        query,
        session=here.event.session,
        within_ms=int(1000 * here.left),
        sections=sections,
        budget=Budget(characters=characters),
        gate=gate,
        fresh=fresh,
    )
    for notice in () if pack.chosen else pack.notices:
        log(here.workspace, f"hook {here.event.name}: {notice}")
    return pack.text().strip(), pack.is_late


def _untrusted(workspace: Workspace) -> str:
    """Return a line saying that a workspace is not trusted; empty if it is."""
    if workspace.is_trusted:
        return ""
    return (
        f"The memory in {workspace.root} came with a repository and is not trusted by the user: its records have the"
        ' source "repository". `mem trust`, run by the user there, changes that.'
    )


def _unexplained(here: HookContext) -> str:
    """Return a line naming the memories that git, or somebody else, put into the archive; empty if there are none."""
    found = unexplained_files(here.workspace, _LOOKED_AT)
    if not found:
        return ""
    names = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED:,} more" * (len(found) > _NAMED))
    what = "1 memory lies" if len(found) == 1 else f"{len(found):,} memories lie"
    return f"mem: {what} in the archive without having been forgotten: {names}. `mem check` tells what to do."


def _questions(here: HookContext) -> str:
    """Return a line saying how many memories wait for a person's decision; empty if none does or time is up."""
    if here.left <= 0:
        return ""
    try:
        count = waiting_questions(here.workspace)
    except MemError as error:
        log(here.workspace, f"hook {here.event.name}: {error}")
        return ""
    what = "1 memory needs" if count == 1 else f"{count:,} memories need"
    return f"mem: {what} a yes or no: mem review" if count else ""
