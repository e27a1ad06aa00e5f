"""Say in words what a command did that was noted, such as `write: 1 new: User prefers tabs`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.frontmatter.document import parse
from ..formats.text_lines import conflict_marker, first_line, shorten
from ..store import atomic_files
from ..store.undo_records import COUNTED, UndoRecord
from ..store.workspace import MARKER, Workspace

_KINDS = {
    "memory": "long-term memory",
    "history": "history",
    "note": "notes",
    "session": "conversation",
    "settings": "settings",
}
_LONGEST = 80


@dataclass(frozen=True)
class Deed:
    """Says what a command did: how many of what, and the first of them by its text."""

    workspace: Workspace
    record: UndoRecord
    later: Sequence[UndoRecord]
    texts: Mapping[str, str]  # by digest

    def written(self) -> str:
        """Return it in one line."""
        if self.record["undoes"]:
            return f"took back {self.record['undoes']}"
        counts: Counter[str] = Counter()
        named = ""
        for path, fate in _fates(self.record).items():
            what = self._what(path, fate)
            counts[what] += bool(what)
            if what and not named and self.workspace.layout.kind_of(path) in ("entry", "note"):
                named = self._said(path, fate.now)
        told = [what if what in _KINDS.values() else f"{number:,} {what}" for what, number in counts.items() if what]
        confirmed = sum((row["text"] or "").count("\n") for row in self.record.changes if row["op"] == "count")
        told += [f"{confirmed:,} confirmed"] * bool(confirmed)
        files = len(self.record.paths)
        return (", ".join(told) or f"{files:,} file{'s' * (files > 1)}") + (f": {named}" if named else "")

    def _what(self, path: str, fate: "_Fate") -> str:
        """Say what became of a file; empty for what another file tells better, and for files of mem's own."""
        layout = self.workspace.layout
        kind = layout.kind_of(path)
        if path == MARKER:
            return _KINDS["settings"]
        if kind != "entry":
            return "" if layout.is_archived(path) else _KINDS.get(kind or "", "")
        if layout.is_archived(path):
            return "archived" if fate.came_from and fate.is_there else ""
        if fate.came_from:
            return "restored" if layout.is_archived(fate.came_from) else "renamed"
        return ("changed" if fate.was_there else "new") if fate.is_there else "deleted" if fate.was_there else ""

    def _said(self, path: str, now: str) -> str:
        """Return the first line of what a file said after the command, or says now; else its name."""
        place = path
        for one in reversed(self.later):
            place = next((row["to"] for row in one.changes if row["path"] == place and "to" in row), place)
        text = self.texts.get(now, "")
        if not text:
            with suppress(OSError, MemError):
                text = atomic_files.read(self.workspace.path(place)).decode("utf-8", "replace")
        if not text or conflict_marker(text) is not None:
            return path.rpartition("/")[2]
        document = parse(text)
        body = text if document.problem else document.body
        if self.workspace.layout.kind_of(path) == "note":
            body = body.rstrip().rpartition("\n")[2]
        return shorten(first_line(body).encode("utf-8", "replace").decode(), _LONGEST)


@dataclass(frozen=True)
class _Fate:
    """What a command did to a file."""

    was_there: bool
    is_there: bool
    came_from: str = ""
    now: str = ""  # digest of its bytes


def _fates(record: UndoRecord) -> dict[str, _Fate]:
    """Return what became of each path that a command changed."""
    found: dict[str, _Fate] = {}
    for row in record.changes:
        path, now = row["path"], row.get("now") or ""
        if "to" in row:
            found.pop(path, None)
            found[row["to"]] = _Fate(False, True, path, now)
        elif path != COUNTED:
            before = found.get(path, _Fate(row["op"] == "append" or row.get("was") is not None, False))
            is_there = row["op"] == "append" or bool(now)
            found[path] = _Fate(before.was_there, is_there, before.came_from, now)
    return found
