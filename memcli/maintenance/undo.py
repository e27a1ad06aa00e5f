"""Take back what a command changed, where nothing changed since, and say in words what each command did."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import Annotated, NamedTuple

from ..beliefs.plan import Plan, as_diff
from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.frontmatter.document import parse
from ..formats.text_lines import conflict_marker, first_line, shorten
from ..results import Applied, Diff, FilePath, Reason, Result, number_of
from ..store import access_log, atomic_files
from ..store.atomic_files import digest
from ..store.file_steps import watcher
from ..store.journal import Change, Move, Step, apply, exclusive
from ..store.undo_log import COUNTED, UndoRecord, read_records
from ..store.workspace import MARKER, Workspace
from .archiving import note_return

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
        parts = [what if what in _KINDS.values() else f"{number:,} {what}" for what, number in counts.items() if what]
        confirmed = sum((row["text"] or "").count("\n") for row in self.record.changes if row["op"] == "count")
        parts += [f"{confirmed:,} confirmed"] * bool(confirmed)
        files = len(self.record.paths)
        return (", ".join(parts) or number_of(files, "file")) + (f": {named}" if named else "")

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
        path_now = path
        for record in reversed(self.later):
            path_now = next((row["to"] for row in record.changes if row["path"] == path_now and "to" in row), path_now)
        text = self.texts.get(now, "")
        if not text:
            with suppress(OSError, MemError):
                text = atomic_files.read(self.workspace.path(path_now)).decode("utf-8", "replace")
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
    fates: dict[str, _Fate] = {}
    for row in record.changes:
        path, now = row["path"], row.get("now") or ""
        if "to" in row:
            fates.pop(path, None)
            fates[row["to"]] = _Fate(False, True, path, now)
        elif path != COUNTED:
            before = fates.get(path, _Fate(row["op"] == "append" or row.get("was") is not None, False))
            is_there = row["op"] == "append" or bool(now)
            fates[path] = _Fate(before.was_there, is_there, before.came_from, now)
    return fates


UNASKED = ("tend",)
"""Commands that nobody types, besides those of hooks: a plain `mem undo` passes over them."""
_ELSEWHERE = {
    "sync": "it went to git with the rest: `git revert` takes it back",
    "move": "it is in another workspace as well: `mem move` takes it back",
}
"""Commands whose other half no record here takes back, and what does."""
_GONE = "what it said is not kept: it was deleted for good or redacted"
_LARGE = "what it said is not kept: the command changed too much"
_CHANGED = "changed since, by hand, git or another program"
_AS_BEFORE = "all is as it was before"
_MOST_NAMED = 10


@dataclass(frozen=True)
class Reversal:
    """What takes a record back."""

    steps: tuple[Step, ...] = ()
    modes: tuple[tuple[str, int], ...] = ()  # of files that are made anew
    folders: tuple[str, ...] = ()  # that the command made, the innermost first
    blocked: tuple[tuple[str, str], ...] = ()  # path and why it cannot be taken back
    counted: str = ""  # lines of confirmations to remove
    uncounted: str = ""  # and to add again

    @property
    def is_empty(self) -> bool:
        """Return whether all is as it was before the command."""
        return not (self.steps or self.blocked or self.counted or self.uncounted)


class BlockedFile(NamedTuple):
    """A file that stands in the way of taking a command back."""

    path: FilePath
    reason: Reason


@dataclass(frozen=True)
class Undoable:
    """A command that was noted, and whether it can be taken back."""

    record: UndoRecord
    id: Annotated[int, "its number"]
    command: Annotated[str, "the command"]
    at: Annotated[str, "when it ran, RFC 3339"]
    by: Annotated[str, "who ran it"]
    host: Annotated[str, "on which machine"]
    undoes: Annotated[int | None, "the number of the command that it took back; null where it is no undo"]
    did: Annotated[str, "what it did, in words"]
    """Such as `1 new: User prefers tabs`."""
    undone_by: Annotated[int | None, "the number of the undo that took it back; null where none did"]
    reversal: Reversal

    @property
    def blocked(self) -> Annotated[list[BlockedFile], "what stands in the way"]:
        """Return the files that were changed since."""
        return [BlockedFile(*file) for file in self.reversal.blocked]

    @property
    def can_be_undone(self) -> Annotated[bool, "whether it can be taken back now"]:
        """Return whether it can be taken back now."""
        return not (self.undone_by or self.reversal.blocked or self.reversal.is_empty)

    @property
    def state(self) -> Annotated[str, "whether it can be taken back, and else why not"]:
        """Say whether it can be taken back, and else why not."""
        if self.undone_by:
            return f"taken back by {self.undone_by}"
        if not self.reversal.blocked:
            return _AS_BEFORE if self.reversal.is_empty else "can be taken back"
        (path, why), *more = self.reversal.blocked
        return f"{path}: {why}" + (f", and {len(more):,} more" if more else "")

    @property
    def is_asked(self) -> bool:
        """Return whether somebody typed it, and it is no undo itself."""
        return not self.record.is_hook and self.command not in UNASKED and not self.undoes


@dataclass(frozen=True)
class UndoList(Result):
    """The commands that changed files, the newest first."""

    commands: Annotated[tuple[Undoable, ...], "the commands that were noted, the newest first"]
    strangers: Annotated[int, "records that are of another user's mem, and never used"]


@dataclass(frozen=True)
class Undone(Undoable, Result):
    """The command that was, or is to be, taken back."""

    applied: Applied
    passed: tuple[Undoable, ...] = ()
    """Newer ones that nobody typed, which were passed over."""
    unapplied: tuple[tuple[str, str], ...] = ()
    """Files whose text changed meanwhile, with where the text for them is kept."""

    @property
    def files(self) -> Annotated[list[str], "the files that it changed"]:
        """Return the files that it changed."""
        return list(self.record.paths)

    @property
    def diff(self) -> Diff:
        """Return what taking it back changes as a unified diff."""
        return as_diff(Plan(self.reversal.steps))


def undoable(workspace: Workspace) -> UndoList:
    """Return the commands that were noted, the newest first, and how many records are not this user's."""
    records, strangers = read_records(workspace)
    taken_back: dict[int, int] = {}
    touched: set[str] = set()
    for record in records:  # an undo that was itself taken back, by another, by hand or by git, takes nothing back
        is_open = record["undoes"] and record.number not in taken_back
        if is_open and not (touched.isdisjoint(record.paths) and reversal(workspace, record).is_empty):
            taken_back.setdefault(record["undoes"], record.number)
        touched.update(record.paths)
    texts = {
        row["was"]: row["text"] for record in records for row in record.changes if row.get("was") and row.get("text")
    }
    commands = []
    for position, record in enumerate(records):
        undone = taken_back.get(record.number, 0)
        later = records[:position]
        way = Reversal() if undone else _explained(reversal(workspace, record), later, taken_back)
        command, at, by, host = (str(record[name]) for name in ("command", "at", "by", "host"))
        about = record.number, command, at, by, host, record["undoes"] or None
        did = Deed(workspace, record, later, texts).written()
        commands.append(Undoable(record, *about, did, undone or None, way))
    return UndoList(tuple(commands), strangers)


