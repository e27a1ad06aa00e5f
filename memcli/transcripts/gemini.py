"""Gemini CLI's sessions: one JSON document each, in newer versions a record a line where a later one replaces.

Where a project lies on disk a session tells only by a digest of the path; its folder may tell more (see `places`).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.json_stream import JsonStream, StreamLine
from ..formats.session_event import Event, moment, word
from .line_reader import Reading, records
from .messages import message_events

_ROLES = {"user": "user", "gemini": "assistant"}
_REFERENCED = "--- Content from referenced files ---"
"""What the files a person named with @ hold follows this line."""


def is_line(data: Mapping[str, Any]) -> bool:
    """Tell a line of a session by itself."""
    return ("sessionId" in data and "projectHash" in data) or (data.get("type") == "gemini" and "content" in data)


def read_document(document: JsonStream, reading: Reading) -> Iterator[Event]:
    """Yield the events of a session kept as one document."""
    for key in document.members():
        if key == "messages" and document.peek() == "[":
            for message in document.items():
                yield from _events(message, reading)
        else:
            _header({key: document.value()}, reading)


def read(lines: Iterator[StreamLine[str]], reading: Reading) -> Iterator[Event]:
    """Yield the events of a session kept a record a line: each message as it was last, and none that was rewound."""
    messages: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, data in records(lines, reading):
        back, told = word(data.get("$rewindTo")), data.get("$set")
        if back:
            ids = list(messages)
            for taken_back in ids[ids.index(back) if back in ids else 0 :]:
                del messages[taken_back]
                reading.skip("taken back")
        elif isinstance(told, Mapping):
            _header(told, reading)
        elif "projectHash" in data:
            _header(data, reading)
        elif word(data.get("id")):
            first = messages.get(word(data["id"]), (number, data))[0]
            messages[word(data["id"])] = first, data
        else:
            reading.skip_type(data.get("type"))
    for line, message in messages.values():
        yield from _events(message, reading, line)


def _header(data: Mapping[str, Any], reading: Reading) -> None:
    reading.session_id = reading.session_id or word(data.get("sessionId"))
    reading.started = reading.started or moment(data.get("startTime"))
    if word(data.get("projectHash")):
        reading.about.setdefault("projectHash", word(data["projectHash"]))
    if data.get("kind") == "subagent":
        reading.about["subagent"] = True


def _events(message: Any, reading: Reading, line: int = 0) -> Iterator[Event]:
    kind = message.get("type") if isinstance(message, Mapping) else None
    if kind not in _ROLES:
        reading.skip_type(kind)
        return
    thoughts = message.get("thoughts")
    if isinstance(thoughts, list) and thoughts:
        reading.skip("thinking", len(thoughts))
    shown = message.get("displayContent") if kind == "user" else None
    parts = list(_parts(message.get("content") if shown is None else shown, reading))
    calls = message.get("toolCalls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, Mapping):
            parts += _call(call)
    yield from message_events(
        parts,
        _ROLES[kind],
        reading,
        timestamp=moment(message.get("timestamp")),
        identity=word(message.get("id")),
        line=line,
    )


def _parts(content: Any, reading: Reading) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message as others write them, up to what files hold that it only names."""
    for part in content if isinstance(content, list) else [content]:
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            said, found, _ = text.partition(_REFERENCED)
            yield {"type": "text", "text": said}
            if found:
                reading.skip("content of files")
                return
        elif isinstance(part, Mapping) and ("inlineData" in part or "fileData" in part):
            yield {"type": "image"}
        elif isinstance(part, Mapping):
            reading.skip("tool as the model saw it")


def _call(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    identifier, name = word(call.get("id")), word(call.get("name"))
    made: list[dict[str, Any]] = [{"type": "tool_use", "id": identifier, "name": name, "input": call.get("args")}]
    if call.get("status") in ("success", "error", "cancelled"):
        failed = call["status"] != "success"
        answer = _answer(call.get("result")) or call.get("resultDisplay")
        made.append({"type": "tool_result", "tool_use_id": identifier, "content": answer, "is_error": failed})
    return made


def _answer(result: Any) -> str:
    """Give what a tool answered: the output, or the error, of its response."""
    found = []
    for part in result if isinstance(result, list) else [result]:
        response = part.get("functionResponse") if isinstance(part, Mapping) else None
        inner = response.get("response") if isinstance(response, Mapping) else None
        if isinstance(inner, Mapping):
            found.append(next((inner[key] for key in ("output", "error") if isinstance(inner.get(key), str)), ""))
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            found.append(part["text"])
        elif isinstance(part, str):
            found.append(part)
    return "\n".join(text for text in found if text)
