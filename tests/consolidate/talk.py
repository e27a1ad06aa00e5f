"""Conversations and scripted models for the tests of consolidation."""

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memcli.api import add_gates
from memcli.index.index import open_index
from memcli.store.sessions import Session, append_events, read_session
from memcli.store.workspace import Workspace, get_target_workspace
from tests.helpers import make_context, make_workspace

DAY = "2026-11-26"


def open_workspace(folder: Path, **environment: str) -> Workspace:
    """Open the workspace in a folder, created if it does not exist."""
    if not (folder / "memory").exists():
        make_workspace(folder)
    return add_gates(get_target_workspace(make_context(folder, **environment)))


def open_with_reply(folder: Path, reply: Any, **environment: str) -> Workspace:
    """Open a workspace whose language model always gives the same reply."""
    file = folder / "reply.txt"
    file.write_text(reply if isinstance(reply, str) else json.dumps(reply))
    command = f"cat {shlex.quote(str(file))}"
    return open_workspace(folder, MEM_LLM_COMMAND=command, **environment)


def build_events(
    lines: Sequence[str], *, prefix: str = "m", day: str = DAY
) -> list[dict[str, Any]]:
    """Return one message per line, of the user and the assistant in turn, a minute apart."""
    return [
        {
            "type": "message",
            "role": "assistant" if number % 2 else "user",
            "id": f"{prefix}{number}",
            "timestamp": f"{day}T{10 + number // 60:02}:{number % 60:02}:00Z",
            "content": line,
        }
        for number, line in enumerate(lines)
    ]


def say(workspace: Workspace, *lines: str, session: str = "s1", **options: Any) -> Session:
    events = build_events(lines, prefix=options.pop("prefix", "m"), day=options.pop("day", DAY))
    append_events(workspace, session, events, **options)
    return read_session(workspace, session)


def list_memories(workspace: Workspace) -> dict[str, str]:
    """Return the text and the source of every active memory."""
    index = open_index(workspace)
    return {entry.summary: entry.source for entry in index.list_entries("status = 'active'")}


def read_history(workspace: Workspace) -> str:
    paths = sorted(workspace.root.glob("HISTORY-*.md"))
    return "".join(path.read_text() for path in paths)
