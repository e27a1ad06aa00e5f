"""Conversations on disk as they were when they were found: where tools keep their own, and what lies in a folder."""

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import tzinfo
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ..dataclass import dataclass
from ..errors import RefusedError, UnknownTranscriptError
from ..formats.archive_members import opened_archive
from ..store.access_log import append, replace_text, text_of
from ..store.workspace import Surroundings, Workspace, nearest
from .reader import begin_transcript, detect, read_transcripts
from .registry import TOOLS
from .transcript_format import FOREIGN, Tool, Transcript, TranscriptFile

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
        if keeper := _keeper(self.path):
            return (
                begin_transcript(transcript, self.name) for transcript in keeper.conversations(self.path, zone, beside)
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
    if path.suffix == ".zip" or _keeper(path):
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
    if keeper := _keeper(path):
        return keeper.stamp_of(path)
    seen = os.stat(path)
    return seen.st_size, seen.st_mtime_ns, seen.st_ino


def _keeper(path: Path) -> Tool | None:
    """Return the tool that keeps conversations in a file in its own way; None for a transcript."""
    return next((tool for tool in TOOLS if tool.keeps(path)), None)


def _file(path: Path, name: str, zone: tzinfo) -> Iterator[Transcript]:
    with path.open("rb") as file:
        yield from read_transcripts(TranscriptFile(file), name, zone)


def _archive(path: Path, zone: tzinfo) -> Iterator[Transcript]:
    """Read the conversations of a data export as it is downloaded."""
    try:
        with path.open("rb") as stream, opened_archive(stream, path.name, _EXPORTED.fullmatch) as archive:
            if not archive.names:
                raise UnknownTranscriptError(f"{path.name} has no conversations.json in it", "unpack it first", FOREIGN)
            for name in archive.names:
                with archive.open(name) as file:
                    yield from read_transcripts(TranscriptFile(file), name, zone)
    except RefusedError as error:
        raise UnknownTranscriptError(error.message, error.fix) from None


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
        """Return whether a conversation that took place in a folder, or names none, is to be taken."""
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


def wanted(workspace: Workspace, around: Surroundings, projects: Sequence[Path], since: str, *, asked: bool) -> Wanted:
    """Return what is to be taken into a workspace."""
    folders = tuple(dict.fromkeys(real for project in projects for real in (project, Path(os.path.realpath(project)))))
    return Wanted(workspace, Path(os.path.realpath(around.user_root)), folders, since, asked)


ENDINGS = (".jsonl", ".json", ".md", ".txt", ".log", ".zip")
"""Names of files in a folder that may be a transcript end so."""
_PASSED_OVER = frozenset((".git", ".mem", "node_modules", "__pycache__", ".venv"))


@dataclass
class FoundSources:
    """The sources, and what could not be looked into."""

    sources: list[Source] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)  # path → reason
    seen: set[tuple[int, int]] = field(default_factory=set)  # device and inode: links lead to a thing once
    near: Sequence[Path] = ()  # folders that a digest or a shortened name may stand for

    def add(self, tool: str, path: Path) -> None:
        """Take a file, once under whatever name."""
        try:
            status = os.stat(path)
            if not S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) in self.seen:
                return
            self.seen.add((status.st_dev, status.st_ino))
            self.sources.append(source(tool, path, self._folder_of(path)))
        except OSError as error:
            self.fault(path, error)

    def entries(self, folder: Path) -> list[tuple[str, bool]]:
        """List a folder once: names, and whether each is a folder itself."""
        try:
            status = os.stat(folder)
            if not S_ISDIR(status.st_mode) or (status.st_dev, status.st_ino) in self.seen:
                return []
            self.seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                return sorted((entry.name, _is_folder(entry)) for entry in entries)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.fault(folder, error)
            return []

    def _folder_of(self, path: Path) -> str:
        """Return the working directory that the path of a transcript names; empty where only its lines do."""
        return next((folder for tool in TOOLS if (folder := tool.folder_of(path, tuple(self.near)))), "")

    def fault(self, path: Path, error: OSError) -> None:
        """Note what could not be looked at."""
        self.problems[os.fspath(path)] = (error.strerror or str(error)).lower()


def find_sources(workspace: Workspace, path: str) -> FoundSources:
    """Return what lies below a folder, one file, or without a path what the tools that are known keep in HOME."""
    home = workspace.root.parent if workspace.root.name == "memory" else workspace.root
    near = tuple(dict.fromkeys((workspace.folder, home, *workspace.folder.parents, *home.parents)))
    if not path:
        return in_home(workspace.environ, near)
    file = workspace.folder / Path(path).expanduser()
    if file.is_dir():
        return in_folder(file, near, but_for=workspace.root)
    sources = FoundSources(near=near)
    sources.add("", file)
    return sources


def in_home(environ: Mapping[str, str], near: Sequence[Path]) -> FoundSources:
    """Return what the tools that are known keep below the user's home."""
    sources = FoundSources(near=near)
    for tool in TOOLS:
        for root in _roots(tool, environ):
            for pattern in tool.patterns:
                folders = FoundSources()  # a folder may be listed once for each pattern
                for path in _matching(folders, root, tuple(pattern.split("/"))):
                    if not any(fnmatchcase(path.name, glob) for glob in tool.passed_over):
                        sources.add(tool.name, path)
                sources.problems |= folders.problems
    return sources


def in_folder(folder: Path, near: Sequence[Path], but_for: Path) -> FoundSources:
    """Return every file of a folder that may be a transcript, at any depth; links are followed, each target once."""
    sources = FoundSources(near=near)
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        if any(inside.match(part) for tool in TOOLS for part in tool.parts):
            continue
        if os.path.realpath(inside) == os.path.realpath(but_for):
            continue
        for name, is_folder in sources.entries(inside):
            if is_folder and name not in _PASSED_OVER:
                waiting.append(inside / name)
            elif not is_folder and (name.endswith(ENDINGS) or _keeper(inside / name)):
                sources.add("", inside / name)
    return sources


def _roots(tool: Tool, environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or Path.home())
    named = environ.get(tool.variable, "") if tool.variable else ""
    if named:
        return [Path(folder).expanduser() for folder in named.split(",") if folder.strip()]
    folders = [home / folder for folder in tool.folders]
    if tool.data_folder and environ.get("XDG_DATA_HOME", "").startswith("/"):
        folders = [Path(environ["XDG_DATA_HOME"]) / tool.data_folder, *folders]
    return folders


def _matching(sources: FoundSources, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    first, tail = parts[0], parts[1:]
    if first == "**":
        for name, is_folder in sources.entries(folder):
            if is_folder:
                yield from _matching(sources, folder / name, parts)
            elif len(tail) == 1 and fnmatchcase(name, tail[0]):
                yield folder / name
    elif not any(mark in first for mark in "*?["):
        yield from _matching(sources, folder / first, tail) if tail else filter(Path.exists, (folder / first,))
    else:
        for name, is_folder in sources.entries(folder):
            if fnmatchcase(name, first) and is_folder == bool(tail):
                yield from _matching(sources, folder / name, tail) if tail else (folder / name,)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False
