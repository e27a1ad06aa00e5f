"""History: records at the end of the month's file, never changed and never cut; all files read as one log."""

import os
import re
from collections.abc import Iterator, Sequence
from itertools import count

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from ..formats.history import Record, line_of, records, render
from ..formats.ids import drawn, new_id
from ..formats.text_lines import FileProblem, conflict_marker, decoded, require_no_conflict
from . import atomic_files
from .journal import Append, apply, exclusive
from .workspace import Workspace


@dataclass(frozen=True)
class FiledRecord:
    """A record and the file it stands in."""

    path: str
    record: Record


@dataclass(frozen=True)
class HistoryLog:
    """All of history, the oldest first, and what could not be read of it; a record that another stands for is out."""

    records: tuple[FiledRecord, ...]
    problems: tuple[FileProblem, ...] = ()


def history_steps(
    workspace: Workspace, text: str, noise: bytes, instead_of: Sequence[str] = (), *, is_next: bool = False
) -> tuple[Append, ...]:
    """Return the steps of a plan that add one record: to the month's file, and to the copy for older tools if wanted.

    `instead_of` names the records that readers pass over from then on, since this one tells the same better; `is_next`
    says that the same plan adds another one before.

    A record that stands there already, by its id, is not added again when the steps are applied twice.
    """
    if not text.strip():
        raise UsageError("there is nothing to record", "say what happened")
    if "\x00" in text:
        raise UsageError("the text has a NUL byte", "a record is text; keep binaries elsewhere")
    marker = conflict_marker(text)
    if marker is not None:
        raise RefusedError(f"line {marker} of the text is a conflict marker", "resolve the conflict first")
    identifier = new_id("hist", workspace.now, noise)
    written = render(identifier, workspace.now, text, workspace.zone, instead_of)
    month = f"{workspace.now:%Y-%m}"  # of the heading, which is UTC
    paths = dict.fromkeys((workspace.layout.history.format(month=month), *_copies(workspace)))
    return tuple(Append(path, f"{_gap(workspace, path, is_next=is_next)}{written}", identifier) for path in paths)


def add_record(workspace: Workspace, text: str, noise: bytes) -> Append:
    """Add one record; return the step that was done in the month's file."""
    with exclusive(workspace, "mem history add") as held:
        taken = {filed.record.id for filed in read_log(workspace).records}
        steps = next(
            steps
            for attempt in count()
            if (steps := history_steps(workspace, text, drawn(noise, attempt)))[0].mark not in taken
        )
        apply(workspace, steps, held)
    return steps[0]


def read_log(workspace: Workspace) -> HistoryLog:
    """Read every history file as one log: sorted by time, each record once, whatever files it stands in."""
    filed_by_key: dict[str, FiledRecord] = {}
    problems = []
    for path in _files(workspace):
        text, problem = decoded(atomic_files.read(workspace.path(path)))
        marker = conflict_marker(text)
        if marker is not None:
            problems.append(FileProblem(path, marker, "a git conflict marker: resolve the conflict; it is passed over"))
            continue
        if problem:
            problems.append(FileProblem(path, problem.line, problem.reason))
        for record in records(text, workspace.zone):
            # A record of another tool has no id, and stands in a second file too where that tool keeps one.
            key = record.id or f"{record.timestamp}\n{' '.join(record.text.split())}"
            filed_by_key.setdefault(key, FiledRecord(path, record))
    replaced = {name for filed in filed_by_key.values() for name in filed.record.instead_of}
    current = [filed for key, filed in filed_by_key.items() if key not in replaced]
    return HistoryLog(tuple(sorted(current, key=lambda filed: filed.record.timestamp)), tuple(problems))


def _copies(workspace: Workspace) -> Iterator[str]:
    """Yield the file that gets a second copy of every record, where the layout or the setting wants one."""
    layout, setting = workspace.layout, workspace.settings["history.single_file"]
    if setting == "off" or not (layout.history_copy or setting):
        return
    folder = layout.history.rpartition("/")[0]
    path = layout.history_copy or f"{folder}/HISTORY.md".lstrip("/")
    if layout.kind_of(path) != "history":
        raise UsageError(f"{path} would not be read as history here", "run `mem config set history.single_file off`")
    yield path


def _files(workspace: Workspace) -> list[str]:
    layout = workspace.layout
    folders = {re.split(r"[*{]", pattern)[0].rpartition("/")[0] for pattern in layout.patterns["history"]}
    files = []
    for folder in sorted(folders):
        try:
            names = os.listdir(workspace.path(folder))
        except (FileNotFoundError, NotADirectoryError):
            continue
        paths = (f"{folder}/{name}".lstrip("/") for name in sorted(names))
        files += [path for path in paths if layout.kind_of(path) == "history" and (workspace.root / path).is_file()]
    return files


def _gap(workspace: Workspace, path: str, *, is_next: bool) -> str:
    """Return the blank line between records; a file that begins with this one needs none."""
    target = workspace.path(path)
    return "\n" if is_next or (target.exists() and target.stat().st_size) else ""


def add_note(workspace: Workspace, text: str, *, once: bool = False) -> tuple[str, str]:
    """Add a note to the page of today, with `once` only if the same line does not stand there; return path and line."""
    here = workspace.now.astimezone(workspace.zone)
    path = workspace.layout.notes.format(date=here.date().isoformat())
    line = line_of(f"{here:%H:%M}", text)
    with exclusive(workspace, "mem note") as held:
        target = workspace.path(path)
        if target.exists():
            page = atomic_files.read(target).decode("utf-8", "replace")
            require_no_conflict(path, page)
            if once and line in page:
                return path, line
        held.check()
        atomic_files.append(target, line.encode())
    return path, line
