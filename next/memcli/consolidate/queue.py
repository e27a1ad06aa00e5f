"""One consolidation at a time in each workspace, and consolidation in the background."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import BusyError
from ..store.workspace import Workspace

LOCK = "consolidate.lock"
LOG = "log"


@contextmanager
def hold_queue(workspace: Workspace, seconds: float = 0.0) -> Iterator[None]:
    """Hold the right to consolidate. Raises BusyError if another process has it for too long.

    This is not the lock of the workspace: while a language model works, others can write.
    """
    workspace.ensure_machine()
    folder = workspace.machine.folder
    if folder is None:
        # Without a state folder there is nothing to lock. The cursor is compared before each write.
        yield
        return
    from filelock import FileLock, Timeout

    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    lock = FileLock(folder / LOCK, mode=0o600)
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise BusyError("another process is consolidating this workspace") from None
    try:
        yield
    finally:
        lock.release()


def start_background(workspace: Workspace) -> bool:
    """Start a process that consolidates what is due. Return whether one was started.

    Hooks call this, because nobody should wait for a language model.
    """
    import subprocess

    with suppress(OSError):
        workspace.ensure_machine()
    folder = workspace.machine.folder
    if folder is None or not workspace.settings["consolidate.automatic"]:
        return False
    if is_running(folder):
        return False
    # In the user's own workspace, --workspace would make it a project's.
    place = ["--scope", "user"] if workspace.is_own else ["--workspace", str(workspace.root)]
    with open(folder / LOG, "ab") as log:
        subprocess.Popen(
            # -P: a module in the workspace must not replace one of Python's.
            [sys.executable, "-P", "-m", "memcli", "consolidate", "--background", *place],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=workspace.root,
            env=dict(workspace.context.environment),
            # The agent kills the process group of its hooks.
            start_new_session=True,
        )
    return True


def is_running(folder: Path) -> bool:
    """Return whether a process holds the queue of a workspace."""
    import fcntl

    # filelock locks the file in the same way, and takes 40 ms to import.
    try:
        with open(folder / LOCK, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
