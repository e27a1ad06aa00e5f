"""`mem hook run`, without the command line's own machinery: an agent waits for it at every prompt."""

import os
import sys
import time
from collections.abc import Sequence

from ..api.workspace import surroundings
from ..integrations.hooks import background
from ..integrations.hooks.dispatch import AGENTS, HookAnswer, read_all, respond
from . import output


def run(arguments: Sequence[str], *, is_alone: bool = False) -> bool:
    """Answer the event on standard input; tell whether threads may be busy still. Nothing is raised.

    In a process that does nothing else (`is_alone`) what the agent need not wait for goes on behind it.
    """
    try:
        answer = _answer(arguments[0] if arguments else "", is_alone=is_alone)
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        output.say(answer.written(), end="", raw=True)
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
        return respond(agent, data, around, background.detach)
    return respond(agent, data, around, background.detach, background.behind, process_start())


def process_start() -> float:
    """Return when this process began, on the monotonic clock: an agent waits from then on."""
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not Linux
        age = time.process_time()
    return time.monotonic() - max(0.0, age)
