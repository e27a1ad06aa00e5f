"""What formats exchange with the importer: whole files, drafts of memories, and bad input.

A format is a function that takes a `Source` and yields items, or returns None if the source is not
in its format. Other packages register such functions under the entry point `mem.importers`.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from ..reconcile.draft import Draft

LARGEST_LINE = 32 * 1024 * 1024  # bytes
HEAD = 64 * 1024


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


Content = TransferFile | Draft | BadItem


@dataclass
class Item:
    """Something to import, and where in the source it is."""

    place: str  # such as `line 12`, or a path
    content: Content


@dataclass
class Source:
    """A file or folder to import."""

    path: Path
    name: str  # as the user wrote it
    stream: IO[bytes] | None = None  # standard input
    head: bytes = b""
    options: dict[str, str] = field(default_factory=dict)

    def read_lines(self) -> Iterator[tuple[int, bytes | None]]:
        """Yield the number and the bytes of each line; None for one that is too long."""
        file = self.stream or self.path.open("rb")
        rest = self.head if self.stream else b""
        number = 0
        with file:
            while True:
                line, rest = take_line(rest)
                if not line.endswith(b"\n"):
                    line += file.readline(LARGEST_LINE + 1 - len(line))
                if not line:
                    return
                number += 1
                if len(line) <= LARGEST_LINE or line.endswith(b"\n"):
                    yield number, line
                    continue
                while line and not line.endswith(b"\n"):
                    line = file.readline(LARGEST_LINE)
                yield number, None


def take_line(data: bytes) -> tuple[bytes, bytes]:
    """Split off the first line."""
    end = data.find(b"\n") + 1 or len(data)
    return data[:end], data[end:]


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
    file.close()
    return Source(path, name, head=head)
