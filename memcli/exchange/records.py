"""Messages written as role and content, one object each: mem's own, OpenAI's chat format, golemcore's, others'."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..text.session import NAMES, TYPES, Event, event_of, is_result_role, moment, role_of, word
from .message import call_id, message_events
from .reading import Reading
from .wording import clean, output

_TIMES = ("timestamp", "ts", "created_at", "createdAt", "time", "date")
_IDS = ("id", "key", "session_id", "sessionId", "jid")
_STARTS = ("created_at", "createdAt", "startedAt", "started_at", "created", "timestamp")


def is_record(data: Mapping[str, Any]) -> bool:
    """Tell a message by itself: somebody's role, and what was said or called."""
    if is_tool_event(data):
        return True
    said = any(key in data for key in ("content", "tool_calls", "toolCalls", "voiceTranscription"))
    return said and (bool(role_of(data.get("role"))) or data.get("type") in TYPES)


def is_tool_event(data: Mapping[str, Any]) -> bool:
    """Tell a tool's call or its answer that stands for itself, whatever its keys are called."""
    kind = data.get("type")
    if kind == "tool_call":
        return any(word(data.get(key)) for key in NAMES)
    return kind == "tool_result" and any(key in data for key in ("result", "output", "error", "content"))


def record_events(data: Mapping[str, Any], reading: Reading, line: int = 0) -> Iterator[Event]:
    """Yield the events of one record."""
    if not is_record(data):
        reading.skip_type(data.get("type"))
        return
    timestamp = next((found for key in _TIMES if (found := moment(data.get(key), reading.zone))), "")
    name = next((word(data[key]) for key in NAMES if word(data.get(key))), "")
    calls = data.get("tool_calls") or data.get("toolCalls")
    is_plain = data.get("type") in TYPES and isinstance(data.get("content"), str)
    if (is_plain or ("content" not in data and is_tool_event(data))) and not calls:
        own = event_of(data, line)
        if own:
            yield from _own(own, timestamp, reading)
        return
    role, content = role_of(data.get("role")) or "user", data.get("content")
    if data.get("type") == "tool_call" and not isinstance(content, str | list):
        content = [data]
    elif is_result_role(data.get("role")):
        call = call_id({key: data[key] for key in data if key != "id"}).get("call_id", "")
        if call not in reading.calls:
            reading.call(call, name, "")
        failed = data.get("is_error") is True or data.get("isError") is True
        content = [{"type": "tool_result", "tool_use_id": call, "name": name, "content": content, "is_error": failed}]
    else:
        if not content:
            content = data.get("voiceTranscription") or ""
        if isinstance(calls, list):
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            content = [
                *parts,
                *({**call, "type": "tool_call"} for call in calls if isinstance(call, Mapping)),
            ]
    identity = word(data.get("id"))
    for event in message_events(content, role, reading, timestamp=timestamp, identity=identity, line=line):
        yield event if event.type != "message" or event.name else replace(event, name=name)


def tells_of_session(data: Mapping[str, Any]) -> bool:
    """Tell whether an object that is no message names a session, or says when it began."""
    return "type" not in data and any(key in data for key in (*_IDS, *_STARTS))


def header(data: Mapping[str, Any], reading: Reading) -> None:
    """Note what a transcript's own page or first line says of it."""
    reading.session_id = reading.session_id or next((word(data[key]) for key in _IDS if word(data.get(key))), "")
    reading.started = reading.started or next(
        (found for key in _STARTS if (found := moment(data.get(key), reading.zone))), ""
    )
    reading.about.update(data)


def _own(event: Event, timestamp: str, reading: Reading) -> Iterator[Event]:
    """Take an event of ours as it is, but for what it may have been made to say."""
    text = clean(event.text)
    identifier = call_id(event.extra).get("call_id", "")
    if event.type == "tool_call":
        reading.call(identifier, event.name, text)
    elif event.type == "tool_result":
        call = reading.answered(identifier)
        if call.recalls:
            reading.skip("recalled memory")
            return
        text = output(text)
        event = replace(event, name=event.name or call.name, is_error=event.is_error)
    said = reading.said(text)
    if said.strip() or event.type == "tool_call" or event.is_error:
        yield replace(event, text=said, timestamp=timestamp)
    elif said == text:
        reading.skip("no text")
