"""Do what is due in a workspace, one step after another, as cron and hooks ask for.

Each step is a command of its own in the undo log. A step that fails does not stop the others.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..consolidate.compaction import needs_compaction
from ..consolidate.consolidate import find_due_sessions
from ..consolidate.page import has_failed_before, shorten_page
from ..consolidate.queue import run_consolidation
from ..errors import BusyError, LlmError, MemError
from ..formats.text import count_noun
from ..index.scan import remove_leftovers, scan_workspace
from ..llm.client import is_configured
from ..reconcile.draft import delete_inbox, find_old_inbox
from ..store.commit import hold_lock
from ..store.sessions import list_sessions
from ..store.undo_log import prune_log
from ..store.workspace import Workspace
from .decay import fade_due, find_due_fading
from .promote import (
    find_due_promotions,
    find_outdated_lines,
    promote_due,
    read_page,
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


def find_conversations(workspace: Workspace) -> Sequence[Any]:
    """Return the conversations to consolidate or to compact."""
    if not workspace.settings["consolidate.automatic"]:
        return []
    due = find_due_sessions(workspace)
    ids = [session.id for session in due]
    return due + [
        session
        for session in list_sessions(workspace)
        if session.id not in ids and needs_compaction(workspace, session)
    ]


def consolidate(workspace: Workspace, sessions: Sequence[Any]) -> str:
    """Consolidate and compact what is due. Raises LlmError if the language model failed."""
    try:
        done, _ = run_consolidation(workspace, actor="hook")
    except BusyError:
        return "conversations are being consolidated by another process"
    errors = [result.error for result in done if result.error]
    if errors:
        raise LlmError(f"the language model failed ({errors[0]}): the next run tries again")
    saved = sum(len(result.memories) for result in done)
    return (
        f"consolidate: {count_noun(len(sessions), 'conversation')}, {count_noun(saved, 'memory')}"
    )


def find_long_page(workspace: Workspace) -> list[str]:
    """Return MEMORY.md if a language model should shorten it."""
    text = read_page(workspace) or ""
    is_long = len(text.encode("utf-8", "replace")) > int(workspace.settings["page.bytes"])
    is_due = is_long and is_configured(workspace) and not has_failed_before(workspace, text)
    return [workspace.page_path] if is_due else []


def shorten(workspace: Workspace, _: Sequence[Any]) -> str:
    return f"shorten: {shorten_page(workspace, actor='hook')}"


STEPS = (
    Step("consolidate", "conversation", "consolidated", find_conversations, consolidate),
    Step("page", "line", "of MEMORY.md updated", find_outdated_lines, update_lines),
    Step("decay", "memory", "faded", find_due_fading, fade_due),
    Step("promote", "memory", "promoted to MEMORY.md", find_due_promotions, promote_due),
    Step("rollup", "month", "of episodes summarized", find_old_months, roll_up_all),
    Step("shorten", "page", "", find_long_page, shorten),
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
