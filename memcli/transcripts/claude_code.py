"""Transcripts of Claude Code: `~/.claude/projects/FOLDER/SESSION.jsonl`.

Each line is an envelope around a message of the Anthropic API. The format is internal and changes
with releases, so unknown lines are skipped and counted.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..formats.session import read_content
from .transcript import Calls, Transcript, build_message, read_timestamp

NAME = "claude-code"
FOLDER_VARIABLE, FOLDER, PATTERNS = "CLAUDE_CONFIG_DIR", ".claude", ("projects/*/*.jsonl",)
ENVELOPES = ("user", "assistant")
# Lines with a message that is not part of the conversation.
MARKS = ("isSidechain", "isMeta", "isCompactSummary", "isApiErrorMessage")


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of such a transcript."""
    has_message = isinstance(data.get("message"), Mapping) and "payload" not in data
    return has_message or ("type" in data and ("sessionId" in data or "leafUuid" in data))


def find_session_id(path: Path) -> str:
    """Return the session that the name of a file says, or an empty string.

    It counts more than the lines: a resumed conversation begins with lines of an earlier one.
    """
    return path.stem if path.stem.count("-") == 4 else ""


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    for data in lines:
        transcript.session_id = str(data.get("sessionId") or transcript.session_id)
        transcript.folder = transcript.folder or str(data.get("cwd") or "")
        message = find_message(data)
        if message is None:
            transcript.skipped += 1
            continue
        timestamp = read_timestamp(data.get("timestamp"))
        role, content = str(message.get("role") or data.get("type")), message.get("content")
        event = build_message(role, content, timestamp, data.get("uuid"))
        if event is not None:
            transcript.events.append(event)
        for part in content if isinstance(content, list) else ():
            if isinstance(part, Mapping):
                read_part(calls, part, timestamp)
    return transcript


def find_message(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message of a line, or None if it has none that somebody said."""
    attachment = data.get("attachment")
    # A prompt that a person typed while the agent was working is stored as an attachment only.
    if isinstance(attachment, Mapping) and attachment.get("type") == "queued_command":
        is_prompt = attachment.get("commandMode", "prompt") == "prompt"
        return {"role": "user", "content": attachment.get("prompt")} if is_prompt else None
    message = data.get("message")
    if not isinstance(message, Mapping) or data.get("type", "user") not in ENVELOPES:
        return None
    if any(data.get(mark) is True for mark in MARKS) or message.get("model") == "<synthetic>":
        return None
    return message if message.get("role", data.get("type")) in ENVELOPES else None


def read_part(calls: Calls, part: Mapping[str, Any], timestamp: str) -> None:
    """Add a tool call or its result."""
    if part.get("type") in ("tool_use", "server_tool_use"):
        calls.add_call(
            str(part.get("id") or ""), str(part.get("name") or ""), part.get("input"), timestamp
        )
    elif part.get("type") == "tool_result":
        calls.add_result(
            str(part.get("tool_use_id") or ""),
            read_content(part.get("content")),
            is_error=part.get("is_error") is True,
            timestamp=timestamp,
        )
