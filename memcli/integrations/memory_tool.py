"""The memory tool of Anthropic's API over a workspace: its six commands, answered in the words models were taught.

The wording and its punctuation are those of the official client's own implementation. Two things differ in deed, not in
word: what is deleted moves to the archive, and a secret is refused.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

from ..api import memory_files
from ..api.memory_files import SESSIONS, Workspace
from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError, UsageError
from ..results import Result

ROOT = "/memories"
_TEXTS = (".txt", ".text", ".xml", ".json", ".yaml", ".yml", ".csv", ".log", ".rst", ".org", ".html")
"""Endings that models give to what they keep."""
_KINDS = ("entry", "memory", "history", "note")


@dataclass(frozen=True)
class MemoryPath:
    """A file or folder as the model names it, and where it is."""

    name: str  # as given
    path: str  # within the workspace; empty for the workspace itself
    file: Path

    @property
    def is_root(self) -> bool:
        """Tell whether it is /memories itself, by any of its names."""
        return posixpath.normpath(self.name) == ROOT


def located(workspace: Workspace, name: str) -> MemoryPath:
    """Find where a name below /memories lies; raise RefusedError for what lies elsewhere."""
    if name != ROOT and not name.startswith(f"{ROOT}/"):
        raise RefusedError(f"Path must start with {ROOT}, got: {name}")
    inner = posixpath.normpath(name[len(ROOT) :].lstrip("/") or ".")
    if inner == ".":
        return MemoryPath(name, workspace.layout.entries, workspace.path(workspace.layout.entries))
    path = _findable(workspace, _path(workspace, inner))
    try:
        file = workspace.path(path)
        real = workspace.relative(file) if file != workspace.root else ""
    except (RefusedError, ValueError):
        raise _escape(name) from None
    if (
        inner.split("/")[0] == ".."
        or memory_files.is_private(workspace, path)
        or memory_files.is_private(workspace, real)
        or not real
    ):
        raise _escape(name)
    return MemoryPath(name, real, file)


def existing(workspace: Workspace, name: str, hint: str = " Please provide a valid path.") -> MemoryPath:
    """Find what is there under a name; NotFoundError, in the words models know, for what is not."""
    located_path = located(workspace, name)
    if not located_path.is_root and not memory_files.exists(workspace, located_path.path):
        if keyed := by_key(workspace, name):
            return keyed
        dot = "." if hint else ""
        raise NotFoundError(f"The path {name} does not exist{dot}{hint}")
    return located_path


def by_key(workspace: Workspace, name: str) -> MemoryPath | None:
    """Find the one entry whose key a name below /memories is: staging/port.md is what fills staging/port."""
    path = memory_files.path_of_key(workspace, name.removeprefix(f"{ROOT}/").removesuffix(".md"))
    return MemoryPath(name, path, workspace.path(path)) if path else None


def listed(workspace: Workspace, folder: MemoryPath) -> Iterator[tuple[str, Path]]:
    """Yield the names in a folder with their files, in order."""
    children = {_shown(child.name): child for child in _children(folder.file)}
    if folder.is_root and workspace.layout.entries:
        children |= {child.name: child for child in _children(workspace.root)}
    for name in sorted(children):
        try:
            seen = located(workspace, f"{folder.name.rstrip('/')}/{name}")
        except RefusedError:
            continue
        if memory_files.exists(workspace, seen.path) and (not folder.is_root or seen.path != workspace.layout.entries):
            yield name, seen.file


def _children(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []


def _path(workspace: Workspace, inner: str) -> str:
    """Return the path within the workspace: what is a memory there keeps its own, all else lies below the entries."""
    layout = workspace.layout
    if not layout.entries:
        return inner
    head = inner.split("/")[0]
    notes = layout.notes.split("/")[0] if "/" in layout.notes else ""
    if head in (layout.entries.split("/")[0], notes):
        return inner
    if head != SESSIONS and not layout.is_archived(f"{inner}/") and layout.kind_of(inner) in _KINDS:
        return inner
    return f"{layout.entries}/{inner}"


def _findable(workspace: Workspace, path: str) -> str:
    """Return the path that is searched: a text of another ending is kept as markdown, unless somebody put it there."""
    is_other = path.endswith(_TEXTS) and not (workspace.root / path).exists()
    return f"{path}.md" if is_other else path


def _shown(name: str) -> str:
    """Return the name a model knows a file by."""
    return name.removesuffix(".md") if name.removesuffix(".md").endswith(_TEXTS) else name


def _escape(name: str) -> RefusedError:
    return RefusedError(f"Path {name} would escape {ROOT} directory")


BY = "observed"
"""Source of what is written here: a model writes it, and says nowhere whose words they are."""
MOST_LINES = 999_999
MOST_LISTED = 1000
"""Names a folder's view holds; a memory of years has more than a model should be shown at once."""
_AROUND = 2


