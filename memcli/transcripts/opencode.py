"""opencode's sessions: a page about the session, messages, and parts of messages, each a JSON object.

They lie in files of their own or in rows of a database (`opencode_database`), and in what `opencode export` prints.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..formats.session_event import Event, moment, role_of, word
from .messages import message_events
from .transcript_format import Tool, TranscriptFile, TranscriptFormat, TranscriptReading


def _read_export(file: TranscriptFile, reading: TranscriptReading) -> Iterator[Event]:
    """Yield the events of what `opencode export` prints."""
    document = file.document()
    for key in document.members():
        if key == "messages" and document.peek() == "[":
            for message in document.items():
                parts = message.get("parts") if isinstance(message, Mapping) else None
                if isinstance(parts, list) and isinstance(message.get("info"), Mapping):
                    yield from events(message["info"], parts, reading)
                else:
                    reading.skip("not an object")
        else:
            value = document.value()
            if key == "info" and isinstance(value, Mapping):
                header(value, reading)


def header(info: Mapping[str, Any], reading: TranscriptReading) -> None:
    """Note what the page of a session says."""
    time = info.get("time")
    times = time if isinstance(time, Mapping) else {}
    reading.session_id = reading.session_id or word(info.get("id"))
    reading.started = reading.started or moment(times.get("created"))
    about = {"cwd": word(info.get("directory")), "version": word(info.get("version")), "title": word(info.get("title"))}
    reading.about.update((key, value) for key, value in about.items() if value)
    if word(info.get("parentID")):
        reading.about["subagent"] = True


def events(info: Mapping[str, Any], parts: Iterable[Any], reading: TranscriptReading) -> Iterator[Event]:
    """Yield the events of one message."""
    role = role_of(info.get("role"))
    if role not in ("user", "assistant"):
        reading.skip("no role")
        return
    if info.get("summary") is True:
        reading.skip("summary of a compaction")
        return
    time, path = info.get("time"), info.get("path")
    if isinstance(path, Mapping) and word(path.get("cwd")):
        reading.about.setdefault("cwd", word(path["cwd"]))
    yield from message_events(
        [made for part in parts if isinstance(part, Mapping) for made in _part(part, reading)],
        role,
        reading,
        timestamp=moment(time.get("created")) if isinstance(time, Mapping) else "",
        identity=word(info.get("id")),
    )


def _part(part: Mapping[str, Any], reading: TranscriptReading) -> list[dict[str, Any]]:
    """Write a part as others write it; nothing for what nobody said."""
    kind = part.get("type")
    if kind == "text":
        if part.get("synthetic") is True or part.get("ignored") is True:
            reading.skip("reminder")
            return []
        return [{"type": "text", "text": part.get("text")}]
    if kind == "file":
        picture = str(part.get("mime")).startswith("image/")
        return [{"type": "image" if picture else "document"}]
    if kind == "tool":
        return _tool(part)
    if kind == "reasoning":
        reading.skip("thinking")
    else:
        reading.skip_type(kind)
    return []


def _tool(part: Mapping[str, Any]) -> list[dict[str, Any]]:
    stated = part.get("state")
    state: Mapping[str, Any] = stated if isinstance(stated, Mapping) else {}
    identifier = word(part.get("callID"))
    made: list[dict[str, Any]] = [
        {"type": "tool_use", "id": identifier, "name": word(part.get("tool")), "input": state.get("input")}
    ]
    if state.get("status") in ("completed", "error"):
        failed = state["status"] == "error"
        answer = state.get("error" if failed else "output")
        made.append({"type": "tool_result", "tool_use_id": identifier, "content": answer, "is_error": failed})
    return made


EXPORT = TranscriptFormat(
    "opencode",
    _read_export,
    document=re.compile(r'"messages"\s*:\s*\[\s*\{\s*"info"\s*:|\A\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_'),
)
DATABASE = "opencode.db"
TOOL = Tool(
    "opencode",
    "opencode",
    "",
    (".local/share/opencode",),
    ("storage/session/*/*.json", DATABASE),
    data_folder="opencode",
)
