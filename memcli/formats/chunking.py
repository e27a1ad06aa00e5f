"""Cut a file into chunks, the pieces that are indexed and found: what each says, where it stands, what is embedded.

A file of JSON lines that another tool keeps memories in (golemcore's `items/*.jsonl`) becomes a text first, with a line
for each.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from typing import Any

from ..dataclass import dataclass
from .entry import Entry
from .entry_fields import WORDING
from .history import INSTEAD, Note, notes, records
from .ids import day_in, parse_time, stamp
from .memory_page import sections
from .session_event import load, moment_at, words_of
from .text_lines import Problem, lines

WINDOW, WHOLE = 500, 700
"""Characters of a piece at most, and of a text that stays in one. Measured on sessions and long pages: 350 to 500 find
more than 700, 1,000 or 1,500. (The model reads 256 word pieces, about a thousand characters of English.)"""

_MARK = re.compile(r"<!-- /?mem:\w+ -->")
_ENDS = ".!?。！？"  # of a sentence
_BREAK = re.compile(rf"\n[ \t]*\n\s*|\n(?=[-*+>#|]|\d+[.)])|(?<=[{_ENDS}])\s+|\s+")


@dataclass(frozen=True)
class Chunk:
    """One piece of a file."""

    start: int  # offsets in the file's text
    stop: int
    line: int
    anchor: str = ""  # names the piece within its file
    title: str = ""  # headings above it, or the entry's title
    prefix: str = ""  # put before the piece where it is embedded: its date, its headings
    timestamp: str = ""  # RFC 3339, UTC
    text: str = ""  # what it says, where that is no stretch of the file


def entry_chunks(text: str, body_start: int, entry: Entry) -> list[Chunk]:
    """Cut an entry by its headings and then to the window; each piece is embedded without title or date."""
    title = f"{entry.title}: {entry.description}" if entry.description else entry.title
    chunks = []
    line_of = _line_counter(text)
    for start, end, headings in _sections_of(text, body_start):
        own = " / ".join([title, *(name for name in headings if name != entry.title)]).strip(" /")
        chunks += [
            Chunk(a, b, line_of(a), "", own, "", entry.updated_at or entry.created_at)
            for a, b in windows(text, start, end)
        ]
    if not chunks and (title or entry.tags):  # an entry without a body is embedded by its title or tags
        named = title or " ".join(entry.tags)
        chunks.append(Chunk(len(text), len(text), 1, "", title, named, entry.updated_at or entry.created_at))
    first = line_of(body_start)
    for wording in entry.wordings:  # each found by its own words, and shown where it matches
        chunks.append(Chunk(body_start, body_start, first, WORDING, title, "", entry.updated_at, wording))
    return chunks


def memory_chunks(text: str, timestamp: str) -> list[Chunk]:
    """Cut long-term memory into its sections; a heading with nothing under it says nothing of its own."""
    line_of = _line_counter(text)
    return [
        Chunk(a, b, line_of(a), section.anchor, " / ".join(section.headings), "", timestamp)
        for section in sections(text)
        if not section.anchor or _has_words(text[section.start : section.end].partition("\n")[2])
        for a, b in windows(text, section.start, section.end)
    ]


def _has_words(text: str) -> bool:
    """Return whether a section holds more than its heading and marks of mem's own."""
    return bool(_MARK.sub("", text).strip(" \t\r\n\ufeff"))


def history_chunks(text: str, zone: tzinfo) -> list[Chunk]:
    """Cut a history file into its records, those that another one stands for included: it may be in another file."""
    chunks = []
    line_of = _line_counter(text)
    for record in records(text, zone):
        start = record.start
        if text.startswith(("##", "\ufeff##"), start):
            start = text.index("\n", start, record.end) + 1
        end = text.rfind(INSTEAD, start, record.end) if record.instead_of else record.end
        chunks += [
            Chunk(a, b, line_of(a), record.anchor, "", "", record.timestamp) for a, b in windows(text, start, end)
        ]
    return chunks


def note_chunks(text: str, path: str, zone: tzinfo, timestamp: str) -> list[Chunk]:
    """Join a day's notes to runs that fit the window; each is embedded with its day."""
    day = day_in(path)
    runs: list[list[Note]] = []
    for note in notes(text):
        if runs and note.end - runs[-1][0].start <= WINDOW:
            runs[-1].append(note)
        else:
            runs.append([note])
    chunks = []
    line_of = _line_counter(text)
    for run in runs:
        first = next((note.time for note in run if note.time or _says(text[note.start : note.end])), "")
        last = run[-1].time
        time = next((note.time for note in run if note.time), "00:00")
        moment = parse_time(f"{day} {time}", zone) if day else None
        when = stamp(moment) if moment else timestamp
        anchor = first if first == last or not first else f"{first}-{last}"
        chunks += [
            Chunk(a, b, line_of(a), anchor, day, f"{day}: " if day else "", when)
            for a, b in windows(text, run[0].start, run[-1].end)
        ]
    return chunks


