"""Find the file that a path names, and the part of it that an anchor names."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import AmbiguousError, NotFoundError, RefusedError, UsageError
from ..formats.session_event import Event
from ..formats.session_metadata import session_id
from ..formats.text_lines import Problem
from .privacy import contained
from .sessions.event_file import read_events, standing_ids
from .sessions.sessions import FOLDER, Session, sessions
from .workspace import Workspace


@dataclass(frozen=True)
class Place:
    """A file of the workspace and, behind the `#`, a part of it."""

    path: str
    anchor: str = ""

    def __str__(self) -> str:
        return f"{self.path}#{self.anchor}" if self.anchor else self.path


def by_path(workspace: Workspace, name: str, folder: Path) -> Place | None:
    """Read a name as a path: within the workspace, below its entries or from the current folder, or of what was there.

    What was there lies in the archive. A name that begins with a dot or a slash is of the current folder first. Raises
    AmbiguousError where the workspace and a folder of it both have a file of that name.
    """
    if "\x00" in name:
        return None
    root = workspace.root
    within = (root, root / workspace.layout.entries)
    bases = (folder, *within) if name.startswith(("./", "../", "/")) else (*within, folder)
    # The name of a file may hold a # itself, and so may an anchor: the longest file that is there has it.
    for cut in (len(name), *(at for at in range(len(name) - 1, 0, -1) if name[at] == "#")):
        path, anchor = name[:cut], name[cut + 1 :]
        candidates = [base / path for base in bases] if path else []
        gone = [
            root / workspace.layout.archive / inside for one in candidates if (inside := _inside(root, one)) is not None
        ]
        found = next((one for one in (*candidates, *gone) if _is_file(one)), None)
        if found is not None:
            place = workspace.relative(contained(root, found))
            if found in candidates and bases[0] != folder:
                _require_one(workspace, place, folder, path)
            return Place(place, anchor)
    return None


def from_folder(workspace: Workspace, path: str) -> str:
    """Return the path of a new file: from the current folder if it begins with a dot or the workspace's own name."""
    folder = workspace.folder
    inside = workspace.root.is_relative_to(folder) and workspace.root != folder
    named = path.startswith(("./", "../", f"{workspace.root.relative_to(folder)}/" if inside else "./"))
    closing = "/" if path.endswith("/") else ""
    return f"{os.path.normpath(folder / path)}{closing}" if named else path


def prefixes(workspace: Workspace, name: str, folder: Path) -> tuple[str, ...]:
    """Give what the paths of a workspace may begin with where a person asks for those below `name`.

    It is read as `by_path` reads a name, and what lies in the archive is below the folder it was in. A glob stays one.
    """
    inside = _inside(workspace.root, folder / name)
    closing = "/" if inside and name.endswith("/") else ""
    here = () if inside is None else (f"{inside}{closing}",)
    if name.startswith(("./", "../", "/")):
        found = here or (name,)  # which is in no workspace
    else:
        found = (name, f"{workspace.layout.entries}/{name}".lstrip("/"), *here)
    return tuple(dict.fromkeys((*found, *(f"{workspace.layout.archive}{one}" for one in found))))


def _inside(root: Path, path: Path) -> str | None:
    """Give a path within the workspace, empty for the workspace itself; None for one that is not in it."""
    inside = os.path.relpath(path, root)
    return None if inside.split("/", 1)[0] == ".." else "" if inside == "." else inside


def _require_one(workspace: Workspace, place: str, folder: Path, path: str) -> None:
    """Refuse a path that is also that of another file of the workspace, seen from the current folder."""
    if not _is_file(folder / path):
        return
    try:
        there = workspace.relative(contained(workspace.root, folder / path))
    except RefusedError:
        return
    if there != place:
        raise AmbiguousError(f"{path} is {place} and {there}", f"write ./{path} for the one in this folder")


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
    from ..formats.history import notes, records
    from ..formats.memory_page import sections
    from ..formats.text_lines import lines

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


