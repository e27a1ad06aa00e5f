"""GitHub Copilot in VS Code: what "Chat: Export Chat…" writes, which is also what VS Code keeps of a chat.

Requests of a person, each with the pieces of one answer: markdown, names put in between, tools and what they did. Newer
versions keep the document as it was first and then each change of it, a line each.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.json_stream import JsonStream, StreamLine
from ..formats.session_event import Event, moment, word
from .line_reader import Reading, records
from .messages import message_events

_WHOLE, _SET, _PUSH, _DELETE = range(4)
"""What a line of the log of changes does: give the document, set a value, lengthen a list, delete a value."""


def is_line(data: Mapping[str, Any]) -> bool:
    """Tell the first line of a log of changes by itself."""
    whole = data.get("v")
    return data.get("kind") == _WHOLE and isinstance(whole, Mapping) and "requests" in whole


def read(lines: Iterator[StreamLine[str]], reading: Reading) -> Iterator[Event]:
    """Yield the events of a chat kept as a log of changes."""
    state: Any = {}
    for _, change in records(lines, reading):
        if change.get("kind") == _WHOLE:
            state = change.get("v")
        elif not _changed(state, change):
            reading.skip("change of something unknown")
    chat = state if isinstance(state, Mapping) else {}
    requests = chat.get("requests")
    _header(chat, reading)
    for request in requests if isinstance(requests, list) else ():
        if isinstance(request, Mapping):
            yield from _events(request, reading)


def _changed(state: Any, change: Mapping[str, Any]) -> bool:
    """Make one change; False where what it changes is not there."""
    path, kind = change.get("k"), change.get("kind")
    if not isinstance(path, list) or not path:
        return False
    try:
        for key in path[:-1]:
            state = state[key]
        if kind == _SET:
            state[path[-1]] = change.get("v")
        elif kind == _PUSH:
            kept = change.get("i")
            del state[path[-1]][len(state[path[-1]]) if kept is None else kept :]
            state[path[-1]].extend(change.get("v") or ())
        elif kind == _DELETE:
            del state[path[-1]]
    except (KeyError, IndexError, TypeError, AttributeError):
        return False
    return kind in (_SET, _PUSH, _DELETE)


def read_document(document: JsonStream, reading: Reading) -> Iterator[Event]:
    """Yield the events of a chat."""
    for key in document.members():
        if key == "requests" and document.peek() == "[":
            for request in document.items():
                if isinstance(request, Mapping):
                    yield from _events(request, reading)
                else:
                    reading.skip("not an object")
        else:
            _header({key: document.value()}, reading)


def _header(data: Mapping[str, Any], reading: Reading) -> None:
    reading.session_id = reading.session_id or word(data.get("sessionId"))
    reading.started = reading.started or moment(data.get("creationDate"))


def _events(request: Mapping[str, Any], reading: Reading) -> Iterator[Event]:
    asked, when = request.get("message"), moment(request.get("timestamp"))
    identity = word(request.get("requestId"))
    text = asked.get("text") if isinstance(asked, Mapping) else asked
    if text is None and isinstance(asked, Mapping):
        pieces = asked.get("parts")
        text = "".join(_text(piece) for piece in pieces) if isinstance(pieces, list) else ""
    yield from message_events(text, "user", reading, timestamp=when, identity=identity)
    response = request.get("response")
    parts = _answer(response if isinstance(response, list) else [response], reading)
    answered = word(request.get("responseId")) or (identity and f"{identity}.answer")
    if parts:
        yield from message_events(parts, "assistant", reading, timestamp=when, identity=answered)


def _answer(pieces: list[Any], reading: Reading) -> list[dict[str, Any]]:
    """Put the pieces of an answer together: text that names interrupt is one text."""
    parts: list[dict[str, Any]] = []
    for piece in pieces:
        kind = piece.get("kind") if isinstance(piece, Mapping) else None
        if kind in (None, "markdownContent", "inlineReference"):
            text = _named(piece) if kind == "inlineReference" else _text(piece)
            if parts and parts[-1]["type"] == "text":
                parts[-1]["text"] += text
            elif text:
                parts.append({"type": "text", "text": text})
        elif kind == "toolInvocationSerialized":
            parts += _tool(piece)
        elif kind == "thinking":
            reading.skip("thinking")
        else:
            reading.skip_type(kind)
    return parts


def _text(piece: Any) -> str:
    """Give the text of markdown, however deep it is wrapped."""
    while isinstance(piece, Mapping):
        piece = next((piece[key] for key in ("value", "content", "text") if piece.get(key) is not None), "")
    return piece if isinstance(piece, str) else ""


def _named(piece: Mapping[str, Any]) -> str:
    """Give what stands in the text for a file or a symbol."""
    reference = piece.get("inlineReference")
    inner: Mapping[str, Any] = reference if isinstance(reference, Mapping) else {}
    name = word(piece.get("name")) or word(inner.get("name"))
    if not name:
        place = inner.get("uri", inner.get("location", inner))
        place = place.get("uri", place) if isinstance(place, Mapping) else {}
        path = word(place.get("path")) if isinstance(place, Mapping) else ""
        name = path.rpartition("/")[2]
    return f"`{name}`" if name else ""


def _tool(piece: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Write a tool that was run: what it was asked is told in words, and for a terminal by its command."""
    specific = piece.get("toolSpecificData")
    about: Mapping[str, Any] = specific if isinstance(specific, Mapping) else {}
    line = about.get("commandLine")
    command = (
        next((line[key] for key in ("userEdited", "original") if line.get(key)), "")
        if isinstance(line, Mapping)
        else about.get("command")
    )
    details = piece.get("resultDetails")
    given = command or (details.get("input") if isinstance(details, Mapping) else None)
    told = _text(piece.get("pastTenseMessage")) or _text(piece.get("invocationMessage"))
    identifier, name = word(piece.get("toolCallId")), word(piece.get("toolId"))
    made: list[dict[str, Any]] = [{"type": "tool_use", "id": identifier, "name": name, "input": given or told}]
    output = details.get("output") if isinstance(details, Mapping) else None
    if output is not None:
        pieces = output if isinstance(output, list) else [output]
        answer = "\n".join(filter(None, map(_text, pieces)))
        failed = isinstance(details, Mapping) and details.get("isError") is True
        made.append({"type": "tool_result", "tool_use_id": identifier, "content": answer, "is_error": failed})
    return made
