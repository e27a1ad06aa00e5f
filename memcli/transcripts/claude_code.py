"""Transcripts of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`.

Each line is an envelope around a message of the Anthropic API. The format is internal and changes
with releases, so unknown lines are skipped and counted.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from ..formats import read_content
from .transcript import JsonObject, Transcript, get_object, get_objects, get_text, read_timestamp

NAME = "claude-code"
FOLDER_VARIABLE, FOLDER, PATTERNS = "CLAUDE_CONFIG_DIR", ".claude", ("projects/*/*.jsonl",)
ROLES = ("user", "assistant")
# Lines with a message that is not part of the conversation.
MARKS = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a line of such a transcript."""
    has_message = isinstance(data.get("message"), Mapping) and "payload" not in data
    return has_message or ("type" in data and ("sessionId" in data or "leafUuid" in data))


def find_session_id(path: Path) -> str:
    """Return the session id in the name of a file, or an empty string.

    It overrides the ids in the lines, because a resumed conversation repeats earlier lines.
    """
    return path.stem if path.stem.count("-") == 4 else ""


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    for data in lines:
        transcript.session_id = get_text(data, "sessionId") or transcript.session_id
        transcript.folder = transcript.folder or get_text(data, "cwd")
        message = find_message(data)
        role = get_text(message, "role") or get_text(data, "type")
        timestamp = read_timestamp(data.get("timestamp"))
        transcript.add_message(role, message.get("content"), timestamp, data.get("uuid"))
        read_tool_parts(transcript, message, timestamp)
    return transcript


def find_message(data: JsonObject) -> JsonObject:
    """Return the message of a line, or an empty object if it is not part of the conversation."""
    attachment = get_object(data, "attachment")
    # A prompt that a person typed while the agent was working is stored as an attachment only.
    if attachment.get("type") == "queued_command":
        if attachment.get("commandMode", "prompt") != "prompt":
            return {}
        return {"role": "user", "content": attachment.get("prompt")}
    message = get_object(data, "message")
    kind = data.get("type", "user")
    if kind not in ROLES or message.get("role", kind) not in ROLES:
        return {}
    if any(data.get(mark) is True for mark in MARKS) or message.get("model") == "<synthetic>":
        return {}
    return message


def read_tool_parts(transcript: Transcript, message: JsonObject, timestamp: str) -> None:
    """Add the tool calls and the results in a message of the Anthropic API."""
    for part in get_objects(message, "content"):
        if part.get("type") in ("tool_use", "server_tool_use"):
            name = get_text(part, "name")
            transcript.add_call(get_text(part, "id"), name, part.get("input"), timestamp)
        elif part.get("type") == "tool_result":
            transcript.add_result(
                get_text(part, "tool_use_id"),
                read_content(part.get("content")),
                is_error=part.get("is_error") is True,
                timestamp=timestamp,
            )
