"""Check the setup: this program, the workspaces, the model, and the connected agents.

A connection is checked by running its hooks as the agent would.
"""

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from socket import create_connection
from urllib.parse import urlsplit

from .. import __version__
from ..api import Context, MemError
from ..formats import count_noun, format_time
from ..index import open_embedder, open_index
from ..recall import load_shown
from ..store import LOG, Workspace, find_repository, get_workspaces, open_lock, run_git
from ..team.connection import SEARCH_SECONDS, find_space, open_team
from .install import Connection, build_command, list_connections
from .schedule import list_schedules, run_program
from .table import AGENTS, find_agents

OK, WARNING, ERROR = "ok", "warning", "error"
SLOW_HOOK = 3.0  # seconds that a user notices at every start
HOOK_SECONDS = 30.0
LOCK_SECONDS = 1.0  # to wait for the lock of a workspace
LLM_SECONDS = 1.0  # to connect
LOG_DAYS = 7  # problems in the log are shown for so long
SHOWN_PROBLEMS = 3


@dataclass
class Check:
    """Whether one part of the setup works."""

    name: str
    state: str  # ok, warning or error
    text: str
    hint: str = ""


def diagnose(context: Context, program: Sequence[str], project: Path) -> list[Check]:
    """Return the outcome of every check. `program` is how an agent would run this mem."""
    version = ".".join(map(str, sys.version_info[:3]))
    checks = [Check("mem", OK, f"{__version__} with Python {version}: {shlex.join(program)}")]
    checks += check_state_folder(context)
    try:
        workspaces = get_workspaces(context)
    except MemError as error:
        workspaces = []
        checks.append(Check("workspace", WARNING, error.message, error.hint))
    for workspace in workspaces:
        checks += check_workspace(workspace)
    checks += check_model(context)
    if workspaces:
        checks += check_llm(workspaces[0])
    connections = list_connections(context, project)
    for connection in connections:
        checks += check_connection(context, connection, program)
    # The hooks of the plugin and those of `mem hook install` would both answer.
    connected = [item.agent for item in connections if item.commands or item.plugin]
    for name in AGENTS:
        if connected.count(name) > 1:
            hint = f"mem hook uninstall {name} --project"
            checks.append(Check("agent", WARNING, f"{AGENTS[name].title} runs mem twice", hint))
    for name in find_agents(context):
        if name not in connected:
            hint = f"connect it: mem hook install {name}"
            checks.append(Check("agent", WARNING, f"{AGENTS[name].title} is not connected", hint))
    checks += check_git_hook(context)
    # Last, because the hooks that were just run report their failures only in the log.
    for workspace in workspaces:
        checks += check_log(workspace)
    return checks


def check_state_folder(context: Context) -> Iterator[Check]:
    """Check that the state of this machine can be saved."""
    folder = context.state_folder
    if folder is None:
        yield Check("state", ERROR, "no HOME, so there is no undo and no trust", "set HOME")
        return
    # mem creates the folder when it first writes to it.
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if os.access(existing, os.W_OK):
        yield Check("state", OK, str(folder))
    else:
        hint = f"make {existing} writable, or set XDG_STATE_HOME"
        yield Check("state", ERROR, f"{folder} cannot be written: no undo, no index", hint)


def check_workspace(workspace: Workspace) -> Iterator[Check]:
    root = workspace.root
    is_writable = os.access(root, os.W_OK)
    state = OK if is_writable else WARNING
    yield Check(
        "workspace", state, f"{root} ({workspace.reason}){'' if is_writable else ', read-only'}"
    )
    if not workspace.is_trusted:
        text = f"{root} is not trusted: its text does not count as yours"
        yield Check("trust", WARNING, text, "mem trust")
    yield from check_lock(workspace)
    yield from check_index(workspace)
    yield from check_team(workspace)
    if not workspace.is_own:
        yield from check_git(workspace)


def check_lock(workspace: Workspace) -> Iterator[Check]:
    path = workspace.root / ".mem" / "lock"
    if path.exists():
        try:
            os.close(open_lock(path, LOCK_SECONDS))
        except MemError as error:
            yield Check("lock", WARNING, error.message, f"find the process: fuser {path}")
        except OSError as error:
            yield Check("lock", ERROR, f"{path}: {error.strerror}")


