"""Transcripts of Cursor: `~/.cursor/projects/FOLDER/agent-transcripts/ID.jsonl`, earlier `.txt`.

A line is a message with parts as the Anthropic API has them, without an id. What the person typed
is between `<user_query>` tags, after the time and what the editor adds.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from os import scandir
from pathlib import Path
from typing import Any

from ..formats import format_time, read_content
from .transcript import JsonObject, Transcript, get_object, read_tool_parts

NAME = "cursor"
FOLDER_VARIABLE, FOLDER = "", ".cursor/projects"
PATTERNS = tuple(
    f"*/agent-transcripts/{name}" for name in ("*.jsonl", "*/*.jsonl", "*.txt", "*/*.txt")
)
QUERY, QUERY_END = "<user_query>", "</user_query>"
# Such as `Friday, Sep 4, 2026, 2:21 AM (UTC+8)`.
TIME = re.compile(
    r"<timestamp>\w+, (\w{3} \d+, \d{4}, \d+:\d\d [AP]M) \(UTC([+-]\d+)?(?::(\d\d))?\)"
)
# A text without a query that begins so has nothing that a person typed.
ADDED = re.compile(
    r"\s*<(?:user_info|rules|timestamp|attached_files|open_and_recently_viewed_files|git_status"
    r"|dynamic_tools|agent_skills|agent_transcripts|system_reminder)\b"
)
REDACTED = "[REDACTED]"  # in place of thoughts
# What a person typed begins with a tag, and a line `user:` that an agent wrote does not.
SPEAKER = re.compile(r"(?m)^(user(?=:[ \t]*\n\s*<)|assistant):[ \t]*$")
# In the older text format, the arguments of a call are indented.
TOOL_LINES = re.compile(r"(?m)^\[(?:Tool call|Tool result|Thinking)\][^\n]*(?:\n[ \t]+[^\n]*)*\n?")


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a line of a transcript."""
    # Lines of Claude Code have the same parts, and a `type`.
    is_message = data.get("role") in ("user", "assistant") and "type" not in data
    return is_message and "content" in get_object(data, "message")


def find_session_id(path: Path) -> str:
    """Return the id of the conversation in a file, which is the name of the file."""
    return path.stem if "agent-transcripts" in path.parts else ""


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    timestamp: Any = ""
    for data in filter(is_line, lines):
        content = data["message"]["content"]
        parts = content if isinstance(content, list) else [content]
        texts = [read_content([part]) for part in parts]
        # The answer has no time of its own.
        timestamp = data.get("timestamp") or find_time(texts) or timestamp
        add_message(transcript, data["role"], texts, timestamp)
        read_tool_parts(transcript, data["message"], timestamp)
    return transcript


def read_text(text: str) -> Transcript:
    """Return the conversation in a transcript of the older text format."""
    transcript = Transcript(NAME)
    pieces = SPEAKER.split(text)[1:]
    timestamp = ""
    for role, message in zip(pieces[::2], pieces[1::2], strict=True):
        timestamp = find_time([message]) or timestamp
        add_message(transcript, role, [TOOL_LINES.sub("", message)], timestamp)
    return transcript


def add_message(transcript: Transcript, role: str, texts: list[str], timestamp: Any) -> None:
    if role == "user":
        texts = [find_typed_text(text) for text in texts]
    texts = [text.rstrip().removesuffix(REDACTED) for text in texts if text]
    transcript.add_message(role, "\n".join(texts), timestamp)


def find_typed_text(text: str) -> str:
    """Return what a person typed in a text to which the editor added its own."""
    # The last one, because attached files come first and may contain such a tag.
    _, tag, typed = text.rpartition(QUERY)
    if tag:
        return typed.partition(QUERY_END)[0].strip()
    return "" if ADDED.match(text) else text


def find_time(texts: list[str]) -> str:
    """Return the time that the editor added to a prompt, or an empty string."""
    match = TIME.search("\n".join(texts))
    if match is None:
        return ""
    try:
        # The editor writes the local time, so the offset is subtracted below.
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
    for folder in near:
        if shorten_path(str(folder)) == name:
            return str(folder)
    return find_existing_folder("/", name)


@cache
def find_existing_folder(folder: str, short: str) -> str:
    """Return the folder below another one whose path Cursor shortens to `short`."""
    # Folders of other users cannot be listed.
    with suppress(OSError):
        # The longest name first: `my-shop` before `my`.
        for item in sorted(scandir(folder), key=lambda item: -len(item.name)):
            name = shorten_path(item.name)
            is_next = name and f"{short}-".startswith(f"{name}-")
            if not is_next or not item.is_dir():
                continue
            # Cursor writes `/home/ana/my-shop` as `home-ana-my-shop`.
            rest = short[len(name) + 1 :]
            found = find_existing_folder(item.path, rest) if rest else item.path
            if found:
                return found
    return ""


def shorten_path(path: str) -> str:
    """Return a path as Cursor writes it in the name of a folder."""
    return re.sub(r"[^A-Za-z0-9]+", "-", path).strip("-")
