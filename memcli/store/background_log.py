"""What work that nobody watches leaves in `.mem/`: a log of its failures, and marks of when it began.

`.mem/log` has one line a failure: the time and what went wrong. `.mem/begun/NAME` was touched when work of that name
began, so that a hook that runs often does not begin it each time. Neither is needed: both may be deleted
at any time.
"""

import os
import time
from contextlib import suppress

from ..formats.times import stamp
from .local_log import append
from .privacy import make_derived
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
        if path.exists() and path.stat().st_size > LARGEST and not workspace.derived.is_symlink():
            os.replace(path, path.with_name(f"{NAME}.old"))
        append(workspace, NAME, f"{line}\n".encode("utf-8", "replace"))


def is_due(workspace: Workspace, name: str, seconds: float) -> bool:
    """Return whether work of a name began more than `seconds` ago, or never, and mark it as begun now.

    Work whose mark can be neither read nor written is due each time: doing it twice is safe. The clock is that of the
    file system, since marks are compared with the times it stamps.
    """
    mark = workspace.derived / "begun" / name
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < seconds:
            return False
    with suppress(OSError):
        make_derived(mark.parent)
        mark.touch()
    return True
