"""Report the state of the memory: `status`, `check` and `doctor`. `index` brings it up to date."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from .. import data
from ..agents.doctor import ERROR, Check, diagnose
from ..agents.install import list_connections
from ..agents.table import AGENTS, find_agents, find_project
from ..api import (
    Context,
    UnavailableError,
    UsageError,
    get_index,
    open_all,
    open_existing,
    open_index,
)
from ..formats import count_noun
from ..store import Workspace, read_log
from ..team.push import push
from ..upkeep.check import Finding, find_problems, find_staged_problems, fix_problems
from ..upkeep.statistics import (
    Pending,
    Statistics,
    Usage,
    count_everything,
    count_pending,
    count_usage,
)
from .hook_install import find_program
from .terminal import Result, build_progress, describe_status, wrap_text

FEW_TEXTS = 100  # the next search embeds these without a noticeable delay
STATUS_FIELDS = (
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
CHECK_FIELDS = (*Finding.__dataclass_fields__, "problems", "fixed", "undo")
DOCTOR_FIELDS = (*Check.__dataclass_fields__, "checks")
INDEX_FIELDS = ("workspace", "files", "texts", "seconds", "space", "shared", "pushed", "removed")


def run_status(context: Context, all_: Annotated[bool, "Add statistics."] = False) -> Result:
    """Show the workspaces in use and why, what they contain, and what is pending.

    \b
    Examples:
      mem status
      mem status --all
    """
    lines: list[str] = []
    items: list[dict[str, object]] = []
    for workspace in open_all(context):
        index = open_index(workspace)
        numbers, pending, usage = count_everything(index), count_pending(index), count_usage(index)
        # The project labels new memories in the user's own workspace. Next to a project's
        # workspace, nothing new is saved there.
        project = "" if items and workspace.is_own else workspace.project
        option = " --scope user" if items and workspace.is_own else ""
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
        lines += describe_workspace(workspace, project, numbers, pending, option)
        lines += index.messages
        if all_:
            for line in describe_statistics(workspace, numbers, usage):
                lines += wrap_text(context, line, 13)
    connected = {item.agent for item in list_connections(context, find_project(context))}
    others = [name for name in find_agents(context) if name not in connected]
    lines += describe_agents([name for name in AGENTS if name in connected], others, usage)
    return Result({"workspaces": items, "agents": sorted(connected)}, lines)


def run_check(
    context: Context,
    fix: Annotated[bool, "Fix problems that have one right solution, without losing text."] = False,
    staged: Annotated[bool, "Check the files that git is about to commit."] = False,
) -> Result:
    """Find problems in files: bad YAML, secrets, conflict markers, forgotten memories.

    --fix adds missing ids, gives copies a new id, corrects relations and lines of
    MEMORY.md, and removes the leftovers of killed commands.

    \b
    Examples:
      mem check
      mem check --fix
    """
    if fix and staged:
        raise UsageError("--fix and --staged cannot be used together")
    lines: list[str] = []
    messages: list[str] = []
    fixed: list[Finding] = []
    number = 0
    if not staged:
        workspace = open_existing(context)
    # Fixed first, so that only the remaining problems are found below.
    if fix:
        fixes, messages, result = fix_problems(workspace)
        fixed = [Finding(item.path, item.line, item.reason) for item in fixes]
        lines = [f"Fixed: {item.path}: {item.reason}" for item in fixed]
        number = result.number
        if len(result.paths) > 1:
            lines.append("Undo: mem undo")
    findings = find_staged_problems(context) if staged else find_problems(workspace)
    lines += [f"{finding.path}:{finding.line}: {finding.reason}" for finding in findings]
    rows = [[f"{item.path}:{item.line}", f"fixed: {item.reason}"] for item in fixed]
    rows += [[f"{finding.path}:{finding.line}", finding.reason] for finding in findings]
    return Result(
        {"problems": findings, "fixed": fixed, "undo": number},
        lines,
        rows,
        messages,
        exit_code=1 if findings else 0,
        # git shows this at each commit.
        nothing="" if staged else "No problems found.",
    )


def run_doctor(context: Context) -> Result:
    """Check the setup: this program, the workspace, the model, and the connected agents.

    mem runs the hook of each connected agent as the agent would, with a session that does not
    exist. Nothing is saved.

    \b
    Examples:
      mem doctor
      mem doctor --json
    """
    checks = diagnose(context, find_program(context), find_project(context))
    lines = []
    for check in checks:
        lines += wrap_text(context, f"{check.state:8} {check.name:10} {check.text}", 20)
        if check.hint:
            lines.append(f"{'':20}{check.hint}")
    rows = [[check.state, check.name, check.text, check.hint] for check in checks]
    # Warnings are no failure: mem works although an agent is not connected.
    has_error = any(check.state == ERROR for check in checks)
    return Result({"checks": checks}, lines, rows, exit_code=int(has_error))


def run_index(
    context: Context,
    rebuild: Annotated[bool, "Delete the index and build it again."] = False,
    sql: Annotated[bool, "Print the tables of a team's server for its administrator."] = False,
) -> Result:
    """Read every file and embed every text now, instead of little by little during searches.

    If a team shares the workspace, its memories are then pushed to the team's server.

    \b
    Examples:
      mem index
      mem index --rebuild
    """
    if sql:
        schema = data.path("team.sql").read_text("utf-8")
        return Result({"sql": schema}, schema.splitlines())
    items, lines, messages = [], [], []
    exit_code = 0
    for workspace in open_all(context):
        began = context.now
        # Refreshed below, where the user sees the progress.
        index = get_index(workspace)
        if rebuild:
            index.rebuild()
        index.refresh(build_progress(context, "reading"))
        index.embed_missing(None, progress=build_progress(context, "embedding"))
        files, texts = (
            index.run(f"select count(*) from {table}").fetchone()[0]
            for table in ("files", "chunks")
        )
        seconds = round((context.now - began).total_seconds(), 1)
        item = {"workspace": str(workspace.root), "files": files, "texts": texts}
        items.append({**item, "seconds": seconds})
        lines.append(f"{workspace.root}: {count_noun(files, 'file')}, {count_noun(texts, 'text')}")
        messages += index.messages
        if index.database.folder is None:
            messages.append(f"the index of {workspace.root} cannot be saved (see: mem doctor)")
            exit_code = 3
        try:
            pushed = push(workspace, build_progress(context, "pushing"))
        except UnavailableError as error:
            messages.append(f"the team's server: {error.message}; {error.hint}")
            exit_code = 3
            continue
        if not pushed.space:
            # The settings of a clone must not send memories to a server.
            if workspace.settings["team.space"] and not workspace.is_trusted:
                messages.append("not pushed to the team's server: trust the workspace (mem trust)")
            continue
        items[-1].update(asdict(pushed))
        lines.append(
            f"  {pushed.space}: {count_noun(pushed.shared, 'memory')} shared,"
            f" {pushed.pushed:,} pushed, {pushed.removed:,} removed"
        )
    return Result({"indexes": items}, lines, None, messages, exit_code=exit_code)


def describe_agents(connected: Sequence[str], others: Sequence[str], usage: Usage) -> list[str]:
    lines = []
    if connected:
        lines.append(f"Agents: {', '.join(AGENTS[name].title for name in connected)}")
    if others:
        titles = ", ".join(AGENTS[name].title for name in others)
        lines.append(f"Agents not connected: {titles} (mem hook install)")
    # Counted over all workspaces.
    if usage.sessions:
        lines.append(f"mem adds {usage.tokens_per_session:,} tokens to an agent's session (median)")
    return ["", *lines] if lines else []


def describe_workspace(
    workspace: Workspace, project: str, numbers: Statistics, pending: Pending, option: str
) -> list[str]:
    active = numbers.statuses.get("active", 0)
    lines = [
        f"{workspace.root}  ({workspace.reason})",
        f"  memories   {active:,} active{describe_others(workspace, numbers)}",
    ]
    if project:
        lines.insert(1, f"  project    {project}")
    if not workspace.is_trusted:
        lines.append("  trust      not trusted: its text does not count as yours (mem trust)")
    if numbers.not_embedded > FEW_TEXTS:
        lines.append(
            f"  pending    {count_noun(numbers.not_embedded, 'text')} to embed (mem index)"
        )
    if pending.questions:
        lines.append(f"  questions  {pending.questions:,} open (mem review)")
    if pending.fading:
        noun = count_noun(pending.fading, "memory")
        lines.append(f"  fading     {noun} (mem decay --dry-run{option})")
    if numbers.problems:
        lines.append(f"  problems   {numbers.problems:,} (mem check{option})")
    return lines


def describe_others(workspace: Workspace, numbers: Statistics) -> str:
    """Return how many memories are not active, by status."""
    others = [
        f"{count:,} {describe_status(workspace, status)}"
        for status, count in numbers.statuses.items()
        if status != "active"
    ]
    return f", {', '.join(others)}" if others else ""


def describe_statistics(workspace: Workspace, numbers: Statistics, usage: Usage) -> list[str]:
    lines = [
        f"  types      {format_counts(numbers.types)}",
        f"  sources    {format_counts(numbers.sources)}",
        f"  ages       {format_counts(numbers.ages)}",
        f"  new        {format_counts(numbers.growth)}",
        f"  shown      {count_noun(usage.shown, 'time')}; {usage.never_shown:,} never",
        f"  files      {format_counts(numbers.files)}",
        f"  size       {numbers.bytes // 1000 + 1:,} kB in {count_noun(numbers.texts, 'text')}",
        f"  undo log   {count_noun(len(read_log(workspace)), 'command')}",
    ]
    # The memories that are used most, below the number of uses.
    most = [f"             {item['count']:,} {item['text']}" for item in usage.most_shown]
    return [*lines[:5], *most, *lines[5:]]


def format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
