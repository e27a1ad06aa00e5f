"""What formats exchange with the importer: whole files, drafts of memories, and bad input.

A format is a function that takes a `Source` and yields items, or returns None if the source is not
in its format. Other packages register such functions under the entry point `mem.importers`.
"""

import codecs
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import IO, Any, AnyStr, TextIO

from ..formats import format_time, read_file_time
from ..reconcile.draft import Draft
from ..transcripts.transcript import Transcript

LARGEST_LINE = 32 * 1024 * 1024  # bytes
# Characters of a line in another tool's format. Python may need four bytes for each.
LARGEST_TEXT_LINE = 8 * 1024 * 1024
HEAD = 64 * 1024
ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


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
    memory_source: str = ""  # whose word the memories are; empty: not the user's
    zone: tzinfo = UTC  # of times without one
    is_inner: bool = False  # in a folder or archive, where some files are something else
    messages: list[str] = field(default_factory=list)  # for the user
    on_progress: Callable[[int, int], None] | None = None  # gets how much is read, and of how much

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

    def find_encoding(self) -> str:
        """Return the encoding of a text, judged by its first bytes."""
        for mark, encoding in BYTE_ORDER_MARKS.items():
            if self.head.startswith(mark):
                return encoding
        if self.head[1:4:2] == b"\0\0":
            return "utf-16-le"  # Windows programs leave out the mark
        try:
            # The head may end in the middle of a character.
            codecs.getincrementaldecoder("utf-8")().decode(self.head)
        except UnicodeDecodeError:
            return "cp1252"
        return "utf-8-sig"

    def decode_head(self) -> str:
        return self.head.decode(self.find_encoding(), "replace").lstrip("\ufeff")

    def is_conversation(self) -> bool:
        """Return whether `mem session import` reads it."""
        from ..transcripts.reader import is_conversation

        return is_conversation(self.decode_head())

    def open_bytes(self) -> IO[bytes]:
        """Open all bytes, the head included. A stream can be read only once."""
        file = self.path.open("rb", 0) if self.stream is None else ReadAgain(self.head, self.stream)
        return io.BufferedReader(CountedFile(file, self))

    def open_text(self) -> TextIO:
        encoding = self.find_encoding()
        if encoding == "cp1252":
            self.messages.append(f"{self.name} is not UTF-8, so mem read it as Windows-1252")
        return io.TextIOWrapper(self.open_bytes(), encoding, "replace", newline="")

    def read_lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the number and the bytes of each line; None for one that is too long."""
        return iterate_lines(self.open_bytes(), b"\n", LARGEST_LINE)

    def read_text_lines(self) -> Iterator[tuple[int, str | None]]:
        return iterate_lines(self.open_text(), "\n", LARGEST_TEXT_LINE)


def iterate_lines(
    file: IO[AnyStr], newline: AnyStr, longest: int
) -> Iterator[tuple[int, AnyStr | None]]:
    """Yield the number and the content of each line; None for one that is too long."""
    number = 0
    with file:
        while line := file.readline(longest + 1):
            number += 1
            if len(line) <= longest or line.endswith(newline):
                yield number, line
                continue
            while line and not line.endswith(newline):
                line = file.readline(longest // 8)
            yield number, None


class ReadAgain(io.RawIOBase):
    """A stream that begins with the bytes that were already read from it."""

    def __init__(self, head: bytes, stream: IO[bytes]) -> None:
        self.head = head
        self.stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self.head[: len(buffer)] or self.stream.read(len(buffer))
        self.head = self.head[len(piece) :]
        buffer[: len(piece)] = piece
        return len(piece)


class CountedFile(io.RawIOBase):
    """A file that reports how much of it was read."""

    def __init__(self, file: Any, source: Source) -> None:
        self.file = file
        self.on_progress = source.on_progress
        self.position = 0
        is_sized = source.stream is None and self.on_progress is not None
        self.size = os.fstat(file.fileno()).st_size if is_sized else 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        length = self.file.readinto(buffer) or 0
        self.position += length
        if self.on_progress is not None and self.size:
            self.on_progress(min(self.position, self.size - 1), self.size)
        return length

    def close(self) -> None:
        self.file.close()
        super().close()


Read = Callable[[Source], Iterator[Item] | None]


def open_source(path: Path, name: str, stream: IO[bytes] | None = None) -> Source:
    """Return a source with its first bytes, by which a format recognizes it."""
    if stream is not None:
        return Source(path, name, stream, stream.read(HEAD))
    if path.is_dir():
        return Source(path, name)
    # A named pipe is read once, like standard input.
    file = path.open("rb")
    head = file.read(HEAD)
    if not os.path.isfile(path):
        return Source(path, name, file, head)
    modified = format_time(read_file_time(os.fstat(file.fileno()).st_mtime_ns))
    file.close()
    return Source(path, name, head=head, modified=modified)
