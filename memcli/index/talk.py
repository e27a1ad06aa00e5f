"""Read a conversation's file for the index: only what was added since, where what went before is as it was.

Such files are long and grow at their end, so they are read as a stream and never held as a whole.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from stat import S_ISREG
from typing import BinaryIO

from ..text.blake import blake2b
from ..text.chunk import Chunk, windows
from ..text.problem import Problem
from ..text.session import Event, read_item
from ..text.session.view import said
from .scan import Stat, stat_of

LONGEST_LINE = 16 * 1024 * 1024
PREVIOUS = 300
"""Characters of the turn before that a turn is embedded with: its end, which is what is answered."""
_PIECE = 1 << 20
_BLANK = b"\xef\xbb\xbf\x00 \t\r\n"
_NOTHING = Event("")


@dataclass(frozen=True)
class Known:
    """What was taken in of a file: its whole lines, and what the next turn needs of them."""

    size: int = 0  # bytes
    lines: int = 0
    events: int = 0
    previous: str = ""  # the end of the last turn
    timestamp: str = ""  # the last one stated


class Talk:
    """A conversation's file, open and read from where the index knows it."""

    def __init__(self, file: BinaryIO, known: Known, digest: str) -> None:
        """Look whether the file still begins with what is known, `digest` being that of those bytes."""
        self.file = file
        self.before = os.fstat(file.fileno())
        if not S_ISREG(self.before.st_mode):
            raise OSError(0, "no regular file")
        self._hash = blake2b(digest_size=16)
        self.known = known
        self.is_resumed = bool(known.size) and self._begins(known.size) and self._hash.hexdigest() == digest
        if not self.is_resumed:
            self.known = Known()
            self._hash = blake2b(digest_size=16)
            file.seek(0)
        self.problems: list[Problem] = []

    @property
    def stat(self) -> Stat:
        """Give the stat that belongs to what was read; all zero where the file changed meanwhile."""
        after = stat_of(os.fstat(self.file.fileno()))
        return after if after == stat_of(self.before) else (0, 0, 0, 0)

    @property
    def digest(self) -> str:
        """Give the content hash of the whole lines read so far."""
        return self._hash.hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the pieces of what user and assistant said, each embedded with the end of the turn before."""
        now = self.known
        while line := self.file.readline(LONGEST_LINE):
            whole = line.endswith(b"\n")
            size = len(line)
            if not whole and size == LONGEST_LINE:
                size, whole = self._skip()
            now = replace(now, lines=now.lines + 1)
            if size > LONGEST_LINE:
                item: Event | Problem = Problem(now.lines, f"longer than {LONGEST_LINE >> 20} MiB: passed over")
            elif line.strip(_BLANK):
                item = read_item(line.decode("utf-8", "replace"), now.lines, last=not whole)
            else:
                item = _NOTHING
            if isinstance(item, Problem):
                self.problems.append(item)
            elif item is not _NOTHING:
                now = replace(now, events=now.events + 1, timestamp=item.timestamp or now.timestamp)
                if item.type == "message" and item.role != "system" and item.text.strip():
                    yield from _turn(item, now)
                    now = replace(now, previous=_speech(item, item.text.strip()[-PREVIOUS:].lstrip()))
            # A line without its newline may still be growing: it is read again the next time.
            if whole:
                now = replace(now, size=self.known.size + size)
                self.known = now
                self._hash.update(line)

    def _begins(self, size: int) -> bool:
        left = size
        while left and (piece := self.file.read(min(left, _PIECE))):
            self._hash.update(piece)
            left -= len(piece)
        return not left

    def _skip(self) -> tuple[int, bool]:
        """Pass over the rest of a line that is too long; give its length and whether it ends."""
        size = LONGEST_LINE
        while rest := self.file.readline(_PIECE):
            size += len(rest)
            if rest.endswith(b"\n"):
                return size, True
        return size + 1, False


def plain(file: BinaryIO) -> str:
    """Write a conversation as plain text, tool calls and their answers too, each event on its line of the file."""
    lines = []
    while line := file.readline(LONGEST_LINE):
        while len(line) >= LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE) or b"\n"
        item = read_item(line.decode("utf-8", "replace"), 0, last=False) if line.strip(_BLANK) else _NOTHING
        text = "" if isinstance(item, Problem) or item is _NOTHING else _speech(item, said(item))
        lines.append(" ".join(text.split("\n")))
    return "\n".join(lines)


def _turn(event: Event, now: Known) -> Iterator[Chunk]:
    prefix = f"{now.previous}\n" if now.previous else ""
    for start, stop in windows(event.text, 0, len(event.text)):
        text = _speech(event, event.text[start:stop])
        yield Chunk(0, 0, now.lines, str(now.events), "", prefix, now.timestamp, text)
        prefix = ""


def _speech(event: Event, text: str) -> str:
    return f"{event.name or event.role}: {text}".replace("\x00", " ")  # SQLite ends a text there
