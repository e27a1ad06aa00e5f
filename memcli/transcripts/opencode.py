"""Conversations of opencode: rows of `~/.local/share/opencode/opencode.db`, or `opencode export`.

One database has all conversations. `opencode.db/ID` is the path of one of them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from .transcript import Calls, Transcript, build_message, query, read_timestamp

NAME = "opencode"
DATABASE = "opencode.db"
FOLDER_VARIABLE, FOLDER, PATTERNS = "XDG_DATA_HOME", ".local/share", (f"opencode/{DATABASE}",)


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object describes a conversation or a message of opencode."""
    info = data.get("info")
    return isinstance(info, Mapping) and ("directory" in info or "parts" in data)


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in an object that describes it, and objects of its messages."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    for data in lines:
        info, parts = data.get("info"), data.get("parts")
        if not isinstance(info, Mapping):
            transcript.skipped += 1
        elif isinstance(parts, list):
            read_message(calls, info, parts)
        else:
            transcript.session_id = str(info.get("id") or "")
            transcript.folder = find_folder(data)
    return transcript


def find_folder(data: Mapping[str, Any]) -> str:
    """Return the folder in which a conversation took place, if an object names it."""
    info = data.get("info")
    return str(info.get("directory") or "") if isinstance(info, Mapping) else ""


def read_message(calls: Calls, info: Mapping[str, Any], parts: Iterable[Any]) -> None:
    """Add a message and the tool calls in it."""
    role, time = str(info.get("role")), info.get("time")
    # opencode writes a summary when it compacts the conversation.
    if role not in ("user", "assistant") or info.get("summary") is True:
        calls.transcript.skipped += 1
        return
    timestamp = read_timestamp(time.get("created") if isinstance(time, Mapping) else None)
    texts = []
    for part in parts:
        if not isinstance(part, Mapping):
            continue
        if part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored")):
            texts.append(str(part.get("text") or ""))
        elif part.get("type") == "tool":
            add_call(calls, part, timestamp)
    message = build_message(role, "\n".join(texts), timestamp, info.get("id"))
    if message is not None:
        calls.transcript.events.append(message)


def add_call(calls: Calls, part: Mapping[str, Any], timestamp: str) -> None:
    state, call_id = part.get("state"), str(part.get("callID") or "")
    if not isinstance(state, Mapping):
        return
    calls.add_call(call_id, str(part.get("tool") or ""), state.get("input"), timestamp)
    if state.get("status") in ("completed", "error"):
        details = state.get("metadata")
        code = details.get("exit") if isinstance(details, Mapping) else 0
        is_error = state["status"] == "error" or code not in (0, None)
        text = str(state.get("error") or state.get("output") or "")
        calls.add_result(call_id, text, is_error=is_error, timestamp=timestamp)


def list_conversations(database: Path) -> list[Path]:
    """Return the paths of the conversations in a database, the oldest first, without subagents'."""
    rows = query(database, "select id from session where parent_id is null order by time_updated")
    return [database / row[0] for row in rows]


def read_conversation(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the objects of one conversation in a database, as `opencode export` prints them."""
    where = (path.name,)
    for row in query(path.parent, "select id, directory from session where id = ?", where):
        yield {"info": {"id": row[0], "directory": row[1]}}
    parts: dict[str, list[Any]] = {}
    columns = "message_id, data from part where session_id = ?"
    for row in query(path.parent, f"select {columns} order by id", where):
        parts.setdefault(row[0], []).append(json.loads(row[1]))
    columns = "id, data from message where session_id = ?"
    for row in query(path.parent, f"select {columns} order by time_created, id", where):
        info = json.loads(row[1])
        yield {"info": {**info, "id": row[0]}, "parts": parts.get(row[0], [])}
