"""Transcripts of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-….jsonl`.

A line is a message, or a change (`$set`) of the conversation's fields. Older versions write one
JSON document. A message with tool calls has two lines, first without the calls. After a compression
and a resume, `$set` repeats earlier messages in another form, so messages are read from lines of
their own only.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..formats import read_content
from .transcript import JsonObject, Transcript, get_object, get_objects, get_text

NAME = "gemini"
FOLDER_VARIABLE, FOLDER = "", ".gemini"
PATTERNS = ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl")
# The texts of hooks, in the user's message. Their own `<` is escaped.
HOOK_CONTEXT = re.compile(r"(?s)<hook_context>(?:(?!<hook_context>).)*?</hook_context>")
# Gemini's first message describes the computer and the folder.
WORKSPACE_FOLDER = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- (/[^\n]+)")
# <untrusted_context>
# Output: no rule to make target
# Exit Code: 2
# Process Group PGID: 28717
# </untrusted_context>
WRAPPED_OUTPUT = re.compile(
    r"(?s)\s*<untrusted_context>\n?(?:Output: )?(.*?)"
    r"(?:\nExit Code: (\d+))?(?:\nProcess Group PGID: \d+)?\n?</untrusted_context>\s*"
)
# Messages that Gemini adds begin with one of these tags.
ADDED = ("<session_context>", "<state_snapshot>")
ROLES = {"user": "user", "gemini": "assistant"}
# The files that a person named with `@` follow this line.
NAMED_FILES = "--- Content from referenced files ---"


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a line of a Gemini conversation."""
    if "projectHash" in data:
        return True
    return data.get("type") == "gemini" and "id" in data


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    known: set[str] = set()
    for data in lines:
        if data.get("kind") == "subagent":
            return Transcript(NAME)  # a subagent's conversation is not the user's
        # {"$rewindTo": "2"}
        undone = get_text(data, "$rewindTo")
        if undone:
            remove_messages_from(transcript, undone)
        if "projectHash" in data and not transcript.session_id:
            transcript.session_id = get_text(data, "sessionId")
        transcript.folder = transcript.folder or find_folder(data)
        role = ROLES.get(get_text(data, "type"))
        if role is None:
            continue
        timestamp = data.get("timestamp")
        message_id = get_text(data, "id")
        text = read_message(data)
        # The second line of a message with tool calls repeats its text.
        if text and message_id not in known:
            known.add(message_id)
            transcript.add_message(role, text, timestamp, message_id)
        for call in get_objects(data, "toolCalls"):
            read_call(transcript, call, timestamp)
    return transcript


def remove_messages_from(transcript: Transcript, message_id: str) -> None:
    """Remove a message that the user undid, and everything after it."""
    ids = [event.get("id") for event in transcript.events]
    if message_id in ids:
        del transcript.events[ids.index(message_id) :]


def find_folder(data: JsonObject) -> str:
    """Return the folder in which a conversation took place, if a line names it."""
    changes = get_object(data, "$set")
    for message in get_objects(changes, "messages"):
        match = WORKSPACE_FOLDER.search(read_content(message.get("content")))
        if match:
            return match[1].strip()
    return ""


def find_folder_of_path(path: Path, near: Sequence[Path]) -> str:
    """Return the folder in which a conversation took place, judged by the path of its file.

    The folder of a project contains its path, or is named after a digest of it.
    """
    project = path.parent.parent
    if path.parent.name != "chats" or project.parent.name != "tmp":
        return ""
    with suppress(OSError):
        return (project / ".project_root").read_text("utf-8", "replace").strip()
    for folder in near:
        # A digest cannot be reversed, so mem compares it with the folders it knows.
        if sha256(str(folder).encode()).hexdigest() == project.name:
            return str(folder)
    return ""


def read_message(data: JsonObject) -> str:
    """Return the text that the user typed, or that the agent answered."""
    # The content of a prompt includes what hooks and `@file` add to it.
    content = data.get("displayContent") or data.get("content") or data.get("parts")
    text = HOOK_CONTEXT.sub("", read_content(content))
    text = text.partition(NAMED_FILES)[0].strip()
    return "" if text.startswith(ADDED) else text


def read_call(transcript: Transcript, call: JsonObject, timestamp: Any) -> None:
    """Add a tool call and its result."""
    call_id = get_text(call, "id")
    transcript.add_call(call_id, get_text(call, "name"), call.get("args"), timestamp)
    outputs = []
    for part in get_objects(call, "result"):
        output = get_object(get_object(part, "functionResponse"), "response")
        if output:
            outputs.append(get_text(output, "output", "error"))
    result = "\n".join(outputs)
    is_error = call.get("status") == "error"
    wrapped = WRAPPED_OUTPUT.fullmatch(result)
    if wrapped:
        result = wrapped[1]
        is_error = is_error or wrapped[2] not in (None, "0")
    transcript.add_result(call_id, result, timestamp, is_error=is_error)
