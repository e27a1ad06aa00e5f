"""A conversation as an agent stored it, and the functions that all formats share."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from ..errors import NotFoundError
from ..formats import (
    CONTEXT,
    NOT_RECORDED,
    format_time,
    hide_answer,
    is_unrecorded,
    normalize_time,
    read_content,
)
from ..store import Workspace, build_mask, cut_masked, is_ignored, mask_field, read_patterns

RESULT_ENDS = 200, 300  # characters of a tool's result that are stored: its start and its end
NOT_STORED = "[result not stored: the call names an ignored file]"
MOST_ARGUMENT = 500
MOST_STEPS = 200_000_000  # of SQLite in one statement: a hostile view can have endless rows
# A server tool, such as web search, runs at Anthropic instead of on this computer.
ANTHROPIC_CALLS = ("tool_use", "server_tool_use")
# Texts in the user's turn that the agent added: notices, commands and their output.
INJECTED_START = re.compile(
    r"\s*(?:<(?:command-(?:name|message|args)|local-command-\w+|bash-(?:input|stdout|stderr)"
    r"|task-notification|skill\w*|permissions\b|collaboration_mode|personality_spec|model_switch"
    r"|plugins_instructions|apps_instructions|subagent_notification|turn_aborted)"
    r"|# AGENTS\.md instructions|Caveat: The messages below|\[Request interrupted by user"
    r"|This session is being continued from a previous conversation)"
)
WORD_END = re.compile(r"[\s'\"=:;|&()<>]+")  # between the words of a command
# `1794000000`, `1794000000000` or `1794000000.25`; nine digits until 2001
EPOCH = re.compile(r"(\d{9,10})(?:\d{3})?(?:\.\d+)?")
Event = dict[str, Any]
JsonObject = Mapping[str, Any]


@dataclass
class Transcript:
    """A conversation, to which the reader of a format adds messages, tool calls and results."""

    agent: str
    session_id: str = ""
    folder: str = ""  # where the agent worked
    events: list[Event] = field(default_factory=list)
    path: Path = Path()  # of its file, perhaps in an archive
    modified: str = ""  # the time of that file
    calls: dict[str, Event] = field(default_factory=dict)  # the events of tool calls, by id

    def add_message(self, role: str, content: Any, timestamp: Any, event_id: Any = "") -> None:
        event = build_message(role, content, timestamp, event_id)
        if event is not None:
            hide_answer(event, self.events)
            self.events.append(event)

    def add_call(self, call_id: str, name: str, arguments: Any, timestamp: Any) -> None:
        event = self.get_call(call_id, timestamp)
        event["name"] = name
        event["arguments"] = parse_arguments(arguments)

    def add_result(
        self, call_id: str, result: str, timestamp: Any, *, is_error: bool = False
    ) -> None:
        event = self.get_call(call_id, timestamp)
        event["result"] = result
        event["isError"] = is_error

    def get_call(self, call_id: str, timestamp: Any) -> Event:
        """Return the event of a call.

        A result usually follows its call, but can precede it.
        """
        if call_id in self.calls:
            return self.calls[call_id]
        event: Event = {"type": "tool", "name": "", "timestamp": read_timestamp(timestamp)}
        if call_id:
            event["id"] = call_id
            self.calls[call_id] = event
        self.events.append(event)
        return event


def get_text(data: JsonObject, *names: str) -> str:
    """Return the first of these fields that is not empty, as a text."""
    for name in names:
        if data.get(name):
            return str(data[name])
    return ""


def get_object(data: JsonObject, name: str) -> JsonObject:
    """Return a field that is an object.

    Anything else counts as an empty object.
    """
    value = data.get(name)
    return value if isinstance(value, Mapping) else {}


def get_objects(data: JsonObject, name: str) -> list[JsonObject]:
    """Return the objects in a field that is a list."""
    value = data.get(name)
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, Mapping)]


def read_tool_parts(transcript: Transcript, message: JsonObject, timestamp: Any) -> None:
    """Add the tool calls and the results in a message of the Anthropic API."""
    for part in get_objects(message, "content"):
        kind = part.get("type")
        if kind in ANTHROPIC_CALLS:
            name = get_text(part, "name")
            transcript.add_call(get_text(part, "id"), name, part.get("input"), timestamp)
        elif kind == "tool_result":
            call_id = get_text(part, "tool_use_id")
            result = read_content(part.get("content"))
            is_error = part.get("is_error") is True
            transcript.add_result(call_id, result, timestamp, is_error=is_error)


def query(database: Path, statement: str, values: tuple[str, ...] = ()) -> list[Any]:
    """Return rows of a database that its program may be writing to.

    Raises NotFoundError.
    """
    import sqlite3

    address = f"{database.as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            connection.set_progress_handler(lambda: True, MOST_STEPS)
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            return connection.execute(statement, values).fetchall()
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter for a damaged schema
        raise NotFoundError(f"cannot read {database}: {error}") from None


def build_message(role: str, content: Any, timestamp: Any, event_id: Any = "") -> Event | None:
    """Return the event of a message, or None if neither the user nor the agent wrote its text."""
    text = read_content(content)
    if role == "user":
        text = CONTEXT.sub("", text)
        if INJECTED_START.match(text):
            return None
        if is_unrecorded(text):
            text = NOT_RECORDED
    if not text.strip():
        return None
    event: Event = {
        "type": "message",
        "role": role,
        "content": text.strip(),
        "timestamp": read_timestamp(timestamp),
    }
    if event_id:
        event["id"] = str(event_id)
    return event


def read_timestamp(value: Any) -> str:
    """Return a time in the stored format.

    Some agents use seconds or milliseconds since 1970.
    """
    text = str(value).strip()
    epoch = EPOCH.fullmatch(text)
    if epoch:
        return format_time(datetime.fromtimestamp(int(epoch[1]), UTC))
    return normalize_time(text)


def parse_arguments(arguments: Any) -> dict[str, str]:
    """Return the arguments of a call by name.

    Agents store an object, its JSON or plain text.
    """
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"input": arguments}
    if not isinstance(arguments, Mapping):
        return {}
    return {str(name): format_value(value) for name, value in arguments.items()}


def format_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def clean_tool_calls(workspace: Workspace, folder: str, events: Iterable[Event]) -> None:
    """Mask the secrets of tool calls and shorten them: they often contain whole files.

    If a call names a file that is ignored in the workspace, or by the `.gitignore` of `folder`, in
    which the agent worked, its result is replaced.
    """
    # An empty path would be the folder in which mem itself runs.
    git_patterns = read_patterns(Path(folder or "/nonexistent"), ".gitignore")
    # The content of `.env` is never stored, whatever the ignore files say.
    patterns = (".env*", *read_patterns(workspace.root), *git_patterns)
    mask = build_mask(workspace)
    for event in events:
        if event.get("type") != "tool":
            continue
        arguments = parse_arguments(event.get("arguments"))
        for name, text in arguments.items():
            mask_argument = partial(mask_field, name, mask=mask)
            arguments[name] = cut_masked(text, MOST_ARGUMENT, 0, mask_argument)
        event["arguments"] = arguments
        # The tool had not finished when the agent wrote the transcript.
        if "result" not in event:
            continue
        if has_ignored_path(arguments.values(), patterns):
            event["result"] = NOT_STORED
        else:
            event["result"] = cut_masked(format_value(event["result"]), *RESULT_ENDS, mask)


def has_ignored_path(arguments: Iterable[str], patterns: Sequence[str]) -> bool:
    """Return whether a word in the arguments of a call is the path of an ignored file."""
    words = WORD_END.split(" ".join(arguments))
    # Patterns have no `./`, but commands do: `cat ./.env`.
    return any(word and is_ignored(patterns, word.removeprefix("./")) for word in words)
