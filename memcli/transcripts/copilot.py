"""Transcripts of Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`."""

from collections.abc import Iterable, Mapping

from .transcript import JsonObject, Transcript, get_object, get_text, read_timestamp

NAME = "copilot"
FOLDER_VARIABLE, FOLDER, PATTERNS = "COPILOT_HOME", ".copilot", ("session-state/*/events.jsonl",)


def is_line(data: JsonObject) -> bool:
    """Return whether an object is an event of Copilot."""
    has_data = isinstance(data.get("data"), Mapping)
    return has_data and "parentId" in data and "." in str(data.get("type"))


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the events of a file."""
    transcript = Transcript(NAME)
    for event in lines:
        kind = event.get("type")
        data = get_object(event, "data")
        call_id = get_text(data, "toolCallId")
        timestamp = read_timestamp(event.get("timestamp"))
        # A subagent's conversation is not the user's.
        if event.get("agentId") or data.get("parentToolCallId"):
            continue
        if kind in ("user.message", "assistant.message"):
            role = kind.partition(".")[0]
            transcript.add_message(role, data.get("content"), timestamp, event.get("id"))
        elif kind == "tool.execution_start":
            name = get_text(data, "toolName")
            transcript.add_call(call_id, name, data.get("arguments"), timestamp)
        elif kind == "tool.execution_complete":
            text = get_text(get_object(data, "result"), "content")
            exit_code = get_object(data, "shellExecution").get("exitCode")
            is_error = data.get("success") is False or exit_code not in (0, None)
            transcript.add_result(call_id, text, is_error=is_error, timestamp=timestamp)
        elif kind == "session.start" and not transcript.session_id:
            transcript.session_id = get_text(data, "sessionId")
            transcript.folder = find_folder(event)
    return transcript


def find_folder(event: JsonObject) -> str:
    """Return the folder in which a conversation took place, if an event names it."""
    return get_text(get_object(get_object(event, "data"), "context"), "cwd")
