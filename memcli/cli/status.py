"""mem status: show the workspace in use, and why."""

from collections.abc import Sequence
from typing import Annotated

from typer import Option

from ..agents.install import list_connections
from ..agents.places import find_agents, find_project
from ..agents.table import AGENTS
from ..api import open_all
from ..context import Context
from ..formats.text import count_noun
from ..index.index import open_index
from ..store.undo_log import read_log
from ..store.workspace import Workspace
from ..upkeep.statistics import (
    Pending,
    Statistics,
    Usage,
    count_everything,
    count_pending,
    count_usage,
)
from .render import Result

FEW_TEXTS = 100  # the next search embeds these without a noticeable delay
FIELDS = (
    "path",
    "reason",
    "trusted",
    "project",
    "layout",
    "statistics",
    "pending",
    "usage",
    "agents",
)


def run_status(
    context: Context,
    all_: Annotated[bool, Option("--all", help="Add statistics.")] = False,
) -> Result:
    """Show the workspaces in use and why, what they contain, and what is pending."""
    lines: list[str] = []
    items: list[dict[str, object]] = []
    for workspace in open_all(context):
        index = open_index(workspace)
        numbers, pending, usage = count_everything(index), count_pending(index), count_usage(index)
        # In your own memory it labels what is saved there, if the project has no workspace.
        project = "" if items and workspace.is_own else workspace.project
        items.append(
            {
                "path": str(workspace.root),
                "reason": workspace.reason,
                "trusted": workspace.is_trusted,
                "project": project,
                "layout": workspace.settings["layout"],
                "statistics": numbers,
                "pending": pending,
                "usage": usage,
            }
        )
        if lines:
            lines.append("")
        lines += describe(workspace, project, numbers, pending, usage)
        lines += index.messages
        if all_:
            lines += describe_statistics(workspace, numbers, usage)
    connected = {item.agent for item in list_connections(context, find_project(context))}
    others = [name for name in find_agents(context) if name not in connected]
    lines += describe_agents([name for name in AGENTS if name in connected], others)
    return Result({"workspaces": items, "agents": sorted(connected)}, lines)


def describe_agents(connected: Sequence[str], others: Sequence[str]) -> list[str]:
    lines = []
    if connected:
        lines.append(f"  agents     {', '.join(AGENTS[name].title for name in connected)}")
    if others:
        titles = ", ".join(AGENTS[name].title for name in others)
        lines.append(f"  agents     not connected: {titles} (mem hook install)")
    return lines


def describe(
    workspace: Workspace, project: str, numbers: Statistics, pending: Pending, usage: Usage
) -> list[str]:
    active = numbers.statuses.get("active", 0)
    lines = [
        f"{workspace.root}  ({workspace.reason})",
        f"  memories   {active:,} active{describe_others(numbers)}",
    ]
    if project:
        lines.insert(1, f"  project    {project}")
    if not workspace.is_trusted:
        lines.append("  trust      not trusted: its text does not count as yours (mem trust)")
    if numbers.not_embedded > FEW_TEXTS:
        lines.append(
            f"  pending    {count_noun(numbers.not_embedded, 'text')} to embed (mem index)"
        )
    if pending.inbox:
        lines.append(
            f"  inbox      {count_noun(pending.inbox, 'memory')} to decide about (mem review)"
        )
    if pending.conflicts:
        number = count_noun(pending.conflicts, "memory")
        lines.append(f"  conflicts  {number} in conflict with another one (mem review)")
    if pending.fading:
        lines.append(f"  fading     {count_noun(pending.fading, 'memory')} (mem decay)")
    if usage.sessions:
        lines.append(f"  shown      {usage.tokens_per_session:,} tokens per session")
    if numbers.problems:
        lines.append(f"  problems   {numbers.problems:,} (mem check)")
    return lines


def describe_others(numbers: Statistics) -> str:
    others = [
        f"{count:,} {status}" for status, count in numbers.statuses.items() if status != "active"
    ]
    return f", {', '.join(others)}" if others else ""


def describe_statistics(workspace: Workspace, numbers: Statistics, usage: Usage) -> list[str]:
    lines = [
        f"  types      {format_counts(numbers.types)}",
        f"  sources    {format_counts(numbers.sources)}",
        f"  ages       {format_counts(numbers.ages)}",
        f"  new        {format_counts(numbers.growth)}",
        f"  used       {count_noun(usage.shown, 'time')}; {usage.never_shown:,} never",
        f"  files      {format_counts(numbers.files)}",
        f"  size       {numbers.bytes / 1e6:.1f} MB in {count_noun(numbers.texts, 'text')}",
        f"  undo log   {count_noun(len(read_log(workspace)), 'command')}",
    ]
    # The memories that are used most, below the number of uses.
    most = [f"             {item['count']:,} {item['text']}" for item in usage.most_shown]
    return [*lines[:5], *most, *lines[5:]]


def format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
