"""A JSON document read piece by piece, so that a long one is never in memory as a whole."""

import json
from collections.abc import Iterator
from typing import Any, TextIO

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
