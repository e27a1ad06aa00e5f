"""JSON read from a stream that may be of any length: line by line, or value by value out of one document."""

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any, AnyStr, BinaryIO, Generic, NamedTuple, TextIO

BLANK = "\ufeff \t\r\n"
"""Characters that may stand before and after a JSON value; some programs begin a file with a byte order mark."""
_PIECE = 64 * 1024
_SKIPPED_AT_ONCE = 256 * 1024
_LONGEST_VALUE = 16 * 1024 * 1024


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?P<end>"?)|[{}\[\],]', re.DOTALL)
_HALF_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")


def closings(text: str) -> Iterator[str]:
    """Yield ways to close an object that was cut off: its last string ended with …, then without its last key."""
    open_ones: list[str] = []
    comma = 0
    is_in_string = False
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("{", "["):
            open_ones.append("}" if sign == "{" else "]")
        elif sign in ("}", "]"):
            if not open_ones:
                return
            open_ones.pop()
        elif sign == ",":
            comma = token.start() if len(open_ones) == 1 else comma
        else:
            is_in_string = not token["end"]
    ends = "".join(reversed(open_ones))
    if is_in_string:
        yield f'{text}…"{ends}'
        yield f'{_HALF_ESCAPE.sub("", text)}…"{ends}'
    yield f"{text}{ends}"
    if comma:
        yield f"{text[:comma]}}}"


class StreamLine(NamedTuple, Generic[AnyStr]):
    """One line of a stream, counted from 1."""

    number: int
    content: AnyStr  # with its newline; empty where the line is too long
    is_whole: bool = True  # it ends with a newline
    is_too_long: bool = False


def bounded_lines(stream: IO[AnyStr], longest: int) -> Iterator[StreamLine[AnyStr]]:
    r"""Yield every line of a stream, of bytes or of text; only `\n` ends a line.

    A line of more than `longest` bytes or characters is read over: no more than that is ever held.
    """
    number = 0
    while content := stream.readline(longest + 1):
        number += 1
        is_whole = _is_ended(content)
        if is_whole or len(content) <= longest:
            yield StreamLine(number, content, is_whole)
            continue
        while (part := stream.readline(_SKIPPED_AT_ONCE)) and not _is_ended(part):
            pass
        yield StreamLine(number, content[:0], is_too_long=True)


def _is_ended(content: str | bytes) -> bool:
    return content.endswith("\n") if isinstance(content, str) else content.endswith(b"\n")


def rejoined(head: bytes, stream: BinaryIO, size: int = _PIECE) -> BinaryIO:
    """Return a stream that gives the bytes already read from another one, then what is left in that one."""
    return io.BufferedReader(_Joined(head, stream), size)


class _Joined(io.RawIOBase):
    def __init__(self, head: bytes, stream: BinaryIO) -> None:
        self._head = memoryview(head)
        self._read = getattr(stream, "read1", stream.read)  # a pipe gives what it has

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        if self._head:
            piece: bytes | memoryview = self._head[: len(buffer)]
            self._head = self._head[len(piece) :]
        else:
            piece = self._read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)


class CutOffError(Exception):
    """The document ends, or goes wrong, in the middle of a value."""


class JsonStream:
    """Takes JSON values off a stream of text, one at a time."""

    def __init__(self, stream: TextIO, longest: int = _LONGEST_VALUE) -> None:
        """Begin where the stream stands; no value may be longer than `longest` characters."""
        self._stream = stream
        self._longest = longest
        self._text = ""
        self._position = 0
        self._decode = json.JSONDecoder(parse_constant=lambda _: None).raw_decode

    def peek(self) -> str:
        """Return the next character that is no blank, without taking it; empty at the end."""
        while True:
            while self._position < len(self._text):
                character = self._text[self._position]
                if character not in BLANK:
                    return character
                self._position += 1
            if not self._more():
                return ""

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller takes the value of each. Raise CutOffError where it ends early."""
        self._take("{")
        while (character := self.peek()) != "}":
            if character == ",":
                self._take(",")
            key = self.value()
            self._take(":")
            self.peek()
            yield str(key)
        self._take("}")

    def listed(self, name: str, on_member: Callable[[Mapping[str, Any]], object]) -> Iterator[Any]:
        """Yield the values of the list that an object has under a name; `on_member` gets each other member by itself.

        Raise CutOffError where it ends early.
        """
        for key in self.members():
            if key == name and self.peek() == "[":
                yield from self.items()
            else:
                on_member({key: self.value()})

    def items(self) -> Iterator[Any]:
        """Yield the values of a list; raise CutOffError where it ends early."""
        self._take("[")
        while (character := self.peek()) != "]":
            if character == ",":
                self._take(",")
            yield self.value()
        self._take("]")

    def value(self) -> Any:
        """Take one value, reading on until it is whole; raise CutOffError where it never is."""
        if not self.peek():
            raise CutOffError
        while True:
            try:
                value, end = self._decode(self._text, self._position)
            except (ValueError, RecursionError) as error:
                if len(self._text) - self._position > self._longest or not self._more():
                    raise CutOffError from error
                continue
            # A number at the end of what was read may go on.
            if end < len(self._text) or not self._more():
                self._position = end
                return value

    def _take(self, wanted: str) -> None:
        if self.peek() != wanted:
            raise CutOffError
        self._position += 1

    def _more(self) -> bool:
        """Read on, as much again as is held, so that a long value is decoded few times."""
        unread = self._text[self._position :]
        piece = self._stream.read(max(_PIECE, len(unread)))
        self._text, self._position = unread + piece, 0
        return bool(piece)
