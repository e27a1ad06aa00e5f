"""Take back what commands changed, and bring the files of an older mem to the format of this one."""

from typing import Annotated

from ..beliefs.plan import Plan, as_diff
from ..dataclass import dataclass
from ..maintenance import undo as undoing
from ..maintenance import upgrade as upgrading
from ..maintenance.undo import Undoable, UndoList, Undone
from ..results import Applied, Diff, Result
from ..store.settings import FORMAT
from .workspace import Workspace, recorded

__all__ = ["UndoList", "Undoable", "Undone", "UpgradeReport", "list_undoable", "undo", "upgrade"]


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


@dataclass(frozen=True)
class UpgradeReport(Result):
    """What brings, or brought, a workspace to the format of this mem."""

    from_: Annotated[int, "the format the workspace had; 0 where its mem.yaml says none"]
    plan: Plan
    applied: Applied

    @property
    def to(self) -> Annotated[int, "the format of this mem"]:
        """Return the format of this mem."""
        return FORMAT

    @property
    def changes(self) -> Annotated[tuple[str, ...], "what is changed, a line each"]:
        """Return what is changed."""
        return self.plan.reasons

    @property
    def diff(self) -> Diff:
        """Return the change as a unified diff."""
        return as_diff(self.plan)


@recorded("upgrade")
def upgrade(workspace: Workspace, *, dry_run: bool = False) -> UpgradeReport:
    """Bring the files of a workspace to the format of this mem; with `dry_run` only show, in `diff`, what would change.

    Raise RefusedError if a file changed meanwhile, or cannot be changed without losing something.
    """
    start, plan = upgrading.format_of(workspace), upgrading.upgrade_plan(workspace)
    if plan and not dry_run:
        upgrading.upgrade(workspace, plan)
    return UpgradeReport(start, plan, bool(plan) and not dry_run)
