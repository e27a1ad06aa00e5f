"""mem hook: connect agents, git, cron and systemd."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

from typer import Argument

from ..agents.install import Connection, Installation, connect, disconnect, list_connections
from ..agents.schedule import (
    TARGETS,
    change_crontab,
    change_git_hooks,
    change_timer,
    list_schedules,
)
from ..agents.settings_file import is_tracked
from ..agents.table import AGENTS, find_agents, find_project, get_agent
from ..api import Context, MemError, NotFoundError, UsageError, open_all, open_existing
from ..store import Workspace, list_sessions
from .terminal import Result, ask, check_word, shorten_path

HOOK_FIELDS = (
    *Connection.__dataclass_fields__,
    "title",
    "changed",
    "notes",
    "connections",
    "agents",
)
ACTIONS = ("install", "uninstall", "ls")
MESSAGES = {
    "install": ("Connected", "Already connected: nothing was changed."),
    "uninstall": ("Disconnected", "Nothing to remove."),
}


def run_hook(
    context: Context,
    action: Annotated[str, Argument(help=f"One of: {', '.join(ACTIONS)}. Default: ls.")] = "ls",
    target: Annotated[
        str,
        Argument(
            help=f"One of: {', '.join((*AGENTS, *TARGETS))}. Default: all agents on this machine."
        ),
    ] = "",
    project: Annotated[bool, "Use the settings of this project, which git ignores."] = False,
) -> Result:
    """Connect agents, so that they receive memories and mem records their conversations.

    mem adds its hooks to your own settings of the agent; for opencode and Cursor, its MCP server.
    With --project it adds them to the settings of this project, and a short text about mem to
    CLAUDE.md, AGENTS.md or GEMINI.md.

    The target `git` adds two hooks: one checks memories before a commit, the other updates the
    index after a merge. The targets `cron` and `systemd` run `mem tend` for this workspace every
    hour.

    \b
    Examples:
      mem hook install claude-code
      mem hook ls
      mem hook uninstall claude-code
      mem hook install git
    """
    if target:
        check_word("target", target, (*AGENTS, *TARGETS))
    # `ls` shows git, cron and systemd next to the agents.
    if target in TARGETS and action in ACTIONS[:2]:
        done = [change_schedule(context, target, is_removal=action == "uninstall")]
        result = render_installations(context, done, [], action)
        # It is installed, and does not run.
        result.exit_code = 3 if done[0].notes else 0
        return result
    folder = find_project(context)
    if action == "ls":
        return render_connections(context, folder)
    check_word("action", action, ACTIONS)
    if action == "uninstall":
        # An agent may be connected in both settings.
        places = [folder] if project else [None, folder]
        names = [target] if target else list(AGENTS)
        calls = [partial(disconnect, context, name, place) for name in names for place in places]
        result = render_installations(context, *call_all(calls), action)
        schedules = [] if target else list_schedules(context, list_workspaces(context))
        # git has two hooks.
        remaining = dict.fromkeys((item.agent, item.scope) for item in schedules)
        for name, scope in remaining:
            option = " --scope user" if scope == "user" else ""
            message = f"{name} still runs mem: mem hook uninstall {name}{option}"
            result.messages = [*result.messages, message]
        return result
    names = [target] if target else find_agents(context)
    if not names:
        raise NotFoundError("found no agent on this machine", f"name one of: {', '.join(AGENTS)}")
    program = find_program(context)
    calls = []
    for name in names:
        with_page = not project or may_change_page(context, name, folder)
        place = folder if project else None
        calls.append(partial(connect, context, name, program, place, with_page=with_page))
    return render_installations(context, *call_all(calls), action)


def call_all(calls: Sequence[Callable[[], Installation]]) -> tuple[list[Installation], list[str]]:
    """Change every agent. Return the outcomes, and the problems of agents that were not changed."""
    done: list[Installation] = []
    problems = []
    for call in calls:
        try:
            done.append(call())
        except MemError as error:
            # The error of the only agent is that of the command, with its hint and exit code.
            if len(calls) == 1:
                raise
            problems.append(error.message)
    return done, problems


def change_schedule(context: Context, target: str, *, is_removal: bool) -> Installation:
    program = [] if is_removal else find_program(context)
    if target == "git":
        return change_git_hooks(context, program)
    change = change_crontab if target == "cron" else change_timer
    return change(open_existing(context), program)


def find_program(context: Context) -> list[str]:
    """Return the command that runs this mem from anywhere, even without PATH."""
    started_as = sys.argv[0]
    if os.path.basename(started_as) == "__main__.py":
        # `python -m memcli`. The agent does not have the variables of this shell.
        path = os.environ.get("PYTHONPATH", "")
        words = [sys.executable, "-P", "-m", "memcli"]
        return ["/usr/bin/env", f"PYTHONPATH={path}", *words] if path else words
    # A link is not resolved: the one in ~/.local/bin survives an upgrade, its target may not.
    path = context.environment.get("PATH", "")
    is_mem = os.path.basename(started_as) == "mem"
    # In a virtual environment that is not active, mem is next to Python and not in PATH.
    python_folder = os.path.dirname(sys.executable)
    program = shutil.which(started_as if is_mem else "mem", path=path) or shutil.which(
        "mem", path=python_folder
    )
    if program is None:
        raise NotFoundError("cannot find the program mem", "add its folder to PATH")
    # For example ~/.cache/uv/archive-v0/Xy12/bin/mem
    if "/uv/archive-" in program:
        raise UsageError(
            "uvx runs mem from a cache, which uv may empty", "install it: uv tool install memcli"
        )
    # It may have been started as `./mem`, and the agent runs in another folder.
    return [os.path.normpath(context.folder / program)]


def may_change_page(context: Context, name: str, project: Path) -> bool:
    """Return whether mem may add its text to a page of the project. Asks if git tracks it."""
    page = get_agent(name).page
    return not is_tracked(project, page) or ask(
        context, f"git tracks {page}. Add a short text about mem to it?"
    )


def render_installations(
    context: Context, done: Sequence[Installation], problems: Sequence[str], action: str
) -> Result:
    verb, nothing = MESSAGES[action]
    lines = []
    for installation in done:
        if installation.changed:
            agent = AGENTS.get(installation.agent)
            title = agent.title if agent else installation.agent
            paths = [shorten_path(context, path) for path in installation.changed]
            lines.append(f"{verb} {title}: {', '.join(paths)}")
        lines += installation.notes
    code = 3 if problems else 0
    nothing = "" if problems else nothing
    return Result({"agents": list(done)}, lines, messages=problems, exit_code=code, nothing=nothing)


def render_connections(context: Context, project: Path) -> Result:
    """Show the agents on this machine, and where mem is connected."""
    workspaces = list_workspaces(context)
    connections = list_connections(context, project) + list_schedules(context, workspaces)
    found = find_agents(context)
    last_days = find_last_days(workspaces)
    lines: list[str] = []
    rows: list[list[str]] = []
    for connection in connections:
        agent = AGENTS.get(connection.agent)
        title = agent.title if agent else connection.agent
        state = connection.error or f"connected in {shorten_path(context, connection.path)}"
        last_day = last_days.get(connection.agent)
        lines.append(f"{title}: {state}{f', last used {last_day}' if last_day else ''}")
        lines += [f"  {command}" for command in connection.commands]
        lines += [f"  plugin {connection.plugin}"] if connection.plugin else []
        commands = "; ".join(connection.commands)
        state = "error" if connection.error else "connected"
        rows.append([connection.agent, state, connection.scope, connection.path, commands])
    connected = {connection.agent for connection in connections}
    for name in found:
        if name not in connected:
            lines.append(f"{AGENTS[name].title}: not connected (mem hook install {name})")
            rows.append([name, "not connected", "", "", ""])
    data = {"connections": connections, "agents": found}
    nothing = "found no agent on this machine"
    return Result(data, lines, rows, exit_code=int(not lines), nothing=nothing)


def list_workspaces(context: Context) -> list[Workspace]:
    with suppress(MemError):
        return open_all(context)
    return []  # an agent can be connected before the first memory


def find_last_days(workspaces: Sequence[Workspace]) -> dict[str, str]:
    """Return the day of each agent's latest recorded conversation."""
    last: dict[str, str] = {}
    for workspace in workspaces:
        for session in sorted(list_sessions(workspace), key=lambda item: item.updated_at):
            last[session.agent] = workspace.describe_day(session.updated_at)
    return last
