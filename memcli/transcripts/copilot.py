"""GitHub Copilot CLI's sessions: `session-state/<id>/events.jsonl`, an event a line with its data."""

from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.json_stream import StreamLine
from ..formats.session_event import Event, moment, word
from .line_reader import Reading, records
from .messages import message_events

_FAMILIES = ("session.", "user.", "assistant.", "tool.", "hook.", "subagent.", "skill.", "system.")


def is_line(data: Mapping[str, Any]) -> bool:
    """Tell an event by itself."""
    kind = data.get("type")
    return isinstance(kind, str) and kind.startswith(_FAMILIES) and isinstance(data.get("data"), Mapping)


def read(lines: Iterator[StreamLine[str]], reading: Reading) -> Iterator[Event]:
    """Yield what was said and done in a session; what agents below the first one did is left out."""
    for number, record in records(lines, reading):
        kind, data = record.get("type"), record.get("data")
        if not isinstance(data, Mapping):
            reading.skip_type(kind)
        elif kind in ("session.start", "session.resume", "session.context_changed"):
            _header(data, reading)
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


def _header(data: Mapping[str, Any], reading: Reading) -> None:
    stated = data.get("context")
    context = stated if isinstance(stated, Mapping) else data
    reading.session_id = reading.session_id or word(data.get("sessionId"))
    reading.started = reading.started or moment(data.get("startTime"))
    about = {
        "cwd": word(context.get("cwd")),
        "branch": word(context.get("branch")),
        "version": word(data.get("copilotVersion")),
    }
    for key, value in about.items():
        if value:
            reading.about.setdefault(key, value)


def _user(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    attached = data.get("attachments")
    parts: list[dict[str, Any]] = [{"type": "text", "text": data.get("content")}]
    return "user", parts + [{"type": "document"} for _ in attached] if isinstance(attached, list) else parts


def _assistant(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    # The tools it asks for come as events of their own, once they are run.
    thought = [{"type": "thinking"}] if data.get("reasoningText") else []
    return "assistant", [*thought, {"type": "text", "text": data.get("content")}]


def _started(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    call = {"id": word(data.get("toolCallId")), "name": word(data.get("toolName")), "input": data.get("arguments")}
    return "assistant", [{"type": "tool_use", **call}]


def _completed(data: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    result, error = data.get("result"), data.get("error")
    failed = data.get("success") is False
    content = result.get("content") if isinstance(result, Mapping) else result
    if failed and isinstance(error, Mapping):
        content = error.get("message") or content
    answer = {"tool_use_id": word(data.get("toolCallId")), "content": content, "is_error": failed}
    return "system", [{"type": "tool_result", **answer}]


_PARTS = {
    "user.message": _user,
    "assistant.message": _assistant,
    "tool.execution_start": _started,
    "tool.execution_complete": _completed,
}
