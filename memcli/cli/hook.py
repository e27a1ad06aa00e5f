"""mem hook run AGENT: answer one event of an agent, given as JSON on standard input.

`__main__` calls this before typer is imported, because agents wait for it at every step. Whatever
happens, the exit code is 0: an agent must not stop because its memory does.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress

from ..llm import INSIDE_VARIABLE

# `typing` takes 5 ms to import. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..agents.events import Event
    from ..context import Context
    from ..recall import Place

LARGEST = 16 * 1024 * 1024  # bytes of an event
# Some agents keep the pipe open until the hook has answered.
SILENCE = 1.0  # seconds to wait for an agent that does not close its end
TOOL_EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure")
SERVED_EVENTS = (b"SessionStart", b"UserPromptSubmit")
# The agent expects no answer to these, so it need not wait.
SILENT_EVENTS = ("Stop", "StopFailure", "SessionEnd")
MARKS = ("mem.yaml", "memory/mem.yaml")  # of a folder with a workspace


def run_hook_process(arguments: Sequence[str]) -> int:
    """Answer the event on standard input. Return 0."""
    environment = os.environ
    agent = arguments[0] if arguments else ""
    try:
        data = b"" if environment.get(INSIDE_VARIABLE) else read_input(0)
        if data.strip() and can_have_workspace(environment, data):
            if not answer_from_server(environment, agent, data):
                answer_event(environment, agent, data)
    except Exception as error:
        from ..api import log_error

        with suppress(Exception):
            log_error(build_hook_context(os.getcwd()), agent, error)
    return 0


def read_input(descriptor: int) -> bytes:
    """Read until the end, or until the writer pauses for SILENCE seconds."""
    from select import select

    # Somebody typed the command to see what it does; nothing will come.
    if os.isatty(descriptor):
        return b""
    data = bytearray()
    while select([descriptor], [], [], SILENCE)[0]:
        part = os.read(descriptor, 1 << 20)
        if not part:
            break
        # A longer event is read to its end, or the agent would see a closed pipe.
        if len(data) <= LARGEST:
            data += part
    return bytes(data)


def answer_from_server(environment: Mapping[str, str], agent: str, data: bytes) -> bool:
    """Print the answer of `mem serve` to a start or a prompt. Return False if it has none."""
    # The moments around a tool call are faster without a server: they load no model.
    if not any(name in data for name in SERVED_EVENTS):
        return False
    from . import ask

    address = ask.find_address(environment)
    answer = (
        ask.ask_server(address, ["hook", "run", agent], data) if os.path.exists(address) else None
    )
    if answer is None:
        return False
    write_output(answer[2].decode("utf-8", "surrogateescape"))
    if b"UserPromptSubmit" in data:
        from ..agents.events import parse_event
        from ..recall import lock_session

        # The new process inherits the lock and records the prompt before what follows it.
        event = parse_event(data)
        lock_session(find_state_folder(environment), event.session if event else "")
    run_in_background(lambda: finish_served(agent, data))
    return True


def finish_served(agent: str, data: bytes) -> None:
    """Do the background work of an event that `mem serve` has answered."""
    from ..agents.events import read_event

    event, agent = read_event(agent, data, os.getcwd())
    if event is not None:
        do_work(event, agent)


def answer_event(environment: Mapping[str, str], agent: str, data: bytes) -> None:
    """Print the answer to an event, and record a tool call without keeping the agent waiting."""
    from ..agents.events import AGENTS, build_answer, read_event

    event, agent = read_event(agent, data, os.getcwd())
    if event is None:
        reason = f"unknown agent {agent!r}; one of: {', '.join(AGENTS)}"
        sys.stderr.write("mem: not an event in JSON\n" if agent in AGENTS else f"mem: {reason}\n")
        return
    state_folder = find_state_folder(environment)
    if event.name in SILENT_EVENTS:
        from ..recall import lock_session

        # The new process inherits the lock, so the end of the session comes after the last turn.
        # If the agent is all that runs in a container, its end is that of our processes too.
        lock = lock_session(state_folder, event.session)
        run_in_background(lambda: do_work(event, agent, lock))
    elif event.name in TOOL_EVENTS:
        if event.name == "PreToolUse" or event.error:
            from ..agents.quick import answer_quickly

            text = answer_quickly(event, state_folder, lambda: find_places(event.folder))
            write_output(build_answer(event, agent, text))
        # A subagent's calls are not part of the user's conversation.
        if event.name != "PreToolUse" and not event.subagent:
            from ..recall import lock_session

            run_in_background(
                lambda: do_work(event, agent, lock_session(state_folder, event.session))
            )
    else:
        if event.name == "SessionStart":
            # First: a process that has loaded the model must not fork.
            run_in_background(lambda: do_work(event, agent))
        from ..agents.hooks import respond
        from ..recall import lock_session

        lock_session(state_folder, event.session)
        write_output(respond(event, agent, build_hook_context(event.folder)))


def build_hook_context(folder: str) -> "Context":
    """Build the context of this process, in the folder of the agent."""
    from pathlib import Path

    from ..context import build_process_context

    return build_process_context()._replace(folder=Path(folder), is_terminal=False)


def find_places(folder: str) -> "tuple[Sequence[Place], int]":
    """Find the workspaces of a folder, if no earlier hook of the session has saved them."""
    from ..agents.quick import build_places
    from ..api import MemError, open_all

    try:
        return build_places(open_all(build_hook_context(folder)))
    except MemError:
        return (), 0


def write_output(text: str) -> None:
    """Print an answer. Tolerates lone surrogates and an agent that has exited."""
    if text:
        with suppress(OSError):
            os.write(1, f"{text}\n".encode("utf-8", "replace"))


def run_in_background(work: Callable[[], None]) -> None:
    """Do some work in a separate process, for which the agent does not wait."""
    reader, writer = os.pipe()
    if os.fork():
        # An agent may kill the process group of its hook as soon as the hook ends.
        os.close(writer)
        os.read(reader, 1)
        os.close(reader)
        return
    try:
        # A Ctrl-C in the terminal of the agent must not end this work.
        os.setsid()
        os.close(writer)
        nothing = os.open(os.devnull, os.O_RDWR)
        # The agent waits for the end of these streams.
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        work()
    finally:
        os._exit(0)


def do_work(event: "Event", agent: str, lock: int = -1) -> None:
    """Do the background work of an event. `lock` is that of its session, if this process has it."""
    from ..agents.hooks import (
        prepare_session,
        record_prompt,
        record_tool_call,
        respond,
        update_index,
    )

    work = {
        "SessionStart": prepare_session,
        "UserPromptSubmit": record_prompt,
        **dict.fromkeys(SILENT_EVENTS, respond),
    }
    context = build_hook_context(event.folder)
    work.get(event.name, record_tool_call)(event, agent, context)
    if event.name == "Stop":
        if lock >= 0:
            os.close(lock)  # the end of the session need not wait for the index
        update_index(event, agent, context)


def can_have_workspace(environment: Mapping[str, str], data: bytes) -> bool:
    """Return whether the folder of an event, or its user, may have a workspace."""
    if environment.get("MEM_WORKSPACE"):
        return True
    # A look at some paths takes microseconds. Without a workspace, the hook ends here.
    own = find_home_folder(environment, "XDG_DATA_HOME", ".local/share")
    if own and os.path.exists(f"{own}/mem.yaml"):
        return True
    # Some agents start hooks in their own folder, others leave out the folder in the event.
    for folder in (read_folder(data), os.getcwd()):
        for parent in list_parents(folder):
            # A file `.git` leads to the main worktree, which may have the workspace.
            if os.path.isfile(f"{parent}/.git"):
                return True
            if any(os.path.exists(f"{parent}/{mark}") for mark in MARKS):
                return True
    return False


def read_folder(data: bytes) -> str:
    """Return the folder that an event names, if possible without `json`: 5 ms to import."""
    _, _, rest = data.partition(b'"cwd"')
    parts = rest.split(b'"', 2)
    if len(parts) < 3 or parts[0].strip() != b":":
        return ""
    if b"\\" not in parts[1]:
        return os.fsdecode(parts[1])
    import json

    with suppress(ValueError, RecursionError, AttributeError):
        return str(json.loads(data).get("cwd"))
    return ""


def list_parents(folder: str) -> Iterator[str]:
    """Yield a folder and every folder above it."""
    while folder.startswith("/") and "\0" not in folder:
        yield folder
        parent = os.path.dirname(folder)
        folder = parent if parent != folder else ""


def find_state_folder(environment: Mapping[str, str]) -> str:
    """Return the folder with the records of sessions, or an empty string without a home."""
    return find_home_folder(environment, "XDG_STATE_HOME", ".local/state")


def find_home_folder(environment: Mapping[str, str], variable: str, default: str) -> str:
    """Return the folder of mem in an XDG folder, or an empty string without a home."""
    chosen, home = environment.get(variable, ""), environment.get("HOME", "")
    if chosen.startswith("/"):
        return f"{chosen}/mem"
    return f"{home}/{default}/mem" if home.startswith("/") else ""
