"""Exchange memories with other machines through git."""

from typing import TYPE_CHECKING

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
