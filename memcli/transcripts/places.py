"""Find conversations on disk: where each tool keeps its own, and whatever lies in a folder. Opens none of them."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from ..dataclass import dataclass
from ..store.workspace import Workspace
from . import opencode
from .registry import TOOLS
from .sources import Source, source
from .transcript_format import Tool

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


def in_home(environ: Mapping[str, str], near: Sequence[Path] = ()) -> FoundSources:
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


def in_folder(folder: Path, near: Sequence[Path] = (), but_for: Path | None = None) -> FoundSources:
    """Return every file of a folder that may be a transcript, at any depth; links are followed, each target once."""
    sources = FoundSources(near=near)
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        if inside.parent.name == "storage" and inside.name in ("message", "part"):
            continue  # read with the sessions they belong to
        if but_for and os.path.realpath(inside) == os.path.realpath(but_for):
            continue
        for name, is_folder in sources.entries(inside):
            if is_folder and name not in _PASSED_OVER:
                waiting.append(inside / name)
            elif not is_folder and (name.endswith(ENDINGS) or name == opencode.DATABASE):
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
        yield from _matching(sources, folder / first, tail) if tail else _existing(folder / first)
    else:
        for name, is_folder in sources.entries(folder):
            if fnmatchcase(name, first) and is_folder == bool(tail):
                yield from _matching(sources, folder / name, tail) if tail else (folder / name,)


def _existing(path: Path) -> Iterator[Path]:
    if path.exists():
        yield path


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False
