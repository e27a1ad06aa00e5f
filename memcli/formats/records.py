"""Dated records: of HISTORY files, of daily notes, and the messages of conversations."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, tzinfo
from itertools import pairwise
from typing import Any, NamedTuple

from ..data import pattern
from .dates import find_day_in_name, format_time, normalize_time
from .text import Problem, find_strings, replace_surrogates

# ## 2026-11-28T14:15:03Z <!-- hist_01kajd3v7m4kq7tz project: shop -->
HISTORY_HEADING = re.compile(
    r"^(?:\ufeff)?## (?P<time>\S+)"
    r"(?: <!-- (?P<id>\w+)(?: project: (?P<project>[^\n]*?)| [^\n]*?)? -->)?[ \t]*\r?$",
    re.MULTILINE,
)
# [14:15] text, or in a list: - [14:15] text
NOTE_START = re.compile(r"^(?:[-*] )?\[(?P<time>\d\d:\d\d)\] ?", re.MULTILINE)
# Written into conversations by mem, and read again when a conversation is consolidated.
UNDATED = "isUndated"  # a key of an event without a time of its own
ANSWERED = "requests"  # the type of an event that names a message with answered requests
# The types of a text part. Codex has two of its own.
TEXT_TYPES = ("text", "input_text", "output_text")
NOT_RECORDED = "[not recorded]"  # a message that the user did not want to be stored
LONGEST_LINE = 16 * 1024 * 1024  # characters; a longer line is no event
# Texts that mem and agents add to prompts, plain or HTML-escaped once or twice. A tag without an
# end is part of what the user wrote.
CONTEXT = re.compile(
    r"(?is)(?:<|&(?:amp;)*lt;)(memory-context|hook_context|system-reminder|environment_context"
    r"|user_instructions|ide_\w+)\b"
    # Up to the next tag of the same name, or a text with thousands of tags would take hours.
    r"(?:(?!(?:<|;)\1\b).)*?(?:<|&(?:amp;)*lt;)/\1(?:>|&(?:amp;)*gt;)"
)


class Record(NamedTuple):
    """One record of the history or one note, with its place in the file."""

    id: str
    timestamp: str  # as stored; empty if unknown
    start: int
    end: int
    line: int
    project: str = ""


def format_history_record(
    record_id: str, moment: datetime, zone: tzinfo, text: str, project: str = ""
) -> str:
    """Return a record to append to a HISTORY file. A history of all projects names the project."""
    local = moment.astimezone(zone)
    # A line that looks like a heading would start another record.
    body = re.sub(r"(?m)^## ", "### ", text.strip())
    # Two hyphens in the name could end the comment early.
    label = f" project: {' '.join(project.split())}" if project and "--" not in project else ""
    heading = f"## {format_time(moment)} <!-- {record_id}{label} -->"
    return f"{heading}\n\n[{local:%Y-%m-%d %H:%M}] {body}\n\n"


def split_history(text: str) -> Iterator[Record]:
    """Yield the records of a HISTORY file. Text before the first heading is a record without id."""
    # A person may write above the first record.
    headings = list(HISTORY_HEADING.finditer(text))
    first = headings[0].start() if headings else len(text)
    if text[:first].strip("\ufeff \t\r\n"):
        yield Record("", "", 0, first, 1)
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        timestamp = normalize_time(heading["time"])
        line = text.count("\n", 0, heading.start()) + 1
        project = heading["project"] or ""
        yield Record(heading["id"] or "", timestamp, heading.end(), end, line, project)


def find_record_project(text: str, line: int) -> str:
    """Return the project of the record that has a line of a HISTORY file, or an empty string."""
    for above in reversed(text.split("\n")[:line]):
        heading = HISTORY_HEADING.match(above)
        if heading:
            return heading["project"] or ""
    return ""


def format_note(moment: datetime, zone: tzinfo, text: str, page: str = "") -> str:
    """Return a note to append to a page, which may end with a list or a paragraph of a person."""
    line = f"[{moment.astimezone(zone):%H:%M}] {' '.join(text.split())}\n"
    last = page.removesuffix("\n").rpartition("\n")[2]
    is_separate = not last.strip() or re.match(r"\[\d\d:\d\d\]", last)
    # Markdown joins lines without a blank line between them.
    return line if is_separate else f"\n{line}"


def split_notes(text: str, path: str, zone: tzinfo) -> Iterator[Record]:
    """Yield the notes of a day. A note starts at a time, or at the start of a paragraph."""
    day = find_day_in_name(path)
    starts = {match.start(): match["time"] for match in NOTE_START.finditer(text)}
    offset = 0
    is_after_blank = True
    for line in text.splitlines(keepends=True):
        is_blank = not line.strip("\ufeff \t\r\n")
        if is_after_blank and not is_blank:
            # People also write paragraphs without a time.
            starts.setdefault(offset, "")
        is_after_blank = is_blank
        offset += len(line)
    for start, end in pairwise([*sorted(starts), len(text)]):
        if not text[start:end].strip("\ufeff \t\r\n"):
            continue
        # [25:99] is not a time, so the note has the day of its file.
        clock = starts[start] or "00:00"
        timestamp = normalize_time(f"{day} {clock}", zone) or normalize_time(day, zone)
        yield Record(starts[start], timestamp, start, end, text.count("\n", 0, start) + 1)


class Message(NamedTuple):
    """Something that the user or the assistant said."""

    line: int  # of the file, from 1
    id: str
    speaker: str  # user, assistant, or a name
    text: str
    timestamp: str  # as stored; empty if unknown
    is_undated: bool = False  # its time is unknown, or that of an imported file
    is_answered: bool = False  # the prompt hook has carried out its requests


def parse_messages(text: str) -> Iterator[Message | Problem]:
    """Yield the messages of a session, and the lines that are not events.

    Events are accepted with and without `type`. Tool calls, results and system texts are left out.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        # A crash can leave zeros at the end of a file.
        if not line.strip("\ufeff\x00 \t\r"):
            continue
        event = parse_event(line)
        if event is None:
            if number < len(lines):  # the last line may still be in the middle of being written
                yield Problem(number, "not a JSON object: skipped")
            continue
        message = read_message(event, number)
        if message is not None:
            yield message


