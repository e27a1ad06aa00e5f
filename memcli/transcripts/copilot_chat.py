"""GitHub Copilot in VS Code: what "Chat: Export Chat…" writes, which is also what VS Code keeps of a chat.

Requests of a person, each with the pieces of one answer: markdown, names put in between, tools and what they did.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..exchange.message import message_events
from ..exchange.reading import Reading
from ..text.session import Event, moment, word
from .json_stream import JsonStream


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
            value = document.value()
            if key == "sessionId":
                reading.session_id = reading.session_id or word(value)
            elif key == "creationDate":
                reading.started = moment(value)


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
