"""The log of a workspace: problems that nobody could be told of when they happened."""

import os
from contextlib import suppress

from ..formats.dates import format_time
from .workspace import Workspace

FILE = "log"
LARGEST = 200_000  # bytes, after which it starts again


def append_log(workspace: Workspace, text: str) -> None:
    """Add a line to `.mem/KEY/log`. Without a state folder there is no log."""
    folder = workspace.machine.folder
    if folder is None:
        return
    line = f"{format_time(workspace.now)} {' '.join(text.split())}\n"
    with suppress(OSError):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        descriptor = os.open(folder / FILE, flags, 0o600)
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            if os.fstat(descriptor).st_size > LARGEST:
                file.truncate(0)
            file.write(line)
