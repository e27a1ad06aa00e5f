"""Find conversations on disk: where each tool keeps its own, and whatever lies in a folder. Opens none of them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from hashlib import sha256
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from urllib.parse import unquote, urlsplit

from ..formats.session_event import load, word
from . import opencode_database
from .sources import Source, source

ENDINGS = (".jsonl", ".json", ".md", ".txt", ".log", ".zip")
"""Names of files in a folder that may be a transcript end so."""
_PASSED_OVER = frozenset((".git", ".mem", "node_modules", "__pycache__", ".venv"))
_SMALL = 4 << 20
_SYMBOL = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True)
class Tool:
    """A tool that keeps conversations: by which variable its folder is named, where it is else, and what lies there."""

    name: str
    variable: str
    folders: tuple[str, ...]  # below home
    patterns: tuple[str, ...]  # below that; `**` stands for any folders
    passed_over: tuple[str, ...] = ()  # names of files that hold no conversation of a person's


_CODE = (
    "workspaceStorage/*/chatSessions/*.json",
    "workspaceStorage/*/chatSessions/*.jsonl",
    "globalStorage/emptyWindowChatSessions/*.json",
    "globalStorage/emptyWindowChatSessions/*.jsonl",
)
TOOLS = (
    Tool("claude-code", "CLAUDE_CONFIG_DIR", (".claude", ".config/claude"), ("projects/*/*.jsonl",), ("agent-*",)),
    Tool("codex", "CODEX_HOME", (".codex",), ("sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")),
    Tool(
        "openclaw",
        "OPENCLAW_STATE_DIR",
        (".openclaw", ".clawdbot", ".moltbot"),
        ("agents/*/sessions/*.jsonl",),
        ("*.checkpoint.*", "*.trajectory.jsonl"),
    ),
    Tool("pi", "PI_CODING_AGENT_DIR", (".pi/agent",), ("sessions/*/*.jsonl",)),
    Tool("gemini", "", (".gemini",), ("tmp/*/chats/session-*.json", "tmp/*/chats/session-*.jsonl")),
    Tool("opencode", "", (".local/share/opencode",), ("storage/session/*/*.json", opencode_database.DATABASE)),
    Tool(
        "cursor", "", (".cursor",), ("projects/*/agent-transcripts/*.jsonl", "projects/*/agent-transcripts/*/*.jsonl")
    ),
    Tool("copilot", "COPILOT_HOME", (".copilot",), ("session-state/*/events.jsonl", "session-state/*.jsonl")),
    Tool(
        "vscode", "", (".config/Code/User", ".vscode-server/data/User", "Library/Application Support/Code/User"), _CODE
    ),
)


@dataclass
class Found:
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
            self.sources.append(source(tool, path, folder_told(path, self.near)))
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

    def fault(self, path: Path, error: OSError) -> None:
        """Note what could not be looked at."""
        self.problems[os.fspath(path)] = (error.strerror or str(error)).lower()


def in_home(environ: Mapping[str, str], near: Sequence[Path] = ()) -> Found:
    """Find what the tools that are known keep below the user's home."""
    found = Found(near=near)
    for tool in TOOLS:
        for root in _roots(tool, environ):
            for pattern in tool.patterns:
                folders = Found()  # a folder may be listed once for each pattern
                for path in _matching(folders, root, tuple(pattern.split("/"))):
                    if not any(fnmatchcase(path.name, one) for one in tool.passed_over):
                        found.add(tool.name, path)
                found.problems |= folders.problems
    return found


def in_folder(folder: Path, near: Sequence[Path] = (), but_for: Path | None = None) -> Found:
    """Find every file of a folder that may be a transcript, at any depth; links are followed, each place once."""
    found = Found(near=near)
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
            elif not is_folder and (name.endswith(ENDINGS) or name == opencode_database.DATABASE):
                found.add("", inside / name)
    return found


def _roots(tool: Tool, environ: Mapping[str, str]) -> list[Path]:
    home = Path(environ.get("HOME") or Path.home())
    named = environ.get(tool.variable, "") if tool.variable else ""
    if named:
        return [Path(one).expanduser() for one in named.split(",") if one.strip()]
    folders = [home / one for one in tool.folders]
    if tool.name == "opencode" and environ.get("XDG_DATA_HOME", "").startswith("/"):
        folders = [Path(environ["XDG_DATA_HOME"]) / "opencode", *folders]
    return folders


def _matching(found: Found, folder: Path, parts: tuple[str, ...]) -> Iterator[Path]:
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


def folder_told(path: Path, near: Sequence[Path]) -> str:
    """Give the working directory that the place of a transcript tells, of tools that do not write it down in it."""
    parts = path.parts
    if "agent-transcripts" in parts[:-1]:
        return _unshortened(parts[parts.index("agent-transcripts") - 1], tuple(near))
    if path.parent.name == "chats" and path.parent.parent.parent.name == "tmp":
        return _gemini_project(path.parent.parent, tuple(near))
    if path.parent.name == "chatSessions":
        page = _page(path.parent.parent / "workspace.json")
        place = urlsplit(word(page.get("folder")))
        return unquote(place.path) if place.scheme == "file" else ""
    return ""


@cache
def _gemini_project(folder: Path, near: tuple[Path, ...]) -> str:
    """Tell whose temporary folder of Gemini CLI it is: it says so, or its name is given to a path, or is its digest."""
    with suppress(OSError):
        return (folder / ".project_root").read_text(encoding="utf-8", errors="replace").strip()
    home = folder.parent.parent
    named = _page(home / "projects.json").get("projects")
    names = named if isinstance(named, Mapping) else {}
    known = [*names, *_page(home / "trustedFolders.json"), *map(str, near)]
    digest = next((one for one in known if sha256(one.encode("utf-8", "replace")).hexdigest() == folder.name), "")
    return next((path for path, name in names.items() if name == folder.name), digest)


@cache
def _unshortened(name: str, near: tuple[Path, ...]) -> str:
    """Find the folder whose path Cursor has written with `-` for every other character, among those that exist."""
    likely = next((str(one) for one in near if _shortened(str(one)) == _shortened(name)), "")
    return likely or _below(Path("/"), _shortened(name))


def _below(folder: Path, rest: str) -> str:
    with suppress(OSError):
        for one in sorted(os.scandir(folder), key=lambda one: -len(one.name)):
            short = _shortened(one.name)
            if short and (rest == short or rest.startswith(f"{short}-")) and one.is_dir():
                deeper = one.path if rest == short else _below(Path(one.path), rest[len(short) + 1 :])
                if deeper:
                    return deeper
    return ""


def _shortened(text: str) -> str:
    return _SYMBOL.sub("-", text).strip("-")


def _page(path: Path) -> dict[str, object]:
    with suppress(OSError, ValueError):
        if path.stat().st_size <= _SMALL:
            data = load(path.read_text(encoding="utf-8", errors="replace"))
            return data if isinstance(data, dict) else {}
    return {}
