"""Do what is due in a workspace, one step after another, as cron and hooks ask for.

Each step is a command of its own in the undo log. A step that fails does not stop the others.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from ..errors import BusyError, MemError
from ..formats.dates import format_time
from ..formats.text import count_noun
from ..index.scan import remove_leftovers, scan_workspace
from ..recall.shown import delete_old_records
from ..reconcile.inbox import delete_inbox, list_inbox
from ..store.commit import hold_lock
from ..store.init import is_shared
from ..store.lock import open_lock
from ..store.undo_log import prune_log
from ..store.workspace import Workspace
from .decay import check_fraction, find_fading, has_remote, mark_faded
from .page_lines import find_outdated_lines, update_lines
from .promote import choose_fitting, commit_promotion, find_promotable, promote
from .rollup import find_old_months, roll_up

UNDECIDED_DAYS = 90


class Step(NamedTuple):
    """Something that is due now and then."""

    name: str
    noun: str  # of an item that is due
    text: str  # what becomes of the items
    find: Callable[[Workspace], Sequence[Any]]
    run: Callable[[Workspace, Sequence[Any]], object]
    # A workspace that git shares changes only by a command that somebody typed.
    is_for_shared: bool = False


@dataclass
class StepResult:
    """The outcome of a step that was due."""

    step: str
    text: str
    count: int = 0
    error: MemError | None = None


def tend(workspace: Workspace, *, dry_run: bool = False) -> list[StepResult]:
    """Do what is due. Raises BusyError while another process does it."""
    shared = is_shared(workspace.root)
    results = []
    with hold_tend_lock(workspace):
        for step in STEPS:
            if shared and not step.is_for_shared:
                continue
            count = 0
            try:
                items = step.find(workspace)
                count = len(items)
                if count and not dry_run:
                    step.run(workspace, items)
            except MemError as error:
                results.append(StepResult(step.name, error.message, count, error))
                continue
            if count:
                items_text = count_noun(count, step.noun)
                text = f"{step.name}: {items_text}" if dry_run else f"{items_text} {step.text}"
                results.append(StepResult(step.name, text, count))
        if not dry_run:
            delete_old_state(workspace)
    return results


@contextmanager
def hold_tend_lock(workspace: Workspace) -> Iterator[None]:
    """Let only one process of this user tend a workspace."""
    workspace.ensure_machine()
    folder = workspace.machine.folder
    if folder is None:
        yield
        return
    try:
        lock = open_lock(folder / "tend.lock", 0.0)
    except BusyError:
        raise BusyError("another mem tend is running in this workspace") from None
    try:
        yield
    finally:
        os.close(lock)


def delete_old_state(workspace: Workspace) -> None:
    """Delete old records of this machine, which nobody needs to hear about."""
    if workspace.context.state_folder is not None:
        delete_old_records(str(workspace.context.state_folder))
    with suppress(OSError), hold_lock(workspace) as log_folder:
        if log_folder is not None:
            prune_log(workspace, log_folder)


def find_due_fading(workspace: Workspace) -> Sequence[Any]:
    """Return what has faded. With a remote, only a command that somebody typed marks it."""
    return [] if has_remote(workspace) else find_fading(workspace)


def fade(workspace: Workspace, fading: Sequence[Any]) -> None:
    check_fraction(workspace, fading, workspace.settings["decay.max_fraction"])
    mark_faded(workspace, fading, actor="hook")


def find_due_promotions(workspace: Workspace) -> Sequence[Any]:
    return choose_fitting(workspace, find_promotable(workspace))


def promote_due(workspace: Workspace, _: Sequence[Any]) -> None:
    commit_promotion(workspace, promote(workspace, [], auto=True), actor="hook")


def roll_up_months(workspace: Workspace, months: Sequence[Any]) -> None:
    for month in months:
        roll_up(workspace, month)


def find_old_inbox(workspace: Workspace) -> list[str]:
    """Return the ids of memories that nobody decided about."""
    oldest = format_time(workspace.now - timedelta(days=UNDECIDED_DAYS))
    return [item.id for item in list_inbox(workspace) if item.held_at < oldest]


def find_leftovers(workspace: Workspace) -> list[str]:
    return scan_workspace(workspace).leftovers


STEPS = (
    Step("page", "line", "of MEMORY.md updated", find_outdated_lines, update_lines),
    Step("decay", "memory", "faded", find_due_fading, fade),
    Step("promote", "memory", "promoted to MEMORY.md", find_due_promotions, promote_due),
    Step("rollup", "month", "of episodes summarized", find_old_months, roll_up_months),
    Step("inbox", "memory", "deleted from the inbox after 90 days", find_old_inbox, delete_inbox),
    Step(
        "leftovers",
        "temporary file",
        "of killed commands deleted",
        find_leftovers,
        lambda workspace, _: remove_leftovers(workspace),
        is_for_shared=True,
    ),
)
