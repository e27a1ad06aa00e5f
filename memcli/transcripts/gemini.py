"""Gemini CLI's sessions: one JSON document each, in newer versions a record a line where a later one replaces.

A session names its project only by a digest of the path; the session's folder may name the path itself.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from ..formats.session_event import Event, moment, word
from .messages import answer_part, call_part, message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat, as_list, as_mapping, read_page

_ROLES = {"user": "user", "gemini": "assistant"}
_REFERENCED = "--- Content from referenced files ---"
"""What the files a person named with @ hold follows this line."""


def _is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a session."""
    return ("sessionId" in data and "projectHash" in data) or (data.get("type") == "gemini" and "content" in data)


def _read_document(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a session kept as one document."""
    for message in file.document().listed("messages", lambda fields: _header(fields, reading)):
        yield from _events(message, reading)


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a session kept a record a line: each message as it was last, and none that was rewound."""
    messages: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, data in file.objects(reading):
        back, fields = word(data.get("$rewindTo")), data.get("$set")
        if back:
            ids = list(messages)
            for taken_back in ids[ids.index(back) if back in ids else 0 :]:
                del messages[taken_back]
                reading.skip("taken back")
        elif isinstance(fields, Mapping):
            _header(fields, reading)
        elif "projectHash" in data:
            _header(data, reading)
        elif word(data.get("id")):
            first = messages.get(word(data["id"]), (number, data))[0]
            messages[word(data["id"])] = first, data
        else:
            reading.skip_type(data.get("type"))
    for line, message in messages.values():
        yield from _events(message, reading, line)


def _header(data: Mapping[str, Any], reading: Transcript) -> None:
    project = word(data.get("projectHash"))
    reading.note(word(data.get("sessionId")), moment(data.get("startTime")), projectHash=project)
    if data.get("kind") == "subagent":
        reading.about["subagent"] = True


def _events(message: Any, reading: Transcript, line: int = 0) -> Iterator[Event]:
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


def _parts(content: Any, reading: Transcript) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message as others write them, up to what files hold that it only names."""
    for part in as_list(content):
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            words, marker, _ = text.partition(_REFERENCED)
            yield {"type": "text", "text": words}
            if marker:
                reading.skip("content of files")
                return
        elif isinstance(part, Mapping) and ("inlineData" in part or "fileData" in part):
            yield {"type": "image"}
        elif isinstance(part, Mapping):
            reading.skip("tool as the model saw it")


def _call(call: Mapping[str, Any]) -> list[dict[str, Any]]:
    identifier = word(call.get("id"))
    parts = [call_part(identifier, word(call.get("name")), call.get("args"))]
    if call.get("status") in ("success", "error", "cancelled"):
        failed = call["status"] != "success"
        answer = _answer(call.get("result")) or call.get("resultDisplay")
        parts.append(answer_part(identifier, answer, failed=failed))
    return parts


def _answer(result: Any) -> str:
    """Return what a tool answered: the output, or the error, of its response."""
    texts = []
    for part in as_list(result):
        inner = as_mapping(as_mapping(part).get("functionResponse")).get("response")
        if isinstance(inner, Mapping):
            texts.append(next((inner[key] for key in ("output", "error") if isinstance(inner.get(key), str)), ""))
        elif isinstance(part, Mapping) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        elif isinstance(part, str):
            texts.append(part)
    return "\n".join(text for text in texts if text)


def _folder_of(path: Path, near: tuple[Path, ...]) -> str:
    is_session = path.parent.name == "chats" and path.parent.parent.parent.name == "tmp"
    return _project(path.parent.parent, near) if is_session else ""


@cache
def _project(folder: Path, near: tuple[Path, ...]) -> str:
    """Return the project of a temporary folder, by the file in it, its name beside a path, or the digest of a path."""
    with suppress(OSError):
        return (folder / ".project_root").read_text(encoding="utf-8", errors="replace").strip()
    home = folder.parent.parent
    names = as_mapping((read_page(home / "projects.json") or {}).get("projects"))
    paths = [*names, *(read_page(home / "trustedFolders.json") or {}), *map(str, near)]
    digest = next((path for path in paths if sha256(path.encode("utf-8", "replace")).hexdigest() == folder.name), "")
    return next((path for path, name in names.items() if name == folder.name), digest)


SESSION = TranscriptFormat("gemini", _read, _is_line)
DOCUMENT = TranscriptFormat(
    "gemini-json", _read_document, document=re.compile(r'\A\{(?:[^{}\[\]]{0,2000}?)"projectHash"\s*:')
)
TOOL = Tool(
    "gemini",
    "Gemini CLI",
    "",
    (".gemini",),
    ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl"),
    folder_of=_folder_of,
)
