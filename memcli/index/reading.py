"""Read one file for the index: its text, what it is, its chunks, and what is wrong with it."""

import errno
import os
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from stat import S_ISREG
from typing import BinaryIO

from ..errors import MemError
from ..store import files
from ..store.workspace import Workspace
from ..text import chunk, frontmatter
from ..text.chunk import Chunk
from ..text.conflict import conflict_marker
from ..text.entry import Entry, as_from_others, read_entry
from ..text.inline_tags import inline_tags, nested
from ..text.json_records import is_records, records_of
from ..text.problem import BINARY, ONLY_BEGINNING, Problem
from ..text.times import stamp
from ..text.utf8 import decoded
from .scan import Stat, stat_of

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
    """Make of a file's bytes what the index keeps of it; never raises for bad content."""
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
    if is_records(path, kind):
        told = records_of(path, text)
        text, chunks = told.text, told.chunks
        problems += told.problems
    elif kind == "entry":
        document = frontmatter.parse(text)
        if document.problem:
            problems.append(document.problem)
            chunks = chunk.plain_chunks(text, stamp(modified))
            entry = Entry(id=path, body=text, created_at=stamp(modified), updated_at=stamp(modified))
        else:
            entry, wrong = read_entry(document, path, modified)
            entry = entry if workspace.is_trusted else as_from_others(entry)
            problems += wrong
            if workspace.layout.is_vault:
                entry = replace(entry, tags=nested((*entry.tags, *inline_tags(document.body))))
            chunks = chunk.entry_chunks(text, len(text) - len(document.body), entry)
            if status == "active":
                status = entry.status
    elif kind == "memory":
        chunks = chunk.memory_chunks(text, stamp(modified))
    elif kind == "history":
        chunks = chunk.history_chunks(text, workspace.zone)
    elif kind == "note":
        chunks = chunk.note_chunks(text, path, workspace.zone, stamp(modified))
    else:
        chunks = []
    return Reading(path, kind, status, stat, digest, text, chunks, entry, tuple(problems))


def _is_binary(text: str) -> bool:
    """Tell a program or a picture, by its beginning, from a text with a byte that is none."""
    head = text[:_HEAD]
    if "\x00" not in head:
        return False
    odd = sum(char == "\ufffd" or (char < " " and char not in "\t\n\r\f") for char in head)
    return odd > _FEW and odd * 10 > len(head)


def try_bytes(workspace: Workspace, path: str) -> tuple[bytes, Stat] | str:
    """Read a file, or say in one line why it cannot be read."""
    try:
        return read_bytes(workspace, path)
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except MemError as error:
        return str(error)


def digest_of(data: bytes) -> str:
    """Give the content hash by which a change is noticed."""
    return files.digest(data)
