"""Queue commands that look memory through before they change it, such as a write that looks for duplicates.

They look without the workspace's lock. A mark moves with every such change: a command that finds the mark as it was
when it began need not look again once it holds the lock. Nothing breaks where one does not queue; work is done twice.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from ..errors import BusyError, NotFoundError, RefusedError
from ..text.times import stamp
from .lock import locked
from .privacy import make_derived, write_private
from .workspace import Workspace

PATIENCE = 2.0  # seconds to wait while no earlier command finishes; after that this one goes on beside them
ROUNDS = 30  # times that the wait begins anew, because a command finished
_FILE = "turn"
_QUEUE = "looking"  # a folder below the derived data, with a lock of its own; "queue" is that of consolidation


@contextmanager
def one_by_one(workspace: Workspace, command: str) -> Iterator[None]:
    """Wait for earlier commands as long as they finish; take the workspace's lock inside, never around it."""
    with ExitStack() as stack:
        with suppress(OSError):
            make_derived(workspace.derived)
        # Where no folder can be made the workspace's own lock says why.
        with suppress(NotFoundError, RefusedError):
            for _ in range(ROUNDS):
                mark = turn(workspace)
                now = stamp(workspace.now)
                try:
                    stack.enter_context(locked(workspace.derived / _QUEUE, command=command, now=now, wait=PATIENCE))
                except BusyError:
                    if turn(workspace) != mark:
                        continue
                break
        yield


def turn(workspace: Workspace) -> str:
    """Read the mark; empty where nothing was changed yet or it cannot be read."""
    try:
        return (workspace.derived / _FILE).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def next_turn(workspace: Workspace) -> None:
    """Move the mark; the caller holds the workspace's lock and has not begun to change anything."""
    with suppress(OSError):
        write_private(workspace.derived / _FILE, os.urandom(8).hex())
