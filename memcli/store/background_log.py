"""What work that nobody watches leaves in `.mem/`: a log of its failures, and marks of when it began.

`.mem/log` has one line a failure: the time and what went wrong. `.mem/begun/NAME` was touched when work of that name
began, so that a hook that runs often does not begin it each time. Neither is needed: both may be deleted
at any time.
"""

import os
import time
from contextlib import suppress

from ..formats.times import stamp
from .privacy import make_derived, opener
from .workspace import Workspace

NAME = "log"
LARGEST = 64 << 10
"""Bytes of a log from which a new one is begun."""
_LONGEST_LINE = 400  # characters


def log(workspace: Workspace, what: str) -> None:
    """Add a line to the log; drop one that cannot be written, since a memory that fails must not stop an agent."""
    path = workspace.derived / NAME
    line = f"{stamp(workspace.now)} {' '.join(what.split())}"[:_LONGEST_LINE]
    with suppress(OSError):
        if workspace.derived.is_symlink() or path.is_symlink():
            return  # a folder that came with a clone may lead anywhere
        if path.exists() and path.stat().st_size > LARGEST:
            os.replace(path, path.with_name(f"{NAME}.old"))
        make_derived(path.parent)
        with open(path, "a", encoding="utf-8", errors="replace", opener=opener) as file:
            file.write(f"{line}\n")


def is_due(workspace: Workspace, name: str, seconds: float) -> bool:
    """Tell whether work of a name began longer ago than so many seconds, and mark it as begun now."""
    mark = workspace.derived / "begun" / name
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < seconds:
            return False
    with suppress(OSError):
        make_derived(mark.parent)
        mark.touch()
    return True
