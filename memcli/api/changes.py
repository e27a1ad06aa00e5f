"""Say what became of memories: of all between two moments that git knows, and of one from its first word."""

from typing import Annotated

from ..dataclass import dataclass
from ..errors import NotFoundError, UsageError
from ..maintenance.blame import TimelineItem, timeline
from ..maintenance.entry_changes import WORDS, FieldChange, MemoryChange, OtherEntry
from ..maintenance.memory_changes import headline, is_told, memory_changes
from ..results import FilePath, Id, Result
from ..store.revisions import changed_files, compared, texts_at
from .read import Which, read_history, read_origins
from .workspace import Workspace, Workspaces

__all__ = ["WORDS", "Blame", "FieldChange", "MemoryChange", "MemoryDiff", "OtherEntry", "TimelineItem", "blame"]
__all__ += ["diff", "headline"]


@dataclass(frozen=True)
class MemoryDiff(Result):
    """What changed in a workspace between two moments."""

    before: Annotated[str, "the earlier moment, as it was named; of `A...B` the commit where B left A"]
    after: Annotated[str, "the later moment; `worktree` is the files on disk"]
    changes: Annotated[tuple[MemoryChange, ...], "what became of memories"]
    """By kind in the order of `WORDS`, then by path."""

    @property
    def headline(self) -> Annotated[str, "how many changes of each kind, in one line; empty where nothing changed"]:
        """Return the changes as numbers of each kind."""
        return headline(self.changes)


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
class Blame(Result):
    """What became of one entry, by whom and when."""

    id: Id
    path: FilePath
    timeline: Annotated[tuple[TimelineItem, ...], "what became of it, the newest last; before all what has no time"]
    notices: tuple[str, ...] = ()


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
