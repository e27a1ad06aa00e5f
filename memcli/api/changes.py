"""Say what became of memories between two moments that git knows."""

from typing import Annotated

from ..dataclass import dataclass
from ..maintenance.entry_changes import WORDS, FieldChange, MemoryChange, OtherEntry
from ..maintenance.memory_changes import headline, is_told, memory_changes
from ..results import Result
from ..store.revisions import changed_files, compared, texts_at
from .workspace import Workspace

__all__ = ["WORDS", "FieldChange", "MemoryChange", "MemoryDiff", "OtherEntry", "diff", "headline"]


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
