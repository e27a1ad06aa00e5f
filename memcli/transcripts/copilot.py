"""Transcripts of Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`."""

from collections.abc import Iterable, Mapping
from typing import Any

from .transcript import Calls, Transcript, build_message, read_timestamp

NAME = "copilot"
FOLDER_VARIABLE, FOLDER, PATTERNS = "COPILOT_HOME", ".copilot", ("session-state/*/events.jsonl",)
ROLES = {"user.message": "user", "assistant.message": "assistant"}


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is an event of Copilot."""
    is_event = "parentId" in data and isinstance(data.get("data"), Mapping)
    return is_event and "." in str(data.get("type"))


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in the events of a file."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    for event in lines:
        kind, data = str(event.get("type")), event.get("data")
        timestamp = read_timestamp(event.get("timestamp"))
        # A subagent's conversation is not the user's.
        if not isinstance(data, Mapping) or event.get("agentId") or data.get("parentToolCallId"):
            transcript.skipped += 1
        elif kind in ROLES:
            message = build_message(ROLES[kind], data.get("content"), timestamp, event.get("id"))
            if message is not None:
                transcript.events.append(message)
        elif kind == "tool.execution_start":
            name = str(data.get("toolName") or "")
            calls.add_call(str(data.get("toolCallId")), name, data.get("arguments"), timestamp)
        elif kind == "tool.execution_complete":
            add_result(calls, data, timestamp)
        elif kind == "session.start" and not transcript.session_id:
            transcript.session_id = str(data.get("sessionId") or "")
            transcript.folder = find_folder(event)
        else:
            transcript.skipped += 1
    return transcript


def find_folder(event: Mapping[str, Any]) -> str:
    """Return the folder in which a conversation took place, if an event names it."""
    data = event.get("data")
    context = data.get("context") if isinstance(data, Mapping) else None
    return str(context.get("cwd") or "") if isinstance(context, Mapping) else ""


def add_result(calls: Calls, data: Mapping[str, Any], timestamp: str) -> None:
    result, shell = data.get("result"), data.get("shellExecution")
    text = str(result.get("content") or "") if isinstance(result, Mapping) else ""
    code = shell.get("exitCode") if isinstance(shell, Mapping) else 0
    is_error = data.get("success") is False or code not in (0, None)
    calls.add_result(str(data.get("toolCallId")), text, is_error=is_error, timestamp=timestamp)
