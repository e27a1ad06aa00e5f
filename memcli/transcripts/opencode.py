"""Conversations of opencode: rows of `~/.local/share/opencode/opencode.db`, or `opencode export`.

One database has all conversations. `opencode.db/ID` is the path of one of them.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .transcript import (
    JsonObject,
    Transcript,
    get_object,
    get_objects,
    get_text,
    query,
)

NAME = "opencode"
DATABASE = "opencode.db"
FOLDER_VARIABLE, FOLDER = "XDG_DATA_HOME", ".local/share"
PATTERNS = (f"opencode/{DATABASE}",)
SESSION = "select id, directory from session where id = ?"
PARTS = "select message_id, data from part where session_id = ? order by id"
MESSAGES = "select id, data from message where session_id = ? order by time_created, id"
# A subagent's conversation, which has a parent, is not the user's.
CONVERSATIONS = "select id from session where parent_id is null order by time_updated"


def is_line(data: JsonObject) -> bool:
    """Return whether an object describes a conversation or a message of opencode."""
    info = get_object(data, "info")
    is_message = bool(info) and "parts" in data
    return is_message or "directory" in info


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in an object that describes it, and objects of its messages."""
    transcript = Transcript(NAME)
    for data in lines:
        if "parts" in data:
            read_message(transcript, data)
        elif find_folder(data):
            info = get_object(data, "info")
            transcript.session_id = get_text(info, "id")
            transcript.folder = find_folder(data)
    return transcript


def find_folder(data: JsonObject) -> str:
    """Return the folder in which a conversation took place, if an object names it."""
    return get_text(get_object(data, "info"), "directory")


def read_message(transcript: Transcript, data: JsonObject) -> None:
    """Add a message and the tool calls in it."""
    info = get_object(data, "info")
    role = get_text(info, "role")
    if role not in ("user", "assistant"):
        return
    # opencode writes a summary when it compacts the conversation.
    if info.get("summary") is True:
        return
    timestamp = get_object(info, "time").get("created")
    texts = []
    for part in get_objects(data, "parts"):
        kind = part.get("type")
        is_added = part.get("synthetic") or part.get("ignored")
        if kind == "text" and not is_added:
            texts.append(get_text(part, "text"))
        elif kind == "tool":
            read_call(transcript, part, timestamp)
    transcript.add_message(role, "\n".join(texts), timestamp, info.get("id"))


def read_call(transcript: Transcript, part: JsonObject, timestamp: Any) -> None:
    """Add a tool call, and its result if there is one yet."""
    state = get_object(part, "state")
    call_id = get_text(part, "callID")
    transcript.add_call(call_id, get_text(part, "tool"), state.get("input"), timestamp)
    status = state.get("status")
    # A call can still be pending or running.
    if status in ("completed", "error"):
        result = get_text(state, "error", "output")
        exit_code = get_object(state, "metadata").get("exit")
        is_error = status == "error" or exit_code not in (0, None)
        transcript.add_result(call_id, result, timestamp, is_error=is_error)


def read_conversation(path: Path) -> Iterator[JsonObject]:
    """Yield the objects of one conversation in a database, as `opencode export` prints them."""
    database = path.parent
    values = (path.name,)
    for session_id, directory in query(database, SESSION, values):
        yield {"info": {"id": session_id, "directory": directory}}
    parts: dict[str, list[Any]] = {}
    for message_id, data in query(database, PARTS, values):
        parts.setdefault(message_id, []).append(json.loads(data))
    for message_id, data in query(database, MESSAGES, values):
        info = json.loads(data)
        info["id"] = message_id
        yield {"info": info, "parts": parts.get(message_id, [])}
