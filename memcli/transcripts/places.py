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
    """What was found, and what could not be looked into."""

    sources: list[Source] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)  # path → reason
    seen: set[tuple[int, int]] = field(default_factory=set)  # device and inode: links lead to a thing once
    near: Sequence[Path] = ()  # folders that a digest or a shortened name may stand for

    def add(self, tool: str, path: Path) -> None:
        """Take a file, once under whatever name."""
        try:
            seen = os.stat(path)
            if not S_ISREG(seen.st_mode) or (seen.st_dev, seen.st_ino) in self.seen:
                return
            self.seen.add((seen.st_dev, seen.st_ino))
            self.sources.append(source(tool, path, self._folder_of(path)))
        except OSError as error:
            self.fault(path, error)

    def entries(self, folder: Path) -> list[tuple[str, bool]]:
        """List a folder once: names, and whether each is a folder itself."""
        try:
            seen = os.stat(folder)
            if not S_ISDIR(seen.st_mode) or (seen.st_dev, seen.st_ino) in self.seen:
                return []
            self.seen.add((seen.st_dev, seen.st_ino))
            with os.scandir(folder) as found:
                return sorted((one.name, _is_folder(one)) for one in found)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            self.fault(folder, error)
            return []

    def _folder_of(self, path: Path) -> str:
        """Return the working directory that the place of a transcript tells; empty where only its lines do."""
        return next((folder for tool in TOOLS if (folder := tool.folder_of(path, tuple(self.near)))), "")

    def fault(self, path: Path, error: OSError) -> None:
        """Note what could not be looked at."""
        self.problems[os.fspath(path)] = (error.strerror or str(error)).lower()


def find_sources(workspace: Workspace, path: str) -> FoundSources:
    """Find what lies below a folder, one file, or without a path what the tools that are known keep in HOME."""
    home = workspace.root.parent if workspace.root.name == "memory" else workspace.root
    near = tuple(dict.fromkeys((workspace.folder, home, *workspace.folder.parents, *home.parents)))
    if not path:
        return in_home(workspace.environ, near)
    file = workspace.folder / Path(path).expanduser()
    if file.is_dir():
        return in_folder(file, near, but_for=workspace.root)
    found = FoundSources(near=near)
    found.add("", file)
    return found


def in_home(environ: Mapping[str, str], near: Sequence[Path] = ()) -> FoundSources:
    """Find what the tools that are known keep below the user's home."""
    found = FoundSources(near=near)
    for tool in TOOLS:
        for root in _roots(tool, environ):
            for pattern in tool.patterns:
                folders = FoundSources()  # a folder may be listed once for each pattern
                for path in _matching(folders, root, tuple(pattern.split("/"))):
                    if not any(fnmatchcase(path.name, one) for one in tool.passed_over):
                        found.add(tool.name, path)
                found.problems |= folders.problems
    return found


def in_folder(folder: Path, near: Sequence[Path] = (), but_for: Path | None = None) -> FoundSources:
    """Find every file of a folder that may be a transcript, at any depth; links are followed, each place once."""
    found = FoundSources(near=near)
    waiting = [folder]
    while waiting:
        inside = waiting.pop()
        if inside.parent.name == "storage" and inside.name in ("message", "part"):
            continue  # read with the sessions they belong to
        if but_for and os.path.realpath(inside) == os.path.realpath(but_for):
            continue
        for name, is_folder in found.entries(inside):
            if is_folder and name not in _PASSED_OVER:
                waiting.append(inside / name)
            elif not is_folder and (name.endswith(ENDINGS) or name == opencode.DATABASE):
                found.add("", inside / name)
    return found


def _roots(tool: Tool, environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or Path.home())
    named = environ.get(tool.variable, "") if tool.variable else ""
    if named:
        return [Path(one).expanduser() for one in named.split(",") if one.strip()]
    folders = [home / one for one in tool.folders]
    if tool.data_folder and environ.get("XDG_DATA_HOME", "").startswith("/"):
        folders = [Path(environ["XDG_DATA_HOME"]) / tool.data_folder, *folders]
    return folders


def _matching(found: FoundSources, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
    first, rest = parts[0], parts[1:]
    if first == "**":
        for name, is_folder in found.entries(folder):
            if is_folder:
                yield from _matching(found, folder / name, parts)
            elif len(rest) == 1 and fnmatchcase(name, rest[0]):
                yield folder / name
    elif not any(mark in first for mark in "*?["):
        yield from _matching(found, folder / first, rest) if rest else _existing(folder / first)
    else:
        for name, is_folder in found.entries(folder):
            if fnmatchcase(name, first) and is_folder == bool(rest):
                yield from _matching(found, folder / name, rest) if rest else (folder / name,)


def _existing(path: Path) -> Iterator[Path]:
    if path.exists():
        yield path


def _is_folder(one: os.DirEntry[str]) -> bool:
    try:
        return one.is_dir()
    except OSError:  # a link to itself
        return False
