"""OpenClaw's sessions (and those of pi, whose format they are): a header line, then entries, messages among them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.session_event import Event, is_result_role, moment, role_of, word
from .messages import answer_part, call_part, message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat

# What the gateway puts before a person's words: who wrote, on which channel, when.
_ABOUT_SENDER = re.compile(
    r"^[^\n]{1,80}\((?:un)?trusted[^)\n]{0,80}\):[ \t]*\n```(?:json)?\n(?:[^`]|`(?!``)){0,20000}\n```[ \t]*\n?",
    re.MULTILINE,
)
_STAMP = re.compile(r"^\[(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?\d{4}-\d\d-\d\d \d\d:\d\d[^\]\n]{0,20}\] ?")
_MESSAGE_ID = re.compile(r"\n?^\[message_id: [^\]\n]{1,100}\][ \t]*$", re.MULTILINE)
_SILENT = ("HEARTBEAT_OK", "NO_REPLY")


def _is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of OpenClaw."""
    if data.get("type") == "session":
        return "version" in data and "id" in data
    return data.get("type") == "message" and isinstance(data.get("message"), Mapping)


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a session."""
    for number, data in file.objects(reading):
        message = data.get("message")
        if data.get("type") == "session":
            reading.note(word(data.get("id")), moment(data.get("timestamp")), cwd=word(data.get("cwd")))
        elif data.get("type") == "message" and isinstance(message, Mapping):
            yield from _events(data, message, number, reading)
        else:
            reading.skip_type(data.get("type"))


def _events(data: Mapping[str, Any], message: Mapping[str, Any], line: int, reading: Transcript) -> Iterator[Event]:
    timestamp = moment(data.get("timestamp")) or moment(message.get("timestamp"))
    identity, stated, content = word(data.get("id")), message.get("role"), message.get("content")
    if stated == "bashExecution":  # a command its user ran by hand
        command, printed = word(message.get("command")), message.get("output")
        failed = message.get("exitCode") not in (0, None)
        parts = [call_part(identity, "bash", {"command": command}), answer_part(identity, printed, failed=failed)]
        yield from message_events(parts, "user", reading, timestamp=timestamp, identity=identity, line=line)
        return
    if is_result_role(stated):
        call = word(message.get("toolCallId"))
        if call not in reading.calls:
            reading.call(call, word(message.get("toolName")), "")
        result = {**message, "type": "tool_result", "tool_use_id": call}
        yield from message_events([result], "system", reading, timestamp=timestamp, identity=identity, line=line)
        return
    role = role_of(stated)
    if role not in ("user", "assistant"):
        reading.skip("no role" if not role else "instructions")
        return
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    remaining = [part for part in (_without_envelope(part, role, reading) for part in parts) if part is not None]
    if remaining:
        yield from message_events(remaining, role, reading, timestamp=timestamp, identity=identity, line=line)


def _without_envelope(part: Any, role: str, reading: Transcript) -> Any:
    """Return a part of a message without what the gateway added; None where nothing else is in it."""
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(text, str):
        return part
    if role == "assistant":
        if text.strip() in _SILENT:
            reading.skip("housekeeping")
            return None
        return part
    words, count = _ABOUT_SENDER.subn("", text)
    words = _STAMP.sub("", _MESSAGE_ID.sub("", words).lstrip("\n"))
    if count:
        reading.skip("about the sender", count)
    return {**part, "text": words}


_CHECKPOINT = re.compile(r"\.checkpoint\.[0-9a-f-]{8,}\.jsonl$")
"""Copies OpenClaw makes of a session, which hold nothing that the session does not."""
SESSION = TranscriptFormat("openclaw", _read, _is_line, copies=_CHECKPOINT)
TOOL = Tool(
    "openclaw",
    "OpenClaw",
    "OPENCLAW_STATE_DIR",
    (".openclaw", ".clawdbot", ".moltbot"),
    ("agents/*/sessions/*.jsonl",),
    ("*.checkpoint.*", "*.trajectory.jsonl"),
)
PI = Tool("pi", "pi", "PI_CODING_AGENT_DIR", (".pi/agent",), ("sessions/*/*.jsonl",))
