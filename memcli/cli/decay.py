"""mem decay: show the memories that have faded, and mark them."""

from typing import Annotated

from typer import Option

from ..api import open_existing
from ..context import Context
from ..formats.text import count_noun
from ..index.index import open_index
from ..upkeep.decay import check_fraction, check_trusted, find_fading, mark_faded
from .render import Result

FIELDS = ("id", "path", "text", "retention", "access_count", "memories", "undo")


def run_decay(
    context: Context,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what has faded.")] = False,
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

    A memory fades with its age. Use and trust slow this down. Pinned memories, your preferences,
    constraints, entities, episodes and summaries never fade.
    """
    workspace = open_existing(context)
    check_trusted(workspace)
    fading = find_fading(workspace)
    messages = list(open_index(workspace, refresh_first=False).messages)
    number = 0
    is_changed = False
    if fading and not dry_run:
        limit = workspace.settings["decay.max_fraction"] if max_fraction is None else max_fraction
        check_fraction(workspace, fading, limit)
        done = mark_faded(workspace, fading)
        fading, number = done.faded, done.result.number
        messages += done.messages
        is_changed = bool(done.result.paths)
    index = open_index(workspace, refresh_first=False)
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
