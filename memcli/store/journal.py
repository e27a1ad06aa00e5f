"""Apply several changes as one: noted first, then done, and finished by the next command if this one is killed.

Each change knows the text it starts from and the text it ends with. What is there already is skipped; where somebody
else's text stands, theirs stays and ours goes to the archive. Doing it twice is doing it once.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Context
from datetime import tzinfo
from functools import cache, partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from ..dataclass import dataclass
from ..errors import ChangedError, MemError, RefusedError, UnfinishedError
from ..formats.ids import blake2b
from ..formats.text_lines import require_no_conflict
from . import atomic_files, file_steps
from .archive import keep_folders, put
from .atomic_files import move, move_all, remove
from .lock import BRINGING, Held, changing, locked
from .plan_steps import (
    Append,
    Change,
    Move,
    Places,
    Step,
    encoded,
    half_written,
    is_as_planned,
    is_done,
    noted,
    read_step,
    tell,
    text_of_file,
)
from .trust import seal_key
from .workspace import Workspace

__all__ = [
    "Append",
    "Applied",
    "Change",
    "Move",
    "Step",
    "apply",
    "exclusive",
    "finish",
    "finish_first",
    "seal",
    "unsealed",
]

_FOLDER = "journal"


@dataclass(frozen=True)
class Applied:
    """What became of the steps."""

    done: tuple[str, ...] = ()  # paths changed
    unapplied: tuple[tuple[str, str], ...] = ()  # (path whose own text stayed, where ours went)


@contextmanager
def exclusive(workspace: Workspace, command: str, wait: float | None = None) -> Iterator[Held]:
    """Hold the workspace's lock; what a killed command left half done is finished first, or taken back if git was.

    `wait` is how long to wait for it in seconds, None: as the settings say. The change mark moves when it is given up:
    whoever looked at memory before sees that it may have changed.
    """
    with _finished(workspace, command, wait) as held, changing(workspace) as mark:
        yield Held(held.path, held.identity, mark)


@contextmanager
def _finished(workspace: Workspace, command: str, wait: float | None = None) -> Iterator[Held]:
    wait = workspace.settings["lock.wait"] if wait is None else wait
    with locked(workspace.derived, command=command, now=workspace.stamp, wait=wait) as held:
        if _is_bringing(workspace):
            from ..git.remote import take_back

            take_back(workspace)
        finish(workspace, held)
        yield held


def finish_first(workspace: Workspace, command: str) -> None:
    """Finish what a killed command left, if one did, for one who looks at the files before taking the lock."""
    if any((workspace.derived / _FOLDER).glob("*.json")) or _is_bringing(workspace):
        with _finished(workspace, command):
            pass


def _is_bringing(workspace: Workspace) -> bool:
    """Return whether a git was killed while it brought files; such a note may have come with a clone, too."""
    return (workspace.derived / BRINGING).exists() and workspace.is_trusted


def apply(
    workspace: Workspace, steps: Sequence[Step], held: Held, *, exactly: bool = False, folded: Collection[str] = ()
) -> Applied:
    """Do all the steps under the lock held; raise ChangedError, with nothing done, if a text is another.

    Raise UnfinishedError if the disk fails once they are noted: `finish` does the rest. Unless they are to be done
    `exactly`, the promoted lines of what changes follow it, and an emptied folder is kept in git. `folded` names the
    counters that the steps bring into files: whoever does the steps ends the folding.
    """
    path_of = cache(workspace.path)  # following the links of 10,000 paths takes seconds
    steps = [step for step in steps if not is_done(step, path_of)]
    if not exactly and any(isinstance(step, Move) or (isinstance(step, Change) and step.before) for step in steps):
        from .page_lines import with_page_lines  # late: what only adds files has no line yet

        steps = with_page_lines(workspace, steps, path_of)
    moves = {step.to: step.path for step in steps if isinstance(step, Move)}
    for step in steps:
        if not is_as_planned(step, path_of if isinstance(step, Move) else lambda path: path_of(_before(moves, path))):
            raise ChangedError(f"{step.path} changed underneath", "run the command again")
        if isinstance(step, Append):
            require_no_conflict(step.path, text_of_file(path_of(step.path)) or "")
    if not steps:
        return Applied()
    held.check()
    note = workspace.derived / _FOLDER / f"{workspace.stamp.replace(':', '')}-{os.urandom(4).hex()}.json"
    noted_steps = [noted(step) for step in steps]
    mark = watch.mark(workspace) if (watch := file_steps.watcher.get()) else None
    whole = {
        "steps": noted_steps,
        "seal": seal(workspace, noted_steps),
        "exactly": exactly,
        "undo": mark,
        "folded": [*folded],
    }
    atomic_files.create(note, json.dumps(whole, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    try:
        applied = _carry_out(workspace, steps, held, path_of, exactly=exactly)
        _end(workspace, note, folded)
        return applied
    except RefusedError as error:
        fix = f"{error.fix}; " * bool(error.fix) + "the next command finishes what was begun"
        raise UnfinishedError(error.message, fix) from error


def _before(moves: Mapping[str, str], path: str) -> str:
    """Return the path that a file has before some moves of files and folders, given as new path → old path."""
    for new in (path, *map(str, PurePosixPath(path).parents)) if moves else ():
        if new in moves:
            return moves[new] + path.removeprefix(new)
    return path


def finish(workspace: Workspace, held: Held) -> Applied:
    """Finish what killed commands of this user noted and did not do, the oldest first.

    A note without the user's seal came with a clone, or is another user's: it is never carried out, and stays.
    """
    folder = workspace.derived / _FOLDER
    done: list[str] = []
    unapplied: list[tuple[str, str]] = []
    for note in sorted(folder.glob("*.json")) if folder.is_dir() else []:
        try:
            fields = json.loads(atomic_files.read(note))
            if not _is_ours(workspace, fields):
                continue
            steps = [read_step(fields) for fields in fields["steps"]]
        except (ValueError, KeyError, TypeError, AttributeError):  # not a whole note, so nothing of it was begun
            remove(note)
            continue
        try:
            from .undo_log import resumed

            with resumed(workspace, fields.get("undo")) as record:
                path_of = cache(workspace.path)
                for step in filter(partial(is_done, path_of=path_of), steps):
                    tell(record, step, steps, path_of)
                applied = _carry_out(workspace, steps, held, path_of, exactly=bool(fields.get("exactly")))
                _end(workspace, note, fields.get("folded") or ())
        except RefusedError as error:
            fix = f"put that right, or move {note} away to go on without it"
            raise RefusedError(f"what a killed command began cannot be finished: {error.message}", fix) from error
        done += applied.done
        unapplied += applied.unapplied
    return Applied(tuple(done), tuple(unapplied))


def unsealed(workspace: Workspace) -> list[str]:
    """List the notes that this user's mem did not make, which are never carried out."""
    paths = []
    for note in sorted((workspace.derived / _FOLDER).glob("*.json")):
        with suppress(MemError, OSError, ValueError, KeyError, TypeError, AttributeError):
            if not _is_ours(workspace, json.loads(atomic_files.read(note))):
                paths.append(note.relative_to(workspace.root).as_posix())
    return paths


