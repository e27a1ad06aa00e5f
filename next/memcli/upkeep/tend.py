"""Do what is due in a workspace, one step after another, as cron and hooks ask for.

Each step is a command of its own in the undo log. A step that fails does not stop the others.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ..errors import BusyError, MemError
from ..formats.text import count_noun
from ..recall.shown import delete_old_records
from ..store.commit import hold_lock
from ..store.files import open_lock
from ..store.undo_log import prune_log
from ..store.workspace import Workspace
from .steps import STEPS


@dataclass
class StepResult:
    """The outcome of a step that was due."""

    step: str
    text: str
    count: int = 0
    error: Exception | None = None


def tend(workspace: Workspace, *, dry_run: bool = False) -> list[StepResult]:
    """Do what is due. Raises BusyError while another process does it."""
    shared = workspace.is_shared
    results = []
    with hold_tend_lock(workspace):
        for step in STEPS:
            if shared and not step.is_for_shared:
                continue
            count = 0
            try:
                items = step.find(workspace)
                count = len(items)
                if not count:
                    continue
                text = f"{step.name}: {count_noun(count, step.noun)}"
                if not dry_run:
                    done = step.run(workspace, items)
                    text = done if isinstance(done, str) else f"{text} {step.text}"
                results.append(StepResult(step.name, text, count))
            except (MemError, OSError) as error:
                results.append(StepResult(step.name, str(error), count, error))
        if not dry_run:
            delete_old_state(workspace)
    return results


@contextmanager
def hold_tend_lock(workspace: Workspace) -> Iterator[None]:
    """Let only one process of this user tend a workspace."""
    workspace.ensure_machine()
    folder = workspace.machine.folder
    lock = None
    # Without a writable folder there is nothing to lock. Each step compares before it writes.
    with suppress(OSError):
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = open_tend_lock(folder / "tend.lock")
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


def open_tend_lock(path: Path) -> int:
    try:
        return open_lock(path, 0.0)
    except BusyError:
        raise BusyError("another mem tend is running in this workspace") from None


def delete_old_state(workspace: Workspace) -> None:
    """Delete old records of this machine, which nobody needs to hear about."""
    if workspace.context.state_folder is not None:
        delete_old_records(str(workspace.context.state_folder))
    with suppress(MemError, OSError), hold_lock(workspace) as log_folder:
        if log_folder is not None:
            prune_log(workspace, log_folder)