@dataclass(frozen=True)
class ToolReply(Result):
    """The reply to one command."""

    content: Annotated[str, "the reply for the model"]
    is_error: Annotated[bool, "whether it failed"]


def answer(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Carry out one command and give the reply; a MemError's message is the reply where it fails."""
    name = call.get("command")
    command = COMMANDS.get(name) if isinstance(name, str) else None
    if command is None:
        raise UsageError(f"Unknown command: {name}", f"use one of {', '.join(COMMANDS)}")
    return command(workspace, call)


def view(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Show a folder, or a file with its line numbers."""
    name = _text(call, "path")
    target = existing(workspace, name)
    if target.file.is_dir() or target.is_root:
        return _folder(workspace, target)
    lines = memory_files.read_file(workspace, target.path).split("\n")
    if len(lines) > MOST_LINES:
        raise RefusedError(f"File {name} exceeds maximum line limit of 999,999 lines.")
    first, last = _range(call.get("view_range"), len(lines))
    return f"Here's the content of {name} with line numbers:\n" + _numbered(lines, first, last)


def create(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Make a file of exactly the text given."""
    name, text = _text(call, "path"), _text(call, "file_text")
    target = located(workspace, name)
    if target.is_root or (not target.file.exists() and by_key(workspace, name)):
        raise RefusedError(f"File {name} already exists")
    try:
        near = memory_files.create_file(workspace, target.path, text, name=name, by=BY)
    except FileExistsError:
        raise RefusedError(f"File {name} already exists") from None
    return "\n".join([f"File created successfully at: {name}", *(entry.line(target.path) for entry in near)])


def str_replace(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Replace words that stand in a file exactly once."""
    name, old = _text(call, "path"), _text(call, "old_str")
    new = _text(call, "new_str") if call.get("new_str") is not None else ""
    line = 0

    def changed(text: str) -> str:
        nonlocal line
        count = text.count(old) if old else 0
        if count == 0:
            raise RefusedError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {name}.")
        if count > 1:
            places = [text.count("\n", 0, match.start()) + 1 for match in re.finditer(f"(?={re.escape(old)})", text)]
            raise RefusedError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, places))}. Please ensure it is unique"
            )
        line = text.count("\n", 0, text.index(old)) + 1
        return text.replace(old, new)

    lines = _edited(workspace, name, changed).split("\n")
    first, last = max(1, line - _AROUND), min(len(lines), line + _AROUND)
    return "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + _numbered(
        lines, first, last
    )


def insert(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Put text behind a line of a file; 0 is its beginning."""
    name, inserted = _text(call, "path"), _text(call, "insert_text")
    line_number = call.get("insert_line")

    def changed(text: str) -> str:
        lines = text.removesuffix("\n").split("\n") if text else []
        if isinstance(line_number, bool) or not isinstance(line_number, int) or not 0 <= line_number <= len(lines):
            raise UsageError(
                f"Invalid `insert_line` parameter: {line_number}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line_number, inserted.rstrip("\n"))
        return "\n".join(lines) + "\n"

    _edited(workspace, name, changed)
    return f"The file {name} has been edited."


def delete(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Move a file or a folder to the archive."""
    name = _text(call, "path")
    target = existing(workspace, name, "")
    if target.is_root or target.path == workspace.layout.entries:
        raise RefusedError(f"Cannot delete the {ROOT} directory itself")
    memory_files.archive_file(workspace, target.path)
    return f"Successfully deleted {name}"


def rename(workspace: Workspace, call: Mapping[str, Any]) -> str:
    """Rename a file or a folder; the new name must be free."""
    old, new = _text(call, "old_path"), _text(call, "new_path")
    src, dst = located(workspace, old), located(workspace, new)
    if src.is_root or src.path == workspace.layout.entries:
        raise RefusedError(f"Cannot rename the {ROOT} directory itself")
    taken = RefusedError(f"The destination {new} already exists")
    if dst.is_root or memory_files.exists(workspace, dst.path):
        raise taken
    memory_files.require_nameable(workspace, dst.path)
    if not src.file.exists():
        raise NotFoundError(f"The path {old} does not exist")
    if dst.file.is_relative_to(src.file):
        raise RefusedError(f"The path {new} lies inside {old}")
    if _kind(workspace, src) != _kind(workspace, dst):
        # A page that becomes a memory, or a memory that becomes the page, would be believed for what it says of itself.
        raise RefusedError(f"{old} and {new} are kept in different ways: create {new} and delete {old}")
    try:
        memory_files.rename_file(workspace, src.path, dst.path)
    except FileExistsError:
        raise taken from None
    return f"Successfully renamed {old} to {new}"


COMMANDS: dict[str, Callable[[Workspace, Mapping[str, Any]], str]] = {
    "view": view,
    "create": create,
    "str_replace": str_replace,
    "insert": insert,
    "delete": delete,
    "rename": rename,
}


def _edited(workspace: Workspace, name: str, change: Callable[[str], str]) -> str:
    """Change a file's text; return it as it is then."""
    target = existing(workspace, name)
    if not target.file.is_file():
        raise RefusedError(f"The path {name} is not a file.")

    return memory_files.change_file(workspace, target.path, change, name=name, by=BY)


def _folder(workspace: Workspace, target: MemoryPath) -> str:
    """List a folder two levels deep, with sizes a person can read."""
    name = target.name.rstrip("/")
    lines: list[str] = []
    for child, file in listed(workspace, target):
        is_folder = file.is_dir()
        lines.append(f"{_size(file)}\t{name}/{child}{'/' if is_folder else ''}")
        inner = listed(workspace, located(workspace, f"{name}/{child}")) if is_folder else ()
        lines += [
            f"{_size(child_file)}\t{name}/{child}/{below}{'/' if child_file.is_dir() else ''}"
            for below, child_file in inner
        ]
    hidden_count = len(lines) - MOST_LISTED
    if hidden_count > 0:
        lines[MOST_LISTED:] = [f"… and {hidden_count:,} more: view a folder of these for its own files"]
    head = f"Here're the files and directories up to 2 levels deep in {name}, excluding hidden items:"
    return "\n".join([head, f"{_size(target.file)}\t{name}", *lines])


def _kind(workspace: Workspace, named: MemoryPath) -> str | None:
    """Return the kind of a file, or of the files a folder may hold."""
    return workspace.layout.kind_of(named.path if named.path.endswith(".md") else f"{named.path}/any.md")


def _numbered(lines: list[str], first: int, last: int) -> str:
    """Write lines with their numbers, counted from 1."""
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, last + 1))


def _range(range_given: object, count: int) -> tuple[int, int]:
    if range_given is None:
        return 1, count
    if not (
        isinstance(range_given, list | tuple)
        and len(range_given) == 2
        and all(type(number) is int for number in range_given)
    ):
        raise UsageError(f"Invalid `view_range` parameter: {range_given}. It should be two line numbers.")
    first, last = range_given
    return max(1, first), count if last == -1 else min(last, count)


def _size(file: Path) -> str:
    try:
        size: float = file.stat().st_size
    except OSError:
        return "0B"
    for unit in "BKMG":
        if size < 1024 or unit == "G":
            break
        size /= 1024
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"


def _text(call: Mapping[str, Any], key: str) -> str:
    value = call.get(key)
    if not isinstance(value, str):
        raise UsageError(f"Missing or invalid `{key}` parameter: it should be a text.")
    return value