def _is_ours(workspace: Workspace, fields: Mapping[str, Any]) -> bool:
    return not workspace.state or fields.get("seal") == (seal(workspace, fields["steps"]) or None)


def seal(workspace: Workspace, noted_steps: Sequence[Mapping[str, Any]]) -> str:
    """Return what only this user's mem can put under a note; empty where no secret of theirs can be kept."""
    key = seal_key(workspace.state, workspace.root) if workspace.state else b""
    data = json.dumps(noted_steps, ensure_ascii=True, sort_keys=True).encode()
    return blake2b(data, digest_size=16, key=key).hexdigest() if key else ""


def _end(workspace: Workspace, note: Path, folded: Collection[str]) -> None:
    """Forget a note whose steps are done and safe on disk."""
    if folded:
        from .access_log import finish_folding  # late: two commands count

        finish_folding(workspace, folded)
    with suppress(RefusedError):  # all of it is done, so the next command has nothing to do but to remove the note
        remove(note)


def _carry_out(workspace: Workspace, steps: Sequence[Step], held: Held, path_of: Places, *, exactly: bool) -> Applied:
    """Do what is noted; the folders are safe on disk then, each of them synced once.

    Until then the note holds every text, and no file gives up its old name before the new one is safe.
    """
    done: list[str] = []
    unapplied: list[tuple[str, str]] = []
    folders: dict[Path, None] = {}
    moves = {step.to: step.path for step in steps if isinstance(step, Move)}
    for is_move, some in groupby(steps, lambda step: isinstance(step, Move)):
        waiting = [step for step in some if not is_done(step, path_of)]
        if is_move:
            done += _moved(workspace, waiting, held, path_of, exactly=exactly)
            continue
        leaving = [step.path for step in waiting if isinstance(step, Change) and step.after is None]
        keep_folders(workspace, [] if exactly else leaving)
        for step in waiting:
            held.check()
            target = path_of(step.path)
            if isinstance(step, Change) and text_of_file(target) != step.before:
                unapplied += [(step.path, _put_aside(workspace, step))] if step.after is not None else []
                continue
            if isinstance(step, Append):
                _add(target, step, workspace.zone)
            elif isinstance(step, Change):
                _change(target, step, keeps_age=_before(moves, step.path) != step.path)
                folders[target.parent] = None
            done.append(step.path)
    for folder in folders:
        with file_steps.naming("write", folder):
            file_steps.sync_folder(folder)
    return Applied(tuple(done), tuple(unapplied))


