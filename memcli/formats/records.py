"""HISTORY files and daily notes: dated records in plain Markdown."""

import re
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import NamedTuple

from .dates import find_day_in_name, format_time, parse_time

HISTORY_HEADING = re.compile(
    r"^(?:\ufeff)?## (?P<time>\S+)"
    r"(?: <!-- (?P<id>\w+)(?: project: (?P<project>[^\n]*?)| [^\n]*?)? -->)?[ \t]*\r?$",
    re.MULTILINE,
)
NOTE_START = re.compile(r"^(?:[-*] )?\[(?P<time>\d\d:\d\d)\] ?", re.MULTILINE)


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
        moment = parse_time(heading["time"])
        timestamp = format_time(moment) if moment else ""
        line = text.count("\n", 0, heading.start()) + 1
        project = heading["project"] or ""
        yield Record(heading["id"] or "", timestamp, heading.end(), end, line, project)


def format_note(moment: datetime, zone: tzinfo, text: str) -> str:
    return f"[{moment.astimezone(zone):%H:%M}] {' '.join(text.split())}\n"


def split_notes(text: str, path: str, zone: tzinfo) -> Iterator[Record]:
    """Yield the notes of a day. A note starts at a time, or at the start of a paragraph."""
    day = find_day_in_name(path)
    starts = {match.start(): match["time"] for match in NOTE_START.finditer(text)}
    offset = 0
    is_after_blank = True
    for line in text.splitlines(keepends=True):
        is_blank = not line.strip("\ufeff \t\r\n")
        if is_after_blank and not is_blank:
            starts.setdefault(offset, "")
        is_after_blank = is_blank
        offset += len(line)
    places = sorted(starts)
    for number, start in enumerate(places):
        end = places[number + 1] if number + 1 < len(places) else len(text)
        if not text[start:end].strip("\ufeff \t\r\n"):
            continue
        # [25:99] is not a time, so the note has the day of its file.
        moment = parse_time(f"{day} {starts[start] or '00:00'}", zone) or parse_time(day, zone)
        timestamp = format_time(moment) if moment else ""
        yield Record(starts[start], timestamp, start, end, text.count("\n", 0, start) + 1)
