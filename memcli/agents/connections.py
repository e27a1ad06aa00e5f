"""Check the connections of agents: run their hooks as the agents would."""

import json
import os
import re
import shlex
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..context import Context
from ..recall.shown import load_shown
from .install import Connection, build_command
from .schedule import run_program
from .table import AGENTS

OK, WARNING, ERROR = "ok", "warning", "error"
SLOW_HOOK = 3.0  # seconds that a user notices at every start
HOOK_SECONDS = 30.0
VERSION_SECONDS = 10.0


@dataclass
class Check:
    """Whether one part of the setup works."""

    name: str
    state: str  # ok, warning or error
    text: str
    hint: str = ""


def check_connection(
    context: Context, connection: Connection, program: Sequence[str]
) -> Iterator[Check]:
    """Check an agent's settings, and run their hook as the agent would."""
    agent = AGENTS[connection.agent]
    again = f"mem hook install {connection.agent}"
    again += " --project" if connection.scope == "project" else ""
    if connection.error:
        yield Check("agent", ERROR, connection.error, "fix the file; mem did not change it")
        return
    yield from check_version(context, connection.agent)
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


def check_version(context: Context, name: str) -> Iterator[Check]:
    agent = AGENTS[name]
    if not agent.minimum:
        return
    done = run_program(context, [agent.program, "--version"], seconds=VERSION_SECONDS)
    match = re.search(r"\d+(?:\.\d+)+", done.stdout) if done else None
    if match and parse_version(match[0]) < parse_version(agent.minimum):
        text = f"{agent.title} {match[0]} is older than {agent.minimum}: some moments are missing"
        yield Check("agent", WARNING, text, f"update {agent.title}")


def find_first_word(command: str) -> str:
    try:
        return shlex.split(command)[0]
    except ValueError:
        return command  # a quote is missing


def parse_version(text: str) -> list[int]:
    return [int(part) for part in text.split(".")]


def delete_record(context: Context, session: str) -> None:
    """Delete the record of what a session was shown, and its lock."""
    record = Path(load_shown(str(context.state_folder or ""), session).path)
    for file in record.parent.glob(f"{record.name}*") if record.name else ():
        file.unlink(missing_ok=True)


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
