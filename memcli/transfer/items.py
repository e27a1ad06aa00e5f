"""The items of an import, their source, and the fields of the records of other tools.

The first half has the types: `Source` is what the user imports, and a format yields an `Item` for
each part of it. In the second half, `build_content` makes a memory of another tool's record.
"""

import codecs
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from email.utils import parsedate_to_datetime
from functools import lru_cache
from pathlib import Path
from random import Random
from tempfile import SpooledTemporaryFile
from typing import IO, Any, TextIO

from ..data import table
from ..formats import (
    BLANK,
    SPELLINGS,
    TYPES,
    Entry,
    Progress,
    build_id,
    build_slug,
    build_text_digest,
    format_entry,
    format_time,
    guess_type,
    parse_time,
    read_file_time,
    read_key,
    read_list,
    read_share,
    read_tags,
    summarize,
)
from ..reconcile import Draft
from ..transcripts.transcript import JsonObject, Transcript, read_timestamp

# Characters of a line in another tool's format. Python may need four bytes for each.
LARGEST_TEXT_LINE = 8 * 1024 * 1024
HEAD = 64 * 1024  # bytes by which a format is recognized
LARGEST_ARCHIVE = 4 * 1024 * 1024 * 1024  # bytes of all files in an archive
MOST_MEMORY = 16 * 1024 * 1024  # bytes of a stream that are not stored in a temporary file
ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
OTHER_TOOLS = table("other_tools.toml")
TEXT = "text"
DATE_NAMES = ("created_at", "updated_at", "expires_at")
FIELD_NAMES = (
    "text id type title tags aliases key project owner confidence pinned created_at updated_at"
    " expires_at files"
).split()
# `embedding`, `text_embedding`, `embeddingModel`, `vectors`, `hash`, `score`
DERIVED_NAME = re.compile(
    r"(?i)(?:.*_)?(?:embedding|vector)s?(?:_.*|[A-Z].*)?|search_text|hash|fingerprint|score"
)
VECTOR_LENGTH = 32  # a longer list of numbers is no property
NO_WORDS = ("false", "0", "no")
YES_WORDS = ("true", "1", "yes")
# A memory that is not active has these, a text, a type and lists.
INACTIVE_FIELDS = (
    "id title key project owner source trust confidence pinned created_at updated_at expires_at"
    " metadata"
).split()
DATE_FORMATS = ("%Y/%m/%d", "%d.%m.%Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y")
LAST_UNDATED = 2**32  # milliseconds after 1970 by which undated memories differ in their ids


@dataclass
class TransferFile:
    """A file of a workspace: its path in a standard workspace, and its text."""

    path: str
    kind: str  # entry, memory, history, note, session or inbox
    text: str  # bytes that are not UTF-8 are surrogates, as in the store
    modified: str = ""  # the date of a memory that has none in its file


@dataclass
class BadItem:
    """A part of the source that cannot be read."""

    reason: str


# A line with its number; None for one that is too long.
Line = tuple[int, str | None]
Content = TransferFile | Draft | Transcript | BadItem


@dataclass
class Item:
    """Something to import, and where in the source it is."""

    place: str  # such as `line 12`, or a path
    content: Content


