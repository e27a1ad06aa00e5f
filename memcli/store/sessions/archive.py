"""Put sessions away: into the archive as they are, begun anew under the same id, or deleted for good."""

import os
from dataclasses import replace
from itertools import count
from pathlib import Path

from ...errors import RefusedError
from ...formats.session_metadata import render_metadata
from ...formats.times import stamp
from .. import atomic_files
from ..atomic_files import move, remove_folder
from ..journal import exclusive
from ..workspace import Workspace
from .append import with_counts
from .counts import Counts
from .sessions import EVENTS, METADATA, Session, at, require_own, sessions, update


def archive(workspace: Workspace, session: Session) -> str:
    """Move a session into the archive as it is; return its new folder."""
    if session.is_archived:
        raise RefusedError(f"{session.folder} is in the archive already", "--purge deletes it for good")
    require_own(session)
    with exclusive(workspace, "mem session delete") as held:
        place = free_place(workspace, session)
        held.check()
        move(workspace.path(session.folder), workspace.path(place))
    return place


def reset(workspace: Workspace, session: Session) -> str:
    """Move what was said so far into the archive and begin anew under the same id; return the archive's folder.

    Empty where nothing was said. Cut off by a crash, it is finished by being run again.
    """
    with exclusive(workspace, "mem session clear") as held:
        session = at(workspace, session.folder, session.id)
        require_own(session)
        target = workspace.path(session.path)
        place = ""
        if target.is_file() and target.stat().st_size:
            place = free_place(workspace, session, half_made=True)
            page = workspace.path(f"{place}/{METADATA}")
            if not page.exists():
                atomic_files.create(page, render_metadata(replace(session.metadata, state="TERMINATED")).encode())
            held.check()
            move(target, workspace.path(f"{place}/{EVENTS}"))
        elif not session.metadata.message_count:
            return ""
        update(workspace, session, lambda page: with_counts(page, Counts(), stamp(workspace.now)), held)
    return place


def purge(workspace: Workspace, session: Session) -> list[str]:
    """Delete a session and what the archive has of it, for good; return the folders."""
    require_own(session)
    with exclusive(workspace, "mem session delete --purge") as held:
        parts = [session, *(one for one in sessions(workspace, archived=True) if one.id == session.id)]
        folders = list(dict.fromkeys(one.folder for one in parts))
        for folder in folders:
            held.check()
            remove_folder(workspace.path(folder))
    return folders


def free_place(workspace: Workspace, session: Session, *, half_made: bool = False) -> str:
    """Return a folder of the archive that is free, or one that an earlier try began and did not fill."""
    for number in count(1):
        place = f"{workspace.layout.archive}{session.folder}{f'-{number}' if number > 1 else ''}"
        folder = workspace.root / place
        if not os.path.lexists(folder) or (half_made and _is_unfilled(folder / EVENTS, workspace.path(session.path))):
            return place
    raise AssertionError("unreachable")


def _is_unfilled(place: Path, events: Path) -> bool:
    """Return whether a place has no events yet, or has them under both names because a move was cut off."""
    return not os.path.lexists(place) or (place.is_file() and place.samefile(events))
