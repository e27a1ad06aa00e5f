"""Transcripts of Gemini CLI: `~/.gemini/tmp/PROJECT/chats/session-….jsonl`.

A line is a message, or a change (`$set`) of the conversation's fields. Older versions write one
JSON document. A message with tool calls has two lines, first without the calls. After a compression
and a resume, `$set` repeats earlier messages in another form, so messages are read from lines of
their own only.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..formats.session import read_content
from .transcript import Calls, Transcript, build_message, normalize_parts, read_timestamp

NAME = "gemini"
FOLDER_VARIABLE, FOLDER = "", ".gemini"
PATTERNS = ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl")
# The texts of hooks, in the user's message. Their own `<` is escaped.
HOOK_CONTEXT = re.compile(r"(?s)<hook_context>.*?</hook_context>")
# Gemini's first message describes the computer and the folder.
WORKSPACE_FOLDER = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- (/[^\n]+)")
WRAPPED_OUTPUT = re.compile(
    r"(?s)\s*<untrusted_context>\n?(?:Output: )?(.*?)"
    r"(?:\nExit Code: (\d+))?(?:\nProcess Group PGID: \d+)?\n?</untrusted_context>\s*"
)
NOBODY = ("<session_context>", "<state_snapshot>")
# The files that a person named with `@` follow this line.
NAMED_FILES = "--- Content from referenced files ---"


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a Gemini conversation."""
    return "projectHash" in data or (data.get("type") == "gemini" and "id" in data)


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    known: set[str] = set()
    is_subagent = False
    for data in lines:
        is_subagent = is_subagent or data.get("kind") == "subagent"
        if data.get("$rewindTo"):
            remove_rewound(transcript, str(data["$rewindTo"]))
        if "projectHash" in data and not transcript.session_id:
            transcript.session_id = str(data.get("sessionId") or "")
        transcript.folder = transcript.folder or find_folder(data)
        if data.get("type") not in ("user", "gemini"):
            transcript.skipped += 1
            continue
        timestamp = read_timestamp(data.get("timestamp"))
        role = "user" if data["type"] == "user" else "assistant"
        event = build_message(role, read_said(data), timestamp, data.get("id"))
        if event is not None and event.get("id") not in known:
            known.add(str(event.get("id")))
            transcript.events.append(event)
        tool_calls = data.get("toolCalls")
        for call in tool_calls if isinstance(tool_calls, list) else ():
            read_call(calls, call, timestamp)
    # A subagent's conversation is not the user's.
    return Transcript(NAME) if is_subagent else transcript


def remove_rewound(transcript: Transcript, message_id: str) -> None:
    """Remove a message that the user took back, and everything after it."""
    ids = [event.get("id") for event in transcript.events]
    if message_id in ids:
        del transcript.events[ids.index(message_id) :]


def find_folder(data: Mapping[str, Any]) -> str:
    """Return the folder in which a conversation took place, if a line names it."""
    changes = data.get("$set")
    messages = changes.get("messages") if isinstance(changes, Mapping) else None
    for message in messages if isinstance(messages, list) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        found = WORKSPACE_FOLDER.search(read_content(normalize_parts(content)))
        if found:
            return found[1].strip()
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
    digests = {sha256(str(folder).encode()).hexdigest(): str(folder) for folder in near}
    return digests.get(project.name, "")


def read_said(data: Mapping[str, Any]) -> str:
    """Return the text that the user typed, or that the agent answered."""
    # The content of a prompt includes what hooks and `@file` add to it.
    content = data.get("displayContent") or data.get("content")
    text = HOOK_CONTEXT.sub("", read_content(normalize_parts(content)))
    text = text.partition(NAMED_FILES)[0].strip()
    return "" if text.startswith(NOBODY) else text


def read_call(calls: Calls, call: Any, timestamp: str) -> None:
    """Add a tool call and its result."""
    if not isinstance(call, Mapping):
        return
    call_id = str(call.get("id") or "")
    calls.add_call(call_id, str(call.get("name") or ""), call.get("args"), timestamp)
    texts = []
    result = call.get("result")
    for part in result if isinstance(result, list) else ():
        response = part.get("functionResponse") if isinstance(part, Mapping) else None
        value = response.get("response") if isinstance(response, Mapping) else None
        if isinstance(value, Mapping):
            texts.append(str(value.get("output", value.get("error", ""))))
    output = "\n".join(texts)
    wrapped = WRAPPED_OUTPUT.fullmatch(output)
    is_error = call.get("status") == "error" or bool(wrapped and wrapped[2] not in (None, "0"))
    text = wrapped[1] if wrapped else output
    calls.add_result(call_id, text, is_error=is_error, timestamp=timestamp)
