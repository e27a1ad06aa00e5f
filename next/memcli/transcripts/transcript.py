"""A conversation as an agent stored it, and what all formats have in common."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..formats.dates import format_time, parse_time
from ..formats.session import CONTEXT, read_content
from ..formats.text import cut_middle
from ..store.files import read_small_text
from ..store.ignore import is_ignored, read_patterns
from ..store.workspace import Workspace

RESULT_START, RESULT_END = 200, 300  # characters of a tool's result that are stored
MOST_ARGUMENT = 500
# Files whose content is never stored, whatever the ignore files say.
SECRET_FILES = (".env*",)
# Texts in the user's turn that the agent wrote: notices, commands and their output.
INJECTED_START = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-\w+|bash-(?:input|stdout|stderr)"
    r"|task-notification|skill\w*|permissions\b|collaboration_mode|personality_spec|model_switch"
    r"|plugins_instructions|apps_instructions|subagent_notification|turn_aborted)"
    r"|# AGENTS\.md instructions|Caveat: The messages below|\[Request interrupted by user"
    r"|This session is being continued from a previous conversation)"
)
Event = dict[str, Any]


@dataclass
class Transcript:
    """A conversation read from a file of an agent."""

    agent: str
    session_id: str = ""
    folder: str = ""  # where the agent worked
    events: list[Event] = field(default_factory=list)
    skipped: int = 0  # lines that are neither a message nor a tool call


class Calls:
    """Joins the calls of tools with their results, which come later or, rarely, earlier."""

    def __init__(self, transcript: Transcript) -> None:
        self.transcript = transcript
        self.by_id: dict[str, Event] = {}

    def add_call(self, call_id: str, name: str, arguments: Any, timestamp: str) -> None:
        event = self.find(call_id, timestamp)
        event["name"] = name
        event["arguments"] = shorten_arguments(arguments)

    def add_result(self, call_id: str, result: str, *, is_error: bool, timestamp: str) -> None:
        event = self.find(call_id, timestamp)
        event["result"] = shorten_result(result)
        event["isError"] = is_error

    def find(self, call_id: str, timestamp: str) -> Event:
        event = self.by_id.get(call_id) if call_id else None
        if event is None:
            event = {"type": "tool", "name": "", "timestamp": timestamp}
            if call_id:
                event["id"] = call_id
                self.by_id[call_id] = event
            self.transcript.events.append(event)
        return event


def build_message(role: str, content: Any, timestamp: Any, event_id: Any = "") -> Event | None:
    """Return the event of a message, or None if nobody said anything in it."""
    text = read_content(normalize_parts(content))
    if role == "user":
        text = CONTEXT.sub("", text)
        if INJECTED_START.match(text):
            return None
    if not text.strip():
        return None
    event: Event = {"type": "message", "role": role, "content": text.strip()}
    event["timestamp"] = read_timestamp(timestamp)
    if event_id:
        event["id"] = str(event_id)
    return event


def normalize_parts(content: Any) -> Any:
    """Return a message's parts with the text parts of all agents named `text`."""
    if not isinstance(content, list):
        return content
    return [
        {**part, "type": "text"}
        if isinstance(part, Mapping) and part.get("type") in ("input_text", "output_text")
        else part
        for part in content
    ]


def read_timestamp(value: Any) -> str:
    moment = parse_time(value) if isinstance(value, str) else None
    return format_time(moment) if moment else ""


def shorten_result(text: str) -> str:
    return cut_middle(text, RESULT_START, RESULT_END)


def shorten_arguments(arguments: Any) -> dict[str, str]:
    """Return the arguments of a call as texts, long ones cut: a new file is no conversation."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"input": arguments}
    if not isinstance(arguments, Mapping):
        return {}
    shortened = {}
    for name, value in arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        shortened[str(name)] = text if len(text) <= MOST_ARGUMENT else f"{text[:MOST_ARGUMENT]}…"
    return shortened


def remove_ignored_results(workspace: Workspace, folder: str, events: Iterable[Event]) -> None:
    """Delete the results of tools that were called with the name of an ignored file.

    `folder` is where the agent worked. Its `.gitignore` counts too.
    """
    lines = read_small_text(Path(folder or "/nonexistent") / ".gitignore").splitlines()
    git_patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    patterns = (*SECRET_FILES, *read_patterns(workspace.root), *git_patterns)
    for event in events:
        if event.get("type") != "tool" or "result" not in event:
            continue
        words = re.split(r"[\s'\"=:;|&()<>]+", " ".join(event.get("arguments", {}).values()))
        if any(word and is_ignored(patterns, word.removeprefix("./")) for word in words):
            event["result"] = "[result not stored: the call names an ignored file]"
