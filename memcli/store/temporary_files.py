"""Name the files that are being written, and remove those whose writer was killed; nothing else is ever removed.

A name tells the process that writes: while one of that number runs, its file is only taken for dead after an hour.
"""

import os
import re
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..formats.ids import blake2b

PREFIX = ".mem-tmp-"
_NAME = re.compile(rf"{re.escape(PREFIX)}(?:(?P<machine>[0-9a-f]{{8}})-(?P<process>\d{{1,10}})-)?[0-9a-f]{{16}}\Z")
_ABANDONED = 3600.0  # seconds after which no writer is still at it


def temporary_name() -> str:
    """Return a new name for a file to be written by this process."""
    return f"{PREFIX}{_machine()}-{os.getpid()}-{os.urandom(8).hex()}"


def is_temporary(name: str) -> bool:
    """Return whether a file name is one of ours that was never finished."""
    return name.startswith(PREFIX)


def is_abandoned(path: str | Path, now: float) -> bool:
    """Return whether a plain file of ours has no living writer.

    `now` is the machine's own clock, which stamped the files; one set for a replay would take living ones for dead.
    """
    found = _NAME.match(os.path.basename(path))
    if found is None or os.path.islink(path) or not os.path.isfile(path):
        return False
    with suppress(OSError):
        if now - os.lstat(path).st_mtime > _ABANDONED:
            return True
        return found["machine"] == _machine() and not is_running(int(found["process"]))
    return False


def remove_abandoned(path: str | Path, now: float) -> bool:
    """Remove a file of a dead writer; return whether it was one and is gone."""
    if is_abandoned(path, now):
        with suppress(OSError):  # another writer sweeps too
            os.unlink(path)
            return True
    return False


def sweep(folder: Path, now: float) -> int:
    """Remove the folder's temporary files of dead writers and count them."""
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if is_temporary(entry.name)]
    except OSError:
        return 0
    return sum(remove_abandoned(path, now) for path in found)


@cache
def _machine() -> str:
    """Name where process numbers are this one's: a folder may be shared with other machines and with containers."""
    space = ""
    with suppress(OSError):  # not Linux
        space = os.readlink("/proc/self/ns/pid")
    return blake2b(f"{os.uname().nodename} {space}".encode(), digest_size=4).hexdigest()


def is_running(process: int) -> bool:
    """Return whether a process of this number runs on this machine, of whichever user."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user
        return True
    return True