def check_index(workspace: Workspace) -> Iterator[Check]:
    try:
        index = open_index(workspace)
        entries = index.run("select count(*) from entries").fetchone()[0]
        missing = index.run("select count(*) from chunks where vector is null").fetchone()[0]
    except (MemError, OSError) as error:
        yield Check("index", ERROR, f"the index cannot be used: {error}", "mem index --rebuild")
        return
    for message in index.messages:
        yield Check("index", WARNING, message)
    if index.database.folder is None:
        yield Check("index", WARNING, "each command reads all files: the index cannot be saved")
    elif missing:
        yield Check("index", WARNING, f"{count_noun(missing, 'text')} to embed", "mem index")
    else:
        yield Check("index", OK, f"{count_noun(entries, 'memory')}, up to date")
    if index.list_problems():
        yield Check("files", WARNING, "some have problems", "mem check")


def check_team(workspace: Workspace) -> Iterator[Check]:
    name = find_space(workspace)
    if name:
        try:
            with open_team(workspace, SEARCH_SECONDS) as team:
                check = Check("team", OK, f"{team.role} in {name}")
        except MemError as error:
            check = Check("team", WARNING, f"the team's server: {error.message}", error.hint)
        yield check


def check_git(workspace: Workspace) -> Iterator[Check]:
    """Check that git ignores a private workspace, and say which worktree the memory is in."""
    repository = find_repository(workspace.context.folder)
    if repository is not None and repository.is_linked:
        main = repository.main
        text = f"a linked worktree of {main}" if main else "a worktree without a main worktree"
        commit_there = "; commit it there" if workspace.is_shared else ""
        yield Check("worktree", OK, f"{text}: the memory is in {workspace.root}{commit_there}")
    if find_repository(workspace.root) is None:
        return
    if workspace.is_shared:
        yield Check("git", OK, "shared: git carries this memory")
        driver = ""
        with suppress(MemError):
            driver = run_git(workspace.root, "config", "merge.mem.driver").decode()
        if not os.access(find_first_word(driver), os.X_OK):
            text = "git merges this memory as plain text: its merge driver is missing"
            yield Check("git", WARNING, text, "mem trust")
        return
    with suppress(MemError):
        # Excluding a path has no effect on files that git tracks already.
        tracked = run_git(workspace.root, "ls-files", "--", ".").splitlines()
        own_repository = (workspace.root / ".git").exists()
        if tracked and not own_repository:
            hint = f"git rm -r --cached {shlex.quote(str(workspace.root))}"
            yield Check("git", ERROR, f"private, but git tracks {len(tracked)} of its files", hint)
        else:
            yield Check("git", OK, "its own repository" if own_repository else "private")


def check_git_hook(context: Context) -> Iterator[Check]:
    """Check that git runs the hook before a commit, and that its program exists."""
    for hook in list_schedules(context, []):
        if hook.error:
            yield Check("git", ERROR, hook.error)
            continue
        first = find_first_word(hook.commands[0])
        if hook.path.endswith("pre-commit") and not os.access(first, os.X_OK):
            text = f"commits are not checked: {hook.path} runs {first},"
            yield Check("git", ERROR, f"{text} which does not exist", "mem hook install git")


def check_model(context: Context) -> Iterator[Check]:
    started = time.monotonic()
    try:
        open_embedder(context.cache_folder, is_bulk=False).embed(["test"])
    except MemError as error:
        yield Check("model", ERROR, error.message, error.hint)
    else:
        yield Check("model", OK, f"loads in {time.monotonic() - started:.2f} s")


