"""Transcripts of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`.

Each line is an envelope around a message of the Anthropic API. The format is internal and changes
with releases, so unknown lines are skipped.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

from .transcript import JsonObject, Transcript, get_object, get_text, read_tool_parts

NAME = "claude-code"
FOLDER_VARIABLE, FOLDER = "CLAUDE_CONFIG_DIR", ".claude"
PATTERNS = ("projects/*/*.jsonl",)
ROLES = ("user", "assistant")
# Lines with a message that is not part of the conversation.
MARKS = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a line of such a transcript."""
    if isinstance(data.get("message"), Mapping) and "payload" not in data:
        return True
    return "type" in data and ("sessionId" in data or "leafUuid" in data)


def find_session_id(path: Path) -> str:
    """Return the session id in the name of a file, or an empty string.

    It overrides the ids in the lines, because a resumed conversation repeats earlier lines.
    """
    is_uuid = path.stem.count("-") == 4
    return path.stem if is_uuid else ""


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    for data in lines:
        transcript.session_id = get_text(data, "sessionId") or transcript.session_id
        transcript.folder = transcript.folder or get_text(data, "cwd")
        message = find_message(data)
        role = get_text(message, "role") or get_text(data, "type")
        timestamp = data.get("timestamp")
        transcript.add_message(role, message.get("content"), timestamp, data.get("uuid"))
        read_tool_parts(transcript, message, timestamp)
    return transcript


def find_message(data: JsonObject) -> JsonObject:
    """Return the message of a line, or an empty object if it is not part of the conversation."""
    attachment = get_object(data, "attachment")
    # A prompt that a person typed while the agent was working is stored as an attachment only.
    if attachment.get("type") == "queued_command":
        # The queue also has notices of background tasks, which nobody typed.
        if attachment.get("commandMode", "prompt") != "prompt":
            return {}
        return {"role": "user", "content": attachment.get("prompt")}
    if any(data.get(mark) is True for mark in MARKS):
        return {}
    message = get_object(data, "message")
    # Claude Code itself wrote this answer, for example after an error.
    if message.get("model") == "<synthetic>":
        return {}
    # A line of type `api-request-blob` has a message too, which belongs to a request to the model.
    kind = data.get("type", "user")
    role = message.get("role", kind)
    return message if kind in ROLES and role in ROLES else {}
