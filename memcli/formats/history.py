"""History: append-only records, each a heading with its moment and id, then a paragraph."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from itertools import takewhile

from ..dataclass import dataclass
from .ids import parse_time, stamp
from .text_lines import BOM, lines, shorten

_HEAD = re.compile(r"##\s+(\d{4}-\d\d-\d\d\S*(?: \d\d:\d\d\S*)?)\s*(?:<!--\s*(hist_\w+)\s*-->)?\s*$")
_PARAGRAPH = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d)\]")
INSTEAD = "<!-- instead of "
"""How the last line of a record begins that names others which it tells better."""
_INSTEAD = re.compile(rf"\n?{INSTEAD}(hist_\w+(?:,? hist_\w+)*) -->\s*$")
_ID = re.compile(r"hist_\w+")
_LABEL = re.compile(r"\[(?:\d{4}-\d\d-\d\d \d\d:\d\d|raw-fallback)\]")


@dataclass(frozen=True)
class Record:
    """One record of a history file; of another tool when it has no id."""

    id: str
    timestamp: str  # RFC 3339, UTC; empty where the record states none
    text: str
    line: int
    start: int  # offsets in the file, the heading included
    end: int
    instead_of: tuple[str, ...] = ()  # ids of the records that this one tells better: they are passed over

    @property
    def anchor(self) -> str:
        """Return the name of the record within its file."""
        return self.id or f"L{self.line}"


def records(text: str, zone: tzinfo = UTC) -> list[Record]:
    """Read the records of a history file in its own order; `merged` sorts them and drops duplicates."""
    result = []
    for line, start, end, moment, identifier, body in _pieces(text):
        instant = parse_time(moment, zone)
        instead = _INSTEAD.search(body)
        content = (body[: instead.start()] if instead else body).strip()
        if content:
            others = tuple(_ID.findall(instead[1])) if instead else ()
            result.append(Record(identifier, stamp(instant) if instant else "", content, line, start, end, others))
    return result


def is_dated(text: str) -> bool:
    """Return whether a paragraph begins with its moment."""
    return bool(_PARAGRAPH.match(text))


def render(identifier: str, moment: datetime, text: str, zone: tzinfo, instead_of: Sequence[str] = ()) -> str:
    """Write a record; its text is kept whole, and begins with the user's local time unless it states one.

    A line that would begin another record is indented by a space.
    """
    first, *others = text.strip().split("\n")
    if not _LABEL.match(first):
        first = f"[{moment.astimezone(zone):%Y-%m-%d %H:%M}] {first}"
    body = [first, *(f" {line}" if _HEAD.match(line.rstrip()) or _PARAGRAPH.match(line) else line for line in others)]
    if instead_of:
        body.append(f"{INSTEAD}{' '.join(instead_of)} -->")
    instant = f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"
    return f"## {instant} <!-- {identifier} -->\n\n" + "\n".join(body) + "\n"


def merged(history: list[Record]) -> list[Record]:
    """Return records by time, the first of each id, as readers of merged branches must; none that another replaces."""
    seen = {name for record in history for name in record.instead_of}
    remaining = []
    for record in sorted(history, key=lambda record: record.timestamp):
        if not record.id or record.id not in seen:
            remaining.append(record)
            seen.add(record.id)
    return remaining


def _pieces(text: str) -> Iterator[tuple[int, int, int, str, str, str]]:
    """Yield line, start, end, moment, id and body; a dated paragraph that no heading covers is a record too."""
    begin, begin_line, offset = 0, 1, 0
    moment, identifier, body = "", "", ""
    for number, line in enumerate(lines(text), 1):
        content = line.lstrip("\ufeff") if number == 1 else line
        head = _HEAD.match(content.rstrip())
        dated = _PARAGRAPH.match(content)
        fresh = head or (dated and (body.strip() or not moment) and not (identifier and not body.strip()))
        if fresh and (body.strip() or moment):
            yield begin_line, begin, offset, moment, identifier, body
        if fresh:
            begin, begin_line, body, identifier = offset, number, "", ""
            moment = head[1] if head else dated[1] if dated else ""
            identifier = (head[2] or "") if head else ""
        if not head and (fresh or moment or not content.startswith("#")):
            body += content
            if not moment and not body.strip():
                body, begin, begin_line = "", offset + len(line), number + 1
        offset += len(line)
    yield begin_line, begin, offset, moment, identifier, body


def with_record(text: str, added: str, zone: tzinfo = UTC) -> str:
    """Return a history file with a record at its end, or before those that a clock ahead of ours made later."""
    tail = max(text.rfind("\n## "), 0)
    moment = max((record.timestamp for record in records(added, zone)), default="")
    if not any(record.timestamp > moment for record in records(text[tail:], zone)):
        return text + added
    later = takewhile(lambda record: record.timestamp > moment, reversed(records(text, zone)))
    start = min(record.start for record in later) or len(text) - len(text.removeprefix(BOM))
    return f"{text[:start]}{added.lstrip()}\n{text[start:]}"


def disorder(text: str, zone: tzinfo = UTC) -> Iterator[tuple[int, str, bool]]:
    """Yield line and reason of each record out of place, and whether sorting mends it."""
    latest = ""
    first: dict[str, str] = {}
    for record in records(text, zone):
        if record.timestamp and record.timestamp < latest:
            yield record.line, f"a record of {record.timestamp} after one of {latest}", True
        latest = max(latest, record.timestamp)
        if record.id and record.id in first:
            is_same = first[record.id] == record.text
            what = "stands here twice" if is_same else "stands here twice with different texts"
            yield record.line, f"the record {record.id} {what}", is_same
        first.setdefault(record.id, record.text)


def in_order(text: str, zone: tzinfo = UTC) -> str:
    """Return the file with its records sorted by time and exact duplicates left out.

    Text that states no time stays behind the record it follows. A file of which the records would read otherwise then,
    such as one with a heading that has no text, stays as it is.
    """
    if text.startswith(BOM):
        return BOM + in_order(text.removeprefix(BOM), zone)
    dated = [record for record in records(text, zone) if record.timestamp]
    if not dated:
        return text
    starts = [record.start for record in dated]
    blocks = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
    unique: dict[tuple[str, str], tuple[str, str, str]] = {}
    for number, (record, block) in enumerate(zip(dated, blocks, strict=True)):
        unique.setdefault((record.id or str(number), block.strip()), (record.timestamp, block, record.text))
    ordered = [block for _, block, _ in sorted(unique.values(), key=lambda row: row[0])]
    if ordered == blocks:
        return text
    # Blank lines stay where they are, not with their record: the last record of a file has fewer behind it.
    gaps = [block[len(block.rstrip()) :] for block in blocks]
    gaps = [*gaps[: len(ordered) - 1], gaps[-1]]
    written = text[: starts[0]] + "".join(block.rstrip() + gap for block, gap in zip(ordered, gaps, strict=True))
    reread = sorted((record.timestamp, record.text) for record in records(written, zone) if record.timestamp)
    return written if reread == sorted((moment, body) for moment, _, body in unique.values()) else text


def unreal_dates(text: str, zone: tzinfo = UTC) -> Iterator[tuple[int, str]]:
    """Yield line and heading of each record whose heading names a day that does not exist."""
    lines = text.removeprefix(BOM).split("\n")
    for record in records(text, zone):
        heading = lines[record.line - 1].strip() if record.line <= len(lines) else ""
        if not record.timestamp and re.match(r"## \d{4}-\d\d", heading):
            yield record.line, heading


USER_LIMIT, ASSISTANT_LIMIT = 200, 300
_LINE = r"\s*(?:[-*]\s+)?\[(\d\d:\d\d)(?::\d\d)?\]\s?"


@dataclass(frozen=True)
class Note:
    """One note with the lines that belong to it."""

    time: str  # HH:MM of the day; empty for text without one
    line: int
    start: int  # offsets in the file
    end: int


def notes(text: str) -> list[Note]:
    """Cut a day's file into notes; text before the first time is one note without a time."""
    result: list[Note] = []
    time, begin, begin_line, offset = "", 0, 1, 0
    for number, line in enumerate(lines(text), 1):
        mark = re.match(_LINE, line.lstrip("\ufeff") if number == 1 else line)
        if mark:
            if text[begin:offset].strip("\ufeff \t\r\n"):
                result.append(Note(time, begin_line, begin, offset))
            time, begin, begin_line = mark[1], offset, number
        offset += len(line)
    if text[begin:].strip("\ufeff \t\r\n"):
        result.append(Note(time, begin_line, begin, len(text)))
    return result


def line_of(time: str, text: str) -> str:
    """Write a note as a line of its day: newlines are folded, since a line that begins with a time is a note."""
    return f"[{time}] {' '.join(text.split())}\n"


def exchange(user: str, assistant: str) -> str:
    """Return a prompt and its answer as one line, each cut to its limit."""
    question, answer = shorten(user, USER_LIMIT), shorten(assistant, ASSISTANT_LIMIT)
    return " | ".join(f"{who}: {text}" for who, text in (("User", question), ("Assistant", answer)) if text)
