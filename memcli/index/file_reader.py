"""Read one file for the index: its text, what it is, its chunks, and what is wrong with it."""

import errno
import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from stat import S_ISREG
from typing import BinaryIO

from ..dataclass import dataclass
from ..errors import MemError
from ..formats import chunking
from ..formats.chunking import Chunk, records_of, windows
from ..formats.entry import Entry, as_from_others, as_own_note, read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.ids import blake2b, stamp
from ..formats.links import inline_tags, nested
from ..formats.session_event import Event, read_item, said
from ..formats.text_lines import BINARY, ONLY_BEGINNING, Problem, conflict_marker, decoded
from ..store import atomic_files
from ..store.addresses import is_items
from ..store.layouts import Layout
from ..store.workspace import Workspace
from .scan import Stat, stat_of
from .text_vectors import CONTEXT_END

TRIES = 3
_HEAD = 8192  # characters that show what a file is
_FEW = 8  # signs of another kind that a damaged text may have
LONGEST = 8 * 1024 * 1024
"""Bytes of a file that are indexed at most; a larger one is named as a problem."""
_LAST_SECOND = 253402300799  # of the year 9999


@dataclass(frozen=True)
class Reading:
    """A file as it was at one moment."""

    path: str
    kind: str
    status: str
    stat: Stat
    digest: str
    text: str
    chunks: list[Chunk]
    entry: Entry | None
    problems: tuple[Problem, ...]

    def is_managed(self, layout: Layout) -> bool:
        """Return whether mem keeps the file."""
        return layout.manages(self.path, self.entry.id if self.entry else "")


def opened(workspace: Workspace, path: str) -> BinaryIO:
    """Open a file to be read as a stream; the path comes from the scan, as for `read_bytes`."""
    return os.fdopen(os.open(f"{workspace.root}/{path}", os.O_RDONLY | os.O_NONBLOCK), "rb", 1 << 16)


def read_bytes(workspace: Workspace, path: str) -> tuple[bytes, Stat]:
    """Read a file that may be written meanwhile: the stat belongs to the bytes, or is all zero where it cannot.

    The path comes from the scan, which has seen to it that it does not leave the workspace.
    """
    target = f"{workspace.root}/{path}"
    for _ in range(TRIES):
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK)
        try:
            status = os.fstat(descriptor)
            if not S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "no regular file")
            before = stat_of(status)
            data = _contents(descriptor, status.st_size)
            if stat_of(os.fstat(descriptor)) == before:
                return data, before
        finally:
            os.close(descriptor)
    return data, (0, 0, 0, 0)


def _contents(descriptor: int, size: int) -> bytes:
    """Read what is expected to have a size; without Python's file objects, which cost more than the reading."""
    data = os.read(descriptor, min(size, LONGEST) + 1)
    while len(data) != size and len(data) <= LONGEST:
        more = os.read(descriptor, LONGEST + 1 - len(data))
        if not more:
            break
        data += more
    return data


