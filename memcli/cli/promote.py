"""mem promote: put confirmed memories into MEMORY.md, or remove their lines."""

from typing import Annotated

from typer import Argument, Option

from ..api import open_existing
from ..context import Context
from ..errors import UsageError
from ..index.index import open_index
from ..upkeep.decay import check_trusted
from ..upkeep.promote import commit_promotion, promote, remove_lines
from .render import Result

FIELDS = ("id", "path", "text", "memories", "changed", "undo")


def run_promote(
    context: Context,
    names: Annotated[list[str], Argument(metavar="MEMORY…", help="Ids, paths or titles.")] = [],
    auto: Annotated[
        bool,
        Option("--auto", help="Promote all confirmed memories that MEMORY.md does not have yet."),
    ] = False,
    remove: Annotated[
        bool, Option("--remove", help="Remove the lines of these memories instead.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would be changed.")] = False,
) -> Result:
    """Put memories into MEMORY.md, which agents see at the start of every session.

    --auto promotes confirmed memories: said three times, or with trust and confidence of at least
    0.75, or your own rules and preferences.
    """
    if not names and not auto:
        raise UsageError("name the memories, or use --auto", "mem promote --auto --dry-run")
    if remove and auto:
        raise UsageError("name the memories whose lines to remove")
    workspace = open_existing(context, names)
    check_trusted(workspace)
    if remove:
        done = remove_lines(workspace, names)
    else:
        done = promote(workspace, names, auto=auto, is_said_by_user=context.is_terminal)
    if done.changes and not dry_run:
        commit_promotion(workspace, done, verb="remove: " if remove else "")
    label = "Removed from MEMORY.md" if remove else "Promoted"
    if dry_run:
        label = "Would remove from MEMORY.md" if remove else "Would promote"
    index = open_index(workspace, refresh_first=False)
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
    nothing = "" if messages else "Nothing to promote."
    return Result(data, lines, rows, messages, nothing=nothing)
