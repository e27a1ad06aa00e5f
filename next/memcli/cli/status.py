"""mem status: show the workspace in use, and why."""

from typing import Annotated

from typer import Option

from ..api import open_all
from ..context import Context
from ..formats.text import count_noun
from ..index.index import open_index
from ..store.undo_log import read_log
from ..store.workspace import Workspace
from ..upkeep.statistics import Statistics, count_everything
from .render import Result

FIELDS = ("path", "reason", "trusted", "project", "layout", "statistics")


def run_status(
    context: Context,
    all_: Annotated[bool, Option("--all", help="Add statistics.")] = False,
) -> Result:
    """Show the workspaces in use and why, what they contain, and what is pending."""
    lines: list[str] = []
    items = []
    for workspace in open_all(context):
        index = open_index(workspace)
        numbers = count_everything(index)
        items.append(
            {
                "path": str(workspace.root),
                "reason": workspace.reason,
                "trusted": workspace.is_trusted,
                "project": workspace.project,
                "layout": workspace.settings["layout"],
                "statistics": numbers,
            }
        )
        if lines:
            lines.append("")
        lines += describe(workspace, numbers)
        lines += index.messages
        if all_:
            lines += describe_statistics(workspace, numbers)
    return Result({"workspaces": items}, lines)


def describe(workspace: Workspace, numbers: Statistics) -> list[str]:
    active = numbers.statuses.get("active", 0)
    lines = [
        f"{workspace.root}  ({workspace.reason})",
        f"  memories   {active:,} active{describe_others(numbers)}",
    ]
    if workspace.project:
        lines.insert(1, f"  project    {workspace.project}")
    if not workspace.is_trusted:
        lines.append("  trust      not trusted: its text does not count as yours (mem trust)")
    if numbers.not_embedded:
        lines.append(
            f"  pending    {count_noun(numbers.not_embedded, 'text')} to embed (mem index)"
        )
    if numbers.problems:
        lines.append(f"  problems   {numbers.problems:,} (mem check)")
    return lines


def describe_others(numbers: Statistics) -> str:
    others = [
        f"{count:,} {status}" for status, count in numbers.statuses.items() if status != "active"
    ]
    return f", {', '.join(others)}" if others else ""


def describe_statistics(workspace: Workspace, numbers: Statistics) -> list[str]:
    types = ", ".join(f"{name} {count:,}" for name, count in numbers.types.items())
    files = ", ".join(f"{name} {count:,}" for name, count in numbers.files.items())
    return [
        f"  types      {types or 'none'}",
        f"  files      {files or 'none'}",
        f"  size       {numbers.bytes / 1e6:.1f} MB in {count_noun(numbers.texts, 'text')}",
        f"  undo log   {count_noun(len(read_log(workspace)), 'command')}",
    ]
