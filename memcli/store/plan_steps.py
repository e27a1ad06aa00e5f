"""The steps that a plan is made of: what each finds, whether it is done, and how it is noted."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from . import atomic_files
from .file_steps import Watcher


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
    """A file or folder put elsewhere as it is, its mode and age included, where nothing stands yet.

    A change of what is moved names the path it has then, and comes after.
    """

    path: str
    to: str
    digest: str  # of the bytes it was planned for; empty: a folder


Step = Change | Append | Move
Places = Callable[[str], Path]


def half_written(data: bytes, step: Append) -> int:
    """Return the length of what stands of a record at the end of a file where that is not all of it, else 0."""
    text, mark = step.text.encode(), step.mark.encode()
    if data.endswith(text):
        return 0
    size = next((size for size in range(len(text) - 1, 7, -1) if data.endswith(text[:size])), 0)
    return size if mark in text[:size] or not data.endswith(b"\n") else 0


def tell(record: Watcher, step: Step, steps: Sequence[Step], path_of: Places) -> None:
    """Tell of one of some steps, which was done: the killed command may not have told."""
    if isinstance(step, Change):
        before, after = (None if text is None else encoded(text) for text in (step.before, step.after))
        record.changed(path_of(step.path), before, after)
    elif isinstance(step, Move):
        changes = [change for change in steps if isinstance(change, Change) and change.before is not None]
        record.moved(
            path_of(step.path),
            path_of(step.to),
            {path_of(change.path): encoded(change.before or "") for change in changes},
        )
    else:
        data, content = encoded(step.text), atomic_files.read(path_of(step.path))
        if data not in content:  # it went before what a clock ahead of ours made
            data = data.lstrip()
        record.appended(path_of(step.path), content.rfind(data), data)


def is_done(step: Step, path_of: Places) -> bool:
    if isinstance(step, Move):
        return not path_of(step.path).exists()
    text = text_of_file(path_of(step.path))
    if isinstance(step, Append):
        if text is None or step.mark not in text:
            return False
        return not half_written(text.encode("utf-8", "surrogateescape"), step)
    return text == step.after


def is_as_planned(step: Step, path_of: Places) -> bool:
    """Return whether a step finds what it was made for; a move that was cut off between two names does too."""
    if isinstance(step, Move):
        there, to = path_of(step.path), path_of(step.to)
        if not step.digest:
            return there.is_dir() and not to.exists()
        is_ours = atomic_files.digest(atomic_files.read(there)) == step.digest
        return is_ours and (not to.exists() or to.samefile(there))
    return isinstance(step, Append) or text_of_file(path_of(step.path)) == step.before


def text_of_file(target: Path) -> str | None:
    return atomic_files.read(target).decode("utf-8", "surrogateescape") if target.exists() else None


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def noted(step: Step) -> dict[str, Any]:
    if isinstance(step, Append):
        return {"append": step.path, "text": step.text, "mark": step.mark}
    if isinstance(step, Move):
        return {"move": step.path, "to": step.to, "digest": step.digest}
    return {"path": step.path, "before": step.before, "after": step.after}


def read_step(fields: dict[str, Any]) -> Step:
    if "append" in fields:
        return Append(fields["append"], fields["text"], fields["mark"])
    if "move" in fields:
        return Move(fields["move"], fields["to"], fields["digest"])
    return Change(fields["path"], fields["before"], fields["after"])