@dataclass
class Source:
    """A file or folder to import, or a file in a folder or archive."""

    path: Path
    name: str  # as the user wrote it
    stream: IO[bytes] | None = None  # standard input, or a file in an archive
    head: bytes = b""
    columns: dict[str, str] = field(default_factory=dict)  # our field → its name in the source
    modified: str = ""  # the date of the file, and of a memory without one
    format_name: str = ""  # the format that the user names
    memory_source: str = ""  # the `source` of the memories; empty: inferred
    zone: tzinfo = UTC  # of times without one
    formats: "Mapping[str, Reader]" = field(default_factory=dict)  # of files between notes
    is_inner: bool = False  # in a folder or archive, where some files are something else
    messages: list[str] = field(default_factory=list)  # for the user
    on_progress: Progress | None = None  # gets how much is read, and of how much
    file: IO[bytes] | None = None  # on disk, while it is read

    @property
    def is_tree(self) -> bool:
        """Whether it is a folder or an archive."""
        return self.head.startswith(ZIP_MARKS) or (self.stream is None and self.path.is_dir())

    @property
    def stem(self) -> str:
        """The name of the folder in which notes are stored."""
        path = self.path.resolve()
        # Standard input has the name `-`, and mem does not read hidden folders.
        return (path.name if path.is_dir() else path.stem).strip("-. ") or "imported"

    def decode_head(self) -> str:
        return self.head.decode(find_encoding(self.head), "replace").lstrip("\ufeff")

    def open_bytes(self) -> IO[bytes]:
        """Open all bytes. The caller closes them, so a stream can be opened only once."""
        if self.stream is None:
            self.file = self.path.open("rb")
            return self.file
        self.stream.seek(0)
        return self.stream

    def report_progress(self) -> None:
        """Report how much of a file was read."""
        if self.on_progress is not None and self.file is not None and not self.file.closed:
            size = os.fstat(self.file.fileno()).st_size
            # The import itself reports the end, after it has saved the last item.
            self.on_progress(min(self.file.tell(), size - 1), size)

    def open_text(self) -> TextIO:
        encoding = find_encoding(self.head)
        if encoding == "cp1252":
            self.messages.append(f"{self.name} is not UTF-8, so mem read it as Windows-1252")
        return io.TextIOWrapper(self.open_bytes(), encoding, "replace", newline="")

    def read_lines(self, longest: int) -> Iterator[Line]:
        return iterate_lines(self.open_text(), longest)


# The function of a format. It returns None for a source of another format.
Reader = Callable[[Source], Iterator[Item] | None]


def find_encoding(head: bytes) -> str:
    """Return the encoding of a text, judged by its first bytes."""
    for mark, encoding in BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            return encoding
    if head[1:4:2] == b"\0\0":
        return "utf-16-le"  # Windows programs leave out the mark
    try:
        # The head may end in the middle of a character.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def iterate_lines(file: TextIO, longest: int) -> Iterator[Line]:
    number = 0
    with file:
        while line := file.readline(longest + 1):
            number += 1
            if len(line) <= longest or line.endswith("\n"):
                yield number, line
                continue
            # The rest of the line is skipped in pieces, so it is never in memory as a whole.
            while line and not line.endswith("\n"):
                line = file.readline(longest // 8)
            yield number, None


def parse_lines(lines: Iterable[Line]) -> Iterator[tuple[str, Any]]:
    """Yield the place and the value of each line of JSON, or a BadItem instead of a value."""
    for number, line in lines:
        value: Any = BadItem("the line is too long")
        if line is not None:
            text = line.strip(BLANK)
            if not text:
                continue
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):  # the latter for [[[[… 100,000 times
                is_cut = not line.endswith("\n")
                value = BadItem("the file ends here in mid-line" if is_cut else "not JSON")
        yield f"line {number}", value


def open_source(path: Path, name: str, stream: IO[bytes] | None = None) -> Source:
    """Return a source with its first bytes, by which a format recognizes it."""
    if stream is None and path.is_dir():
        return Source(path, name)
    # A named pipe is read once, like standard input.
    if stream is None and path.exists() and not path.is_file():
        stream = path.open("rb")
    if stream is not None:
        stored = store_stream(stream)
        return Source(path, name, stored, stored.read(HEAD))
    with path.open("rb") as file:
        modified = format_time(read_file_time(os.fstat(file.fileno()).st_mtime_ns))
        return Source(path, name, head=file.read(HEAD), modified=modified)


def store_stream(stream: IO[bytes]) -> IO[bytes]:
    """Return a stream that can be read again, and from any position, as an archive is."""
    file = SpooledTemporaryFile(MOST_MEMORY)
    left = LARGEST_ARCHIVE
    while left > 0 and (piece := stream.read(min(left, HEAD))):
        file.write(piece)
        left -= len(piece)
    file.seek(0)
    return file


