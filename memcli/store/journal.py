"""Apply several changes as one: noted first, then done, and finished by the next command if this one is killed.

Each change knows the text it starts from and the text it ends with. What is there already is skipped; where somebody
else's text stands, theirs stays and ours goes to the archive. Doing it twice is doing it once.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import ChangedError, MemError, RefusedError
from ..formats.ids import blake2b
from ..formats.text_lines import require_no_conflict
from ..formats.times import stamp
from . import atomic_files, file_steps
from .archive import is_archived_entry, keep_folders, put, records_folder, records_of
from .atomic_files import move_all, remove
from .lock import Held, locked
from .trust import seal_key
from .workspace import Workspace

_FOLDER = "journal"


@dataclass(frozen=True)
class Change:
    """A file's whole text, before and after; None where there is no file."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class Append:
    """A record put at the end of a file, unless its mark stands there already."""

    path: str
    text: str
    mark: str  # such as the record's id; must be part of the text


@dataclass(frozen=True)
class Move:
    """A file put elsewhere as it is, its mode and age included, where nothing stands yet."""

    path: str
    to: str
    digest: str  # of the bytes it was planned for


Step = Change | Append | Move
_Places = Callable[[str], Path]


@dataclass(frozen=True)
class Applied:
    """What became of the steps."""

    done: tuple[str, ...] = ()  # paths changed
    kept: tuple[tuple[str, str], ...] = ()  # (path whose own text stayed, where ours went)


@contextmanager
def exclusive(workspace: Workspace, command: str) -> Iterator[Held]:
    """Hold the workspace's lock; what a killed command left half done is finished first."""
    with locked(
        workspace.derived, command=command, now=stamp(workspace.now), wait=workspace.settings["lock.wait"]
    ) as held:
        finish(workspace, held)
        yield held


def finish_first(workspace: Workspace, command: str) -> None:
    """Finish what a killed command left, if one did, for one who looks at the files before taking the lock."""
    if any((workspace.derived / _FOLDER).glob("*.json")):
        with exclusive(workspace, command):
            pass


def apply(workspace: Workspace, steps: Sequence[Step], held: Held) -> Applied:
    """Do all the steps under the lock held; raise ChangedError, with nothing done, if a text is another."""
    at = cache(workspace.path)  # following the links of 10,000 paths takes seconds each time
    steps = [step for step in steps if not _is_done(step, at)]
    for step in steps:
        if not _is_as_planned(step, at):
            raise ChangedError(f"{step.path} changed underneath", "run the command again")
        if isinstance(step, Append):
            require_no_conflict(step.path, _text(at(step.path)) or "")
    if not steps:
        return Applied()
    steps = [*_explaining(workspace, steps, at), *steps]
    held.check()
    note = workspace.derived / _FOLDER / f"{stamp(workspace.now).replace(':', '')}-{os.urandom(4).hex()}.json"
    told = [_noted(step) for step in steps]
    atomic_files.create(note, json.dumps({"steps": told, "seal": seal(workspace, told)}, ensure_ascii=False).encode())
    return _carry_out(workspace, note, steps, held, at)


def finish(workspace: Workspace, held: Held) -> Applied:
    """Finish what killed commands of this user noted and did not do, the oldest first.

    A note without the user's seal came with a clone, or is another user's: it is never carried out, and stays.
    """
    folder = workspace.derived / _FOLDER
    done: list[str] = []
    kept: list[tuple[str, str]] = []
    for note in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            told = json.loads(atomic_files.read(note))
            if not _is_ours(workspace, told):
                continue
            steps = [_read(fields) for fields in told["steps"]]
        except (ValueError, KeyError, TypeError, AttributeError):  # not a whole note, so nothing of it was begun
            remove(note)
            continue
        try:
            applied = _carry_out(workspace, note, steps, held, cache(workspace.path))
        except RefusedError as error:
            fix = f"put that right, or move {note} away to go on without it"
            raise RefusedError(f"what a killed command began cannot be finished: {error.message}", fix) from error
        done += applied.done
        kept += applied.kept
    return Applied(tuple(done), tuple(kept))


def unsealed(workspace: Workspace) -> list[str]:
    """List the notes that this user's mem did not make, which are never carried out."""
    found = []
    for note in sorted((workspace.derived / _FOLDER).glob("*.json")):
        with suppress(MemError, OSError, ValueError, KeyError, TypeError, AttributeError):
            told = json.loads(atomic_files.read(note))
            if not _is_ours(workspace, told):
                found.append(note.relative_to(workspace.root).as_posix())
    return found


def _is_ours(workspace: Workspace, told: Mapping[str, Any]) -> bool:
    return not workspace.state or told.get("seal") == (seal(workspace, told["steps"]) or None)


def seal(workspace: Workspace, told: Sequence[Mapping[str, Any]]) -> str:
    """Return what only this user's mem can put under a note; empty where no secret of theirs can be kept."""
    key = seal_key(workspace.state, workspace.root) if workspace.state else b""
    data = json.dumps(told, ensure_ascii=True, sort_keys=True).encode()
    return blake2b(data, digest_size=16, key=key).hexdigest() if key else ""


