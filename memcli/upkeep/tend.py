"""Do what is due in a workspace, one step after another, as cron and hooks ask for.

Each step is a command of its own in the undo log. A step that fails does not stop the others.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..consolidate.page import find_long_page, shorten_due
from ..consolidate.queue import consolidate_due, find_due_conversations
from ..errors import MemError
from ..formats.text import count_noun
from ..index.scan import remove_leftovers, scan_workspace
from ..reconcile.draft import delete_inbox, find_old_inbox
from ..store.commit import hold_lock
from ..store.undo_log import prune_log
from ..store.workspace import Workspace
from .decay import fade_due, find_due_fading
from .promote import (
    find_due_promotions,
    find_outdated_lines,
    promote_due,
    update_lines,
)
from .rollup import find_old_months, roll_up_all


class Step(NamedTuple):
    """Something that is due now and then."""

    name: str
    noun: str  # of an item that is due
    text: str  # what becomes of the items
    find: Callable[[Workspace], Sequence[Any]]
    run: Callable[[Workspace, Sequence[Any]], object]  # may return a text instead of `text`
    # A workspace that git shares changes only by a command that somebody typed.
    is_for_shared: bool = False


@dataclass
class StepResult:
    """The outcome of a step that was due."""

    step: str
    text: str
    count: int = 0
    error: Exception | None = None


def tend(workspace: Workspace, *, dry_run: bool = False) -> list[StepResult]:
    """Do what is due. Each step compares before it writes, so two processes do no harm."""
    results = []
    for step in STEPS:
        if workspace.is_shared and not step.is_for_shared:
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
        with suppress(MemError, OSError), hold_lock(workspace) as log_folder:
            if log_folder is not None:
                prune_log(workspace, log_folder)
    return results


STEPS = (
    Step("consolidate", "conversation", "", find_due_conversations, consolidate_due),
    Step("page", "line", "of MEMORY.md updated", find_outdated_lines, update_lines),
    Step("decay", "memory", "faded", find_due_fading, fade_due),
    Step("promote", "memory", "promoted to MEMORY.md", find_due_promotions, promote_due),
    Step("rollup", "month", "of episodes summarized", find_old_months, roll_up_all),
    Step("shorten", "page", "", find_long_page, shorten_due),
    Step("inbox", "memory", "deleted from the inbox after 90 days", find_old_inbox, delete_inbox),
    Step(
        "leftovers",
        "temporary file",
        "of killed commands deleted",
        lambda workspace: scan_workspace(workspace).leftovers,
        lambda workspace, _: remove_leftovers(workspace),
        is_for_shared=True,
    ),
)
