"""One message of a transcript made into events: its words, the tools it calls, what tools answered it.

Claude Code, OpenClaw, OpenAI's chat format and others all write a message as a string or a list of parts; they differ
in what they call things.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..formats.session_event import (
    CALL_IDS,
    KEPT,
    NAMES,
    TYPES,
    Event,
    cut,
    event_of,
    is_result_role,
    moment_at,
    role_of,
    sound,
    word,
    word_at,
    words_of,
)
from .transcript_format import (
    Transcript,
    TranscriptFile,
    TranscriptFormat,
    as_list,
    clean,
    command_of,
    given,
    output,
)

_WORDS = ("text", "input_text", "output_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_CALLS = ("tool_use", "toolcall", "tool_call", "server_tool_use", "mcp_tool_use", "function_call")
_PICTURES = {
    **dict.fromkeys(("image", "input_image", "image_url", "local_image"), "[image]"),
    **dict.fromkeys(("document", "file", "input_file"), "[document]"),
    **dict.fromkeys(("audio", "input_audio"), "[audio]"),
}


def message_events(
    content: Any, role: str, reading: Transcript, *, timestamp: str, identity: str = "", line: int = 0
) -> Iterator[Event]:
    """Yield the events of one message's content; the first has the id given, the others that and their number."""
    parts = as_list(content)
    answers = any(isinstance(part, Mapping) and "result" in str(part.get("type")) for part in parts)
    pending: list[str] = []
    count, skipped = 0, reading.skipped.total()

    def event(kind: str, who: str, text: str, name: str = "", **more: Any) -> Event:
        nonlocal count
        count += 1
        number = f".{count}" if count > 1 else ""
        return Event(identity and identity + number, kind, who, text, timestamp, name, line=line, **more)

    def message() -> Iterator[Event]:
        if any(part.strip() for part in pending):
            yield event("message", role, "\n\n".join(part for part in pending if part.strip()))
        pending.clear()

    for part in parts:
        kind = str(part.get("type", "text")).lower() if isinstance(part, Mapping) else "text"
        if kind in _WORDS:
            pending.append(reading.said(clean(words_of(part))))
        elif kind in _PICTURES and answers:
            reading.skip("picture from a tool")
        elif kind in _PICTURES:
            pending.append(_PICTURES[kind])
        elif kind in _CALLS:
            yield from message()
            text, name, arguments = called(part, reading)
            yield event("tool_call", "assistant", text, name, extra=call_id(part), arguments=arguments)
        elif "result" in kind:
            yield from message()
            tool, recalls = reading.answered(call_id(part).get("call_id", ""))
            text, failed = tool_answer(part, reading)
            if recalls:
                reading.skip("recalled memory")
                text = ""
            if text or failed:
                name = tool or word(part.get("name"))
                whole = text if len(text) > KEPT else None
                more = {"is_error": failed, "extra": call_id(part), "arguments": whole}
                yield event("tool_result", "system", cut(text), name, **more)
        elif kind in _THOUGHTS:
            reading.skip("thinking")
        else:
            reading.skip_type(part.get("type") if isinstance(part, Mapping) else None)
    yield from message()
    if not count and reading.skipped.total() == skipped:
        reading.skip("no text")


def call_part(identifier: str, name: str, given: Any) -> dict[str, Any]:
    """Return the part of a message that calls a tool, with what the tool is given."""
    return {"type": "tool_use", "id": identifier, "name": name, "input": given}


def answer_part(identifier: str, content: Any, *, failed: bool) -> dict[str, Any]:
    """Return the part of a message that answers a call."""
    return {"type": "tool_result", "tool_use_id": identifier, "content": content, "is_error": failed}


def call_id(part: Mapping[str, Any]) -> dict[str, str]:
    """Return the id that ties a tool's answer to its call, as `call_id`; nothing if there is none."""
    identifier = word_at(part, (*CALL_IDS, "id"))
    return {"call_id": identifier} if identifier else {}


def called(part: Mapping[str, Any], reading: Transcript) -> tuple[str, str, Any]:
    """Read a tool call: what the tool was given in short, its name, and all that stands there of what it was given."""
    function = part.get("function")
    source = {**part, **function} if isinstance(function, Mapping) else part
    name = word(source.get("name")) or word(source.get("toolName"))
    arguments = next(
        (source[key] for key in ("input", "arguments", "args", "summary") if source.get(key) is not None), None
    )
    reading.call(call_id(part).get("call_id", ""), name, command_of(arguments))
    return given(arguments), name, source


