"""Bring the lines of an export, or of another tool, into a workspace: each file whole or not at all, and none twice.

Never overwrites what stands there, and never leaves the workspace. Every memory passes through `admitted`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

from ..errors import MemError, NotFoundError
from ..index.filters import Filter
from ..store import files
from ..store.init import PAGE_TEXT
from ..store.layout import ARCHIVE, Layout
from ..store.placing import place
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import Entry, read_entry
from ..text.note import day_in
from ..text.times import parse_time
from .export import SESSION_DATA
from .foreign import is_made_here, parcel_from
from .json_lines import JsonLine, json_lines
from .parcel import USUAL_MODES, Parcel, unpacked
from .selection import passes


@dataclass(frozen=True)
class Outcome:
    """What became of one line."""

    line: int
    action: str  # created, unchanged, conflict, refused, left out
    path: str = ""
    reason: str = ""


class Intake:
    """One run over one file; `ids` tells the path of every entry the workspace has."""

    def __init__(self, workspace: Workspace, wanted: Filter, ids: dict[str, str], *, dry_run: bool = False) -> None:
        """Take where the memories go and which are wanted; a dry run writes nothing and says the same."""
        self.workspace = workspace
        self.wanted = wanted
        self.ids = ids
        self.dry_run = dry_run
        self._planned: dict[str, str] = {}  # path → digest of what a dry run would have made

    def run(self, stream: BinaryIO) -> Iterator[Outcome]:
        """Take in line after line and say what became of each."""
        for line in json_lines(stream):
            try:
                yield self._take(line)
            except ValueError as error:
                yield Outcome(line.number, "refused", "", str(error))
            except MemError as error:
                yield Outcome(line.number, "refused", "", str(error))

    def _take(self, line: JsonLine) -> Outcome:
        if line.record is None:
            raise ValueError(line.fault)
        layout = self.workspace.layout
        own = "path" in line.record
        parcel = unpacked(line.record) if own else parcel_from(line.record, layout, self.workspace.now)
        parcel = replace(parcel, path=place_in(layout, parcel), kind=parcel.kind or layout.kind_of(parcel.path) or "")
        entry = self._entry(parcel)
        if not passes(self.wanted, parcel, entry):
            return Outcome(line.number, "left out", parcel.path)
        parcel = admitted(self.workspace, parcel)
        action, reason = self._settle(parcel, entry)
        if action == "created" and entry is not None and entry.id != parcel.path:
            self.ids.setdefault(entry.id, parcel.path)
        return Outcome(line.number, action, parcel.path, reason)

    def _entry(self, parcel: Parcel) -> Entry | None:
        if parcel.kind != "entry":
            return None
        document = frontmatter.parse(parcel.data.decode("utf-8", "replace"))
        modified = parse_time(parcel.modified) or self.workspace.now
        return Entry(id=parcel.path, body="") if document.problem else read_entry(document, parcel.path, modified)[0]

    def _settle(self, parcel: Parcel, entry: Entry | None) -> tuple[str, str]:
        """Make the file where its name and its id are free; give what was done and why nothing was."""
        digest = files.digest(parcel.data)
        there = self._standing(parcel.path)
        if there == digest or (there and is_made_here(parcel.path)):
            return "unchanged", ""
        other = self.ids.get(entry.id, parcel.path) if entry is not None else parcel.path
        if other != parcel.path:
            if self._standing(other) == digest:
                return "unchanged", f"it stands at {other}"
            return "conflict", f"{other} has its id {entry.id if entry else ''} and says something else"
        fresh = there is not None and parcel.path == self.workspace.layout.memory and there == _FRESH_PAGE
        if there is not None and not fresh:
            return "conflict", "it exists and says something else"
        if self.dry_run:
            self._planned[parcel.path] = digest
            return "created", ""
        try:
            modified = parse_time(parcel.modified)
            mode = 0o666 if parcel.mode in USUAL_MODES else parcel.mode
            place(self.workspace, parcel.path, parcel.data, mode, modified, over=there if fresh else None)
        except FileExistsError:  # by somebody else, just now
            is_same = self._standing(parcel.path) == digest
            return ("unchanged", "") if is_same else ("conflict", "somebody else made it just now")
        return "created", ""

    def _standing(self, path: str) -> str | None:
        """Give the digest of what stands at a path; None where nothing does."""
        if path in self._planned:
            return self._planned[path]
        try:
            return files.digest(files.read(self.workspace.path(path)))
        except NotFoundError:
            return None


_FRESH_PAGE = files.digest(PAGE_TEXT.encode())
"""The page of a workspace just made: nobody's words, so an imported page may take its place."""


def admitted(workspace: Workspace, parcel: Parcel) -> Parcel:
    """Let a memory in: the one gate that everything imported passes. Raises RefusedError to keep it out."""
    return parcel


def place_in(layout: Layout, parcel: Parcel) -> str:
    """Give the path a file has in a layout: its own where that fits, else the one its kind has there.

    Raises ValueError where there is none.
    """
    prefix = ARCHIVE if parcel.path.startswith(ARCHIVE) else ""
    inner = parcel.path.removeprefix(ARCHIVE)
    folder, _, name = inner.rpartition("/")
    kind = layout.kind_of(f"{folder}/session.jsonl" if name == SESSION_DATA else inner)
    if kind and parcel.kind in ("", kind):
        return parcel.path
    for candidate, wanted in _candidates(layout, parcel.kind or "entry", inner.removeprefix("memory/"), name):
        if layout.kind_of(candidate) == wanted:
            return prefix + candidate
    raise ValueError(f"{parcel.path} has no place in the layout {layout.name}")


def _candidates(layout: Layout, kind: str, inner: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield where a file of another layout might go, with the kind it would have there."""
    day = day_in(name)
    if kind == "memory" and name.casefold() == "memory.md":
        yield layout.memory, kind
    if kind == "note" and day:
        yield f"{layout.notes.rpartition('/')[0]}/{name}".lstrip("/"), kind
        yield layout.notes.format(date=day), kind
    if kind == "history":
        yield f"{layout.history.rpartition('/')[0]}/{name}".lstrip("/"), kind
    if kind in ("entry", "memory", "note"):
        yield f"{layout.entries}/{inner}".lstrip("/"), "entry"