_SPAN = re.compile(r"(?P<first>[^:\s]*)(?P<colon>:)?(?P<last>[^:\s]*)")
# Every message's id has a digit, or `session_source` does without it; `session:slack#general` is a session's own name.
_NAMED = re.compile(r"session:(?P<id>.*?)(?:#(?P<span>(?:(?=[^#]*\d)[^\s#:]*:?[^\s#:]*)?))?", re.DOTALL)
_PLAIN = re.compile(r"(?=.*\d)[^\s#:]+")


def parse_name(name: str) -> tuple[str, str] | None:
    """Take `session:<id>#<span>` apart; None for the name of anything else. An id may hold `#` too."""
    found = _NAMED.fullmatch(name)
    return (found["id"], found["span"] or "") if found else None


def session_source(name: str, first: str, last: str = "") -> str:
    """Name the messages of a session that a memory comes from, by their ids."""
    ids = dict.fromkeys((first, last or first))
    if all(_PLAIN.fullmatch(one) for one in ids) and not first.isdecimal():
        return f"session:{name}#{':'.join(ids)}"
    return f"session:{name}{'#' if '#' in name else ''}"


def session_address(path: str, anchor: str) -> str:
    """Give the name by which `mem read` finds an event of a session's file."""
    folder = path.rpartition("/")[0]
    name = session_id(folder.rpartition("/")[2]) or folder.rpartition("/")[2]
    return f"session:{name}#{anchor}" if folder.startswith(f"{FOLDER}/") else f"{path}#{anchor}"


def span_events(
    workspace: Workspace, session: Session, span: str = "", problems: list[Problem] | None = None
) -> Iterator[tuple[int, Event]]:
    """Yield the events of a span with their positions: `12`, `10:20`, `10:`, or ids of messages in their place.

    Positions are those of the session's file; ids are found in what the archive has of the session too. Raises
    UsageError for what is no span, NotFoundError where it begins nowhere.
    """
    found = _SPAN.fullmatch(span)
    first, last = (found["first"], found["last"] if found["colon"] else found["first"]) if found else ("?", "")
    numbers = all(not part or part.isdecimal() for part in (first, last))
    if not found or span == ":" or (numbers and not 1 <= int(first or 1) <= int(last or 10**12)):
        raise UsageError(f"{span!r} is no part of a conversation", "write 12, 10:20 or the ids of messages")
    if numbers:
        return _counted(workspace, session, int(first or 1), int(last) if last else None, problems)
    return _between(workspace, session, first, last, problems)


def _counted(
    workspace: Workspace, session: Session, first: int, last: int | None, problems: list[Problem] | None
) -> Iterator[tuple[int, Event]]:
    events = read_events(workspace.path(session.path), first, last, problems)
    begins = next(events, None)
    if begins is not None:
        yield begins
        yield from events
    elif first > 1:
        raise NotFoundError(f"no event {first} in session {session.id}", f"`mem session show {session.id}`")


def _between(
    workspace: Workspace, session: Session, first: str, last: str, problems: list[Problem] | None
) -> Iterator[tuple[int, Event]]:
    parts = [one for one in sessions(workspace, archived=True) if one.id == session.id]
    parts.sort(key=lambda one: (len(one.folder), one.folder))  # a, a-2, a-10: the order they were put away in
    files = [workspace.path(one.path) for one in (*parts, session)]
    standing = standing_ids(files, {first, last} - {""})
    for wanted in (first, last):
        if wanted and wanted not in standing:
            raise NotFoundError(f"no message {wanted} in session {session.id}", f"`mem session show {session.id}`")
    begun = not first
    for file in dict.fromkeys(files):
        for position, event in read_events(file, problems=problems):
            begun = begun or event.id == first
            if begun:
                yield position, event
            if begun and event.id == last:
                return
