"""Take back what commands changed, and bring the files of an older mem to the format of this one."""

from typing import Any

from ..beliefs.plan import Plan, as_diff
from ..dataclass import dataclass
from ..maintenance import undo as undoing
from ..maintenance import upgrade as upgrading
from ..maintenance.undo import Undoable
from ..store.settings import FORMAT
from .workspace import Workspace, recorded

__all__ = ["UndoList", "Undoable", "Undone", "UpgradeReport", "list_undoable", "undo", "upgrade"]


@dataclass(frozen=True)
class UndoList:
    """The commands that changed files, the newest first."""

    commands: tuple[Undoable, ...]
    strangers: int
    """Records that this user's mem did not make, which are never used."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem undo --list`."""
        return {"commands": [_told(one) for one in self.commands], "strangers": self.strangers}


@dataclass(frozen=True)
class Undone:
    """The command that was, or is to be, taken back."""

    command: Undoable
    applied: bool
    passed: tuple[Undoable, ...] = ()
    """Newer ones that nobody typed, which were passed over."""
    kept: tuple[tuple[str, str], ...] = ()
    """Files whose text changed meanwhile, with where the text for them is kept."""

    @property
    def diff(self) -> str:
        """Write the change as a unified diff."""
        return undoing.diff(self.command)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem undo`."""
        files = list(self.command.record.paths)
        return {**_told(self.command), "files": files, "applied": self.applied, "diff": self.diff}


def list_undoable(workspace: Workspace) -> UndoList:
    """Return the commands that changed files of a workspace, each with whether it can be taken back now."""
    return UndoList(*undoing.undoable(workspace))


@recorded("undo")
def undo(workspace: Workspace, number: int = 0, *, dry_run: bool = False) -> Undone:
    """Take back a command by its number, or the last one that somebody typed; an undo is taken back by its own number.

    Raise NotFoundError if no such command is noted, RefusedError naming each file that was changed since, with nothing
    done. With `dry_run` nothing changes, and `diff` of the result says what would.
    """
    found = undoing.undoable(workspace)[0]
    one = undoing.chosen(found, number)
    passed = () if number else tuple(other for other in found[: found.index(one)] if not other.record["undoes"])
    undoing.require_ready(one, () if number else found)
    if dry_run:
        return Undone(one, applied=False, passed=passed)
    done, kept = undoing.take_back(workspace, one.record.number)
    return Undone(done, applied=True, passed=tuple(other for other in passed if not other.undone_by), kept=kept)


@dataclass(frozen=True)
class UpgradeReport:
    """What brings, or brought, a workspace to the format of this mem."""

    start: int
    """The format it had."""
    plan: Plan
    applied: bool

    @property
    def diff(self) -> str:
        """Write the change as a unified diff."""
        return as_diff(self.plan)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem upgrade`."""
        changes = list(self.plan.reasons)
        return {"from": self.start, "to": FORMAT, "changes": changes, "applied": self.applied, "diff": self.diff}


@recorded("upgrade")
def upgrade(workspace: Workspace, *, dry_run: bool = False) -> UpgradeReport:
    """Bring the files of a workspace to the format of this mem; with `dry_run` only show, in `diff`, what would change.

    Raise RefusedError if a file changed meanwhile, or cannot be changed without losing something.
    """
    start, plan = upgrading.format_of(workspace), upgrading.upgrade_plan(workspace)
    if plan and not dry_run:
        upgrading.upgrade(workspace, plan)
    return UpgradeReport(start, plan, bool(plan) and not dry_run)


def _told(one: Undoable) -> dict[str, Any]:
    record = one.record
    return {
        "id": record.number,
        "command": record["command"],
        "at": record["at"],
        "by": record["by"],
        "host": record["host"],
        "did": one.words,
        "can_be_undone": one.is_ready,
        "state": one.state,
        "undoes": record["undoes"] or None,
        "undone_by": one.undone_by or None,
        "blocked": [{"path": path, "reason": why} for path, why in one.reversal.blocked],
    }
