"""Find the file that a path names, and the part of it that an anchor names."""

from dataclasses import dataclass
from pathlib import Path

from ..errors import NotFoundError
from .boundary import contained
from .layout import ARCHIVE
from .workspace import Workspace


@dataclass(frozen=True)
class Place:
    """A file of the workspace and, behind the `#`, a part of it."""

    path: str
    anchor: str = ""

    def __str__(self) -> str:
        return f"{self.path}#{self.anchor}" if self.anchor else self.path


def by_path(workspace: Workspace, name: str, folder: Path) -> Place | None:
    """Read a name as a path: within the workspace, below its entries, from the current folder, or in the archive."""
    if "\x00" in name:
        return None
    root = workspace.root
    # The name of a file may hold a # itself, and so may an anchor: the longest file that is there has it.
    for cut in (len(name), *(at for at in range(len(name) - 1, 0, -1) if name[at] == "#")):
        path, anchor = name[:cut], name[cut + 1 :]
        for candidate in (root / path, root / workspace.layout.entries / path, folder / path, root / ARCHIVE / path):
            if path and _is_file(candidate):
                return Place(workspace.relative(contained(root, candidate)), anchor)
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False


def part(workspace: Workspace, place: Place, text: str) -> tuple[int, int]:
    """Give the offsets of the part an anchor names: a section, a record, a note's time or two, or `L12` for a line."""
    anchor = place.anchor
    if not anchor:
        return 0, len(text)
    from ..text.history import records
    from ..text.lines import lines
    from ..text.memory_page import sections
    from ..text.note import notes

    kind = workspace.layout.kind_of(place.path)
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
        if section.anchor == anchor:
            return section.start, section.end
    if anchor[:1] == "L" and anchor[1:].isdigit():
        found = list(lines(text))
        number = int(anchor[1:])
        if 0 < number <= len(found):
            start = sum(map(len, found[: number - 1]))
            return start, start + len(found[number - 1])
    raise NotFoundError(f"no {anchor!r} in {place.path}", f"`mem read {place.path}` shows the whole file")