def _add(target: Path, step: Append, zone: tzinfo) -> None:
    """Put a record where its time belongs; one that a killed command wrote half of is written whole."""
    from ..formats.history import with_record  # late: most changes add no record

    data = atomic_files.read(target) if target.exists() else b""
    if half := half_written(data, step):
        whole_records = data[:-half]
        # Nobody is told: half of a record is nothing to go back to.
        Context().run(atomic_files.replace, target, whole_records, atomic_files.digest(data))
        data = whole_records
    whole = encoded(with_record(data.decode("utf-8", "surrogateescape"), step.text, zone))
    if whole == data + encoded(step.text):
        atomic_files.append(target, encoded(step.text))
    else:
        atomic_files.replace(target, whole, atomic_files.digest(data))


def _change(target: Path, step: Change, *, keeps_age: bool) -> None:
    """Make, replace or remove a file; its folder is left to be settled."""
    if step.after is None:
        remove(target)
    elif step.before is None:
        try:
            atomic_files.create(target, encoded(step.after), lasting=False)
        except FileExistsError:
            if text_of_file(target) != step.after:  # else its folder was made with it
                raise
    else:
        atomic_files.replace(
            target, encoded(step.after), atomic_files.digest(encoded(step.before)), lasting=False, keeps_age=keeps_age
        )


def _moved(workspace: Workspace, steps: Sequence[Step], held: Held, path_of: Places, *, exactly: bool) -> list[str]:
    planned = [step for step in steps if isinstance(step, Move) and is_as_planned(step, path_of)]
    files = [step for step in planned if step.digest]
    keep_folders(workspace, [] if exactly else [step.path for step in files])
    move_all([(path_of(step.path), path_of(step.to)) for step in files], held.check)
    for step in planned:
        if not step.digest:
            held.check()
            move(path_of(step.path), path_of(step.to))
            keep_folders(workspace, [] if exactly else [f"{step.path}/any.md"])
    return [step.path for step in planned]


def _put_aside(workspace: Workspace, step: Change) -> str:
    """Keep our text in the archive where somebody else's stands in its place; once, however often it is tried."""
    archive = workspace.layout.archive
    stem, _, ending = step.path.removeprefix(archive).rpartition(".")
    path = workspace.free_name(f"{archive}{stem}-not-applied.{ending}")
    data = encoded(step.after or "")
    for other in workspace.path(f"{archive}{stem}").parent.glob("*"):
        if other.is_file() and atomic_files.read(other) == data:
            return workspace.relative(other)
    put(workspace, path, data)
    return path