def _carry_out(workspace: Workspace, note: Path, steps: Sequence[Step], held: Held, at: _Places) -> Applied:
    """Do what is noted; the note goes when the folders are safe on disk, each of them once.

    Until then it holds every text that a name may still be missing for, and no file gives up its old name before the
    new one is safe.
    """
    done: list[str] = []
    kept: list[tuple[str, str]] = []
    folders: dict[Path, None] = {}
    for is_move, some in groupby(steps, lambda step: isinstance(step, Move)):
        waiting = [step for step in some if not _is_done(step, at)]
        if is_move:
            done += _moved(workspace, waiting, held, at)
            continue
        keep_folders(workspace, [step.path for step in waiting if isinstance(step, Change) and step.after is None])
        for step in waiting:
            held.check()
            target = at(step.path)
            if isinstance(step, Change) and _text(target) != step.before:
                if step.after is not None:
                    kept.append((step.path, _put_aside(workspace, step)))
                continue
            if isinstance(step, Append):
                _add(target, step)
            elif isinstance(step, Change):
                _change(target, step)
                folders[target.parent] = None
            if not step.path.startswith(records_folder(workspace.layout)):
                done.append(step.path)
    for folder in folders:
        with file_steps.naming("write", folder):
            file_steps.sync_folder(folder)
    remove(note)
    return Applied(tuple(done), tuple(kept))


def _add(target: Path, step: Append) -> None:
    """Put a record at the end of a file; one that a killed command wrote half of is written whole."""
    standing = atomic_files.read(target) if target.exists() else b""
    half = _half(standing, step)
    if half:
        atomic_files.replace(target, standing[:-half] + step.text.encode(), atomic_files.digest(standing))
    else:
        atomic_files.append(target, step.text.encode())


def _half(standing: bytes, step: Append) -> int:
    """Return the length of what stands of a record at the end of a file where that is not all of it, else 0."""
    text, mark = step.text.encode(), step.mark.encode()
    if standing.endswith(text):
        return 0
    size = next((size for size in range(len(text) - 1, 7, -1) if standing.endswith(text[:size])), 0)
    return size if mark in text[:size] or not standing.endswith(b"\n") else 0


def _change(target: Path, step: Change) -> None:
    """Make, replace or remove a file; its folder is left to be settled."""
    if step.after is None:
        remove(target)
    elif step.before is None:
        atomic_files.create(target, step.after.encode(), lasting=False)
    else:
        atomic_files.replace(target, step.after.encode(), atomic_files.digest(step.before.encode()), lasting=False)


def _explaining(workspace: Workspace, steps: Sequence[Step], at: _Places) -> list[Change]:
    """Return the step that records what the others put into the archive."""
    contents = {}
    for step in steps:
        if isinstance(step, Move) and is_archived_entry(workspace.layout, step.to):
            contents[step.to] = atomic_files.read(at(step.path))
        elif isinstance(step, Change) and step.after and is_archived_entry(workspace.layout, step.path):
            contents[step.path] = step.after.encode()
    if not contents:
        return []
    found = records_of(workspace, contents)
    return [Change(path, None, text) for path, text in found.items() if not at(path).exists()]


def _moved(workspace: Workspace, steps: Sequence[Step], held: Held, at: _Places) -> list[str]:
    planned = [step for step in steps if isinstance(step, Move) and _is_as_planned(step, at)]
    keep_folders(workspace, [step.path for step in planned])
    move_all([(at(step.path), at(step.to)) for step in planned], held.check)
    return [step.path for step in planned]


def _put_aside(workspace: Workspace, step: Change) -> str:
    """Keep our text in the archive where somebody else's stands in its place; once, however often it is tried."""
    archive = workspace.layout.archive
    stem, _, ending = step.path.removeprefix(archive).rpartition(".")
    text = step.after or ""
    for other in workspace.path(f"{archive}{stem}").parent.glob("*"):
        if other.is_file() and other.read_bytes() == text.encode():
            return workspace.relative(other)
    place = workspace.free_name(f"{archive}{stem}-not-applied.{ending}")
    put(workspace, place, text.encode())
    return place


def _is_done(step: Step, at: _Places) -> bool:
    if isinstance(step, Move):
        return not at(step.path).exists()
    standing = _text(at(step.path))
    if isinstance(step, Append):
        if standing is None or step.mark not in standing:
            return False
        return not _half(standing.encode("utf-8", "surrogateescape"), step)
    return standing == step.after


def _is_as_planned(step: Step, at: _Places) -> bool:
    """Return whether a step finds what it was made for; a move that was cut off between two names does too."""
    if isinstance(step, Change):
        return _text(at(step.path)) == step.before
    if isinstance(step, Move):
        there, to = at(step.path), at(step.to)
        is_ours = atomic_files.digest(atomic_files.read(there)) == step.digest
        return is_ours and (not to.exists() or to.samefile(there))
    return True


def _text(target: Path) -> str | None:
    if not target.exists():
        return None
    return atomic_files.read(target).decode("utf-8", "surrogateescape")


def _noted(step: Step) -> dict[str, Any]:
    if isinstance(step, Append):
        return {"append": step.path, "text": step.text, "mark": step.mark}
    if isinstance(step, Move):
        return {"move": step.path, "to": step.to, "digest": step.digest}
    return {"path": step.path, "before": step.before, "after": step.after}


def _read(fields: dict[str, Any]) -> Step:
    if "append" in fields:
        return Append(fields["append"], fields["text"], fields["mark"])
    if "move" in fields:
        return Move(fields["move"], fields["to"], fields["digest"])
    return Change(fields["path"], fields["before"], fields["after"])
