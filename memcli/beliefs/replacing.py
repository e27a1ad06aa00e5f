"""Let an entry take the place of another one, new or known already, unless the other one is trusted more."""

from typing import Any

from ..dataclass import dataclass
from ..store.workspace import Workspace
from .keys import fill
from .merging import is_trusted_less
from .plan import applied, as_diff, without_lines
from .supersession import flagging_plan, read_entry_file, replacing_plan, supersede_plan


@dataclass(frozen=True)
class Superseded:
    """What became of an entry that another one is to take the place of."""

    action: str
    """`superseded`, `flagged` where the old one is trusted more, or `unchanged`."""
    id: str
    by: str
    """The id of the other one."""
    path: str
    """Of the old entry, within the workspace."""
    diff: str | None = None
    """What would change, as a unified diff; None where it was changed."""
    is_flagged: bool = False
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem supersede`."""
        told = {
            "action": self.action,
            "id": self.id,
            "superseded_by": "" if self.is_flagged else self.by,
            "conflicts_with": [self.by] if self.is_flagged else [],
            "path": self.path,
        }
        return told if self.diff is None else {**told, "diff": self.diff}


@dataclass(frozen=True)
class Replaced:
    """A new entry in the place of an old one: the ids that are over, and those it is flagged with."""

    id: str
    path: str
    supersedes: tuple[str, ...]
    conflicts_with: tuple[str, ...]
    notices: tuple[str, ...] = ()


def supersede_entry(workspace: Workspace, old: str, new: str, *, by_user: bool, dry_run: bool = False) -> Superseded:
    """Mark the entry at a path as superseded by another one; both are flagged where the old one is trusted more.

    `by_user`: the user says so, to whom everything gives way. Raise RefusedError for a circle and for an entry that
    has another successor.
    """
    before, after = read_entry_file(workspace, old), read_entry_file(workspace, new)
    plan = supersede_plan(workspace, before, after)
    is_flagged = bool(plan) and not by_user and is_trusted_less(after.entry, before.entry)
    if is_flagged:
        plan = flagging_plan(workspace, before, after)
    else:
        plan += without_lines(workspace, [before.entry.id])
    if not dry_run:
        applied(workspace, plan, "mem supersede")
    return Superseded(
        "unchanged" if not plan else "flagged" if is_flagged else "superseded",
        before.entry.id,
        after.entry.id,
        old,
        as_diff(plan) if dry_run else None,
        is_flagged,
        (kept_by_trust(before.entry.id, after.entry.id),) if is_flagged else (),
    )


def replace_entry(
    workspace: Workspace, old: str, told: dict[str, Any], body: str, command: str, *, by_user: bool
) -> Replaced:
    """Make a new entry and mark the one at a path that it takes the place of, as one change."""
    before = read_entry_file(workspace, old)
    new = replacing_plan(workspace, before, told, body, workspace.noise(body), by_user=by_user)
    gone, flagged = ((), (before.entry.id,)) if new.is_flagged else ((before.entry.id,), ())
    applied(workspace, new.plan + without_lines(workspace, gone), command)
    if told.get("key") and told["key"] != before.entry.key:
        filled = fill(workspace, new.path, command)
        gone, flagged = (*gone, *filled.supersedes), (*flagged, *filled.conflicts_with)
    notices = (kept_by_trust(before.entry.id, new.id),) if new.is_flagged else ()
    return Replaced(new.id, new.path, gone, flagged, notices)


def kept_by_trust(old: str, new: str) -> str:
    """Return why a memory did not give way to another one, and who settles it."""
    return (
        f"{old} stays: {new} is trusted less; both are flagged, and `mem review` settles which holds (--source user"
        " where the user said so)"
    )
