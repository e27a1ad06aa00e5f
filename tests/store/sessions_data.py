"""What tests of sessions say."""

import json
import os
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path

from memcli.formats.session_event import Event
from memcli.store.sessions.append import Appended, append
from memcli.store.workspace import Surroundings, Workspace, opened

MOMENT = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def here(root: Path) -> Workspace:
    """Open a workspace as a command would."""
    return opened(Surroundings(root.parent, os.environ, MOMENT), root)


def noise(seed: str) -> bytes:
    """Give the random part of an id that is a function of its seed."""
    return blake2b(seed.encode(), digest_size=8).digest()


def said(text: str, role: str = "user", identifier: str = "", timestamp: str = "2026-11-21T10:00:00Z") -> Event:
    """Make a message."""
    return Event(identifier, "message", role, text, timestamp)


def say(workspace: Workspace, session: str, *texts: str) -> Appended:
    """Add messages of a user, one command each."""
    done = None
    for text in texts:
        done = append(workspace, session, [said(text)], noise(text))
    assert done is not None
    return done


def lines(root: Path, folder: str) -> list[dict[str, object]]:
    """Read the events of a session as JSON."""
    text = (root / "sessions" / folder / "session.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def page(root: Path, folder: str) -> dict[str, object]:
    """Read a session's page."""
    read: dict[str, object] = json.loads((root / "sessions" / folder / "metadata.json").read_text(encoding="utf-8"))
    return read
