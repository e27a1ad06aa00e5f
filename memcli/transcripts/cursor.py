"""Transcripts of Cursor: `~/.cursor/projects/FOLDER/agent-transcripts/ID.jsonl`, earlier `.txt`.

A line is a message with parts as the Anthropic API has them, without an id. What the person typed
is between `<user_query>` tags, after the time and what the editor adds.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from os import scandir
from pathlib import Path
from typing import Any

from ..formats.dates import format_time
from .claude_code import read_part
from .transcript import Calls, Transcript, build_message, read_timestamp

NAME = "cursor"
FOLDER_VARIABLE, FOLDER = "", ".cursor/projects"
PATTERNS = tuple(
    f"*/agent-transcripts/{name}" for name in ("*.jsonl", "*/*.jsonl", "*.txt", "*/*.txt")
)
QUERY = re.compile(r"(?s)<user_query>\s*(.*?)\s*</user_query>")
# Such as `Friday, Sep 4, 2026, 2:21 AM (UTC+8)`.
TIME = re.compile(
    r"<timestamp>\w+, (\w{3} \d+, \d{4}, \d+:\d\d [AP]M) \(UTC([+-]\d+)?(?::(\d\d))?\)"
)
ADDED = re.compile(
    r"\s*<(?:user_info|rules|timestamp|attached_files|open_and_recently_viewed_files|git_status"
    r"|dynamic_tools|agent_skills|agent_transcripts|system_reminder)\b"
)
REDACTED = re.compile(r"\s*\[REDACTED\]\s*\Z")  # in place of thoughts
SPEAKER = re.compile(r"(?m)^(user|assistant):[ \t]*$")
# In the older text format, the arguments of a call are indented.
TOOL_LINES = re.compile(r"(?m)^\[(?:Tool call|Tool result|Thinking)\][^\n]*(?:\n[ \t]+[^\n]*)*\n?")


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a transcript."""
    message = data.get("message")
    if data.get("role") not in ("user", "assistant") or "type" in data:
        return False
    return isinstance(message, Mapping) and "content" in message


def find_session_id(path: Path) -> str:
    """Return the conversation that a file belongs to. Its name is the id."""
    return path.stem if "agent-transcripts" in path.parts else ""


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    timestamp = ""
    for data in lines:
        if not is_line(data):
            transcript.skipped += 1
            continue
        role, content = str(data["role"]), data["message"]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        parts = [part for part in parts if isinstance(part, Mapping)]
        said = "\n".join(str(part.get("text") or "") for part in parts)
        # The answer has no time of its own.
        timestamp = read_timestamp(data.get("timestamp")) or find_time(said) or timestamp
        add_message(transcript, role, [part.get("text") for part in parts], timestamp)
        for part in parts:
            read_part(calls, part, timestamp)
    return transcript


def read_text(text: str) -> Transcript:
    """Return the conversation in a transcript of the older text format."""
    transcript = Transcript(NAME)
    pieces = SPEAKER.split(text)[1:]
    timestamp = ""
    for role, said in zip(pieces[::2], pieces[1::2], strict=True):
        timestamp = find_time(said) or timestamp
        add_message(transcript, role, [TOOL_LINES.sub("", said)], timestamp)
    return transcript


def add_message(transcript: Transcript, role: str, texts: list[Any], timestamp: str) -> None:
    said = [text for text in texts if isinstance(text, str)]
    if role == "user":
        said = [find_typed(text) for text in said]
    text = "\n".join(REDACTED.sub("", text) for text in said if text)
    event = build_message(role, text, timestamp)
    if event is not None:
        transcript.events.append(event)


def find_typed(text: str) -> str:
    """Return what a person typed in a text that the editor completed."""
    queries = QUERY.findall(text)
    if queries:
        return "\n\n".join(queries)
    return "" if ADDED.match(text) else text


def find_time(text: str) -> str:
    """Return the time that the editor noted in a prompt, or an empty string."""
    match = TIME.search(text)
    if match is None:
        return ""
    try:
        moment = datetime.strptime(f"{match[1]} +0000", "%b %d, %Y, %I:%M %p %z")
    except ValueError:
        return ""
    hours, minutes = int(match[2] or 0), int(match[3] or 0)
    offset = timedelta(hours=hours, minutes=-minutes if hours < 0 else minutes)
    return format_time(moment - offset)


def find_folder_of_path(path: Path, near: Sequence[Path]) -> str:
    """Return the folder in which a conversation took place.

    Cursor writes its path with `-` for every other character, so mem searches the folders that
    exist for it.
    """
    parts = path.parts
    if "agent-transcripts" not in parts[1:]:
        return ""
    name = parts[parts.index("agent-transcripts") - 1]
    likely = [str(folder) for folder in near if shorten_path(str(folder)) == name]
    return likely[0] if likely else find_existing_folder("/", name)


@cache
def find_existing_folder(folder: str, short: str) -> str:
    with suppress(OSError):
        items = sorted(scandir(folder), key=lambda item: -len(item.name))
        for item in items:
            name = shorten_path(item.name)
            if name and f"{short}-".startswith(f"{name}-") and item.is_dir():
                rest = short[len(name) + 1 :]
                found = find_existing_folder(item.path, rest) if rest else item.path
                if found:
                    return found
    return ""


def shorten_path(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")