@lru_cache(1000)
def find_field(name: str) -> str:
    """Return the field that a tool's key means, or an empty string."""
    plain = re.sub(r"[\s-]+", "_", name.strip().casefold())
    field: str = OTHER_TOOLS["fields"].get(plain) or SPELLINGS.get(plain, ("", 0))[0]
    return field if field in FIELD_NAMES else ""


def find_text(record: JsonObject) -> str:
    """Return the text of a memory, or an empty string for a record that is something else."""
    for name in (*OTHER_TOOLS["fields"], *record):
        text = record.get(name)
        if isinstance(text, str) and text.strip() and find_field(name) == TEXT:
            return text
    return ""


def build_content(
    record: JsonObject, tool: str, source: Source, unread_dates: list[str]
) -> Draft | TransferFile | None:
    """Return the memory of a record: a draft, or a file if it is not active.

    None: the tool's user deleted it. Adds the dates that cannot be read to `unread_dates`.
    """
    if is_deleted(record):
        return None
    fields, metadata = split_record(record, tool)
    text = fields[TEXT]
    dates = read_dates(fields, metadata, unread_dates)
    created_at = dates.get("created_at") or dates.get("updated_at") or ""
    tool_id = str(fields.get("id", ""))
    if tool_id:
        metadata["tool_id"] = tool_id
    key = try_read(read_key, fields.get("key", ""))
    if key is None:
        metadata["key"] = fields["key"]
    draft = Draft(
        text,
        choose_type(fields.get("type"), record.get("layer"), metadata),
        title=" ".join(str(fields.get("title", "")).split())[:200],
        tags=read_words(fields.get("tags"), read_tags),
        aliases=read_words(fields.get("aliases"), read_list),
        key=key or "",
        project=str(fields.get("project", "")),
        owner=str(fields.get("owner", "")),
        source=source.memory_source or "inferred",
        confidence=try_read(read_share, fields.get("confidence")),
        pinned=str(fields.get("pinned", "")).lower() in YES_WORDS,
        expires_at=dates.get("expires_at", ""),
        created_at=created_at or source.modified,
        updated_at=dates.get("updated_at") or created_at or source.modified,
        files=read_words(fields.get("files"), read_list),
        sources=[f"{tool}:{tool_id or build_text_digest(text).hex()[:12]}"],
        metadata=metadata,
    )
    # Two people can have the same memory, and each keeps it.
    draft.id = build_stable_id(f"{tool}:{tool_id or text}:{draft.owner}", created_at)
    status = find_status(record)
    return build_inactive_file(draft, status) if status else draft


