"""What holds conversations on disk: a transcript, an export, the database of a tool; as it was when it was found."""

import os
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import BinaryIO, cast

from ..exchange.detect import FOREIGN, MANY, UnknownTranscriptError, detect
from ..exchange.feed import Feed
from ..exchange.transcripts import Transcript, read_transcripts
from . import foreign_database, opencode_store

Stamp = tuple[int, ...]
_EXPORTED = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_UNNAMED = ("events.jsonl",)
"""Files that are named alike in the folder of each session."""


@dataclass(frozen=True)
class Source:
    """Something to read; the same stamp means that nothing in it has changed."""

    tool: str
    path: Path
    stamp: Stamp
    changed: float  # when it was last written to: seconds since 1970
    folder: str  # the working directory its place tells; empty where it tells none

    @property
    def name(self) -> str:
        """Give the name that a conversation without one of its own gets."""
        return f"{self.path.parent.name}.jsonl" if self.path.name in _UNNAMED else self.path.name

    def read(self, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
        """Begin to read its conversations in turn; `beside` is a folder for a copy that is needed meanwhile."""
        if self.path.name == opencode_store.DATABASE:
            return opencode_store.sessions_from_database(self.path, zone, beside)
        if opencode_store.is_session_file(self.path):
            return opencode_store.session_from_files(self.path, zone)
        if self.path.suffix == ".zip":
            return _archive(self.path, zone)
        return _file(self.path, self.name, zone)

    def is_as_found(self) -> bool:
        """Tell whether it has not changed since it was found."""
        try:
            return stamp_of(self.path) == self.stamp
        except OSError:
            return False


def holds_many(path: Path) -> bool:
    """Tell whether a file holds many conversations, or one that lies in many files."""
    if path.suffix == ".zip" or path.name == opencode_store.DATABASE or opencode_store.is_session_file(path):
        return True
    try:
        with path.open("rb") as file:
            return detect(Feed(file), path.name) in MANY
    except (OSError, UnknownTranscriptError):
        return False  # whoever reads it says why


def source(tool: str, path: Path, folder: str = "") -> Source:
    """Look at a file; OSError where it is gone or may not be looked at."""
    return Source(tool, path, stamp_of(path), os.stat(path).st_mtime, folder)


def stamp_of(path: Path) -> Stamp:
    """Give what changes whenever the content does."""
    special: Callable[[Path], Stamp] | None = None
    if path.name == opencode_store.DATABASE:
        special = foreign_database.stamp_of
    elif opencode_store.is_session_file(path):
        special = opencode_store.session_stamp
    if special:
        return special(path)
    seen = os.stat(path)
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


def _file(path: Path, name: str, zone: tzinfo) -> Iterator[Transcript]:
    with path.open("rb") as file:
        yield from read_transcripts(Feed(file), name, zone)


def _archive(path: Path, zone: tzinfo) -> Iterator[Transcript]:
    """Read the conversations of a data export as it is downloaded."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if _EXPORTED.fullmatch(name))
            if not names:
                raise UnknownTranscriptError(f"{path.name} has no conversations.json in it", "unpack it first", FOREIGN)
            for name in names:
                with archive.open(name) as file:
                    yield from read_transcripts(Feed(cast("BinaryIO", file)), name, zone)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UnknownTranscriptError(f"{path.name} cannot be unpacked: {error}", "unpack it first") from None
