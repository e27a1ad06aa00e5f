"""`mem hook run`, without the command line's own machinery: an agent waits for it at every prompt."""

import os
import sys
from collections.abc import Sequence

from ..agents.hooks import AGENTS, Answer, respond
from ..store.workspace import Workspace
from . import output


def run(arguments: Sequence[str]) -> bool:
    """Answer the event on standard input; tell whether threads may be busy still. Nothing is raised."""
    try:
        answer = _answer(arguments[0] if arguments else "")
        if hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="replace")
        output.say(answer.written(), end="")
        output.flush()
    except Exception:  # a closed pipe, a clock that makes no sense: the agent goes on
        return True
    return answer.is_late


def _answer(agent: str) -> Answer:
    from ..agents.hook_event import read_all
    from . import world

    if agent not in AGENTS or sys.stdin is None or sys.stdin.isatty():
        return Answer()
    around = world.surroundings()

    def detach(workspace: Workspace, words: Sequence[str], rest: float) -> bool:
        from ..agents.detached import detach

        return detach(workspace, os.environ, words, rest)

    return respond(agent, read_all(sys.stdin.buffer), around, world.noise, detach)
