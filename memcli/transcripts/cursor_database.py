"""Conversations in Cursor's editor, which are rows of one database, `state.vscdb`.

`state.vscdb/ID` is the path of a conversation. It lists its messages (`bubbles`), each of which is
a row. Older versions store the messages in the row of the conversation.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import NotFoundError
from .transcript import (
    JsonObject,
    Transcript,
    get_object,
    get_objects,
    get_text,
    query,
)

NAME = "cursor"
DATABASE = "state.vscdb"
FOLDER_VARIABLE, FOLDER = "", ""
PATTERNS = tuple(
    f"{base}/Cursor/User/globalStorage/{DATABASE}"
    for base in (".config", "Library/Application Support")
)
ROLES = {"1": "user", "2": "assistant"}
PROJECT_CONVERSATIONS = "select value from ItemTable where key = 'composer.composerData'"
# A subagent's conversation is not the user's, and of several answers in parallel one is chosen.
CONVERSATIONS = """
select substr(key, 14), cast(value as text) as data from cursorDiskKV
where key >= 'composerData:' and key < 'composerData;' and json_valid(cast(value as text))
    and json_extract(cast(value as text), '$.subagentInfo') is null
    and json_extract(cast(value as text), '$.isBestOfNSubcomposer') is not 1
    and (json_array_length(cast(value as text), '$.fullConversationHeadersOnly') > 0
        or json_array_length(cast(value as text), '$.conversation') > 0)
order by json_extract(cast(value as text), '$.createdAt')
"""


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a conversation as `read_conversation` yields it."""
    return isinstance(data.get("bubbles"), list)


def read_conversation(path: Path) -> Iterator[JsonObject]:
    """Yield one object with the fields of a conversation, its folder and its messages."""
    database, name = path.parent, path.name
    statement = "select value from cursorDiskKV where key = ?"
    found = query(database, statement, (f"composerData:{name}",))
    data = parse_object(found[0][0]) if found else {}
    # Newer versions store the messages in rows of their own.
    statement = "select key, value from cursorDiskKV where key >= ? and key < ?"
    rows = query(database, statement, (f"bubbleId:{name}:", f"bubbleId:{name};"))
    bubbles = {key.rpartition(":")[2]: parse_object(value) for key, value in rows}
    messages = get_objects(data, "conversation")
    for header in get_objects(data, "fullConversationHeadersOnly"):
        bubble_id = get_text(header, "bubbleId")
        # The list can name a message whose row is missing.
        if bubble_id in bubbles:
            messages.append({**header, **bubbles[bubble_id]})
    user_folder = database.parents[1]
    folder = find_folder_of_composer(data, messages) or find_folders(user_folder).get(name)
    yield {"id": name, "folder": folder, "createdAt": data.get("createdAt"), "bubbles": messages}


def parse_object(value: Any) -> dict[str, Any]:
    """Return an object from its JSON.

    Damaged JSON counts as an empty object.
    """
    try:
        data = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def find_folder(data: JsonObject) -> str:
    """Return the folder in which a conversation took place, if an object names it."""
    return get_text(data, "folder") if is_line(data) else ""


def find_folder_of_composer(data: JsonObject, messages: Iterable[JsonObject]) -> str:
    """Return the folder that a conversation or one of its messages names."""
    uri = get_object(get_object(data, "workspaceIdentifier"), "uri")
    folder = get_text(uri, "fsPath")
    for message in messages:
        uris = message.get("workspaceUris")
        if not folder and isinstance(uris, list) and uris:
            folder = parse_uri(uris[0])
    return folder


@cache
def find_folders(user_folder: Path) -> dict[str, str]:
    """Return the folder of each conversation that a project's database lists."""
    folders: dict[str, str] = {}
    for database in user_folder.glob(f"workspaceStorage/*/{DATABASE}"):
        try:
            rows = query(database, PROJECT_CONVERSATIONS)
            text = (database.parent / "workspace.json").read_bytes()
        except (NotFoundError, OSError):
            continue  # damaged, or of another version
        # {"folder": "file:///home/ana/shop"}
        project = parse_object(text)
        for row in rows:
            for composer in get_objects(parse_object(row[0]), "allComposers"):
                name = get_text(composer, "composerId")
                folders[name] = parse_uri(project.get("folder"))
    return folders


def parse_uri(uri: Any) -> str:
    """Return the path of a file's address, or an empty string for anything else."""
    text = str(uri or "")
    if not text.startswith("file://"):
        return ""
    try:
        return unquote(urlsplit(text).path)
    except ValueError:  # such as file://[
        return ""


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in an object that `read_conversation` yields."""
    transcript = Transcript(NAME)
    for data in lines:
        transcript.session_id = get_text(data, "id")
        transcript.folder = find_folder(data)
        # Older versions store no time for a message.
        timestamp = data.get("createdAt")
        for bubble in get_objects(data, "bubbles"):
            timestamp = bubble.get("createdAt") or timestamp
            read_bubble(transcript, bubble, timestamp)
    return transcript


def read_bubble(transcript: Transcript, bubble: JsonObject, timestamp: Any) -> None:
    """Add a message, and the tool call in it."""
    bubble_id = get_text(bubble, "bubbleId")
    role = ROLES.get(str(bubble.get("type")))
    if role:
        transcript.add_message(role, get_text(bubble, "text"), timestamp, bubble_id)
    tool = get_object(bubble, "toolFormerData")
    name = get_text(tool, "name")
    if not name:
        return
    # A message has at most one call, so its id can replace that of the call.
    call_id = get_text(tool, "toolCallId") or bubble_id
    transcript.add_call(call_id, name, tool.get("rawArgs") or tool.get("params"), timestamp)
    if tool.get("result") is not None:
        result, has_failed = read_result(tool["result"])
        is_error = has_failed or tool.get("status") == "error"
        transcript.add_result(call_id, result, timestamp, is_error=is_error)


def read_result(result: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether the command failed."""
    data = parse_object(result) if isinstance(result, str) else result
    if not isinstance(data, Mapping):
        return str(result), False
    exit_code = data.get("exitCodeV2", data.get("exitCode"))
    text = data.get("output", data.get("contents", result))
    return str(text), exit_code not in (None, 0)
