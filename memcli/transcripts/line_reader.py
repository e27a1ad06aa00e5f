"""A transcript as it streams in: its beginning looked at once, then its lines one by one, never the whole of it."""

import codecs
import io
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, BinaryIO, NamedTuple, TextIO

from ..formats.session_event import load
from ..language.harness_text import injections, recalls_memory, without_injected

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


PIECE = 64 * 1024
LONGEST_VALUE = 16 * 1024 * 1024


class CutOffError(Exception):
    """The document ends, or goes wrong, in the middle of a value."""


class JsonStream:
    """Takes JSON values off a stream of text, one at a time."""

    def __init__(self, stream: TextIO, longest: int = LONGEST_VALUE) -> None:
        """Begin where the stream stands; no value may be longer than `longest` characters."""
        self._stream = stream
        self._longest = longest
        self._text = ""
        self._position = 0
        self._decode = json.JSONDecoder(parse_constant=lambda _: None).raw_decode

    def peek(self) -> str:
        """Give the next character that is no blank; empty at the end."""
        while True:
            while self._position < len(self._text):
                character = self._text[self._position]
                if character not in " \t\r\n\ufeff":
                    return character
                self._position += 1
            if not self._more():
                return ""

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller takes the value of each."""
        self._take("{")
        while (character := self.peek()) != "}":
            if character == ",":
                self._take(",")
            key = self.value()
            self._take(":")
            self.peek()
            yield str(key)
        self._take("}")

    def items(self) -> Iterator[Any]:
        """Yield the values of a list."""
        self._take("[")
        while (character := self.peek()) != "]":
            if character == ",":
                self._take(",")
            yield self.value()
        self._take("]")

    def value(self) -> Any:
        """Take one value, reading on until it is whole."""
        if not self.peek():
            raise CutOffError
        while True:
            try:
                found, end = self._decode(self._text, self._position)
            except (ValueError, RecursionError) as error:
                if len(self._text) - self._position > self._longest or not self._more():
                    raise CutOffError from error
                continue
            # A number at the end of what was read may go on.
            if end < len(self._text) or not self._more():
                self._position = end
                return found

    def _take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise CutOffError
        self._position += 1

    def _more(self) -> bool:
        """Read on, as much again as is held, so that a long value is decoded few times."""
        rest = self._text[self._position :]
        piece = self._stream.read(max(PIECE, len(rest)))
        self._text, self._position = rest + piece, 0
        return bool(piece)


REASONS = 100
"""Different reasons that are counted apart; a file may make up its own types without end."""

OPEN_CALLS = 1000
"""Tool calls remembered until their answer comes."""


@dataclass(frozen=True)
class Call:
    """A tool at work."""

    name: str
    recalls: bool  # it asks a memory, so its answer is nothing new


@dataclass
class Reading:
    """Filled while the events of a transcript are read."""

    session_id: str = ""
    nameless: bool = False  # only its file names it
    asked: bool = False  # mem itself asked
    changed: str = ""  # a mark of the conversation's last change, where its source keeps one
    started: str = ""
    zone: tzinfo = UTC  # of times that name none
    day: str = ""  # of times that name no day
    about: dict[str, Any] = field(default_factory=dict)  # what the transcript says of itself
    skipped: Counter[str] = field(default_factory=Counter)
    calls: dict[str, Call] = field(default_factory=dict)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what is left out."""
        known = reason in self.skipped or len(self.skipped) < REASONS
        self.skipped[reason if known else "other"] += count

    def skip_type(self, stated: object) -> None:
        """Count a kind of record that holds nothing to remember."""
        self.skip(f"type {stated[:40]!r}" if isinstance(stated, str) else "no type")

    def said(self, text: str) -> str:
        """Give what was really said, and count what was not."""
        for injection in injections(text):
            self.skip(injection.reason)
        return without_injected(text)

    def call(self, identifier: str, name: str, command: str) -> None:
        """Note a tool that was called, for the answer to come; of those without an id only the last is known."""
        self.calls[identifier] = Call(name, recalls_memory(name, command))
        if len(self.calls) > OPEN_CALLS:
            del self.calls[next(iter(self.calls))]

    def answered(self, identifier: str) -> Call:
        """Give the call that an answer belongs to: the one of its id, else the last that had none.

        A call without a name where none is known.
        """
        return self.calls.pop(identifier if identifier in self.calls else "", Call("", recalls=False))


def records(lines: Iterator[Line], reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read lines of JSON; those that are no object are counted and passed over."""
    for line in lines:
        if line.too_long:
            reading.skip("line too long")
        elif line.text.strip("\ufeff\x00 \t\r"):
            data = load(line.text)
            if isinstance(data, dict):
                yield line.number, data
            elif data is None:
                reading.skip("not JSON" if line.whole else "cut off at the end")
            else:
                reading.skip("not an object")
