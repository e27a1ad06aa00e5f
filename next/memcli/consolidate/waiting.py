"""The messages of a conversation that wait for consolidation.

The cursor of a session is the id of the last message that was consolidated. Compaction may have
moved that message, or messages that still wait, to the session's archive.
"""

import json
from collections.abc import Sequence
from typing import Any

from ..formats.dates import parse_time
from ..formats.digests import build_digest
from ..formats.session import Message, parse_events, read_message
from ..formats.text import shorten
from ..store.commit import read_file
from ..store.sessions import ARCHIVE, EVENTS, Session, find_events_file, find_sessions_folder
from ..store.workspace import Workspace

TOOL_CHARACTERS = 400
END_BYTES = 65_536
TOOL = "tool"
# Keys that consolidation adds to a session's metadata.
FALLBACK_TO = "fallbackTo"  # the last message of a stored fallback: try again
CONSOLIDATED_SIZE = "consolidatedSize"  # bytes of the events when nothing was left


def read_waiting(workspace: Workspace, session: Session) -> list[Message]:
    """Return the messages and tool calls behind the cursor, numbered in their order."""
    if is_unchanged(workspace, session):
        return []
    items = read_items(workspace, session, EVENTS)
    position = find_position(items, session.consolidated_to)
    if position is None:
        items = read_items(workspace, session, ARCHIVE) + items
        position = find_position(items, session.consolidated_to)
    waiting = items[position + 1 if position is not None else 0 :]
    return [item._replace(line=number) for number, item in enumerate(waiting, 1)]


def is_unchanged(workspace: Workspace, session: Session) -> bool:
    """Return whether a session is as it was when nothing waited. Most sessions are, for ever."""
    if not session.size or session.other.get(CONSOLIDATED_SIZE) != session.size:
        return False
    # A session that was cleared can have the same size again, by chance.
    with find_events_file(workspace, session.id).open("rb") as file:
        file.seek(max(session.size - END_BYTES, 0))
        return session.consolidated_to.encode("utf-8", "replace") in file.read()


def read_items(workspace: Workspace, session: Session, name: str) -> list[Message]:
    path = f"{find_sessions_folder(workspace)}/{session.id}/{name}"
    items = []
    seen: dict[str, int] = {}
    for line, event in parse_events(read_file(workspace, path) or ""):
        item = read_message(event, line) or read_tool_call(event, line)
        if item is None:
            continue
        if not item.id:
            # Files of other tools may have no ids. The same words may be said again.
            digest = build_digest(json.dumps(event, sort_keys=True).encode("utf-8", "replace"))[:16]
            seen[digest] = seen.get(digest, 0) + 1
            item = item._replace(id=f"{digest}-{seen[digest]}")
        items.append(item)
    return items


def read_tool_call(event: dict[str, Any], line: int) -> Message | None:
    """Return a tool call as a message of the tool, for the prompt of a language model."""
    if event.get("type") != "tool":
        return None
    outcome = "failed" if event.get("isError") else "answered"
    parts = [event.get("arguments"), event.get("result")]
    texts = [part if isinstance(part, str) else json.dumps(part) for part in parts if part]
    text = shorten(f"{event.get('name')} {outcome}: {' → '.join(texts)}", TOOL_CHARACTERS)
    return Message(line, str(event.get("id") or ""), TOOL, text, "")


def find_position(items: Sequence[Message], cursor: str) -> int | None:
    """Return where the cursor is, or None if it is not among the items."""
    positions = [number for number, item in enumerate(items) if item.id == cursor]
    return positions[-1] if positions and cursor else None


def has_ended(workspace: Workspace, session: Session) -> bool:
    """Return whether a session was ended, or nobody has said anything for a while."""
    said = parse_time(session.updated_at)
    if session.state == "TERMINATED" or said is None:
        return True
    # A session from the future was recorded before the clock went back, so it ended too.
    minutes = abs((workspace.now - said).total_seconds()) / 60
    return minutes >= float(workspace.settings["consolidate.idle_minutes"])


def find_due_messages(
    workspace: Workspace, session: Session, *, is_forced: bool = False
) -> list[Message]:
    """Return the messages to consolidate now. The latest ones of a running session wait."""
    waiting = read_waiting(workspace, session)
    spoken = [item for item in waiting if item.speaker != TOOL]
    if not spoken:
        return []
    if is_forced or has_ended(workspace, session):
        return waiting
    failed = find_position(waiting, str(session.other.get(FALLBACK_TO) or ""))
    if failed is not None:
        return waiting[: failed + 1]
    if len(spoken) < int(workspace.settings["consolidate.messages"]):
        return []
    keep = int(workspace.settings["consolidate.keep"])
    if len(spoken) <= keep:
        return []
    last = spoken[-keep - 1] if keep else spoken[-1]
    return waiting[: last.line]
