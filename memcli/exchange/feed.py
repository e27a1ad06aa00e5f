"""A transcript as it streams in: its beginning looked at once, then its lines one by one, never the whole of it."""

import codecs
import io
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

HEAD = 256 * 1024
"""Bytes looked at to find out the format."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one, a video in base64 for instance, is passed over."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Line(NamedTuple):
    """One line of a transcript."""

    number: int
    text: str  # without its newline; empty where the line is too long
    whole: bool = True  # it ended with a newline
    too_long: bool = False


class Feed:
    """A binary file read from where it stands, once and forwards; a pipe will do."""

    def __init__(self, file: BinaryIO) -> None:
        """Look at the beginning: to the end of the first line that is not blank, where that is not too far."""
        head = more = file.read(HEAD)
        while len(more) == HEAD and b"\n" not in head.lstrip() and len(head) < LONGEST_LINE:
            more = file.read(HEAD)
            head += more
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        joined = io.BufferedReader(_Joined(head, file), HEAD)
        self.stream = io.TextIOWrapper(joined, encoding=encoding, errors="replace", newline="\n")
        self.head = head.decode(encoding, errors="replace")
        self.complete = len(more) < HEAD

    def head_lines(self) -> list[str]:
        """Give the lines of the beginning, without one that the look has cut."""
        lines = self.head.split("\n")
        return lines if self.complete or len(lines) == 1 else lines[:-1]

    def lines(self) -> Iterator[Line]:
        """Read line by line; only a newline ends a line."""
        number = 0
        while text := self.stream.readline(LONGEST_LINE):
            number += 1
            if len(text) == LONGEST_LINE and not text.endswith("\n"):
                while (rest := self.stream.readline(HEAD)) and not rest.endswith("\n"):
                    pass
                yield Line(number, "", too_long=True)
            else:
                yield Line(number, text.rstrip("\r\n"), text.endswith("\n"))


class _Joined(io.RawIOBase):
    """The beginning that was looked at, then the rest of the file."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = memoryview(head)
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        if self._head:
            piece: bytes | memoryview = self._head[: len(buffer)]
            self._head = self._head[len(piece) :]
        else:
            piece = self._file.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)
