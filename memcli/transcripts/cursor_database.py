"""Conversations in Cursor's editor, which are rows of one database, `state.vscdb`.

`state.vscdb/ID` is the path of a conversation. It lists its messages (`bubbles`), each of which is
a row. Older versions store the messages in the row of the conversation, or all conversations of a
project in the database of that project.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
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
    is_name,
    query,
    read_timestamp,
)

NAME = "cursor"
DATABASE = "state.vscdb"
FOLDER_VARIABLE, FOLDER = "", ""
PATTERNS = tuple(
    f"{base}/Cursor/User/{folder}/{DATABASE}"
    for base in (".config", "Library/Application Support")
    for folder in ("globalStorage", "workspaceStorage/*")
)
ROLES = {"1": "user", "2": "assistant", "user": "user", "ai": "assistant"}
OLDER_CHATS = "workbench.panel.aichat.view.aichat.chatdata"
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


def list_conversations(database: Path) -> list[Path]:
    """Return the paths of the conversations in a database, the oldest first."""
    ids = [get_text(tab, "tabId") for tab in read_tabs(database)]
    ids += [str(row[0]) for row in query_table(database, "cursorDiskKV", CONVERSATIONS)]
    return [database / name for name in ids if is_name(name)]


def query_table(database: Path, table: str, statement: str, *values: str) -> list[Any]:
    """Return rows of a table that the databases of some versions do not have."""
    has_table = query(database, "select 1 from sqlite_master where name = ?", (table,))
    return query(database, statement, values) if has_table else []


def read_tabs(database: Path) -> list[JsonObject]:
    """Return the conversations that older versions stored in the database of a project."""
    statement = "select value from ItemTable where key = ?"
    rows = query_table(database, "ItemTable", statement, OLDER_CHATS)
    tabs = get_objects(parse_object(rows[0][0]), "tabs") if rows else []
    return [tab for tab in tabs if get_text(tab, "tabId") and tab.get("bubbles")]


def read_conversation(path: Path) -> Iterator[dict[str, Any]]:
    """Yield one object with the fields of a conversation, its folder and its messages."""
    database, name = path.parent, path.name
    statement = "select value from cursorDiskKV where key = ?"
    row = query_table(database, "cursorDiskKV", statement, f"composerData:{name}")
    data = parse_object(row[0][0]) if row else {}
    if not data:
        tab = next((tab for tab in read_tabs(database) if get_text(tab, "tabId") == name), {})
        yield {"id": name, "folder": find_folder_of_database(database), **tab}
        return
    keys = (f"bubbleId:{name}:", f"bubbleId:{name};")
    rows = query(database, "select key, value from cursorDiskKV where key >= ? and key < ?", keys)
    bubbles = {key.rpartition(":")[2]: parse_object(value) for key, value in rows}
    messages = get_objects(data, "conversation")
    for header in get_objects(data, "fullConversationHeadersOnly"):
        bubble_id = get_text(header, "bubbleId")
        if bubble_id in bubbles:
            messages.append({**header, **bubbles[bubble_id]})
    folder = find_folder_of_composer(data, messages) or find_folders(database.parents[1]).get(name)
    yield {"id": name, "folder": folder, "createdAt": data.get("createdAt"), "bubbles": messages}


def parse_object(value: Any) -> dict[str, Any]:
    """Return an object from its JSON. Damaged JSON counts as an empty object."""
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
    folder = get_text(get_object(get_object(data, "workspaceIdentifier"), "uri"), "fsPath")
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
        with suppress(NotFoundError):
            statement = "select value from ItemTable where key = 'composer.composerData'"
            for row in query(database, statement):
                for composer in get_objects(parse_object(row[0]), "allComposers"):
                    name = get_text(composer, "composerId")
                    folders[name] = find_folder_of_database(database)
    return folders


def find_folder_of_database(database: Path) -> str:
    """Return the project whose database this is, which a file next to it names."""
    with suppress(OSError):
        project = parse_object((database.parent / "workspace.json").read_bytes())
        return parse_uri(project.get("folder"))
    return ""


def parse_uri(uri: Any) -> str:
    text = str(uri or "")
    with suppress(ValueError):  # such as file://[
        return unquote(urlsplit(text).path) if text.startswith("file://") else ""
    return ""


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in an object that `read_conversation` yields."""
    transcript = Transcript(NAME)
    for data in lines:
        transcript.session_id, transcript.folder = get_text(data, "id"), find_folder(data)
        # Older versions store no time for a message.
        timestamp = read_timestamp(data.get("createdAt") or data.get("lastSendTime"))
        for bubble in get_objects(data, "bubbles"):
            timestamp = read_timestamp(bubble.get("createdAt")) or timestamp
            read_bubble(transcript, bubble, timestamp)
    return transcript


def read_bubble(transcript: Transcript, bubble: JsonObject, timestamp: str) -> None:
    """Add a message, and the tool call in it."""
    role = ROLES.get(str(bubble.get("type")))
    bubble_id = get_text(bubble, "bubbleId", "id")
    if role:
        transcript.add_message(role, get_text(bubble, "text", "rawText"), timestamp, bubble_id)
    tool = get_object(bubble, "toolFormerData")
    name = get_text(tool, "name")
    if name:
        call_id = get_text(tool, "toolCallId") or bubble_id
        arguments = tool.get("rawArgs") or tool.get("params")
        transcript.add_call(call_id, name, arguments, timestamp)
        if tool.get("result") is not None:
            text, has_failed = read_result(tool["result"])
            is_error = has_failed or tool.get("status") == "error"
            transcript.add_result(call_id, text, is_error=is_error, timestamp=timestamp)


def read_result(result: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether the command failed."""
    data = parse_object(result) if isinstance(result, str) else result
    if not isinstance(data, Mapping):
        return str(result), False
    exit_code = data.get("exitCodeV2", data.get("exitCode"))
    text = data.get("output", data.get("contents", result))
    return str(text), exit_code not in (None, 0)
