"""JSON that is too large for memory: take one value after another from a stream of text."""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

BLANK = "\ufeff \t\r\n"  # some programs begin a file with a byte order mark
NOT_BLANK = re.compile(f"[^{BLANK}]")
PIECE = 64 * 1024
# An escaped character, a quote or a bracket: everything that can begin or end a value.
MARK = re.compile(r'\\.|["{}\[\],]', re.DOTALL)
# A quote without its end would read the rest of the file into memory.
LONGEST_VALUE = 16 * 1024 * 1024  # characters


class CutOffError(ValueError):
    """The document ends, or stops being JSON, in the middle of a value."""


class LongValue:
    """Stands for a value that is too long to read."""


class JsonStream:
    """Reads a document value by value, so that the whole values of a cut-off file can be used.

    A value longer than `longest` ends the document, or with `skips_long` is read over.
    """

    def __init__(
        self, stream: TextIO, longest: int = LONGEST_VALUE, *, skips_long: bool = False
    ) -> None:
        self.stream = stream
        self.longest = longest
        self.skips_long = skips_long
        self.text = ""
        self.position = 0
        self.decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is not blank; an empty string at the end."""
        while not (match := NOT_BLANK.search(self.text, self.position)):
            self.position = len(self.text)
            if not self.read_more():
                return ""
        self.position = match.start()
        return match[0]

    def read_keys(self) -> Iterator[str]:
        """Yield the keys of an object. The caller reads the value of each."""
        self.skip("{")
        while self.peek() != "}":
            if self.peek() == ",":
                self.skip(",")
            key = self.read_value()
            self.skip(":")
            yield str(key)
        self.skip("}")

    def read_items(self) -> Iterator[Any]:
        """Yield the values of a list."""
        self.skip("[")
        while self.peek() != "]":
            if self.peek() == ",":
                self.skip(",")
            yield self.read_value()
        self.skip("]")

    def read_value(self) -> Any:
        """Read one value. Raises CutOffError if it is not whole, or longer than `longest`."""
        if not self.peek():
            raise CutOffError("the file ends here")
        while True:
            try:
                value, end = self.decoder.raw_decode(self.text, self.position)
            except (ValueError, RecursionError) as error:
                if len(self.text) - self.position > self.longest:
                    if not self.skips_long:
                        raise CutOffError("not JSON, or a value is too long") from error
                    self.skip_value()
                    return LongValue()
                if not self.read_more():
                    raise CutOffError("the file ends here, or is not JSON") from error
                continue
            # A number at the end of the text, such as `1.`, may continue in the next piece.
            # Three characters, because the decoder leaves two of an unfinished `1e+5` unread: `e+`.
            rest = self.text[end : end + 3]
            is_number = type(value) in (int, float)
            is_part = is_number and len(rest) < 3 and rest[:1] not in tuple(f",]}}{BLANK}")
            if (is_part or not rest) and self.read_more():
                continue
            if is_part:
                raise CutOffError("the file ends here")
            self.position = end
            return value

    def skip_value(self) -> None:
        """Read over the next value by its brackets and quotes."""
        depth = 0
        is_in_string = False
        while True:
            end = self.position
            for match in MARK.finditer(self.text, self.position):
                mark, end = match[0], match.end()
                if is_in_string or mark == '"':
                    is_in_string = mark != '"' if is_in_string else True
                elif mark in "{[":
                    depth += 1
                elif depth == 0 and mark in ",}]":
                    self.position = match.start()
                    return
                elif mark in "}]":
                    depth -= 1
            # A backslash at the end belongs to the first character of the next piece.
            is_escape = self.text.endswith("\\") and end < len(self.text)
            self.position = len(self.text) - is_escape
            if not self.read_more():
                raise CutOffError("the file ends here")

    def skip(self, expected: str) -> None:
        if self.peek() != expected:
            raise CutOffError("the file ends here" if not self.peek() else "not JSON")
        self.position += 1

    def read_more(self) -> bool:
        """Read as much again as is unread, so that a long value is decoded only a few times."""
        unread = self.text[self.position :]
        piece = self.stream.read(max(PIECE, len(unread)))
        self.text, self.position = unread + piece, 0
        return bool(piece)