def parse_events(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the event of every line that is an event."""
    for number, line in enumerate(text.split("\n"), 1):
        event = parse_event(line) if line.strip("\ufeff\x00 \t\r") else None
        if event is not None:
            yield number, event


def find_texts(text: str) -> Iterator[str]:
    """Yield the texts in a session, without JSON's escapes, and the lines that are not events."""
    for line in text.split("\n"):
        event = parse_event(line)
        yield from [line] if event is None else find_strings(event)


def split_lines(text: str) -> list[str]:
    """Return the lines of a session with their ends.

    str.splitlines would also cut at U+2028, which JSON need not escape.
    """
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def parse_event(line: str) -> dict[str, Any] | None:
    """Return the event of a line, or None if it is not a JSON object."""
    try:
        event = json.loads(line[:LONGEST_LINE].lstrip("\ufeff"))
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def read_message(event: Mapping[str, Any], line: int) -> Message | None:
    """Return the message of an event, or None for other events."""
    if event.get("type", "message") not in ("message", "user", "assistant"):
        return None
    role = str(event.get("role") or event.get("type") or "user")
    text = read_content(event.get("content", event.get("text"))).strip()
    if (role in ("system", "tool", "message") and not event.get("name")) or not text:
        return None
    if role == "user" and is_unrecorded(text):  # a program has appended it
        text = NOT_RECORDED
    # JSON can spell a lone surrogate, which no file can store.
    speaker = replace_surrogates(str(event.get("name") or role))
    message_id = replace_surrogates(str(event.get("id", "")))
    timestamp = normalize_time(str(event.get("timestamp", "")))
    is_undated = not timestamp or bool(event.get(UNDATED))
    return Message(line, message_id, speaker, text, timestamp, is_undated)


def read_content(content: Any) -> str:
    """Return the text of a message, which may be a list of parts."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        if isinstance(part, dict) and part.get("type", "text") in TEXT_TYPES:
            part = part.get("text")
        if isinstance(part, str):
            texts.append(part)
    return "\n".join(texts)


def is_unrecorded(text: str) -> bool:
    """Return whether a message says something and asks not to store it."""
    return bool(pattern("prompt_cues.toml", "unrecorded").match(text))


def hide_answer(event: dict[str, Any], earlier: Sequence[Mapping[str, Any]]) -> None:
    """Leave out the agent's answer to a message that is not recorded, because it may repeat it."""
    messages = [item for item in earlier if item.get("role")]
    if event["role"] == "assistant" and messages and messages[-1].get("content") == NOT_RECORDED:
        event["content"] = NOT_RECORDED
