"""Transcripts of Copilot CLI: `~/.copilot/session-state/ID/events.jsonl`."""

from collections.abc import Iterable, Mapping

from .transcript import JsonObject, Transcript, get_object, get_text

NAME = "copilot"
FOLDER_VARIABLE, FOLDER = "COPILOT_HOME", ".copilot"
PATTERNS = ("session-state/*/events.jsonl",)
ROLES = {"user.message": "user", "assistant.message": "assistant"}


def is_line(data: JsonObject) -> bool:
    """Return whether an object is an event of Copilot."""
    has_data = isinstance(data.get("data"), Mapping)
    return has_data and "parentId" in data and "." in str(data.get("type"))


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the events of a file."""
    transcript = Transcript(NAME)
    for event in lines:
        data = get_object(event, "data")
        # A subagent's conversation is not the user's.
        if event.get("agentId") or data.get("parentToolCallId"):
            continue
        kind = get_text(event, "type")
        timestamp = event.get("timestamp")
        call_id = get_text(data, "toolCallId")
        # An answer lists its tool calls, too. They are read from their own events.
        if kind in ROLES:
            transcript.add_message(ROLES[kind], data.get("content"), timestamp, event.get("id"))
        elif kind == "tool.execution_start":
            name = get_text(data, "toolName")
            transcript.add_call(call_id, name, data.get("arguments"), timestamp)
        elif kind == "tool.execution_complete":
            result = get_text(get_object(data, "result"), "content")
            exit_code = get_object(data, "shellExecution").get("exitCode")
            is_error = data.get("success") is False or exit_code not in (0, None)
            transcript.add_result(call_id, result, timestamp, is_error=is_error)
        elif kind == "session.start" and not transcript.session_id:
            transcript.session_id = get_text(data, "sessionId")
            transcript.folder = find_folder(event)
    return transcript


def find_folder(event: JsonObject) -> str:
    """Return the folder in which a conversation took place, if an event names it."""
    context = get_object(get_object(event, "data"), "context")
    return get_text(context, "cwd")
