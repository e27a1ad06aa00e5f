"""Revert a killed command before files are read."""

from ..errors import BusyError, MemError
from .undo_log import find_log_folder, list_records
from .workspace import Workspace


def recover(workspace: Workspace) -> str:
    """Revert a killed command, if there is one. Return a message if that is impossible."""
    log_folder = find_log_folder(workspace)
    if log_folder is None or not list_records(log_folder, "pending"):
        return ""
    # Imported late, because almost every command finds nothing to revert.
    from .commit import hold_lock

    try:
        with hold_lock(workspace, seconds=0.0):
            return ""
    except BusyError:
        return ""  # its process is still running
    except (MemError, OSError):
        return "an interrupted command is unfinished, and this one may not write"