def tool_answer(part: Mapping[str, Any], reading: Transcript) -> tuple[str, bool]:
    """Read a tool's answer: its whole text and whether the tool failed."""
    content = part.get("content", part.get("output", part.get("text")))
    text = reading.said("\n".join(_answer_parts(content)))
    failed = any(part.get(key) is True for key in ("is_error", "isError")) or text.startswith("<tool_use_error>")
    if len(text) > KEPT:
        reading.skip("tool output cut")
    return output(text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")), failed


def _answer_parts(content: Any) -> Iterator[str]:
    for part in as_list(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        yield _PICTURES.get(kind, "") if isinstance(kind, str) and kind in _PICTURES else sound(words_of(part))


_TIMES = ("timestamp", "ts", "created_at", "createdAt", "time", "date")
_IDS = ("id", "key", "session_id", "sessionId", "jid")
_STARTS = ("created_at", "createdAt", "startedAt", "started_at", "created", "timestamp")


def is_record(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a message: it has a role, and a content or a call."""
    if is_tool_event(data):
        return True
    keys = ("content", "tool_calls", "toolCalls", "function_call", "voiceTranscription")
    return any(key in data for key in keys) and (bool(role_of(data.get("role"))) or data.get("type") in TYPES)


def is_tool_event(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a tool's call or its answer by itself, whatever its keys are called."""
    kind = data.get("type")
    if kind == "tool_call":
        return any(word(data.get(key)) for key in NAMES)
    return kind == "tool_result" and any(key in data for key in ("result", "output", "error", "content", "text"))


def record_events(data: Mapping[str, Any], reading: Transcript, line: int = 0) -> Iterator[Event]:
    """Yield the events of one record."""
    if not is_record(data):
        reading.skip_type(data.get("type"))
        return
    timestamp = moment_at(data, _TIMES, reading.zone)
    name = word_at(data, NAMES)
    single = data.get("function_call")  # as OpenAI's chat format had it before a message could call several
    calls = data.get("tool_calls") or data.get("toolCalls") or (single and [single])
    is_plain = data.get("type") in TYPES and isinstance(data.get("content"), str)
    if (is_plain or ("content" not in data and is_tool_event(data))) and not calls:
        own = event_of(data, line)
        if own:
            yield from _own(own, timestamp, reading)
        return
    role, content = role_of(data.get("role")) or "user", data.get("content")
    if data.get("type") == "tool_call" and not isinstance(content, str):
        content = [{"summary": content, **data}]
    elif is_result_role(data.get("role")) or data.get("type") == "tool_result":
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
    """Return whether an object that is no message names a session, or says when it began."""
    return "type" not in data and any(key in data for key in (*_IDS, *_STARTS))


def header(data: Mapping[str, Any], reading: Transcript) -> None:
    """Note what a transcript's own page or first line says of it."""
    reading.note(word_at(data, _IDS), moment_at(data, _STARTS, reading.zone))
    reading.about.update(data)


def _own(event: Event, timestamp: str, reading: Transcript) -> Iterator[Event]:
    """Take an event of ours as it is, but for what it may have been made to say."""
    text = clean(event.text)
    identifier = call_id(event.extra).get("call_id", "")
    if event.type == "tool_call":
        reading.call(identifier, event.name, text)
    elif event.type == "tool_result":
        tool, recalls = reading.answered(identifier)
        if recalls:
            reading.skip("recalled memory")
            return
        text = output(text)
        event = replace(event, name=event.name or tool, is_error=event.is_error)
    words = reading.said(text)
    if words.strip() or event.type == "tool_call" or event.is_error:
        whole = words if event.type == "tool_result" and len(words) > KEPT else None
        yield replace(event, text=cut(words) if whole else words, timestamp=timestamp, arguments=whole)
    elif words == text:
        reading.skip("no text")


def is_header(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a first line about the session, not a message."""
    kind = data.get("_type", data.get("type"))
    return kind in ("metadata", "session", "session_meta", "meta", "header") or data.get("__meta__") is True


def _read_lines(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a transcript with a message a line."""
    first = True
    for number, data in file.objects(reading):
        if is_header(data) or (first and not is_record(data) and tells_of_session(data)):
            header(data, reading)
        else:
            yield from record_events(data, reading, number)
        first = False


def _read_document(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a document; what it says of itself besides its messages is noted."""
    document = file.document()
    is_list = document.peek() == "["
    for value in document.items() if is_list else document.listed("messages", lambda fields: header(fields, reading)):
        if isinstance(value, dict):
            yield from record_events(value, reading)
        else:
            reading.skip("not an object")
    if document.peek():
        reading.skip("after the end of the document")


JSON_LINES = TranscriptFormat("jsonl", _read_lines, is_record)
DOCUMENT = TranscriptFormat(
    "golemcore",
    _read_document,
    document=re.compile(r'"messages"\s*:\s*\[|\A\[\s*\{[^{}\[\]]{0,2000}?"role"\s*:'),
    writers=("golemcore",),
)
