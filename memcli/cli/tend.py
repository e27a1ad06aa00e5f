"""mem tend: do what is due."""

from typing import Annotated

from typer import Option

from ..api import add_gates, open_all
from ..context import Context
from ..upkeep.tend import tend
from .render import Result

FIELDS = ("workspace", "step", "text", "count", "error", "steps")


def run_tend(
    context: Context,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what is due.")] = False,
) -> Result:
    """Do what is due: consolidate conversations, fade and promote memories, update MEMORY.md,
    summarize old episodes.

    Meant for cron: it prints a line for each thing that was done, and nothing otherwise.
    """
    lines, items, messages = [], [], []
    for workspace in open_all(context):
        for result in tend(add_gates(workspace), dry_run=dry_run):
            if result.error is not None:
                messages.append(result.text)
            else:
                lines.append(f"{'Due: ' if dry_run else ''}{result.text}")
            items.append(
                {
                    "workspace": str(workspace.root),
                    "step": result.step,
                    "text": result.text,
                    "count": result.count,
                    "error": result.error is not None,
                }
            )
    # Two steps can fail for the same reason.
    messages = list(dict.fromkeys(messages))
    code = 3 if messages else 0
    nothing = "" if messages else "Nothing is due."
    return Result({"steps": items}, lines, None, messages, exit_code=code, nothing=nothing)
