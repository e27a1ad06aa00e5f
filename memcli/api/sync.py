"""Exchange memories with other machines through git."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from .workspace import Workspace, recorded

if TYPE_CHECKING:
    from ..maintenance.sync import Synced as Synced

__all__ = ["SyncReport", "sync"]


@dataclass(frozen=True)
class SyncReport:
    """What was exchanged, or is to be."""

    done: "Synced"
    is_dry_run: bool = False

    @property
    def exit_code(self) -> int:
        """Return 0; 5 if a person has to settle a conflict, 3 if memory was committed and not all went through."""
        if self.done.state == "clash":
            return 5
        return 3 if self.done.problems or self.done.state != "synced" else 0

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem sync`."""
        done = self.done
        named = {"clashes": done.clashes, "problems": done.problems}
        return {
            **asdict(done),
            **{
                name: [{"path": one.path, "line": one.line, "reason": one.reason} for one in found]
                for name, found in named.items()
            },
            "notices": list(done.notices),
            "ignored": list(done.ignored),
            "dry_run": self.is_dry_run,
        }


@recorded("sync")
def sync(workspace: Workspace, remote: str = "", *, dry_run: bool = False) -> SyncReport:
    """Commit what is mem's, fetch, merge and push; with `dry_run` only ask the remote and tell what would be done.

    `remote` is a name or an address, by default what the branch follows. Raise UsageError without a repository or an
    author, RefusedError where something is in the way, UnavailableError if the remote cannot be reached, BusyError
    while another process syncs; what was committed before stays committed.
    """
    from ..maintenance.sync import sync as synced

    return SyncReport(synced(workspace, remote, dry_run=dry_run), dry_run)
