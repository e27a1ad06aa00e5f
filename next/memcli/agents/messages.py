"""Record an agent's conversation: each message once, and tool calls shortened."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..formats.session import parse_event
from ..formats.text import build_digest, cut_middle
from ..store.commit import ChangeGroup, Replace, commit, read_file
from ..store.sessions import (
    Session,
    append_events,
    find_events_file,
    find_sessions_folder,
    name_session,
    read_session,
)
from ..store.workspace import Workspace
from ..transcripts.transcript import (
    build_message,
    remove_ignored_results,
    shorten_arguments,
    shorten_result,
)
from .events import Event

LONGEST_MESSAGE = 20_000  # characters; a longer one is a pasted file
TAIL_BYTES = 128 * 1024
TRANSCRIPT_BYTES = 1024 * 1024


def record_event(
    workspace: Workspace,
    event: Event,
    agent: str,
    events: Sequence[Mapping[str, Any]],
    state: str = "",
) -> Session | None:
    """Append events to the session, and return it. One without any event leaves no folder."""
    name = name_session(event.session)
    if not events and not find_events_file(workspace, name).is_file():
        return None
    append_events(
        workspace,
        name,
        events,
        agent=agent,
        project=workspace.project,
        folder=event.folder,
        state=state,
    )
    return read_session(workspace, name)


def record_answer(workspace: Workspace, event: Event, agent: str) -> Session | None:
    """Record the agent's last message of a turn, and return the session."""
    answer = event.answer or read_last_answer(event.transcript)
    if answer.strip():
        record_message(workspace, event, agent, "assistant", answer)
    return record_event(workspace, event, agent, [])


def record_message(
    workspace: Workspace, event: Event, agent: str, role: str, text: str
) -> tuple[str, bool]:
    """Record a message, unless the turn has it already. Return SESSION#ID, and whether it is new.

    The name is empty for a text that nobody said, such as a notice of the agent's own program.
    """
    half = LONGEST_MESSAGE // 2
    message = build_message(role, cut_middle(text, half, half), None)
    if message is None:
        return "", False
    recorded = read_tail(workspace, event.session)
    # Two agents that run each other's hooks report one message at the same moment. Its id, made
    # from the latest message of the other side, makes it one. In a later turn it is another.
    others = [item for item in recorded if item.get("role") not in (role, None)]
    turn = others[-1]["id"] if others else ""
    digest = build_digest(f"{role}\n{turn}\n{message['content']}".encode("utf-8", "replace"))
    message_id = f"msg_{digest[:16]}"
    is_new = all(item["id"] != message_id for item in recorded)
    if is_new:
        del message["timestamp"]  # append_events notes the current time
        record_event(workspace, event, agent, [{**message, "id": message_id}])
    return f"{name_session(event.session)}#{message_id}", is_new


def record_tool(workspace: Workspace, event: Event, agent: str) -> None:
    """Record a tool call, without its result if it names an ignored file."""
    call = {
        "type": "tool",
        "name": event.tool,
        "arguments": shorten_arguments(event.arguments),
        "result": shorten_result(event.error or event.result),
        "isError": bool(event.error),
    }
    if event.call_id:
        call["id"] = event.call_id
    remove_ignored_results(workspace, event.folder, [call])
    record_event(workspace, event, agent, [call])


def read_tail(workspace: Workspace, session_id: str) -> list[dict[str, Any]]:
    """Return the latest events of a session."""
    data = read_end(str(find_events_file(workspace, name_session(session_id))), TAIL_BYTES)
    events = [parse_event(line) for line in data.splitlines() if line.strip()]
    return [event for event in events if event is not None and event.get("id")]


def read_end(path: str, size: int) -> str:
    """Return the end of a file as text, or an empty string."""
    with suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:
            file.seek(max(0, os.fstat(descriptor).st_size - size))
            return file.read(size).decode("utf-8", "replace")
    return ""


def read_last_answer(transcript: str) -> str:
    """Return the last message of a transcript, if it is the agent's."""
    if not transcript.endswith(".jsonl"):
        return ""
    from ..transcripts.importer import list_formats

    lines = [parse_event(line) for line in read_end(transcript, TRANSCRIPT_BYTES).splitlines()]
    objects = [line for line in lines if line is not None]
    for format_ in list_formats():
        if any(format_.is_line(line) for line in objects):
            said = [item for item in format_.read_lines(objects).events if item.get("role")]
            return str(said[-1]["content"]) if said and said[-1]["role"] == "assistant" else ""
    return ""


def remove_withdrawn_prompt(workspace: Workspace, message: str) -> None:
    """Remove a prompt that the user withdrew: another one followed before the agent did anything.

    `message` is its SESSION#ID.
    """
    session, _, message_id = message.partition("#")
    path = f"{find_sessions_folder(workspace)}/{session}/session.jsonl"
    text = read_file(workspace, path) or ""
    lines = text.splitlines(keepends=True)
    other_lines = [line for line in lines if (parse_event(line) or {}).get("id") != message_id]
    if len(other_lines) == len(lines) - 1:
        change = Replace(path, text, "".join(other_lines))
        # It was in the file already, secrets masked.
        group = ChangeGroup([change], allow_secrets=True, is_said_by_user=True)
        commit(workspace, "withdraw prompt", [group], actor="hook")
