"""What holds conversations on disk: a transcript, an export, the database of a tool; as it was when it was found."""

import json
import os
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import tzinfo
from pathlib import Path
from typing import BinaryIO, cast

from ..dataclass import dataclass
from ..errors import UnknownTranscriptError
from ..store.local_log import append, replace_text, text_of
from ..store.workspace import Surroundings, Workspace, nearest
from . import opencode
from .reader import begin_transcript, detect, read_transcripts
from .transcript_format import FOREIGN, Transcript, TranscriptFile

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
    folder: str  # the working directory its path names; empty where it names none

    @property
    def name(self) -> str:
        """Return the name that a conversation without one of its own gets."""
        return f"{self.path.parent.name}.jsonl" if self.path.name in _UNNAMED else self.path.name

    def read(self, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
        """Begin to read its conversations in turn; `beside` is a folder for a copy that is needed meanwhile."""
        if opencode.is_source(self.path):
            return (
                begin_transcript(*conversation, self.name)
                for conversation in opencode.conversations(self.path, zone, beside)
            )
        if self.path.suffix == ".zip":
            return _archive(self.path, zone)
        return _file(self.path, self.name, zone)

    def is_as_found(self) -> bool:
        """Return whether it has not changed since it was found."""
        try:
            return stamp_of(self.path) == self.stamp
        except OSError:
            return False


def holds_many(path: Path) -> bool:
    """Return whether a file holds many conversations, or one that lies in many files."""
    if path.suffix == ".zip" or opencode.is_source(path):
        return True
    try:
        with path.open("rb") as file:
            return detect(TranscriptFile(file), path.name).conversations is not None
    except (OSError, UnknownTranscriptError):
        return False  # whoever reads it says why


def source(tool: str, path: Path, folder: str = "") -> Source:
    """Return a file as a source; raise OSError where it is gone or may not be looked at."""
    return Source(tool, path, stamp_of(path), os.stat(path).st_mtime, folder)


def stamp_of(path: Path) -> Stamp:
    """Return what changes whenever the content does."""
    if opencode.is_source(path):
        return opencode.stamp_of(path)
    seen = os.stat(path)
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


def _file(path: Path, name: str, zone: tzinfo) -> Iterator[Transcript]:
    with path.open("rb") as file:
        yield from read_transcripts(TranscriptFile(file), name, zone)


def _archive(path: Path, zone: tzinfo) -> Iterator[Transcript]:
    """Read the conversations of a data export as it is downloaded."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if _EXPORTED.fullmatch(name))
            if not names:
                raise UnknownTranscriptError(f"{path.name} has no conversations.json in it", "unpack it first", FOREIGN)
            for name in names:
                with archive.open(name) as file:
                    yield from read_transcripts(TranscriptFile(cast("BinaryIO", file)), name, zone)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UnknownTranscriptError(f"{path.name} cannot be unpacked: {error}", "unpack it first") from None


FILE = "imports.jsonl"
_ROOM = 200  # lines more than sources, from which the file is written anew


@dataclass
class Seen:
    """What the log has of a source that was read, or what is learnt while it is."""

    stamp: Stamp
    tool: str = ""  # by which it is counted
    taken: int = 0  # conversations that are in a session
    left_out: Counter[str] = field(default_factory=Counter)  # for reasons that stay
    elsewhere: Counter[str] = field(default_factory=Counter)  # by working directory, for being another's
    earlier: str = ""  # time of the latest that was left out for its age; empty where none was
    earlier_count: int = 0
    marks: dict[str, str] = field(default_factory=dict)  # of each conversation of many: when it was changed


class ImportLog:
    """The sources that were read before, from a file of `.mem/` that is read once and added to."""

    def __init__(self, workspace: Workspace) -> None:
        """Read the file, passing over damaged lines; write it anew where most of its lines are outdated."""
        self._workspace = workspace
        self._seen: dict[str, Seen] = {}
        lines = text_of(workspace, FILE).split("\n")
        for line in lines:
            with suppress(ValueError, TypeError, KeyError, AttributeError):
                fields = json.loads(line)
                path = fields.pop("source")
                counts = {key: Counter(fields[key]) for key in ("left_out", "elsewhere") if key in fields}
                self._seen[path] = Seen(**{**fields, **counts, "stamp": tuple(fields["stamp"])})
        if len(lines) > 2 * len(self._seen) + _ROOM:
            with suppress(OSError):
                replace_text(workspace, FILE, _lines(self._seen))

    def get(self, path: Path) -> Seen | None:
        """Return what is known of a source."""
        return self._seen.get(os.fspath(path))

    def add(self, seen: Iterable[tuple[Path, Seen]]) -> None:
        """Note sources that were read; what cannot be written is read again next time."""
        fresh = {os.fspath(path): record for path, record in seen}
        self._seen |= fresh
        with suppress(OSError):
            if fresh:
                append(self._workspace, FILE, _lines(fresh).encode())


def _lines(seen: Mapping[str, Seen]) -> str:
    rows = (
        {"source": path} | {key: value for key, value in vars(record).items() if value} for path, record in seen.items()
    )
    return "".join(f"{json.dumps(row)}\n" for row in rows)


ELSEWHERE = "of other projects"
NO_FOLDER = "without a working directory"
EARLIER = "before --since"


@dataclass(frozen=True)
class Wanted:
    """What to take: a conversation belongs into the workspace that mem would find from its working directory."""

    workspace: Workspace
    user_root: Path
    projects: tuple[Path, ...] = ()  # take those of these folders instead, whatever workspace they have
    since: str = ""  # RFC 3339; empty for all
    asked: bool = False  # a person named the place: what tells no folder is meant too
    _known: dict[str, bool] = field(default_factory=dict, repr=False)

    @property
    def is_users(self) -> bool:
        """Return whether the workspace is the user's own."""
        return self.workspace.root == self.user_root

    def takes_folder(self, folder: str) -> bool:
        """Return whether a conversation that took place in a folder, or told none, is to be taken."""
        if folder not in self._known:
            self._known[folder] = self._takes(folder)
        return self._known[folder]

    def _takes(self, folder: str) -> bool:
        if not folder.startswith("/"):
            return not self.projects and (self.is_users or self.asked)
        if self.projects:
            paths = (Path(folder), Path(os.path.realpath(folder)))
            return any(path.is_relative_to(project) for path in paths for project in self.projects)
        home = nearest(Path(folder))
        return home in (None, self.user_root) if self.is_users else home == self.workspace.root

    def takes_time(self, last: str) -> bool:
        """Return whether a conversation whose last message is of this time is to be taken."""
        return not self.since or last >= self.since

    def asks_again(self, seen: Seen) -> bool:
        """Return whether something was left out of a source then that is wanted now."""
        if seen.earlier and self.takes_time(seen.earlier):
            return True
        return any(self.takes_folder(folder) for folder in seen.elsewhere)

    def left_out(self, seen: Seen) -> Mapping[str, int]:
        """Count what was left out of a source and still is, by reason."""
        counts = dict(seen.left_out)
        for folder, count in seen.elsewhere.items():
            reason = reason_for(folder)
            counts[reason] = counts.get(reason, 0) + count
        if seen.earlier_count:
            counts[EARLIER] = seen.earlier_count
        return counts


def reason_for(folder: str) -> str:
    """Return why a conversation that took place in a folder is left out."""
    return ELSEWHERE if folder.startswith("/") else NO_FOLDER


def wanted(
    workspace: Workspace, around: Surroundings, projects: Sequence[Path] = (), since: str = "", *, asked: bool = False
) -> Wanted:
    """Return what is to be taken into a workspace."""
    folders = tuple(dict.fromkeys(real for project in projects for real in (project, Path(os.path.realpath(project)))))
    return Wanted(workspace, Path(os.path.realpath(around.user_root)), folders, since, asked)
