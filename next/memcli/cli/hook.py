"""mem hook run AGENT: answer one event of an agent, given as JSON on standard input.

`__main__` calls this before typer is imported, because agents wait for it at every step. Whatever
happens, the exit code is 0: an agent must not stop because its memory does.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from ..agents.finder import can_have_workspace, find_state_folder

# `typing` takes 5 ms to import. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..agents.events import Event
    from ..context import Context
    from ..recall.lookup import Place

LARGEST = 16 * 1024 * 1024  # bytes of an event
SILENCE = 1.0  # seconds to wait for an agent that does not close its end
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
INSIDE = "MEM_INSIDE_LLM"  # set while mem itself asks an agent


def run_hook_process(arguments: Sequence[str]) -> int:
    """Answer the event on standard input. Return 0."""
    environment = os.environ
    agent = arguments[0] if arguments else ""
    try:
        data = b"" if environment.get(INSIDE) else read_input(0)
        if data.strip() and can_have_workspace(environment, data):
            answer_event(environment, agent, data)
    except Exception as error:
        from ..agents.hooks import log_error

        with suppress(Exception):
            log_error(agent, error, build_hook_context(os.getcwd()))
    return 0


def read_input(descriptor: int) -> bytes:
    """Read until the end, or until the writer falls silent."""
    from select import select

    if os.isatty(descriptor):
        return b""
    data = bytearray()
    while select([descriptor], [], [], SILENCE)[0]:
        part = os.read(descriptor, 1 << 20)
        if not part:
            break
        # The rest is read too, or the agent would see a closed pipe.
        if len(data) <= LARGEST:
            data += part
    return bytes(data)


def answer_event(environment: Mapping[str, str], agent: str, data: bytes) -> None:
    """Print the answer to an event, and record a tool call without keeping the agent waiting."""
    from ..agents.events import AGENTS, build_answer, parse_event

    event = parse_event(data)
    if agent not in AGENTS or event is None:
        reason = f"unknown agent {agent!r}; one of: {', '.join(AGENTS)}"
        sys.stderr.write("mem: not an event in JSON\n" if agent in AGENTS else f"mem: {reason}\n")
        return
    event = event._replace(folder=event.folder or os.getcwd())
    if event.name not in TOOL_EVENTS:
        from ..agents.hooks import respond

        write_output(respond(event, agent, build_hook_context(event.folder)))
        return
    if event.name == "PreToolUse" or event.error:
        from ..agents.quick import answer_quickly

        state_folder = find_state_folder(environment)
        text = answer_quickly(event, state_folder, lambda: find_places(event.folder))
        write_output(build_answer(event.name, text))
    # What a subagent does is nobody's conversation.
    if event.name != "PreToolUse" and not event.subagent:
        run_in_background(lambda: record_in_background(event, agent))


def build_hook_context(folder: str) -> "Context":
    """Build the context of this process, in the folder of the agent."""
    from pathlib import Path

    from ..context import build_process_context

    return build_process_context()._replace(folder=Path(folder), is_terminal=False)


def find_places(folder: str) -> "tuple[Sequence[Place], int]":
    """Find the workspaces of a folder that no earlier hook of the session has noted."""
    from ..agents.hooks import build_places
    from ..api import open_all
    from ..errors import MemError

    try:
        return build_places(open_all(build_hook_context(folder)))
    except MemError:
        return (), 0


def record_in_background(event: "Event", agent: str) -> None:
    from ..agents.hooks import record_tool_call

    record_tool_call(event, agent, build_hook_context(event.folder))


def write_output(text: str) -> None:
    """Print an answer, also half of a character or to an agent that has gone away."""
    if text:
        with suppress(OSError):
            os.write(1, f"{text}\n".encode("utf-8", "replace"))


def run_in_background(work: "Callable[[], None]") -> None:
    """Do something in a process of its own, for which the agent does not wait."""
    if os.fork():
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        # The agent waits for the end of these streams.
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        work()
    finally:
        os._exit(0)
