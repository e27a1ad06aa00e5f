"""Conversations in Cursor's editor: rows of `state.vscdb`, which has all of them.

`state.vscdb/ID` is the path of one of them. A conversation lists its messages (`bubbles`), each of
which is a row. In older versions they are inside the conversation, or, of one project, in the
database of that project.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..errors import NotFoundError
from .transcript import Calls, Transcript, build_message, query, read_timestamp

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


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation as `read_conversation` yields it."""
    return isinstance(data.get("bubbles"), list)


def list_conversations(database: Path) -> list[Path]:
    """Return the paths of the conversations in a database, the oldest first."""
    ids = [str(row[0]) for row in query(database, CONVERSATIONS)]
    return [database / name for name in [*ids, *(tab["tabId"] for tab in read_tabs(database))]]


def read_tabs(database: Path) -> list[dict[str, Any]]:
    """Return the conversations that older versions stored in the database of a project."""
    rows = query(database, "select value from ItemTable where key = ?", (OLDER_CHATS,))
    data = load(rows[0][0]) if rows else {}
    tabs = data.get("tabs")
    return [
        tab
        for tab in (tabs if isinstance(tabs, list) else ())
        if isinstance(tab, dict) and isinstance(tab.get("tabId"), str) and tab.get("bubbles")
    ]


def read_conversation(path: Path) -> Iterator[dict[str, Any]]:
    """Yield one object with the fields of a conversation, its folder and its messages."""
    database, name = path.parent, path.name
    row = query(database, "select value from cursorDiskKV where key = ?", (f"composerData:{name}",))
    data = load(row[0][0]) if row else {}
    if not data:
        data = next((tab for tab in read_tabs(database) if tab["tabId"] == name), {})
        yield {"id": name, "folder": find_folder_of_database(database), **data}
        return
    bubbles: dict[str, dict[str, Any]] = {}
    keys = (f"bubbleId:{name}:", f"bubbleId:{name};")
    for key, value in query(
        database, "select key, value from cursorDiskKV where key >= ? and key < ?", keys
    ):
        bubbles[key.rpartition(":")[2]] = load(value)
    headers, inline = data.get("fullConversationHeadersOnly"), data.get("conversation")
    messages = (
        [item for item in inline if isinstance(item, dict)] if isinstance(inline, list) else []
    )
    for header in headers if isinstance(headers, list) else ():
        bubble_id = str(header.get("bubbleId")) if isinstance(header, Mapping) else ""
        if bubble_id in bubbles:
            messages.append({**header, **bubbles[bubble_id]})
    folder = find_folder_of_composer(data, messages) or find_folders(database.parents[1]).get(name)
    yield {"id": name, "folder": folder, "createdAt": data.get("createdAt"), "bubbles": messages}


def load(value: Any) -> dict[str, Any]:
    try:
        data = json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def find_folder(data: Mapping[str, Any]) -> str:
    """Return the folder in which a conversation took place, if an object names it."""
    return str(data.get("folder") or "") if is_line(data) else ""


def find_folder_of_composer(data: Mapping[str, Any], messages: Iterable[Mapping[str, Any]]) -> str:
    """Return the folder that a conversation or one of its messages names."""
    place = data.get("workspaceIdentifier")
    uri = place.get("uri") if isinstance(place, Mapping) else None
    if isinstance(uri, Mapping) and uri.get("fsPath"):
        return str(uri["fsPath"])
    for message in messages:
        uris = message.get("workspaceUris")
        if isinstance(uris, list) and uris:
            return read_uri(uris[0])
    return ""


@cache
def find_folders(user_folder: Path) -> dict[str, str]:
    """Return the folder of each conversation that a project's database lists."""
    folders: dict[str, str] = {}
    for database in user_folder.glob(f"workspaceStorage/*/{DATABASE}"):
        with suppress(NotFoundError):
            statement = "select value from ItemTable where key = 'composer.composerData'"
            for row in query(database, statement):
                composers = load(row[0]).get("allComposers")
                for composer in composers if isinstance(composers, list) else ():
                    if isinstance(composer, Mapping):
                        name = str(composer.get("composerId"))
                        folders[name] = find_folder_of_database(database)
    return folders


def find_folder_of_database(database: Path) -> str:
    """Return the project whose database this is, which a file next to it names."""
    with suppress(OSError):
        return read_uri(load((database.parent / "workspace.json").read_bytes()).get("folder"))
    return ""


def read_uri(uri: Any) -> str:
    text = str(uri or "")
    return unquote(urlsplit(text).path) if text.startswith("file://") else ""


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in an object that `read_conversation` yields."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    for data in lines:
        transcript.session_id, transcript.folder = str(data.get("id") or ""), find_folder(data)
        # Older versions store no time for a message.
        timestamp = read_timestamp(data.get("createdAt") or data.get("lastSendTime"))
        bubbles = data.get("bubbles")
        for bubble in bubbles if isinstance(bubbles, list) else ():
            if isinstance(bubble, Mapping):
                timestamp = read_timestamp(bubble.get("createdAt")) or timestamp
                read_bubble(calls, bubble, timestamp)
    return transcript


def read_bubble(calls: Calls, bubble: Mapping[str, Any], timestamp: str) -> None:
    """Add a message, or the call of a tool."""
    role = ROLES.get(str(bubble.get("type")))
    text, bubble_id = bubble.get("text") or bubble.get("rawText"), bubble.get("bubbleId")
    event = build_message(role, text, timestamp, bubble_id or bubble.get("id")) if role else None
    if event is None:
        calls.transcript.skipped += 1
    else:
        calls.transcript.events.append(event)
    tool = bubble.get("toolFormerData")
    if isinstance(tool, Mapping) and tool.get("name"):
        call_id = str(tool.get("toolCallId") or bubble_id or "")
        arguments = tool.get("rawArgs") or tool.get("params")
        calls.add_call(call_id, str(tool["name"]), arguments, timestamp)
        if tool.get("result") is not None:
            text, is_error = read_result(tool["result"])
            is_error = is_error or tool.get("status") == "error"
            calls.add_result(call_id, text, is_error=is_error, timestamp=timestamp)


def read_result(result: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether the command failed."""
    data = load(result) if isinstance(result, str) else result
    if not isinstance(data, Mapping):
        return str(result), False
    code = data.get("exitCodeV2", data.get("exitCode"))
    text = data.get("output", data.get("contents"))
    return str(text if text is not None else result), code not in (None, 0)
