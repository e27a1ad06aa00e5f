"""Workspaces with something said in them, and what was made of it."""

import json
import re
from collections.abc import Iterator
from typing import Any

from memcli.formats.frontmatter import document as frontmatter
from memcli.formats.session_event import Event
from memcli.store.history import read_log
from memcli.store.sessions.append import append
from memcli.store.sessions.sessions import Session, find
from memcli.store.workspace import Workspace


def talk(*texts: str, first: int = 1) -> list[Event]:
    """Make messages of user and assistant by turns, a minute apart."""
    roles = ("user", "assistant")
    return [
        Event(f"m{number}", "message", roles[(number - 1) % 2], text, f"2026-11-20T10:{number % 60:02}:00Z")
        for number, text in enumerate(texts, first)
    ]


def say(workspace: Workspace, *texts: str, first: int = 1, into: str = "s") -> Session:
    """Put messages into a session."""
    return append(workspace, into, talk(*texts, first=first), b"").session


def reply(history: str = "They talked.", page: str | None = None, *entries: dict[str, Any]) -> str:
    """Write an LLM's reply."""
    told = {"history_entry": history, "memory_update": page, "entries": list(entries)}
    return json.dumps({name: value for name, value in told.items() if value is not None})


def cursor(workspace: Workspace, name: str = "s") -> str:
    """Give the message up to which a session is remembered."""
    return find(workspace, name).metadata.consolidated_to


def history(workspace: Workspace) -> list[str]:
    """Give the records of history."""
    return [told.record.text for told in read_log(workspace).records]


def entries(workspace: Workspace, kind: str = "") -> list[str]:
    """Give the texts of entries, without episodes unless those are asked for."""
    return sorted(document.body.strip() for document in documents(workspace, kind))


def documents(workspace: Workspace, kind: str = "") -> Iterator[frontmatter.Document]:
    """Read the files of entries."""
    for path in sorted(workspace.root.glob("entries/**/*.md")):
        document = frontmatter.parse(path.read_text())
        is_one = document.fields["type"] == kind if kind else document.fields["type"] != "episode"
        if is_one:
            yield document


def page(workspace: Workspace) -> str:
    """Give long-term memory."""
    return (workspace.root / "MEMORY.md").read_bytes().decode()


def state(workspace: Workspace) -> dict[str, str]:
    """Give all that a user would call theirs: every file outside `.mem/`."""
    root = workspace.root
    return {
        path.relative_to(root).as_posix(): re.sub(
            r'"updatedAt": ".*"', "", path.read_bytes().decode("utf-8", "replace")
        )
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".mem" not in path.relative_to(root).parts
    }
