"""Find the file that a path names, and the part of it that an anchor names: a memory of another tool's file too.

Such a memory is hidden by an archived file of ours with its id: the other tool's file is never written.
"""

import os
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import AmbiguousError, NotFoundError, RefusedError
from . import atomic_files
from .layouts import DOCUMENTS, IGNORE, Layout, is_item
from .privacy import contained, kept_out, shut_out
from .workspace import Workspace

if TYPE_CHECKING:
    from ..formats.foreign_record import Item

EPISODES = "*/items/episodic/*.jsonl"
"""The files of golemcore's whose records tell what happened, as a glob for which `*` may be several folders."""


@dataclass(frozen=True)
class Place:
    """A file of the workspace and, behind the `#`, a part of it."""

    path: str
    anchor: str = ""

    @classmethod
    def of(cls, path: str) -> "Place":
        """Return the place of what the index has under a path: a file, or a memory of another tool's file."""
        file = file_of(path)
        return cls(file, path[len(file) + 1 :])

    def __str__(self) -> str:
        return f"{self.path}#{self.anchor}" if self.anchor else self.path


def by_path(workspace: Workspace, name: str, folder: Path) -> Place | None:
    """Read a name as a path: within the workspace, below its entries or from the current folder, or of what was there.

    What was there lies in the archive. A name that begins with a dot or a slash is of the current folder first. Raises
    AmbiguousError where the workspace and a folder of it both have a file of that name, RefusedError for one that is
    shut out of memory.
    """
    if "\x00" in name:
        return None
    root = workspace.root
    within = (root, root / workspace.layout.entries)
    bases = (folder, *within) if name.startswith(("./", "../", "/")) else (*within, folder)
    # The name of a file may hold a # itself, and so may an anchor: the longest file that is there has it.
    for cut in (len(name), *(position for position in range(len(name) - 1, 0, -1) if name[position] == "#")):
        path, anchor = name[:cut], name[cut + 1 :]
        candidates = [base / path for base in bases] if path else []
        archived = [
            root / workspace.layout.archive / inside
            for candidate in candidates
            if (inside := _inside(root, candidate)) is not None
        ]
        file = next((candidate for candidate in (*candidates, *archived) if _is_file(candidate)), None)
        if file is not None:
            address = workspace.relative(contained(root, file))
            if file in candidates and bases[0] != folder:
                _require_one(workspace, address, folder, path)
            _require_shown(workspace, address)
            return Place(address, anchor)
    return None


def from_folder(workspace: Workspace, path: str) -> str:
    """Return the path of a new file: from the current folder if it begins with a dot or the workspace's own name."""
    folder = workspace.folder
    inside = workspace.root.is_relative_to(folder) and workspace.root != folder
    named = path.startswith(("./", "../", f"{workspace.root.relative_to(folder)}/" if inside else "./"))
    closing = "/" if path.endswith("/") else ""
    return f"{os.path.normpath(folder / path)}{closing}" if named else path


def prefixes(workspace: Workspace, name: str, folder: Path) -> tuple[str, ...]:
    """Return what the paths of a workspace may begin with where a person asks for those below `name`.

    It is read as `by_path` reads a name, and what lies in the archive is below the folder it was in. A folder that the
    workspace lies in has all of it. A glob stays one.
    """
    above = workspace.root.is_relative_to(os.path.normpath(folder / name))
    inside = "" if above else _inside(workspace.root, folder / name)
    closing = "/" if inside and name.endswith("/") else ""
    here = () if inside is None else (f"{inside}{closing}",)
    if name.startswith(("./", "../", "/")):
        names = here or (name,)  # which is in no workspace
    else:
        names = (name, f"{workspace.layout.entries}/{name}".lstrip("/"), *here)
    return tuple(dict.fromkeys((*names, *(f"{workspace.layout.archive}{prefix}" for prefix in names))))


def _inside(root: Path, path: Path) -> str | None:
    """Return a path within the workspace, empty for the workspace itself; None for one that is not in it."""
    inside = os.path.relpath(path, root)
    return None if inside.split("/", 1)[0] == ".." else "" if inside == "." else inside


def _require_one(workspace: Workspace, path_there: str, folder: Path, path: str) -> None:
    """Refuse a path that is also that of another file of the workspace, seen from the current folder."""
    if not _is_file(folder / path):
        return
    try:
        there = workspace.relative(contained(workspace.root, folder / path))
    except RefusedError:
        return
    if there != path_there:
        raise AmbiguousError(f"{path} is {path_there} and {there}", f"write ./{path} for the one in this folder")


