"""Exchange memories with other machines through git."""

from typing import TYPE_CHECKING, Annotated

from ..dataclass import dataclass
from ..git.repository import changed_files, compared, texts_at
from ..maintenance import undo as undoing
from ..maintenance.memory_diff import MemoryChange as MemoryChange
from ..maintenance.memory_diff import headline, is_told, memory_changes
from ..maintenance.undo import UndoList as UndoList
from ..maintenance.undo import Undone as Undone
from ..results import Result
from .workspace import Workspace, recorded

if TYPE_CHECKING:
    from ..maintenance.sync import Synced as Synced


@recorded("sync")
def sync(workspace: Workspace, remote: str = "", *, dry_run: bool = False) -> "Synced":
    """Commit what is mem's, fetch, merge and push; with `dry_run` only ask the remote and tell what would be done.

    `remote` is a name or an address, by default what the branch follows. Raise UsageError without a repository or an
    author, RefusedError where something is in the way, UnavailableError if the remote cannot be reached, BusyError
    while another process syncs; what was committed before stays committed.
    """
    from ..maintenance.sync import sync as synced

    return synced(workspace, remote, dry_run=dry_run)


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
    changes = memory_changes(workspace.layout, files, lambda: texts_at(workspace, after, "entry"))
    return MemoryDiff(before.name, after.name, tuple(changes))


def list_undoable(workspace: Workspace) -> UndoList:
    """Return the commands that changed files of a workspace, each with whether it can be taken back now."""
    return undoing.undoable(workspace)


@recorded("undo")
def undo(workspace: Workspace, number: int = 0, *, dry_run: bool = False) -> Undone:
    """Take back a command by its number, or the last one that somebody typed; an undo is taken back by its own number.

    Raise NotFoundError if no such command is noted, RefusedError naming each file that was changed since, with nothing
    done. With `dry_run` nothing changes, and `diff` of the result says what would.
    """
    commands = undoing.undoable(workspace).commands
    command = undoing.chosen(commands, number)
    newer = () if number else commands[: commands.index(command)]
    passed = tuple(other for other in newer if not other.undoes)
    undoing.require_ready(command, () if number else commands)
    if dry_run:
        return Undone(**vars(command), applied=False, passed=passed)
    command, unapplied = undoing.take_back(workspace, command.id)
    passed = tuple(other for other in passed if not other.undone_by)
    return Undone(**vars(command), applied=True, passed=passed, unapplied=unapplied)
