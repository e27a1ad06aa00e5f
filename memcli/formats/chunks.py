"""Cut a file into chunks: the passages that are embedded and found."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from datetime import tzinfo
from itertools import pairwise
from typing import NamedTuple

from .entry import Entry
from .page import split_sections, strip_comments
from .records import Record, split_history, split_notes

# Characters. Measured on sessions and long pages: 350 to 500 find more than 600 to 1,000.
WINDOW = 500
# A blank line, the start of a list item or table row, the end of a sentence, or a blank.
BREAK = re.compile(r"\n[ \t]*\n\s*|\n(?=[-*+>#|]|\d+[.)])|(?<=[.!?。！？])\s+|\s+")
DATA_URI = re.compile(r"data:[\w./+-]+;base64,[A-Za-z0-9+/=\s]{64,}?(?=[^A-Za-z0-9+/=\s]|\Z)")
# Lines of 76 characters as in mails (RFC 2045), or one line longer than any token.
BASE64_BLOCK = re.compile(
    r"(?<![\w/+])(?:[A-Za-z0-9+/]{76}\r?\n){3,}[A-Za-z0-9+/=]*|[A-Za-z0-9+/]{2000,}={0,2}"
)


class Chunk(NamedTuple):
    """One passage of a file."""

    start: int  # offsets in the text
    stop: int
    line: int  # from 1
    anchor: str = ""  # names the section, record or message
    title: str = ""
    timestamp: str = ""
    # Embedded in front of the passage: the day of a note, or the turn before a short answer.
    prefix: str = ""


def remove_embedded_data(text: str) -> str:
    """Replace data URIs and base64 blocks by `[data]`: a picture is not text. Line numbers stay."""
    # Most entries are short, and the expressions below are slow.
    if len(text) < 64:
        return text

    def replace(match: re.Match[str]) -> str:
        return "[data]" + "\n" * match[0].count("\n")

    return BASE64_BLOCK.sub(replace, DATA_URI.sub(replace, text))


def cut_entry(text: str, body_start: int, entry: Entry) -> list[Chunk]:
    """Cut an entry at its headings, then to windows. An empty body is represented by its title."""
    get_line = count_lines(text)
    title = entry.title
    timestamp = entry.updated_at
    chunks = []
    for start, end, headings in split_long_body(text, body_start):
        names = [title, *(name for name in headings if name != title)]
        own_title = " / ".join(name for name in names if name)
        for first, last in split_windows(text, start, end):
            chunks.append(Chunk(first, last, get_line(first), "", own_title, timestamp))
    # A contact card may have a title and aliases, and no text.
    if not chunks and (title or entry.tags):
        words = title or " ".join(entry.tags)
        chunks.append(Chunk(len(text), len(text), 1, "", title, timestamp, words))
    return chunks


def split_long_body(text: str, body_start: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield the sections of a long body. Short neighbours stay together."""
    if len(text) - body_start <= WINDOW:
        yield body_start, len(text), ()
        return
    sections = split_sections(text[body_start:])
    starts: list[int] = []
    headings = {}
    for section in sections:
        # Together, because the vector of one heading and five words says little.
        if not starts or section.start - starts[-1] >= WINDOW // 2:
            starts.append(section.start)
            headings[section.start] = section.headings
    for start, end in pairwise([*starts, len(text) - body_start]):
        yield body_start + start, body_start + end, headings[start]


def cut_page(text: str, timestamp: str) -> list[Chunk]:
    """Cut MEMORY.md at its headings. A heading without text is not a chunk."""
    get_line = count_lines(text)
    chunks = []
    for section in split_sections(text):
        content = text[section.start : section.end]
        # The heading itself says nothing about what is below it.
        if section.anchor:
            content = content.partition("\n")[2]
        if not strip_comments(content).strip():
            continue
        title = " / ".join(section.headings)
        for start, stop in split_windows(text, section.start, section.end):
            chunks.append(Chunk(start, stop, get_line(start), section.anchor, title, timestamp))
    return chunks


def cut_history(text: str) -> list[Chunk]:
    """Cut a HISTORY file into its records."""
    return cut_records(text, split_history(text))


def cut_notes(text: str, path: str, zone: tzinfo, timestamp: str) -> list[Chunk]:
    """Join the notes of a day to runs that fit a window. Each run is embedded with its day."""
    runs: list[Record] = []
    for note in split_notes(text, path, zone):
        # Notes of a few words mean little alone, to a reader and to the model.
        if runs and note.end - runs[-1].start <= WINDOW:
            runs[-1] = runs[-1]._replace(end=note.end)
        else:
            runs.append(note._replace(timestamp=note.timestamp or timestamp))
    return [chunk._replace(prefix=f"{chunk.timestamp[:10]}: ") for chunk in cut_records(text, runs)]


def cut_records(text: str, records: Iterable[Record]) -> list[Chunk]:
    get_line = count_lines(text)
    return [
        Chunk(start, stop, get_line(start), record.id, "", record.timestamp)
        for record in records
        for start, stop in split_windows(text, record.start, record.end)
    ]


def cut_plain(text: str, timestamp: str) -> list[Chunk]:
    """Cut a text without a known structure."""
    get_line = count_lines(text)
    return [
        Chunk(start, stop, get_line(start), timestamp=timestamp)
        for start, stop in split_windows(text, 0, len(text))
    ]


def split_windows(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield passages of at most WINDOW characters, cut at paragraphs, sentences or words."""
    blanks = " \t\r\n\ufeff"
    while start < end:
        while start < end and text[start] in blanks:
            start += 1
        stop = end if end - start <= WINDOW else find_best_break(text, start, start + WINDOW)
        last = stop
        while last > start and text[last - 1] in blanks:
            last -= 1
        if last > start:
            yield start, last
        start = stop


def find_best_break(text: str, start: int, stop: int) -> int:
    """Return the strongest break in the second half of a window, a paragraph at best."""
    best, best_rank = stop, 0
    for match in BREAK.finditer(text, start + (stop - start) // 2, stop):
        gap = match[0]
        if gap.count("\n") > 1:
            rank = 4
        elif "\n" in gap:
            rank = 3
        else:
            rank = 2 if text[match.start() - 1] in ".!?。！？" else 1
        if rank >= best_rank:
            best, best_rank = match.end(), rank
    return best


def count_lines(text: str) -> Callable[[int], int]:
    """Return a function from offsets to lines, counted from 1."""
    starts = [match.end() for match in re.finditer("\n", text)]
    return lambda offset: bisect_right(starts, offset) + 1
