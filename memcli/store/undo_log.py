"""The undo log: what recent commands changed, one JSON file per command in `.mem/KEY/undo/`.

A record starts as `N.pending` before the first change is made, and becomes `N.json` after the last.
"""

import json
import os
import re
from collections.abc import Iterable
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import BusyError, MemError
from ..formats import format_time, normalize, parse_time
from .files import save_private, sync_path
from .workspace import Workspace

# Hooks work in every turn, and would push the commands of people out of the log.
HOOK_COMMANDS = 20  # records of hooks that stay
PRUNE_INTERVAL = 25  # commands: pruning reads every record
# A record contains whole files, so a few large imports could fill the disk.
LOG_BYTES = 50 * 1024 * 1024
# "id: mem_01m8h0h7p0hs5xrq"
ID_LINE = re.compile(r"(?m)^id: *(\S+)")


class Change(NamedTuple):
    """The text of one file before and after a command; None means that there is no file."""

    path: str  # relative to the workspace
    before: str | None
    after: str | None


class Record(NamedTuple):
    """One command in the undo log."""

    number: int
    command: str
    summary: str
    time: str
    changes: tuple[Change, ...]
    actor: str = "person"  # or hook
    undoes: int = 0  # the number of the command that this one reverted
    is_purge: bool = False
    purged_texts: tuple[str, ...] = ()  # until they are deleted from the log


def find_log_folder(workspace: Workspace) -> Path | None:
    folder = workspace.machine.folder
    return folder / "undo" if folder else None


def save_record(folder: Path, record: Record, suffix: str) -> Path:
    path = folder / f"{record.number}.{suffix}"
    folder.mkdir(exist_ok=True, mode=0o700)
    # Plain ASCII, so that bytes that are not UTF-8 survive as escaped surrogates.
    save_private(path, json.dumps(record._asdict()).encode("ascii"))
    with path.open("rb") as file:
        os.fsync(file.fileno())
    sync_path(folder)
    return path


def read_record(path: Path) -> Record:
    """Read a command. Raises ValueError if its file is damaged."""
    try:
        data: dict[str, Any] = json.loads(path.read_text("ascii"))
        return Record(changes=tuple(Change(*row) for row in data.pop("changes")), **data)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a record: {error}") from None


def list_records(folder: Path, suffix: str = "json") -> list[Path]:
    """Return the record files in the order of their numbers."""
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    numbers = sorted(
        int(name.partition(".")[0])
        for name in names
        if name.endswith(f".{suffix}") and name.partition(".")[0].isdecimal()
    )
    return [folder / f"{number}.{suffix}" for number in numbers]


def read_log(workspace: Workspace) -> list[Record]:
    """Return the commands in the undo log, the latest last. Damaged records are skipped."""
    folder = find_log_folder(workspace)
    records = []
    for path in list_records(folder) if folder else []:
        with suppress(OSError, ValueError):
            records.append(read_record(path))
    return records


def find_undone_numbers(records: Iterable[Record]) -> set[int]:
    """Return the numbers of the commands whose effect is reverted at the moment."""
    undone: set[int] = set()
    targets = {record.number: record.undoes for record in records if record.undoes}
    for number in targets.values():
        undone.add(number)
        if number in targets:
            # Reverting an undo brings back the command that it had reverted.
            undone ^= {targets[number]}
    return undone


def prune_log(workspace: Workspace, folder: Path) -> None:
    """Delete the records beyond the limits of number, age and size."""
    paths = list_records(folder)
    limit = int(workspace.settings["undo.commands"])
    oldest = format_time(workspace.now - timedelta(days=int(workspace.settings["undo.days"])))
    people = hooks = size = 0
    # From the latest on, so that the oldest are beyond the limits.
    for path in reversed(paths):
        try:
            record = read_record(path)
            size += path.stat().st_size
        except (OSError, ValueError):
            path.unlink(missing_ok=True)
            continue
        hooks += record.actor == "hook"
        people += record.actor != "hook"
        is_old = parse_time(record.time) is not None and record.time < oldest
        is_over = hooks > HOOK_COMMANDS if record.actor == "hook" else people > limit
        if is_old or is_over or size > LOG_BYTES:
            path.unlink(missing_ok=True)


def purge_log(workspace: Workspace, paths: Iterable[str], texts: Iterable[str]) -> None:
    """Delete purged texts from the log.

    The commands that contained them cannot be undone any more.
    """
    from ..formats import PassageFinder, find_texts  # which only a purge needs

    folder = find_log_folder(workspace)
    purged_paths = set(paths)
    purged_ids = workspace.read_purged_ids()
    finder = PassageFinder({str(number): text for number, text in enumerate(texts)})

    def is_clean(change: Change) -> bool:
        sides = [side for side in (change.before, change.after) if side]
        # A person may have renamed the file since, and the memory may have had other words.
        if any(purged_ids.intersection(ID_LINE.findall(side)) for side in sides):
            return False
        return change.path not in purged_paths and not any(
            finder.find(normalize(text))
            for side in sides
            for text in (find_texts(side) if change.path.endswith(".jsonl") else [side])
        )

    for path in list_records(folder) if folder else []:
        try:
            record = read_record(path)
        except ValueError:
            path.unlink()  # damaged, and may contain the text
            continue
        clean = tuple(change for change in record.changes if is_clean(change))
        is_cut = clean != record.changes
        # An undo that found nothing to revert changes no file, and its summary may be the text.
        if folder and (is_cut or (record.summary and not clean)):
            record = record._replace(changes=clean, is_purge=record.is_purge or is_cut, summary="")
            save_record(folder, record, "json")


def note_failure(workspace: Workspace, command: str) -> None:
    """Remember that the last command failed, so that `mem undo` does not revert another one."""
    folder = workspace.machine.folder
    if folder is not None:
        with suppress(OSError):
            save_private(folder / "failed", command.encode())


def read_failure(workspaces: Iterable[Workspace]) -> str:
    """Return the name of the last command if it failed after the latest record."""
    paths: dict[int, Path] = {}
    for folder in filter(None, (workspace.machine.folder for workspace in workspaces)):
        for path in (folder / "failed", *list_records(folder / "undo")[-1:]):
            with suppress(OSError):
                paths[path.stat().st_mtime_ns] = path
    last = paths[max(paths)] if paths else None
    return last.read_text("utf-8") if last and last.name == "failed" else ""


def recover(workspace: Workspace) -> str:
    """Revert a killed command, if there is one. Return a message if that is impossible."""
    log_folder = find_log_folder(workspace)
    if log_folder is None or not list_records(log_folder, "pending"):
        return ""
    # Imported late, because almost every command finds nothing to revert.
    from .writer import hold_lock

    try:
        # Taking the lock reverts the command.
        with hold_lock(workspace, seconds=0.0):
            return ""
    except BusyError:
        return ""  # its process is still running
    except (MemError, OSError):
        return "an earlier command was interrupted, and this command may not write to repair it"