def split_record(record: JsonObject, tool: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of our fields, and everything else as metadata."""
    text = find_text(record)
    fields: dict[str, Any] = {TEXT: text}
    metadata: dict[str, Any] = {"tool": tool}
    for name, value in record.items():
        # Some tools repeat the text under a second name.
        if value in (None, "", [], {}, text) or is_derived(name, value):
            continue
        field = find_field(name)
        if field and field not in fields:
            fields[field] = value
        elif name == "metadata" and isinstance(value, Mapping):
            metadata |= {key: item for key, item in value.items() if not is_derived(key, item)}
        else:
            metadata[name] = value
    return fields, metadata


def build_stable_id(name: str, created_at: str) -> str:
    """Return the id that a record gets in each import."""
    noise = Random(build_text_digest(name))
    moment = parse_time(created_at) if created_at else None
    # Thousands of records may share a second or have no date, and their ids must differ.
    if moment:
        milliseconds = noise.randrange(1000)
    else:
        moment = datetime.fromtimestamp(0, UTC)
        milliseconds = noise.randrange(LAST_UNDATED)
    return build_id("mem", moment + timedelta(milliseconds=milliseconds), noise)


def build_inactive_file(draft: Draft, status: str) -> TransferFile:
    """Return the file of a memory that its tool no longer shows."""
    values = {name: getattr(draft, name) for name in INACTIVE_FIELDS}
    for name in ("tags", "aliases", "files", "sources"):
        values[name] = tuple(getattr(draft, name))
    values["type"] = draft.type or guess_type(draft.text)
    entry = Entry(body=draft.body.strip(), status=status, **values)
    name = f"{build_slug(entry.title or summarize(entry.body))}-{entry.id[-6:]}".lstrip("-")
    path = f"entries/{draft.created_at[:7] or 'imported'}/{name}.md"
    return TransferFile(path, "entry", format_entry(entry), draft.created_at)


def is_derived(name: str, value: Any) -> bool:
    """Return whether a tool computed a value from the text, such as a vector."""
    if isinstance(value, list) and len(value) >= VECTOR_LENGTH:
        return all(isinstance(number, int | float) for number in value)
    return DERIVED_NAME.fullmatch(name) is not None


def is_deleted(record: JsonObject) -> bool:
    for state in (record.get("event"), record.get("state")):
        if str(state).lower() in ("delete", "deleted"):
            return True
    values = [record.get(name) or "false" for name in OTHER_TOOLS["deleted_names"]]
    return any(str(value).lower() not in NO_WORDS for value in values)


def find_status(record: JsonObject) -> str:
    """Return the status of a memory that is no longer active, or an empty string."""
    # jcode names the memory that replaced this one.
    if record.get("superseded_by") or record.get("supersededBy"):
        return "superseded"
    if any(str(record.get(name)).lower() in NO_WORDS for name in OTHER_TOOLS["active_names"]):
        return "superseded"
    if str(record.get("archived")).lower() in YES_WORDS:
        return "faded"
    for name in ("state", "status"):
        status = OTHER_TOOLS["states"].get(str(record.get(name)).lower())
        if status:
            return str(status)
    return ""


def choose_type(given: Any, layer: Any, metadata: dict[str, Any]) -> str:
    """Return a type of ours, or an empty string.

    Another type is stored as metadata.
    """
    if isinstance(given, Mapping):  # jcode writes {"custom": "workflow"}
        given = next((value for value in given.values() if isinstance(value, str)), "")
    if given and str(given).lower() not in TYPES:
        metadata["kind"] = str(given)
    for word in (given, layer):
        name = str(word).lower()
        kind: str = OTHER_TOOLS["types"].get(name, name)
        if kind in TYPES:
            return kind
    return ""


def read_words(value: Any, read: Callable[[Any], Sequence[str]]) -> Sequence[str]:
    """Return a list of texts. A table has them in one cell."""
    if isinstance(value, str):
        # `sport, health`, `sport;health` or `['sport', 'health']`
        value = [word.strip(" '\"") for word in re.split(r"[,;|\n]", value.strip("[] "))]
    return try_read(read, value) or ()


def try_read(read: Callable[[Any], Any], value: Any) -> Any:
    """Return a value as one of our fields, or None if it cannot be one."""
    try:
        return read(value)
    except ValueError:
        return None


def read_dates(fields: JsonObject, metadata: dict[str, Any], unread: list[str]) -> dict[str, str]:
    """Return the dates as stored. One that cannot be read becomes metadata."""
    dates = {}
    for name in DATE_NAMES:
        if name not in fields:
            continue
        dates[name] = read_date(fields[name])
        if not dates[name]:
            metadata[name] = fields[name]
            unread.append(f"{name} {fields[name]!r}")
    return dates


def read_date(value: Any) -> str:
    """Return a date as stored: from seconds or milliseconds, ISO 8601, e-mail or plain words.

    03/04/2026 is another day in America than elsewhere, so it is no date.
    """
    try:
        return read_timestamp(value) or format_time(parse_written_date(str(value).strip()))
    except (ValueError, OverflowError, OSError):
        return ""


def parse_written_date(text: str) -> datetime:
    """Return the time of a date in words or numbers. Raises ValueError."""
    for form in DATE_FORMATS:
        for clock in ("", " %H:%M", " %H:%M:%S"):
            with suppress(ValueError):
                return datetime.strptime(text, form + clock).replace(tzinfo=UTC)
    # `Thu, 01 Jan 2026 10:00:00 +0000` or `Fri Nov 27 08:30:00 2026`
    moment = parsedate_to_datetime(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