def check_llm(workspace: Workspace) -> Iterator[Check]:
    """Check that the program or library is installed, or the server answers. Nothing is sent."""
    command, url, model = (
        str(workspace.settings[f"llm.{name}"]) for name in ("command", "url", "model")
    )
    if command:
        words = shlex.split(command) or [""]
        if shutil.which(words[0], path=workspace.context.environment.get("PATH", os.defpath)):
            yield Check("llm", OK, f"the command {command}")
        else:
            yield Check("llm", ERROR, f"{words[0]} is not found", "mem config edit --user")
    elif url:
        text = f"{model or 'the default model'} at {url}"
        parts = urlsplit(url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            create_connection((str(parts.hostname), port), LLM_SECONDS).close()
            yield Check("llm", OK, text)
        except (OSError, ValueError) as error:
            hint = "start the server, or change llm.url: mem config edit --user"
            yield Check("llm", ERROR, f"{text}: {error}", hint)
    elif model and find_spec("litellm") is None:
        hint = "set llm.command or llm.url, or in mem's repository: pipx install --force '.[llm]'"
        yield Check("llm", ERROR, f"{model} needs litellm, which is not installed", hint)
    elif model:
        yield Check("llm", OK, f"{model} through litellm")
    else:
        text = "none: mem learns requests, rules, preferences, corrections"
        yield Check("llm", OK, text, "mem config set --user llm.command 'claude -p'")


def check_connection(
    context: Context, connection: Connection, program: Sequence[str]
) -> Iterator[Check]:
    """Check an agent's settings, and run the hook in them as the agent would."""
    agent = AGENTS[connection.agent]
    again = f"mem hook install {connection.agent}"
    again += " --project" if connection.scope == "project" else ""
    if connection.error:
        yield Check("agent", ERROR, connection.error, "fix the file; mem did not change it")
        return
    if connection.plugin:
        yield Check("agent", OK, f"{agent.title} uses the plugin {connection.plugin}")
    for command in connection.commands:
        first = find_first_word(command)
        is_current = command == build_command(connection.agent, program)
        if not os.access(first, os.X_OK):
            text = f"{agent.title} runs {first}, which does not exist"
            yield Check("agent", ERROR, text, again)
        elif agent.mcp_key:
            yield Check("agent", OK, f"{agent.title} starts {command}")
        elif connection.scope == "project" and not is_current:
            # The settings of a project may come from a stranger, so nothing in them is run.
            text = f"{agent.title} runs another command in {connection.path}: {command}"
            yield Check("agent", WARNING, text, again)
        else:
            yield run_hook_command(context, connection.agent, command)
            if not is_current:
                yield Check("agent", WARNING, f"{agent.title} runs another mem: {first}", again)


def run_hook_command(context: Context, name: str, command: str) -> Check:
    """Run a hook's command for the start of a session that does not exist.

    PATH has only the system's folders, as in an agent that was started from the desktop.
    """
    title = AGENTS[name].title
    session = f"mem-doctor-{os.getpid()}"
    event = {
        "hook_event_name": AGENTS[name].events[0],
        "session_id": session,
        "cwd": str(context.folder),
        "source": "startup",
    }
    # A check must not start a consolidation.
    environment = {**context.environment, "PATH": os.defpath, "MEM_CONSOLIDATE_AUTOMATIC": "false"}
    started = time.monotonic()
    done = run_program(
        context._replace(environment=environment),
        ["/bin/sh", "-c", command],
        json.dumps(event),
        HOOK_SECONDS,
    )
    seconds = time.monotonic() - started
    delete_record(context, session)
    if done is None:
        return Check("agent", ERROR, f"{title}: the hook ran longer than {HOOK_SECONDS:g} s")
    errors = done.stderr.strip()
    if errors or done.returncode:
        reason = errors.splitlines()[-1] if errors else f"exit code {done.returncode}"
        return Check("agent", ERROR, f"{title}: the hook failed: {reason}")
    if done.stdout.strip():
        try:
            json.loads(done.stdout)
        except ValueError:
            return Check("agent", ERROR, f"{title}: the hook's answer is not JSON")
    answer = f"{len(done.stdout):,} bytes" if done.stdout.strip() else "nothing to show"
    state = OK if seconds < SLOW_HOOK else WARNING
    return Check("agent", state, f"{title}: the hook answers in {seconds:.2f} s ({answer})")


def check_log(workspace: Workspace) -> Iterator[Check]:
    """Show the problems that no user could see when they happened."""
    folder = workspace.machine.folder
    if folder is None:
        return
    since = format_time(workspace.now - timedelta(days=LOG_DAYS))
    try:
        lines = (folder / LOG).read_text("utf-8", "replace").splitlines()
    except OSError:
        return
    recent = [line for line in lines if line[:4].isdecimal() and line >= since]
    for line in recent[-SHOWN_PROBLEMS:]:
        yield Check("log", WARNING, line)
    if len(recent) > SHOWN_PROBLEMS:
        yield Check(
            "log",
            WARNING,
            f"{len(recent) - SHOWN_PROBLEMS} more problems in the last {LOG_DAYS} days",
            f"read {folder / LOG}",
        )


def find_first_word(command: str) -> str:
    try:
        return shlex.split(command)[0]
    except (ValueError, IndexError):
        return command  # a quote is missing, or the command is empty


def delete_record(context: Context, session: str) -> None:
    """Delete the record of a session, and its lock."""
    record = Path(load_shown(str(context.state_folder or ""), session).path)
    for file in record.parent.glob(f"{record.name}*") if record.name else ():
        file.unlink(missing_ok=True)
