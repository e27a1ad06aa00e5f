"""Whether installed hooks work: our own command is rebuilt from the table and run with a sample of each event.

What stands in a settings file is compared with what mem writes there, and never run.
"""

import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Annotated, Any

from ...api.agents import Surroundings, Workspace, open_workspaces
from ...api.stats import index
from ...dataclass import dataclass
from ...errors import MemError, UsageError
from ...results import IF_ANY, Result
from .. import AGENTS, PROMPT, START, TOOL, TURN
from . import agent_settings
from .targets import Destination, destination_of, status

_SAMPLES: Mapping[str, Mapping[str, object]] = {
    START: {"source": "startup"},
    PROMPT: {"prompt": "What do you know about this project?"},
    TOOL: {"error": "command not found: pnpm"},
    TURN: {"stop_hook_active": False},
}
_TOKEN = 3.5  # characters
_SHOWN = 300  # characters of a hook that is not ours


@dataclass(frozen=True)
class TriedEvent:
    """What came of a sample of an event."""

    agent: Annotated[str, "the agent"]
    event: Annotated[str, "the event, as the agent calls it"]
    outcome: Annotated[str, "ok, empty or error"]
    milliseconds: Annotated[int, "how long it took"]
    tokens: Annotated[int, "about how many tokens the agent is given"] = 0
    error: Annotated[str, "what went wrong", IF_ANY] = ""


@dataclass(frozen=True)
class HookDiagnosis(Result):
    """Whether the installed hooks of agents work."""

    tried: Annotated[tuple[TriedEvent, ...], "the events that were tried"]
    faults: Annotated[tuple[str, ...], "what is wrong with what is installed"]
    notes: Annotated[tuple[str, ...], "what is not installed, and what mem cannot see"]

    @property
    def is_fine(self) -> Annotated[bool, "whether nothing is wrong"]:
        """Return whether hooks are as they should be and each event was answered."""
        return not self.faults and all(tried.outcome != "error" for tried in self.tried)


def diagnose(target: str, around: Surroundings) -> HookDiagnosis:
    """Try the hooks of an agent, or of all, that are installed for the project and the user.

    Nothing is kept of it. Raise UsageError for an unknown agent.
    """
    if target and target not in AGENTS:
        raise UsageError(f"no agent {target!r}", f"use one of {', '.join(AGENTS)}")
    faults: list[str] = []
    notes: list[str] = []
    events: list[tuple[str, str]] = []
    for name in [target] if target else AGENTS:
        installed: set[str] = set()
        for is_user in (False, True):
            to = destination_of(name, around, user=is_user)
            try:
                installed.update(event for hooks in status(name, to) for event in hooks.events)
                faults += _faults_in(name, to)
            except MemError as error:
                faults.append(str(error))
        events += [(name, event) for event in AGENTS[name].events if event in installed]
        if not installed:
            notes.append(f"{AGENTS[name].title}: not installed")
        elif AGENTS[name].condition:
            notes.append(AGENTS[name].condition)
    if not events:
        faults.append(f"no hooks are installed: mem hook install {target or 'AGENT'}")
    workspaces = []
    try:
        workspaces = open_workspaces(folder=around.folder, environ=around.environ, now=around.now)
    except MemError as error:
        faults.append(f"hooks do nothing here: {error}")
    if workspaces and not workspaces[0].settings["hooks.enabled"]:
        faults.append("hooks do nothing here: hooks.enabled is off")
    tried = [_try(name, event, around, workspaces[0]) for name, event in events if workspaces]
    was_told = any(row.outcome == "ok" for row in tried)
    if tried and not was_told and not any(row.chunks for row in index(workspaces, status=True).workspaces):
        notes.append('nothing is in memory yet, so there is nothing to tell: `mem write "…"`')
    within = workspaces[0].settings["hooks.within"] if workspaces else 0
    for row in tried:
        if AGENTS[row.agent].events[row.event].act == PROMPT and row.milliseconds > within:
            late = "what is found later comes with the next prompt"
            notes.append(f"{row.event} took longer than hooks.within ({within:,} ms): {late}")
    return HookDiagnosis(tuple(tried), tuple(faults), tuple(notes))


def _faults_in(name: str, to: Destination) -> list[str]:
    """Tell what stands otherwise in the settings of an agent than mem would write it."""
    agent, faults = AGENTS[name], []
    programs = {"mem", to.program, shlex.quote(to.mem_path)}
    commands = {agent_settings.command_of(name, program) for program in programs}
    ours = [agent_settings.hooks_of(agent, command, tools=True) for command in commands]
    again = f"`mem hook install {name}{' --user' if to.is_user else ''}` again"
    for hooks in status(name, to):
        path = Path(hooks.path)
        for event, hook in agent_settings.installed_hooks(path):
            if not any(hooks_of_agent.get(event) == hook for hooks_of_agent in ours):
                faults.append(f"{path}: {event} is not as mem writes it, and was not run: {json.dumps(hook)[:_SHOWN]}")
        missing = [event for event, row in agent.events.items() if not row.is_optional and event not in hooks.events]
        if hooks.events and missing:
            faults.append(f"{path}: not installed: {', '.join(missing)}: {again}")
        if hooks.missing:
            faults.append(f"{path}: {hooks.missing} is not found: put it into a folder of PATH, or {again}")
    return faults


def _try(name: str, event: str, around: Surroundings, workspace: Workspace) -> TriedEvent:
    """Run our command for an event in the place of the conversation, with writing off and without a session.

    It is waited for as long as the agent would, to see what it takes: a search that is late is no fault.
    """
    row = AGENTS[name].events[event]
    sample = {"hook_event_name": event, "cwd": str(around.folder), **_SAMPLES.get(row.act, {})}
    log = workspace.derived / "log"
    logged = _text(log)
    began = monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "memcli", "hook", "run", name],
            input=json.dumps(sample).encode(),
            capture_output=True,
            check=False,
            cwd=around.folder,
            env={**around.environ, "MEM_MEMORY_WRITING": "off", "MEM_HOOKS_WITHIN": str(1000 * row.seconds)},
            timeout=row.seconds,
        )
        out, error = done.stdout, done.stderr.decode("utf-8", "replace").strip()
        if done.returncode:
            error = error or f"exit code {done.returncode}"
    except subprocess.TimeoutExpired:
        out, error = b"", f"took longer than {row.seconds} s"
    except OSError as fault:
        out, error = b"", str(fault)
    milliseconds = round(1000 * (monotonic() - began))
    error = error or _text(log).removeprefix(logged).strip()
    context = ""
    if out.strip() and not error:
        try:
            context = _context(json.loads(out), is_flat=AGENTS[name].is_flat)
        except (ValueError, TypeError, KeyError):
            error = f"not what {AGENTS[name].title} reads: {out[:100].decode('utf-8', 'replace')}"
    outcome = "error" if error else "ok" if context else "empty"
    return TriedEvent(name, event, outcome, milliseconds, ceil(len(context) / _TOKEN), error)


def _context(document: Any, *, is_flat: bool) -> str:
    text = (document if is_flat else document["hookSpecificOutput"])["additionalContext"]
    if not isinstance(text, str):
        raise TypeError
    return text


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""