def _says(text: str) -> bool:
    """Return whether a text holds more than headings."""
    return any(line.strip("\ufeff \t\r\n#") and not line.lstrip("\ufeff").startswith("#") for line in lines(text))


def plain_chunks(text: str, timestamp: str) -> list[Chunk]:
    """Cut a text without known structure, such as a file that does not parse."""
    line_of = _line_counter(text)
    return [Chunk(a, b, line_of(a), timestamp=timestamp) for a, b in windows(text, 0, len(text))]


def windows(text: str, start: int, end: int, limit: int = WINDOW) -> Iterator[tuple[int, int]]:
    """Cut a stretch of text at paragraphs, sentences or words so that no piece is longer than the limit.

    A stretch of at most `WHOLE` characters stays whole. Blank pieces are left out, and blanks at both ends of a piece
    are cut off.
    """
    if end - start <= WHOLE:
        limit = max(limit, WHOLE)
    while start < end:
        while start < end and text[start] in " \t\r\n\ufeff":
            start += 1
        stop = end
        if end - start > limit:
            stop = _best_break(text, start, start + limit)
        last = stop
        while last > start and text[last - 1] in " \t\r\n":
            last -= 1
        if last > start:
            yield start, last
        start = stop


def _best_break(text: str, start: int, stop: int) -> int:
    """Return the strongest break in the second half of a window: a paragraph before a line before a sentence."""
    best, rank = stop, 0
    for match in _BREAK.finditer(text, start + (stop - start) // 2, stop):
        gap = match[0]
        strength = 4 if gap.count("\n") > 1 else 3 if "\n" in gap else 2 if text[match.start() - 1] in _ENDS else 1
        if strength >= rank:
            best, rank = match.end(), strength
    return best


def _sections_of(text: str, body_start: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the sections of a long body; a body that fits the window is one piece whatever its headings."""
    if len(text) - body_start <= WHOLE:
        yield body_start, len(text), ()
        return
    body = text[body_start:]
    parts = sections(body)
    if not parts:
        return
    # Short neighbours go together: a vector of one heading and five words says little.
    edges = [0]
    for section in parts[1:]:
        if section.start - edges[-1] >= WINDOW // 2:
            edges.append(section.start)
    headings = {section.start: section.headings for section in parts}
    headings.setdefault(0, parts[0].headings)
    for start, end in pairwise([*edges, len(body)]):
        yield body_start + start, body_start + end, headings[start]


def _line_counter(text: str) -> Callable[[int], int]:
    """Return a function from offset to line that is quick when asked in ascending order."""
    offset, line = 0, 1

    def line_of(wanted: int) -> int:
        nonlocal offset, line
        if wanted < offset:
            offset, line = 0, 1
        line += text.count("\n", offset, wanted)
        offset = wanted
        return line

    return line_of


_TIMES = ("updatedAt", "updated_at", "createdAt", "created_at", "timestamp")


@dataclass(frozen=True)
class Records:
    """What a file holds: a text with a line for each record, its pieces, and the lines that could not be read."""

    text: str
    chunks: list[Chunk]
    problems: list[Problem]


def records_of(path: str, text: str) -> Records:
    """Read a file of JSON lines; what is no record is a problem, and its line is empty."""
    from .foreign_record import items  # late: few folders hold another tool's items

    problems: list[Problem] = []
    entries = {item.line for item in items(path, text, datetime.fromtimestamp(0, UTC))}  # these have their own chunks
    lines: list[str] = []
    chunks: list[Chunk] = []
    start = 0
    for number, (content, timestamp) in enumerate(_json_lines(text, problems), 1):
        line = " ".join(content.split())
        lines.append(f"{line}\n")
        chunks += [
            Chunk(start + a, start + b, number, f"L{number}", timestamp=timestamp)
            for a, b in (windows(line, 0, len(line)) if number not in entries else ())
        ]
        start += len(line) + 1
    return Records("".join(lines), chunks, problems)


def _json_lines(text: str, problems: list[Problem]) -> Iterator[tuple[str, str]]:
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        data = load(line) if line.strip("\ufeff \t\r") else {}
        if not isinstance(data, Mapping):
            if number == len(lines):  # without its newline: a program may be writing it
                return
            problems.append(Problem(number, "no JSON object: passed over"))
            data = {}
        yield _line_of(data), moment_at(data, _TIMES)


def _line_of(data: Mapping[str, Any]) -> str:
    content = next((data[key] for key in ("content", "text", "memory") if data.get(key)), "")
    words = content if isinstance(content, str) else words_of(content)
    head = next((str(data[key]) for key in ("title", "role") if isinstance(data.get(key), str) and data[key]), "")
    return ": ".join(part for part in (head, words) if part) if words.strip() else ""
