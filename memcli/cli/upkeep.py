"""Keep memories current: `tend`, `decay`, `promote`."""

from typing import Annotated

from typer import Option

from ..api import Context, UsageError, get_index, open_existing, open_recorded
from ..formats import count_noun
from ..upkeep.lifecycle import (
    check_fraction,
    check_trusted,
    commit_promotion,
    find_fading,
    mark_faded,
    prepare_lines,
    remove_lines,
)
from ..upkeep.tend import tend
from .terminal import Memories, Result

TEND_FIELDS = ("workspace", "step", "text", "count", "error", "steps")
DECAY_FIELDS = ("id", "path", "text", "retention", "access_count", "memories", "undo")
PROMOTE_FIELDS = ("id", "path", "text", "memories", "changed", "undo")


def run_tend(
    context: Context,
    dry_run: Annotated[bool, "Only show what is pending."] = False,
) -> Result:
    """Do the pending maintenance: consolidate conversations, fade and promote memories, update
    MEMORY.md, summarize old episodes.

    Meant for cron: it prints a line for each step that changed something, and nothing otherwise.

    \b
    Examples:
      mem tend
      mem tend --dry-run
    """
    lines, items, messages = [], [], []
    for workspace in open_recorded(context):
        for result in tend(workspace, dry_run=dry_run):
            if result.error is not None:
                messages.append(result.text)
            else:
                lines.append(f"{'Pending: ' if dry_run else ''}{result.text}")
            items.append(
                {
                    "workspace": str(workspace.root),
                    **vars(result),
                    "error": result.error is not None,
                }
            )
    # Two steps can fail for the same reason.
    messages = list(dict.fromkeys(messages))
    code = 3 if messages else 0
    nothing = "" if messages else "Nothing is pending."
    return Result({"steps": items}, lines, None, messages, exit_code=code, nothing=nothing)


def run_decay(
    context: Context,
    dry_run: Annotated[bool, "Only show what has faded."] = False,
    max_fraction: Annotated[
        float | None,
        Option(
            min=0.0,
            max=1.0,
            help="Stop if a larger share of the memories would fade, 0 to 1.",
        ),
    ] = None,
) -> Result:
    """Mark memories that have faded, so that searches and agents no longer show them.

    A memory fades with its age, which counts from when its file came to this computer. Use and
    trust slow this down. Pinned memories, your preferences, constraints, entities, episodes and
    summaries never fade.

    \b
    Examples:
      mem decay --dry-run
      mem decay
      mem decay --max-fraction 0.5
    """
    workspace = open_existing(context)
    check_trusted(workspace)
    fading = find_fading(workspace)
    messages = list(get_index(workspace).messages)
    number = 0
    is_changed = False
    if fading and not dry_run:
        limit = workspace.settings["decay.max_fraction"] if max_fraction is None else max_fraction
        check_fraction(workspace, fading, limit)
        done = mark_faded(workspace, fading)
        fading, number = done.faded, done.result.number
        messages += done.messages
        is_changed = bool(done.result.paths)
    index = get_index(workspace)
    lines, rows, items = [], [], []
    for entry, retention, count in fading:
        day = workspace.describe_day(max(entry.created_at, entry.updated_at))
        short_id = index.shorten_id(entry.id)
        label = "Faded" if is_changed else "Would fade"
        lines.append(f"{label}: {entry.summary}  ({short_id})")
        lines.append(f"  {entry.type} · {day} · used {count_noun(count, 'time')} · {retention:.2f}")
        rows.append([entry.id, f"{retention:.4f}", count, entry.path, entry.summary])
        items.append(
            {
                "id": entry.id,
                "path": entry.path,
                "text": entry.summary,
                "retention": round(retention, 4),
                "access_count": count,
            }
        )
    if is_changed:
        lines += ["To bring one back: mem restore ID", "Undo: mem undo"]
    data = {"memories": items, "undo": number}
    return Result(data, lines, rows, messages, nothing="Nothing has faded.")


def run_promote(
    context: Context,
    names: Memories = [],
    auto: Annotated[
        bool, "Promote all confirmed memories that MEMORY.md does not have yet."
    ] = False,
    remove: Annotated[bool, "Remove the lines of these memories instead."] = False,
    dry_run: Annotated[bool, "Only show what would be changed."] = False,
) -> Result:
    """Put memories into MEMORY.md, which agents see at the start of every session.

    --auto promotes your own rules and preferences, and confirmed memories. A memory is confirmed if
    it was saved three times, or if its trust and confidence are at least 0.75.

    \b
    Examples:
      mem promote 4kq7tz
      mem promote --auto --dry-run
      mem promote 4kq7tz --remove
    """
    if not names and not auto:
        raise UsageError("name the memories, or use --auto", "mem promote --auto --dry-run")
    if remove and auto:
        raise UsageError("name the memories whose lines to remove")
    workspace = open_existing(context, names)
    if remove:
        done = remove_lines(workspace, names)
    else:
        done = prepare_lines(workspace, names, auto=auto, is_said_by_user=context.is_terminal)
    if not dry_run:
        commit_promotion(workspace, done, verb="remove: " if remove else "")
    label = "Removed from MEMORY.md" if remove else "Promoted"
    if dry_run:
        label = "Would remove from MEMORY.md" if remove else "Would promote"
    index = get_index(workspace)
    lines = [f"{label}: {entry.summary}  ({index.shorten_id(entry.id)})" for entry in done.entries]
    if done.result.number:
        lines.append("Undo: mem undo")
    data = {
        "memories": [
            {"id": entry.id, "path": entry.path, "text": entry.summary} for entry in done.entries
        ],
        "changed": done.result.paths,
        "undo": done.result.number,
    }
    rows = [[entry.id, entry.path, entry.summary] for entry in done.entries]
    messages = [*done.messages, *done.result.messages]
    return Result(data, lines, rows, messages, nothing="" if messages else "Nothing to promote.")
