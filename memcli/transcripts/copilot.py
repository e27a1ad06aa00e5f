"""GitHub Copilot: the sessions of its command line, and the chats of VS Code.

The command line writes `session-state/<id>/events.jsonl`, an event a line with its data. "Chat: Export Chat…" of
VS Code writes what VS Code also keeps of a chat: requests of a person, each with the pieces of one answer: markdown,
names put in between, tools and what they did. Newer versions keep the document as it was first and then each change of
it, a line each.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..formats.session_event import Event, moment, word
from .messages import answer_part, call_part, message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat, as_list, as_mapping, read_page

_FAMILIES = ("session.", "user.", "assistant.", "tool.", "hook.", "subagent.", "skill.", "system.")


def _is_session_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is an event of a session."""
    kind = data.get("type")
    return isinstance(kind, str) and kind.startswith(_FAMILIES) and isinstance(data.get("data"), Mapping)


def _read_session(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield what was said and done in a session; what agents below the first one did is left out."""
    for number, record in file.objects(reading):
        kind, data = record.get("type"), record.get("data")
        if not isinstance(data, Mapping):
            reading.skip_type(kind)
        elif kind in ("session.start", "session.resume", "session.context_changed"):
            _session_header(data, reading)
        elif word(data.get("parentToolCallId")):
            reading.skip("sidechain")
        elif kind in _PARTS:
            role, parts = _PARTS[kind](data)
            yield from message_events(
                parts,
                role,
                reading,
                timestamp=moment(record.get("timestamp")),
                identity=word(record.get("id")),
                line=number,
            )
        else:
            reading.skip_type(kind)


def _session_header(data: Mapping[str, Any], reading: Transcript) -> None:
    stated = data.get("context")
    context = stated if isinstance(stated, Mapping) else data
    reading.note(
        word(data.get("sessionId")),
        moment(data.get("startTime")),
        cwd=word(context.get("cwd")),
        branch=word(context.get("branch")),
        version=word(data.get("copilotVersion")),
    )


def _user(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    attached = data.get("attachments")
    parts: list[dict[str, Any]] = [{"type": "text", "text": data.get("content")}]
    return "user", parts + [{"type": "document"} for _ in attached] if isinstance(attached, list) else parts


def _assistant(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    # The tools it asks for come as events of their own, once they are run.
    thought = [{"type": "thinking"}] if data.get("reasoningText") else []
    return "assistant", [*thought, {"type": "text", "text": data.get("content")}]


def _started(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    return "assistant", [call_part(word(data.get("toolCallId")), word(data.get("toolName")), data.get("arguments"))]


def _completed(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    result, error = data.get("result"), data.get("error")
    failed = data.get("success") is False
    content = result.get("content") if isinstance(result, Mapping) else result
    if failed and isinstance(error, Mapping):
        content = error.get("message") or content
    return "system", [answer_part(word(data.get("toolCallId")), content, failed=failed)]


_PARTS = {
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.execution_start": _started,
    "tool.execution_complete": _completed,
}


_WHOLE, _SET, _PUSH, _DELETE = range(4)
"""What a line of the log of changes does: give the document, set a value, lengthen a list, delete a value."""


def _is_chat_log(data: Mapping[str, Any]) -> bool:
    """Return whether an object is the first line of a log of changes."""
    whole = data.get("v")
    return data.get("kind") == _WHOLE and isinstance(whole, Mapping) and "requests" in whole


def _read_chat_log(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a chat kept as a log of changes."""
    state: Any = {}
    for _, change in file.objects(reading):
        if change.get("kind") == _WHOLE:
            state = change.get("v")
        elif not _changed(state, change):
            reading.skip("change of something unknown")
    chat = as_mapping(state)
    requests = chat.get("requests")
    _chat_header(chat, reading)
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
            length = change.get("i")
            del state[path[-1]][len(state[path[-1]]) if length is None else length :]
            state[path[-1]].extend(change.get("v") or ())
        elif kind == _DELETE:
            del state[path[-1]]
    except (KeyError, IndexError, TypeError, AttributeError):
        return False
    return kind in (_SET, _PUSH, _DELETE)


def _read_chat(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a chat kept as one document."""
    for request in file.document().listed("requests", lambda fields: _chat_header(fields, reading)):
        if isinstance(request, Mapping):
            yield from _events(request, reading)
        else:
            reading.skip("not an object")


def _chat_header(data: Mapping[str, Any], reading: Transcript) -> None:
    reading.note(word(data.get("sessionId")), moment(data.get("creationDate")))


def _events(request: Mapping[str, Any], reading: Transcript) -> Iterator[Event]:
    prompt, when = request.get("message"), moment(request.get("timestamp"))
    identity = word(request.get("requestId"))
    text = prompt.get("text") if isinstance(prompt, Mapping) else prompt
    if text is None and isinstance(prompt, Mapping):
        pieces = prompt.get("parts")
        text = "".join(_text(piece) for piece in pieces) if isinstance(pieces, list) else ""
    yield from message_events(text, "user", reading, timestamp=when, identity=identity)
    parts = _answer(as_list(request.get("response")), reading)
    answered = word(request.get("responseId")) or (identity and f"{identity}.answer")
    if parts:
        yield from message_events(parts, "assistant", reading, timestamp=when, identity=answered)


def _answer(pieces: list[Any], reading: Transcript) -> list[dict[str, Any]]:
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
    """Return the text of markdown, however deep it is wrapped."""
    while isinstance(piece, Mapping):
        piece = next((piece[key] for key in ("value", "content", "text") if piece.get(key) is not None), "")
    return piece if isinstance(piece, str) else ""


def _named(piece: Mapping[str, Any]) -> str:
    """Return what stands in the text for a file or a symbol."""
    inner = as_mapping(piece.get("inlineReference"))
    name = word(piece.get("name")) or word(inner.get("name"))
    if not name:
        location = inner.get("uri", inner.get("location", inner))
        location = as_mapping(location).get("uri", as_mapping(location))
        path = word(as_mapping(location).get("path"))
        name = path.rpartition("/")[2]
    return f"`{name}`" if name else ""


def _tool(piece: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the parts of a tool that was run; its input is a text, for a terminal the command."""
    about, details = as_mapping(piece.get("toolSpecificData")), as_mapping(piece.get("resultDetails"))
    line = about.get("commandLine")
    command = (
        next((line[key] for key in ("userEdited", "original") if line.get(key)), "")
        if isinstance(line, Mapping)
        else about.get("command")
    )
    given = command or details.get("input")
    summary = _text(piece.get("pastTenseMessage")) or _text(piece.get("invocationMessage"))
    identifier, name = word(piece.get("toolCallId")), word(piece.get("toolId"))
    parts = [call_part(identifier, name, given or summary)]
    output = details.get("output")
    if output is not None:
        answer = "\n".join(filter(None, map(_text, as_list(output))))
        parts.append(answer_part(identifier, answer, failed=details.get("isError") is True))
    return parts


def _folder_of(path: Path, _: tuple[Path, ...]) -> str:
    if path.parent.name != "chatSessions":
        return ""
    url = urlsplit(word((read_page(path.parent.parent / "workspace.json") or {}).get("folder")))
    return unquote(url.path) if url.scheme == "file" else ""


SESSION = TranscriptFormat("copilot", _read_session, _is_session_line)
CHAT_LOG = TranscriptFormat("copilot-chat-log", _read_chat_log, is_first_line=_is_chat_log)
CHAT = TranscriptFormat(
    "copilot-chat",
    _read_chat,
    document=re.compile(r'"requests"\s*:\s*\[(?:\s*\]|\s*\{\s*"(?:requestId|message)")'),
)
TOOL = Tool(
    "copilot",
    "GitHub Copilot",
    "COPILOT_HOME",
    (".copilot",),
    ("session-state/*/events.jsonl", "session-state/*.jsonl"),
)
VSCODE = Tool(
    "vscode",
    "VS Code",
    "",
    (".config/Code/User", ".vscode-server/data/User", "Library/Application Support/Code/User"),
    (
        "workspaceStorage/*/chatSessions/*.json",
        "workspaceStorage/*/chatSessions/*.jsonl",
        "globalStorage/emptyWindowChatSessions/*.json",
        "globalStorage/emptyWindowChatSessions/*.jsonl",
    ),
    folder_of=_folder_of,
)
