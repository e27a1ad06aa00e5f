"""Append lines to a file of this machine in `.mem/`, without the workspace's lock."""

import os
from pathlib import Path
from stat import S_ISREG

from .privacy import make_derived, narrowed


def append(folder: Path, name: str, data: bytes) -> int:
    """Append whole lines in one write; return the size of the file after it.

    Return 0, and write nothing, where the folder or the file is a link or no plain file. Raise OSError where it cannot
    be written.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    if folder.is_symlink():
        return 0
    try:
        fd = os.open(folder / name, flags, narrowed(0o666, folder))
    except FileNotFoundError:
        make_derived(folder)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        fd = os.open(folder / name, flags, narrowed(0o666, folder))
    try:
        status = os.fstat(fd)
        if not S_ISREG(status.st_mode):
            return 0
        os.write(fd, data)
        return status.st_size + len(data)
    finally:
        os.close(fd)
