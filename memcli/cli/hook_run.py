"""`mem hook run`, without the command line's own machinery: an agent waits for it at every prompt."""

import os
import sys
import time
from collections.abc import Callable, Sequence

from ..api.agents import Workspace, is_due
from ..api.workspace import surroundings
from ..integrations import AGENTS
from ..integrations.hooks import HookAnswer, read_all, respond
from . import output

SECONDS = 60.0
"""Seconds in which the same work is not begun again."""


def run(arguments: Sequence[str], *, is_alone: bool = False) -> bool:
    """Answer the event on standard input; return whether threads may be busy still. Nothing is raised.

    In a process that does nothing else (`is_alone`) what the agent need not wait for goes on behind it.
    """
    try:
        agent = arguments[0] if arguments else ""
        answer = _answer(agent, is_alone=is_alone)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        output.say(answer.written(agent), end="", raw=True)
        output.flush()
    except Exception:  # a closed pipe, a clock that makes no sense: the agent goes on
        return True
    return answer.is_late


def _answer(agent: str, *, is_alone: bool) -> HookAnswer:
    if agent not in AGENTS or sys.stdin is None or sys.stdin.isatty():
        return HookAnswer()
    around = surroundings()
    data = read_all(sys.stdin.buffer)
    if not is_alone:
        return respond(agent, data, around, detach)
    return respond(agent, data, around, detach, behind, process_start())


waiting: int | str = "self"
"""The process for whose end an agent waits: of a fork that answers for another one, that one."""


def process_start() -> float:
    """Return when the process began that an agent waits for, on the monotonic clock."""
    try:
        with open(f"/proc/{waiting}/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        age = time.process_time()
    return time.monotonic() - max(0.0, age)


def detach(workspace: Workspace, words: Sequence[str], seconds: float = SECONDS) -> bool:
    """Run `mem` with the words in a process of its own; return False if the same kind of work began a moment ago.

    It holds none of our pipes, or the agent would wait for it; git's variables would make it work on another
    repository than the one it is in.
    """
    import subprocess

    if not is_due(workspace, "-".join(words[:2]), seconds):
        return False
    ours = {name: value for name, value in workspace.environ.items() if not name.startswith("GIT_")}
    command = [sys.executable, "-P", "-m", "memcli", *words, "--workspace", str(workspace.root)]
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=nothing, env=ours, cwd=workspace.root, start_new_session=True
        )
    return True


def behind(work: Callable[[int], None], held: int) -> None:
    """Do the rest of an event in a fork of this process, for which the agent does not wait; `held` stays open there.

    For a process of one thread that has read its input, said all it has to say, and ends soon.
    """
    try:
        is_agents = os.fork() > 0
    except OSError:
        work(held)  # no room for another process
        return
    if is_agents:
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)  # an agent reads until nobody holds its pipes any more
        os.closerange(3, max(held, 3))
        os.closerange(max(held, 2) + 1, 256)
        work(held)
    finally:
        os._exit(0)
