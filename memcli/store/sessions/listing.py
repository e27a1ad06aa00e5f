"""Where the sessions of a workspace lie, for one who looks up many: read once and not for each."""

import os
import re

from ...text.session.folder import folder_name
from ..workspace import Workspace
from . import FOLDER, Session, at, sessions


def compacted(workspace: Workspace) -> tuple[str, ...]:
    """Return the files in the archive that are parts of sessions which are not put away themselves."""
    return tuple(one.path for one in sessions(workspace, archived=True) if _goes_on(workspace, one))


def _goes_on(workspace: Workspace, part: Session) -> bool:
    folder = part.folder.removeprefix(workspace.layout.archive)
    places = (f"{FOLDER}/{folder_name(part.id)}", folder, re.sub(r"-\d+$", "", folder))
    return any((workspace.root / place).is_dir() and at(workspace, place).id == part.id for place in places)


class Listing:
    """The sessions that cannot be found by their name alone."""

    def __init__(self, workspace: Workspace) -> None:
        """Look at the live ones; what others add meanwhile lies where its name says."""
        self._workspace = workspace
        self._archived: list[Session] = []
        self._seen = -1
        self.elsewhere = [one for one in sessions(workspace) if one.folder != f"{FOLDER}/{folder_name(one.id)}"]

    def archived(self, name: str) -> list[Session]:
        """Give the parts of a session in the archive, read again where something was put there meanwhile."""
        try:
            now = os.stat(self._workspace.root / self._workspace.layout.archive / FOLDER).st_mtime_ns
        except OSError:
            now = 0
        if now != self._seen:
            self._archived, self._seen = sessions(self._workspace, archived=True), now
        return [one for one in self._archived if one.id == name]
