"""A transcript as it streams in: its beginning looked at once, then its lines one by one, never the whole of it."""

import codecs
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from typing import Any, BinaryIO, TextIO

from ..formats.json_stream import StreamLine, bounded_lines, rejoined
from ..formats.session_event import load
from ..language.harness_text import injections, recalls_memory, without_injected

HEAD = 256 * 1024
"""Bytes looked at to find out the format."""

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one, a video in base64 for instance, is passed over."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class Feed:
    """A binary file read from where it stands, once and forwards; a pipe will do."""

    def __init__(self, file: BinaryIO) -> None:
        """Look at the beginning: to the end of the first line that is not blank, where that is not too far."""
        head = more = file.read(HEAD)
        while len(more) == HEAD and b"\n" not in head.lstrip() and len(head) < LONGEST_LINE:
            more = file.read(HEAD)
            head += more
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        self.stream: TextIO = io.TextIOWrapper(
            rejoined(head, file, HEAD), encoding=encoding, errors="replace", newline="\n"
        )
        self.head = head.decode(encoding, errors="replace")
        self.complete = len(more) < HEAD

    def head_lines(self) -> list[str]:
        """Give the lines of the beginning, without one that the look has cut."""
        lines = self.head.split("\n")
        return lines if self.complete or len(lines) == 1 else lines[:-1]

    def lines(self) -> Iterator[StreamLine[str]]:
        """Read line by line."""
        return bounded_lines(self.stream, LONGEST_LINE)


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


def records(lines: Iterator[StreamLine[str]], reading: Reading) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read lines of JSON; those that are no object are counted and passed over."""
    for line in lines:
        if line.is_too_long:
            reading.skip("line too long")
        elif line.content.strip("\ufeff\x00 \t\r\n"):
            data = load(line.content)
            if isinstance(data, dict):
                yield line.number, data
            elif data is None:
                reading.skip("not JSON" if line.is_whole else "cut off at the end")
            else:
                reading.skip("not an object")
