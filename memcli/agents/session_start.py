"""What an agent is told when a session starts: what always holds, what the session was about, what needs a person."""

from typing import TYPE_CHECKING

from ..errors import MemError
from ..store.archive import strays
from ..store.workspace import Workspace
from .log import log
from .scene import Answer, Scene

if TYPE_CHECKING:
    from ..retrieval.pack import Pack

ROOM = 9_000
"""Characters of an answer that are for memories; the rest is for what else is told."""
_LOOKED_AT, _NAMED = 1_000, 3
"""Archived files that are compared with their records, the last changed first, and those that are named."""


def session_start(scene: Scene) -> Answer:
    """Give what always holds and, where the conversation was cut, what it was about."""
    from ..retrieval.pack import STANDING
    from ..retrieval.recall import Recall, recall

    event = scene.event
    is_cut = event.source in ("resume", "compact", "fork") and bool(event.session)
    if is_cut:
        from .retelling import LONGEST, retold_session
    request = Recall(
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
    from ..beliefs.review import waiting_count

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
