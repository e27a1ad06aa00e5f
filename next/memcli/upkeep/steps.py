"""The steps of `mem tend`: how each finds what is due, and does it."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from ..consolidate.compaction import needs_compaction
from ..consolidate.consolidate import find_due_sessions
from ..consolidate.page import shorten_page, has_failed_before
from ..consolidate.queue import run_consolidation
from ..errors import BusyError, LlmError, RejectedError
from ..formats.dates import format_time
from ..formats.text import count_noun
from ..index.scan import remove_leftovers, scan_workspace
from ..llm.client import is_configured
from ..reconcile.draft import delete_inbox, list_inbox
from ..store.sessions import list_sessions
from ..store.workspace import Workspace
from .decay import check_fraction, find_fading, has_remote, mark_faded
from .page_lines import find_outdated_lines, update_lines
from .promote import choose_fitting, commit_promotion, find_promotable, promote, read_page
from .rollup import find_old_months, roll_up

UNDECIDED_DAYS = 90


class Step(NamedTuple):
    """Something that is due now and then."""

    name: str
    noun: str  # of an item that is due
    text: str  # what becomes of the items
    find: Callable[[Workspace], Sequence[Any]]
    run: Callable[[Workspace, Sequence[Any]], object]  # may return a text instead of `text`
    # A workspace that git shares changes only by a command that somebody typed.
    is_for_shared: bool = False


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


def find_due_fading(workspace: Workspace) -> Sequence[Any]:
    """Return what has faded. With a remote, only a command that somebody typed marks it."""
    if has_remote(workspace):
        return []
    fading = find_fading(workspace)
    try:
        check_fraction(workspace, fading, workspace.settings["decay.max_fraction"])
    except RejectedError:
        # `mem status` shows it. Cron would otherwise report the same problem every night.
        return []
    return fading


def fade(workspace: Workspace, fading: Sequence[Any]) -> None:
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
    return [item.id for item in list_inbox(workspace) if item.added_at < oldest]


def find_leftovers(workspace: Workspace) -> list[str]:
    return scan_workspace(workspace).leftovers


STEPS = (
    Step("consolidate", "conversation", "consolidated", find_conversations, consolidate),
    Step("page", "line", "of MEMORY.md updated", find_outdated_lines, update_lines),
    Step("decay", "memory", "faded", find_due_fading, fade),
    Step("promote", "memory", "promoted to MEMORY.md", find_due_promotions, promote_due),
    Step("rollup", "month", "of episodes summarized", find_old_months, roll_up_months),
    Step("shorten", "page", "", find_long_page, shorten),
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
