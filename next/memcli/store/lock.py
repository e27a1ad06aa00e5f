"""The lock of a workspace, shared by every user, container and sandbox that uses the folder."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from ..errors import BusyError

LOCK_SECONDS = 30.0


def sync_folder(folder: Path) -> None:
    """Make renames and deletions in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def open_lock(path: Path, seconds: float) -> int:
    """Open and lock a file. Another process may delete the file between the two."""
    deadline = time.monotonic() + seconds
    # flock has no timeout, so it is tried again and again.
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                if os.fstat(lock).st_ino == os.stat(path).st_ino:
                    return lock
        except BlockingIOError:
            if time.monotonic() >= deadline:
                os.close(lock)
                raise BusyError("another mem process is writing to this workspace") from None
            time.sleep(0.01)
        except BaseException:
            os.close(lock)
            raise
        os.close(lock)
