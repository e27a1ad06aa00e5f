"""Claude Code's transcripts: an envelope a line around a message of the Anthropic API.

The format is internal to Claude Code and changes with its releases, so whatever is unknown is counted and passed over.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.session_event import Event, moment, word
from ..language.foreign_text import opened_by
from .messages import message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat

_MARKED = {
    "isSidechain": "sidechain",
    "isMeta": "meta",
    "isCompactSummary": "summary of a compaction",
    "isApiErrorMessage": "error of the service",
}
_BOOKKEEPING = (
    "summary",
    "system",
    "attachment",
    "file-history-snapshot",
    "queue-operation",
    "progress",
    "last-prompt",
    "custom-title",
    "ai-title",
    "permission-mode",
)
_ABOUT = {"cwd": "cwd", "gitBranch": "branch", "version": "version"}


def _holds_message(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of Claude Code with a message."""
    message = data.get("message")
    return (data.get("type") in ("user", "assistant") and "message" in data) or (
        isinstance(message, Mapping) and "type" not in data and ("sessionId" in data or "uuid" in data)
    )


def _is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of Claude Code, one without a message too."""
    is_bookkeeping = data.get("type") in _BOOKKEEPING and (
        "sessionId" in data or "leafUuid" in data or "messageId" in data
    )
    return is_bookkeeping or _holds_message(data)


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a transcript."""
    for number, data in file.objects(reading):
        reading.note(word(data.get("sessionId")), **{name: word(data.get(key)) for key, name in _ABOUT.items()})
        yield from _events(data, number, reading)


def _events(data: Mapping[str, Any], line: int, reading: Transcript) -> Iterator[Event]:
    queued = _queued_prompt(data)
    message = {"role": "user", "content": queued} if queued else data.get("message")
    if not isinstance(message, Mapping) or not (queued or _holds_message(data)):
        reading.skip_type(data.get("type"))
        return
    role = message.get("role") or data.get("type")
    content = message.get("content")
    reason = next((label for mark, label in _MARKED.items() if data.get(mark) is True), "")
    if not reason and role == "user":
        reason = opened_by(_opening(content))
    if not reason and message.get("model") == "<synthetic>":
        reason = "meta"
    if not reason and role not in ("user", "assistant"):
        reason = "no role"
    if not reason and not content:
        reason = "no text"
    if reason:
        reading.skip(reason)
        return
    yield from message_events(
        content,
        str(role),
        reading,
        timestamp=moment(data.get("timestamp")),
        identity=word(data.get("uuid")),
        line=line,
    )


def _queued_prompt(data: Mapping[str, Any]) -> Any:
    """Return what a person typed while the agent was at work: it is kept only as an attachment."""
    attachment = data.get("attachment")
    if not isinstance(attachment, Mapping) or attachment.get("type") != "queued_command":
        return None
    return attachment.get("prompt") if attachment.get("commandMode", "prompt") == "prompt" else None


def _opening(content: Any) -> str:
    first = content[0] if isinstance(content, list) and content else content
    text = first.get("text") if isinstance(first, Mapping) else first
    return text if isinstance(text, str) else ""


SESSION = TranscriptFormat("claude-code", _read, _is_line, is_named_by_file=True)
"""A session that is resumed begins with the lines, and the id, of the one it goes on from: the file has its own."""
TOOL = Tool(
    "claude-code",
    "Claude Code",
    "CLAUDE_CONFIG_DIR",
    (".claude", ".config/claude"),
    ("projects/*/*.jsonl",),
    ("agent-*",),
)
