"""A conversation of an agent, given to the hooks event by event."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem

Say = Callable[..., str]


@pytest.fixture
def say(mem: Mem, workspace: Path) -> Say:
    """Give one event to the hooks; give the context they answer with."""

    def answered(name: str, agent: str = "claude-code", session: str = "s1", **fields: object) -> str:
        event = {"hook_event_name": name, "session_id": session, "cwd": str(workspace.parent), **fields}
        ran = mem("hook", "run", agent, stdin=json.dumps(event))
        assert (ran.code, ran.err) == (0, "")
        return str(ran.json["hookSpecificOutput"]["additionalContext"]) if ran.out else ""

    return answered