def _require_shown(workspace: Workspace, path: str) -> None:
    """Raise RefusedError for a file that no search shows, since it is shut out; what mem keeps itself never is."""
    layout, is_memory = workspace.layout, workspace.layout.kind_of(path) is not None
    if layout is DOCUMENTS:
        reason = "an ignore file, or as .env* is" if kept_out(workspace.root, [path]) else ""
    elif is_memory and not layout.is_vault:
        return
    else:
        reason = shut_out(workspace.root / path)
        if is_memory and not Path(reason).is_relative_to(workspace.root.resolve()):
            reason = ""  # it counts for what is brought in, not for the vault's own notes
        reason = reason or (f"{IGNORE} or what Obsidian leaves out" if layout.ignores(path) else "")
    if reason:
        raise RefusedError(f"{path} is shut out of memory by {reason}", "open it with another program")


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def file_of(path: str) -> str:
    """Return the path of the file on the disk that has what a path names."""
    return path.partition("#")[0] if is_item(path) else path


def is_items(path: str, kind: str | None) -> bool:
    """Return whether a file is another tool's whose lines are memories."""
    return kind == "note" and path.endswith(".jsonl")


def require_ours(layout: Layout, path: str) -> None:
    """Raise RefusedError for another tool's file of memories, and for a memory of one."""
    file = file_of(path)
    if is_items(file, layout.kind_of(file)):
        raise RefusedError(
            f"{file} is another tool's, which mem only reads", f"`mem import {quote(file)}` makes entries of it"
        )


def layer_in(path: str) -> str:
    """Return `episodic` for a file of golemcore's folder for what happened; empty elsewhere."""
    return "episodic" if fnmatchcase(path, EPISODES) else ""


def item_at(workspace: Workspace, address: Place) -> "Item | None":
    """Return the memory of another tool's file that an anchor names; None where there is none."""
    if not address.anchor or not is_items(address.path, workspace.layout.kind_of(address.path)):
        return None
    from ..formats.foreign_record import items_of

    text = atomic_files.read(workspace.path(address.path)).decode("utf-8", "replace")
    return items_of(address.path, text, workspace.now, layer_in(address.path)).get(address.anchor)


def hide(workspace: Workspace, address: Place) -> str:
    """Put a copy of a memory of another tool's file into the archive, which hides it; return its path."""
    from .archive import put

    item = item_at(workspace, address)
    if item is None:
        raise _no_part(address)
    path = f"{workspace.layout.archive}{address}.md"
    with suppress(FileExistsError):
        put(workspace, path, item.text.encode())
    return path


def show_again(workspace: Workspace, path: str) -> str:
    """Remove the archived file that hides a memory of another tool's file; return its address, empty for any other."""
    address = hidden_by(workspace, path)
    if address:
        atomic_files.remove(workspace.path(path))
    return address


def hidden_by(workspace: Workspace, path: str) -> str:
    """Return the address of the memory of another tool's file that an archived file hides; empty for any other."""
    with suppress(NotFoundError):
        address = Place.of(path.removeprefix(workspace.layout.archive).removesuffix(".md"))
        if workspace.layout.is_archived(path) and item_at(workspace, address):
            return str(address)
    return ""


def hidden_at(workspace: Workspace, address: Place) -> str:
    """Return the address of another tool's memory where an archived file hides it; empty for any other place."""
    name = str(address)
    return name if is_item(name) and _is_file(workspace.root / f"{workspace.layout.archive}{name}.md") else ""


def part(workspace: Workspace, address: Place, text: str) -> tuple[int, int]:
    """Return the offsets of the part an anchor names: a section, a record, times of a note, or a line `L12`."""
    anchor = address.anchor
    if not anchor:
        return 0, len(text)
    from ..formats.history import notes, records
    from ..formats.ids import slug
    from ..formats.memory_page import sections
    from ..formats.text_lines import lines

    kind = workspace.layout.kind_of(address.path)
    if kind == "history":
        for record in records(text, workspace.zone):
            if anchor in (record.id, record.anchor, record.timestamp):
                return record.start, record.end
    if kind == "note":
        first, _, last = anchor.partition("-")
        begin = next((note.start for note in notes(text) if note.time == first), len(text))
        ends = [note.end for note in notes(text) if note.time == (last or first) and note.start >= begin]
        if ends:
            return begin, ends[-1]
    for section in sections(text):
        if section.anchor in (anchor, slug(anchor)):  # as a link of Obsidian spells it, or as an address does
            return section.start, section.end
    if anchor[:1] == "L" and anchor[1:].isdigit():
        all_lines = list(lines(text))
        number = int(anchor[1:])
        if 0 < number <= len(all_lines):
            start = sum(map(len, all_lines[: number - 1]))
            return start, start + len(all_lines[number - 1])
    raise _no_part(address)


def _no_part(address: Place) -> NotFoundError:
    return NotFoundError(
        f"no {address.anchor!r} in {address.path}", f"`mem read {quote(address.path)}` shows the whole file"
    )
