"""Say what became of memories: between two moments that git knows."""

from dataclasses import asdict
from typing import Any

from ..dataclass import dataclass
from ..maintenance.entry_changes import WORDS, FieldChange, MemoryChange, OtherEntry
from ..maintenance.memory_changes import headline, memory_changes
from ..store.revisions import changed_files, compared, texts_at
from .workspace import Workspace

__all__ = ["WORDS", "FieldChange", "MemoryChange", "MemoryDiff", "OtherEntry", "diff", "headline"]


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
    files = changed_files(workspace, before, after)
    found = memory_changes(workspace.layout, files, lambda: texts_at(workspace, after, "entry"))
    return MemoryDiff(before.name, after.name, tuple(found))
