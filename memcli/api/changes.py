"""Say what became of memories: of all between two moments that git knows, and of one from its first word."""

from dataclasses import asdict
from typing import Any

from ..dataclass import dataclass
from ..errors import NotFoundError, UsageError
from ..maintenance.blame import TimelineItem, timeline
from ..maintenance.entry_changes import WORDS, FieldChange, MemoryChange, OtherEntry
from ..maintenance.memory_changes import headline, is_told, memory_changes
from ..store.revisions import changed_files, compared, texts_at
from .read import Which, read_history, read_origins
from .workspace import Workspace, Workspaces

__all__ = ["WORDS", "Blame", "FieldChange", "MemoryChange", "MemoryDiff", "OtherEntry", "TimelineItem", "blame"]
__all__ += ["diff", "headline"]


@dataclass(frozen=True)
class MemoryDiff:
    """What changed in a workspace between two moments."""

    before: str
    """The earlier moment: a commit as it was named."""
    after: str
    """The later moment: a commit, or `worktree` for the files on disk."""
    changes: tuple[MemoryChange, ...]
    """By kind in the order of `WORDS`, then by path."""

    @property
    def headline(self) -> str:
        """Return the changes as numbers of each kind in one line; empty where nothing changed."""
        return headline(self.changes)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem diff`."""
        return {
            "before": self.before,
            "after": self.after,
            "headline": self.headline,
            "changes": [asdict(one) for one in self.changes],
        }


def diff(workspace: Workspace, revisions: str = "") -> MemoryDiff:
    """Compare a workspace at two moments: `A..B`, `A...B` for what B changed since it left A, or one and the files.

    Without `revisions` the last commit is compared with the files. Raise UsageError for what is no commit and outside
    of a repository, RefusedError for a file that cannot be read.
    """
    before, after = compared(workspace, revisions)
    files = changed_files(workspace, before, after, lambda path: is_told(workspace.layout, path))
    found = memory_changes(workspace.layout, files, lambda: texts_at(workspace, after, "entry"))
    return MemoryDiff(before.name, after.name, tuple(found))


@dataclass(frozen=True)
class Blame:
    """What became of one entry, by whom and when."""

    id: str
    path: str
    """Within the workspace."""
    timeline: tuple[TimelineItem, ...]
    """The newest last; before all what has no time."""
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem blame`."""
        return {"id": self.id, "path": self.path, "timeline": [asdict(one) for one in self.timeline]}


def blame(workspaces: Workspaces, which: str | Which) -> Blame:
    """Return who said an entry, in which message, and who confirmed, changed, superseded or promoted it, and when.

    Raise NotFoundError or AmbiguousError for a name, UsageError for what is no entry, RefusedError for a file that
    cannot be read.
    """
    history = read_history(workspaces, which)
    where, path = history.workspace, history.path
    if where.layout.kind_of(path) != "entry":
        raise UsageError(f"{path} is no entry", f"`mem read {path} --history` shows what became of a file")
    try:
        origins = read_origins(where, path).sources
    except NotFoundError:  # it does not say what it was taken from
        origins = ()
    items = timeline(where, path, history.chain, origins)
    identifier = next((one.id for one in history.chain if one.path == path), path)
    return Blame(identifier, path, tuple(items), (*history.notices, *history.problems))
