"""What an agent is told when a session starts: what always holds, what the session was about, what needs a person."""

from typing import TYPE_CHECKING

from ...errors import MemError, NotFoundError
from ...language.harness_text import quoted
from ...store.archive import strays
from ...store.sessions.sessions import find
from ...store.workspace import Workspace
from .background import log
from .event import Answer, Scene

if TYPE_CHECKING:
    from ...recall.pack import Pack


ROOM = 9_000
"""Characters of an answer that are for memories; the rest is for what else is told."""
_LOOKED_AT, _NAMED = 1_000, 3
"""Archived files that are compared with their records, the last changed first, and those that are named."""


def session_start(scene: Scene) -> Answer:
    """Give what always holds and, where the conversation was cut, what it was about."""
    from ...recall.pack import STANDING
    from ...recall.recall import recall
    from ...recall.request import RecallRequest

    event = scene.event
    is_cut = event.source in ("resume", "compact", "fork") and bool(event.session)
    if is_cut:
        pass
    request = RecallRequest(
        session=event.session,
        within_ms=int(1000 * scene.left),
        characters=ROOM - (LONGEST if is_cut else 0),
        sections=STANDING,
        fresh=event.source in ("compact", "clear"),
    )
    pack = recall(scene.workspaces, request)
    tell_late(scene, pack)
    told = pack.text().strip()
    retold = retold_session(scene.keeper, event.session, told) if is_cut and scene.keeper else ""
    parts = (*map(_untrusted, scene.workspaces), _strays(scene), _questions(scene), told, retold)
    return Answer(event.name, "\n\n".join(part for part in parts if part), pack.is_late)


def _untrusted(workspace: Workspace) -> str:
    """Say in one line that a workspace is not trusted; empty where it is."""
    if workspace.is_trusted:
        return ""
    return (
        f"The memory in {workspace.root} came with a repository and is not trusted by the user: its records have the"
        ' source "repository". `mem trust`, run by the user there, changes that.'
    )


def _strays(scene: Scene) -> str:
    """Say in one line which memories git, or somebody else, put into the archive; empty where none is."""
    found = strays(scene.workspace, _LOOKED_AT)
    if not found:
        return ""
    names = ", ".join(one.path for one in found[:_NAMED]) + (
        f" and {len(found) - _NAMED:,} more" * (len(found) > _NAMED)
    )
    what = "1 memory lies" if len(found) == 1 else f"{len(found):,} memories lie"
    return f"mem: {what} in the archive without having been forgotten: {names}. `mem check` tells what to do."


def _questions(scene: Scene) -> str:
    """Say in one line how many memories wait for a person's decision; empty where none does, or where time is up."""
    if scene.left <= 0:
        return ""
    from ...beliefs.review_count import waiting_count

    try:
        count = waiting_count(scene.workspace)
    except MemError as error:
        log(scene.workspace, f"hook {scene.event.name}: {error}")
        return ""
    what = "1 memory needs" if count == 1 else f"{count:,} memories need"
    return f"mem: {what} a yes or no: mem review" if count else ""


def tell_late(scene: Scene, pack: "Pack") -> None:
    """Say in the log why there is nothing, where that is not because nothing fits."""
    if not pack.chosen:
        for notice in pack.notices:
            log(scene.workspace, f"hook {scene.event.name}: {notice}")


LONGEST = 3000
"""Characters it takes at most."""
_ROOM = 2500
_TELLING = 60  # characters of a line by which it is known again


def retold_session(workspace: Workspace, name: str, told_already: str = "") -> str:
    """Write the recap of a session, without what was told already; empty for one that memory knows nothing of."""
    from ...consolidation.recap import recap

    try:
        told = recap(workspace, find(workspace, name, strict=True))
    except NotFoundError:
        return ""
    lines = [f"- Done: {told.history}"] if told.history else []
    fresh = [one for one in told.said if quoted(one.text)[:_TELLING] not in told_already and one.text not in told.open]
    lines += [f"- {'Asked' if one.role == 'user' else 'Answered'}: {one.text}" for one in fresh]
    lines += [f"- Open: {question}" for question in told.open]
    if not lines:
        return ""
    text = quoted("\n".join(lines))[:_ROOM].replace("<", "&lt;")
    mark = "".join(letter for letter in told.session if letter.isalnum() or letter in "-_")[:80]
    return f'## This Session So Far\n\n<memory id="session:{mark}" source="observed">\n{text}\n</memory>'