def chosen(commands: Sequence[Undoable], number: int) -> Undoable:
    """Return the command of a number, or for 0 the last one that somebody asked for and that was not taken back."""
    for command in commands:
        is_last = command.is_asked and not command.undone_by and not command.reversal.is_empty
        if command.record.number == number or (not number and is_last):
            return command
    what = f"no command {number} is noted" if number else "there is nothing to take back"
    raise NotFoundError(what, "`mem undo --list` shows the commands that are noted")


def require_ready(command: Undoable, others: Sequence[Undoable] = ()) -> None:
    """Raise RefusedError naming each file that stands in the way of taking a command back.

    The last of `others` that can be taken back is named with its number.
    """
    name = f"`mem {command.command}` ({command.id})"
    if command.undone_by:
        raise RefusedError(f"{name} was taken back already", f"`mem undo {command.undone_by}` does it again")
    if command.reversal.is_empty:
        raise RefusedError(f"{name} cannot be taken back: {_AS_BEFORE}", "`mem undo --list` shows the others")
    if command.reversal.blocked:
        reasons = [f"{path}: {why}" for path, why in command.reversal.blocked[:_MOST_NAMED]]
        more = len(command.reversal.blocked) - len(reasons)
        reasons += [f"and {more:,} more"] * bool(more)
        ready = next((other for other in others if other.is_asked and other.can_be_undone), None)
        fix = "take later commands back first (`mem undo --list`); what git brought is undone with git"
        if ready:
            did = f"{ready.command}: {ready.did}"
            fix = f"`mem undo {ready.id}` takes back the last one that can be ({did})"
        raise RefusedError(f"{name} cannot be taken back, and nothing was changed: {'; '.join(reasons)}", fix)


def take_back(workspace: Workspace, number: int) -> tuple[Undoable, tuple[tuple[str, str], ...]]:
    """Take a command back; return it, and the files whose text changed meanwhile, with where ours is kept."""
    with exclusive(workspace, "mem undo") as held:
        command = chosen(undoable(workspace).commands, number)
        require_ready(command)
        if watch := watcher.get():
            watch.takes_back(command.record.number)
        applied = apply(workspace, command.reversal.steps, held, exactly=True)
        for path, mode in command.reversal.modes:
            with suppress(OSError, MemError):
                os.chmod(workspace.path(path), mode)
        for folder in command.reversal.folders:
            with suppress(OSError, MemError):
                os.rmdir(workspace.path(folder))
        access_log.uncount(workspace, command.reversal.counted)
        access_log.count(workspace, command.reversal.uncounted)
    for step in command.reversal.steps:
        if isinstance(step, Move) and workspace.layout.is_archived(step.path):
            note_return(workspace, step.to)
    return command, applied.unapplied