def read_file(workspace: Workspace, path: str, kind: str, data: bytes, stat: Stat, digest: str) -> Reading:
    """Return what the index keeps of a file's bytes; bad content is a problem in it and raises nothing."""
    problems: list[Problem] = []
    if len(data) > LONGEST:
        problems.append(Problem(1, f"larger than {LONGEST >> 20} MiB: split it; {ONLY_BEGINNING}"))
        # Not through the middle of a character.
        data = data[: next((end for end in range(LONGEST, LONGEST - 4, -1) if data[end] & 0xC0 != 0x80), LONGEST)]
    text, wrong_bytes = decoded(data)
    problems += [wrong_bytes] if wrong_bytes else []
    if kind != "session" and _is_binary(text):
        status = "archived" if workspace.layout.is_archived(path) else "active"
        return Reading(path, kind, status, stat, digest, "", [], None, (Problem(1, f"{BINARY}: keep it elsewhere"),))
    if "\x00" in text:  # told, and blanked where it is kept: SQLite ends a text there
        problems.append(Problem(text.count("\n", 0, text.index("\x00")) + 1, "a NUL byte: this is no text"))
        text = text.replace("\x00", " ")
    modified = datetime.fromtimestamp(min(max(stat[0] // 10**9, 0), _LAST_SECOND), UTC)
    status = "archived" if workspace.layout.is_archived(path) else "active"
    conflict = conflict_marker(text)
    if conflict is not None:
        problems.append(
            Problem(conflict, "a git conflict marker: resolve the conflict; until then this file is passed over")
        )
        return Reading(path, kind, status, stat, digest, text, [], None, tuple(problems))
    entry = None
    if is_items(path, kind):
        records = records_of(path, text)
        text, chunks = records.text, records.chunks
        problems += records.problems
    elif kind == "entry":
        document = frontmatter.parse(text)
        if document.problem:
            problems.append(document.problem)
            chunks = chunking.plain_chunks(text, stamp(modified))
            entry = Entry(id=path, body=text, created_at=stamp(modified), updated_at=stamp(modified))
        else:
            entry, wrong = read_entry(document, path, modified)
            if workspace.layout.manages(path, entry.id):
                problems += wrong
            else:
                entry = as_own_note(entry)
            entry = entry if workspace.is_trusted else as_from_others(entry)
            if workspace.layout.is_vault:
                entry = replace(entry, tags=nested((*entry.tags, *inline_tags(document.body))))
            chunks = chunking.entry_chunks(text, len(text) - len(document.body), entry)
            status = entry.status if status == "active" else status
    elif kind == "memory":
        chunks = chunking.memory_chunks(text, stamp(modified))
    elif kind == "history":
        chunks = chunking.history_chunks(text, workspace.zone)
    elif kind == "note":
        chunks = chunking.note_chunks(text, path, workspace.zone, stamp(modified))
    else:
        chunks = []
    return Reading(path, kind, status, stat, digest, text, chunks, entry, tuple(problems))


def _is_binary(text: str) -> bool:
    """Return whether a file is a program or a picture, by its beginning; a text may have an odd byte."""
    head = text[:_HEAD]
    if "\x00" not in head:
        return False
    odd = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f") for char in head)
    return odd > _FEW and odd * 10 > len(head)


def try_bytes(workspace: Workspace, path: str) -> tuple[bytes, Stat] | str:
    """Return the bytes and the stat of a file, or in one line why it cannot be read; "" if it is absent."""
    try:
        return read_bytes(workspace, path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except MemError as error:
        return str(error)


def digest_of(data: bytes) -> str:
    """Return the content hash by which a change is noticed."""
    return atomic_files.digest(data)


LONGEST_LINE = 16 * 1024 * 1024
PREVIOUS = 300
"""Characters of the turn before that a short turn is read with where it is embedded: its end, which is answered."""
SHORT_TURN = 250
"""Characters below which a turn may mean nothing without what it answers."""
_SPACES = str.maketrans("\x00" + CONTEXT_END, "  ")
_PIECE = 1 << 20
_BLANK = b"\xef\xbb\xbf\x00 \t\r\n"
_NOTHING = Event("")


@dataclass(frozen=True)
class TalkPosition:
    """What was taken in of a file: its whole lines, and what the next turn needs of them."""

    size: int = 0  # bytes
    lines: int = 0
    events: int = 0
    previous: str = ""  # the end of the last turn
    timestamp: str = ""  # the last one stated


class Talk:
    """A conversation's file, open and read on from where the index stopped."""

    def __init__(self, file: BinaryIO, position: TalkPosition, digest: str) -> None:
        """Check whether the file still begins with the bytes before a position, `digest` being theirs."""
        self.file = file
        self.before = os.fstat(file.fileno())
        if not S_ISREG(self.before.st_mode):
            raise OSError(0, "no regular file")
        self._hash = blake2b(digest_size=16)
        self.position = position
        self.is_resumed = bool(position.size) and self._begins(position.size) and self._hash.hexdigest() == digest
        if not self.is_resumed:
            self.position = TalkPosition()
            self._hash = blake2b(digest_size=16)
            file.seek(0)
        self.problems: list[Problem] = []

    @property
    def stat(self) -> Stat:
        """Return the stat of the file as it was read; all zero if it changed meanwhile."""
        after = stat_of(os.fstat(self.file.fileno()))
        return after if after == stat_of(self.before) else (0, 0, 0, 0)

    @property
    def digest(self) -> str:
        """Return the content hash of the whole lines read so far."""
        return self._hash.hexdigest()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the pieces of what user and assistant said."""
        now = self.position
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
                now = replace(now, size=self.position.size + size)
                self.position = now
                self._hash.update(line)

    def _begins(self, size: int) -> bool:
        left = size
        while left and (piece := self.file.read(min(left, _PIECE))):
            self._hash.update(piece)
            left -= len(piece)
        return not left

    def _skip(self) -> tuple[int, bool]:
        """Pass over the rest of a line that is too long; return its length and whether it ends."""
        size = LONGEST_LINE
        while part := self.file.readline(_PIECE):
            size += len(part)
            if part.endswith(b"\n"):
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


def _turn(event: Event, now: TalkPosition) -> Iterator[Chunk]:
    """Yield a turn's pieces; a short one is embedded with the end of what another speaker said before it."""
    is_answer = now.previous and not now.previous.startswith(_speech(event, "")) and len(event.text) < SHORT_TURN
    prefix = now.previous + CONTEXT_END if is_answer else ""
    for start, stop in windows(event.text, 0, len(event.text)):
        text = _speech(event, event.text[start:stop])
        yield Chunk(0, len(text), now.lines, str(now.events), "", prefix, now.timestamp, text)


def _speech(event: Event, text: str) -> str:
    return f"{event.name or event.role}: {text}".translate(_SPACES)  # SQLite ends a text at a NUL
