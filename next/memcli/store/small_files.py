"""Read small files that may come from a stranger."""

import os
from pathlib import Path
from stat import S_ISREG

LARGEST = 1 << 20


def read_small_text(path: Path) -> str:
    """Return the text of a small regular file, or an empty text.

    A clone may bring a link to /dev/zero, or a named pipe that never ends.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not S_ISREG(status.st_mode) or status.st_size > LARGEST:
            return ""
        return file.read(LARGEST).decode("utf-8", "replace")