def reversal(workspace: Workspace, record: UndoRecord) -> Reversal:
    """Settle what brings back the files that a command found; nothing is done where one of them was changed since."""
    if why := _ELSEWHERE.get(record["command"]):
        return Reversal(blocked=tuple((path, why) for path in record.paths))
    now: dict[str, bytes | None] = {}
    then: dict[str, bytes | None] = {}
    modes: dict[str, int] = {}
    blocked: dict[str, str] = {}

    def text_then(path: str) -> bytes | None:
        if path not in then:
            now[path] = then[path] = _contents(workspace, path)
        return then[path]

    noted = {"count": "", "uncount": ""}
    moved = {row.get("to", "") for row in record.changes}
    for row in reversed(record.changes):
        path, to = row["path"], row.get("to", row["path"])
        if row["op"] in noted:
            if row["text"] is None:
                blocked[path] = _LARGE
            noted[row["op"]] += row["text"] or ""
            continue
        if path in blocked or to in blocked:
            continue
        old, was_free = text_then(to), to == path or text_then(path) is None
        if row["op"] == "append":
            if old is None or len(old) != row["at"] + row["size"] or digest(old[row["at"] :]) != row["now"]:
                blocked[path] = _CHANGED
            else:
                then[path] = old[: row["at"]]
        elif row.get("was") and old is not None and digest(old) == row["was"] != row["now"]:
            continue  # noted by who was killed before it was done, or brought back by hand
        elif (None if old is None else digest(old)) != row["now"] or not was_free:
            is_there = old is not None and to in moved and workspace.layout.is_archived(to)
            blocked[to] = _CHANGED + f" (`mem restore {quote(to)}` brings it back as it is)" * is_there
        elif row["op"] == "move":
            then[path], then[to] = old, None
        elif row["was"] is None:
            then[path] = None
        elif row.get("text") is None:
            blocked[path] = _LARGE if row.get("large") else _GONE
        else:
            then[path] = row["text"].encode("utf-8", "surrogateescape")
            modes[path] = row["mode"]
    new_folders = {row["path"] for row in record.rows[1:] if row["op"] == "made"}
    folders = tuple(sorted(new_folders, key=lambda path: (-path.count("/"), path)))
    fresh = tuple((path, mode) for path, mode in modes.items() if mode and now[path] is None and then[path] is not None)
    if not access_log.holds(workspace, noted["count"]):
        blocked[COUNTED] = _CHANGED
    steps = () if blocked else _steps(record, now, then)
    return Reversal(steps, fresh, folders, tuple(blocked.items()), noted["count"], noted["uncount"])


def _steps(record: UndoRecord, now: Mapping[str, bytes | None], then: Mapping[str, bytes | None]) -> tuple[Step, ...]:
    """Return the steps from one state of files to another; a file that goes back as it is keeps its age and mode."""
    moves: list[Step] = []
    changes: list[Change] = []
    settled: set[str] = set()
    for row in record.changes:
        path, to = row["path"], row.get("to", "")
        if not to or {path, to} & settled:
            continue
        data, old = now[to], then[path]
        if data is not None and old is not None and (now[path], then[to]) == (None, None):
            moves.append(Move(to, path, digest(data)))
            settled |= {path, to}
            if old != data:
                changes.append(Change(path, _text(data), _text(old)))
    others = [path for path in now if path not in settled and now[path] != then[path]]
    changes += [Change(path, _text(now[path]), _text(then[path])) for path in others]
    # A new folder of conversations is made with its ignore file.
    return (*moves, *sorted(changes, key=lambda step: (step.after is None, not step.path.endswith(".gitignore"))))


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _contents(workspace: Workspace, path: str) -> bytes | None:
    try:
        return atomic_files.read(workspace.path(path))
    except (OSError, MemError):
        return None


def _explained(blocking: Reversal, later: Sequence[UndoRecord], taken_back: Mapping[int, int]) -> Reversal:
    """Say of each file that stands in the way which later command changed it, if one did."""
    if not blocking.blocked:
        return blocking

    def why(path: str, reason: str) -> str:
        for record in reversed(later):
            is_changed = path in record.paths and (
                path != COUNTED or any(row["op"] == "uncount" for row in record.changes)
            )
            if is_changed and record.number not in taken_back:
                return f"changed since by `mem {record['command']}` ({record.number})"
        return reason

    return Reversal(
        blocked=tuple(
            (path, why(path, reason) if reason.startswith(_CHANGED) else reason) for path, reason in blocking.blocked
        )
    )
