"""Which conversations belong into a workspace: by the folder each took place in, and how long ago it was."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..store.workspace import Surroundings, Workspace, nearest
from .import_log import Seen

ELSEWHERE = "of other projects"
NO_FOLDER = "without a working directory"
EARLIER = "before --since"


@dataclass(frozen=True)
class Wanted:
    """What to take: a conversation belongs into the workspace that mem would find from its working directory."""

    workspace: Workspace
    user_root: Path
    projects: tuple[Path, ...] = ()  # take those of these folders instead, whatever workspace they have
    since: str = ""  # RFC 3339; empty for all
    asked: bool = False  # a person named the place: what tells no folder is meant too
    _known: dict[str, bool] = field(default_factory=dict, repr=False)

    @property
    def is_users(self) -> bool:
        """Tell whether the workspace is the user's own."""
        return self.workspace.root == self.user_root

    def takes_folder(self, folder: str) -> bool:
        """Tell whether a conversation that took place in a folder, or told none, is to be taken."""
        if folder not in self._known:
            self._known[folder] = self._takes(folder)
        return self._known[folder]

    def _takes(self, folder: str) -> bool:
        if not folder.startswith("/"):
            return not self.projects and (self.is_users or self.asked)
        if self.projects:
            places = (Path(folder), Path(os.path.realpath(folder)))
            return any(place.is_relative_to(project) for place in places for project in self.projects)
        home = nearest(Path(folder))
        return home in (None, self.user_root) if self.is_users else home == self.workspace.root

    def takes_time(self, last: str) -> bool:
        """Tell whether a conversation whose last message is of this time is to be taken."""
        return not self.since or last >= self.since

    def asks_again(self, seen: Seen) -> bool:
        """Tell whether something was left out of a source then that is wanted now."""
        if seen.earlier and self.takes_time(seen.earlier):
            return True
        return any(self.takes_folder(folder) for folder in seen.elsewhere)

    def left_out(self, seen: Seen) -> Mapping[str, int]:
        """Count what was left out of a source and still is, by reason."""
        found = dict(seen.left_out)
        for folder, count in seen.elsewhere.items():
            reason = reason_for(folder)
            found[reason] = found.get(reason, 0) + count
        if seen.earlier_count:
            found[EARLIER] = seen.earlier_count
        return found


def reason_for(folder: str) -> str:
    """Say why a conversation that took place in a folder is left out."""
    return ELSEWHERE if folder.startswith("/") else NO_FOLDER


def wanted(
    workspace: Workspace, around: Surroundings, projects: Sequence[Path] = (), since: str = "", *, asked: bool = False
) -> Wanted:
    """Settle what is to be taken into a workspace."""
    folders = tuple(dict.fromkeys(real for one in projects for real in (one, Path(os.path.realpath(one)))))
    return Wanted(workspace, Path(os.path.realpath(around.user_root)), folders, since, asked)
