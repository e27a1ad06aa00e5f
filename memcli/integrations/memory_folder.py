"""The folder /memories that a model sees, laid over a workspace: its entries, with the page, history and notes beside.

A new file is an entry, so that `mem search` finds it: `prefs.txt` is kept as `prefs.txt.md`. What is private or
machine-local (sessions, the archive, names that begin with a dot) does not exist here, by whatever links or `..` it is
asked for.
"""

import posixpath
from collections.abc import Iterator
from pathlib import Path

from ..api import files
from ..api.files import SESSIONS, Workspace
from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError

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
        or files.is_private(workspace, path)
        or files.is_private(workspace, real)
        or not real
    ):
        raise _escape(name)
    return MemoryPath(name, real, file)


def existing(workspace: Workspace, name: str, said: str = " Please provide a valid path.") -> MemoryPath:
    """Find what is there under a name; NotFoundError, in the words models know, for what is not."""
    found = located(workspace, name)
    if not found.is_root and not files.exists(workspace, found.path):
        if keyed := by_key(workspace, name):
            return keyed
        dot = "." if said else ""
        raise NotFoundError(f"The path {name} does not exist{dot}{said}")
    return found


def by_key(workspace: Workspace, name: str) -> MemoryPath | None:
    """Find the one entry whose key a name below /memories is: staging/port.md is what fills staging/port."""
    path = files.path_of_key(workspace, name.removeprefix(f"{ROOT}/").removesuffix(".md"))
    return MemoryPath(name, path, workspace.path(path)) if path else None


def listed(workspace: Workspace, folder: MemoryPath) -> Iterator[tuple[str, Path]]:
    """Yield the names in a folder with their files, in order."""
    found = {_shown(child.name): child for child in _children(folder.file)}
    if folder.is_root and workspace.layout.entries:
        found |= {child.name: child for child in _children(workspace.root)}
    for name in sorted(found):
        try:
            seen = located(workspace, f"{folder.name.rstrip('/')}/{name}")
        except RefusedError:
            continue
        if files.exists(workspace, seen.path) and (not folder.is_root or seen.path != workspace.layout.entries):
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
