"""Forget memories, and restore them."""

import shlex
from collections.abc import Sequence
from typing import Annotated, Any

from typer import Argument, Option

from ..api import open_existing
from ..context import Context
from ..errors import UsageError
from ..index import Filter, open_index
from ..reconcile.changes import ForgetResult, Outcome
from ..reconcile.forget import forget, get_mentions, restore
from ..search.grep import grep
from ..search.names import get_entry
from ..store import Workspace
from .terminal import Result, require_yes

FORGET_FIELDS = (
    *("action", "id", "short_id", "path", "text"),
    *("memories", "other_files", "git_commits", "undo"),
)
RESTORE_FIELDS = FORGET_FIELDS
TEXT_STAYS = "The text stays in the file. To delete it: mem forget {} --purge"
MOST_NAMED = 3  # ids in a hint


def run_forget(
    context: Context,
    names: Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")] = [],
    about: Annotated[str, Option(help="Forget every memory that mentions this text.")] = "",
    reason: Annotated[str, Option(help="Why; stored in the file.")] = "",
    purge: Annotated[
        bool,
        Option(
            "--purge",
            help="Delete the file, and its text in MEMORY.md, history, notes and conversations.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only show what would be forgotten.")
    ] = False,
    yes: Annotated[bool, Option("--yes", help="Do not ask before a purge.")] = False,
) -> Result:
    """Hide memories from search and agents, or delete them.

    The same text is refused afterwards, until you say it again yourself.
    """
    workspace = open_existing(context, names)
    if names and about:
        raise UsageError("use names or --about, not both")
    if not names and not about:
        raise UsageError("name the memories to forget, or use --about TEXT")
    # Ids, because two memories may have the same title.
    if about:
        names = [entry.id for entry in get_mentions(workspace, about)]
    messages = list_history_lines(workspace, about) if about else []
    if dry_run or purge:
        index = open_index(workspace)
        entries = [get_entry(index, name) for name in names]
        verb = "delete" if purge else "forget"
        lines = [
            f"Would {verb}: {entry.summary}  ({index.shorten_id(entry.id)})" for entry in entries
        ]
        if dry_run:
            action = f"would {verb}"
            outcomes = [
                Outcome(action, entry.id, index.shorten_id(entry.id), entry.path, entry.summary)
                for entry in entries
            ]
            return Result({"memories": list_fields(outcomes)}, lines, list_rows(outcomes), messages)
        question = "\n".join(
            [*(line.replace("Would delete", "Delete") for line in lines), "This cannot be undone."]
        )
        if not require_yes(context, question, yes=yes):
            return Result({"memories": []}, ["Nothing was deleted."], exit_code=1)
    done = forget(workspace, names, reason=reason, purge=purge)
    return render_forgetting(done, purge, messages)


def run_restore(
    context: Context,
    names: Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")],
) -> Result:
    """Make forgotten, faded or superseded memories active again."""
    done = restore(open_existing(context, names), names)
    lines = [f"Restored: {outcome.text}  ({outcome.short_id})" for outcome in done.outcomes]
    return render_outcomes(done, lines, {})


def list_history_lines(workspace: Workspace, text: str) -> list[str]:
    """Return a message for each line of the history that mentions a text. These lines stay."""
    lines, _ = grep([workspace], text, Filter(kinds=("history",)))
    return [f"{line.path}:{line.line} mentions it too: mem edit {line.path}" for line in lines]


def render_forgetting(done: ForgetResult, purge: bool, messages: list[str]) -> Result:
    label = "Deleted" if purge else "Forgotten"
    lines = [
        f"{label}: {outcome.text}  ({outcome.short_id})"
        for outcome in done.outcomes
        if not outcome.error
    ]
    if purge:
        lines += [f"  also deleted from {path}" for path in done.other_files]
        if done.git_commits:
            lines.append(f"  git still has it in: {', '.join(dict.fromkeys(done.git_commits))}")
    else:
        # The id of a note is its path, which may contain blanks.
        ids = [shlex.quote(outcome.short_id) for outcome in done.outcomes if not outcome.error]
        lines.append(TEXT_STAYS.format(" ".join(ids) if len(ids) <= MOST_NAMED else "ID…"))
        if len(done.result.paths) > 1:
            lines.append("Undo: mem undo")
    data = {"other_files": done.other_files, "git_commits": done.git_commits}
    result = render_outcomes(done, lines, data)
    result.messages = [*result.messages, *messages]
    return result


def render_outcomes(done: ForgetResult, lines: list[str], data: dict[str, Any]) -> Result:
    """Return the output of a command for several memories. Exit code 3: some were rejected."""
    errors = [f"{item.short_id}: {item.error.message}" for item in done.outcomes if item.error]
    copies = [related.path for outcome in done.outcomes for related in outcome.related]
    copy_messages = [f"this also hides {path}, which says the same thing" for path in copies]
    messages = [*done.result.messages, *errors, *copy_messages]
    return Result(
        {"memories": list_fields(done.outcomes), "undo": done.result.number, **data},
        lines,
        list_rows(done.outcomes),
        messages,
        exit_code=3 if errors else 0,
    )


def list_fields(outcomes: Sequence[Outcome]) -> list[dict[str, str]]:
    return [{name: getattr(outcome, name) for name in FORGET_FIELDS[:5]} for outcome in outcomes]


def list_rows(outcomes: Sequence[Outcome]) -> list[list[str]]:
    return [[outcome.action, outcome.id, outcome.path, outcome.text] for outcome in outcomes]
