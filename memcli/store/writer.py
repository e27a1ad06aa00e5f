"""Change files of a workspace: all changes of a command, or none.

`commit` is the only function that changes the files of a workspace. It runs the gates, saves a
pending record of every change, makes the changes, and renames the record into the undo log. The
rename is the moment at which the command is done. If a change fails, the ones already made are
reverted. If the process is killed, or the disk does not even allow that, the next command reverts
the pending record: a command that did not report success has changed nothing, then or later.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import get_ident
from typing import NamedTuple, TypeVar

from ..errors import ChangedError, MemError, OutsideError, RejectedError
from ..formats import Progress, collapse_blanks, get_content, is_forgotten, merge_lines
from .files import LOCK_SECONDS, open_lock, sync_path
from .machine import make_mem_folder
from .undo_log import (
    PRUNE_INTERVAL,
    Change,
    Record,
    find_log_folder,
    list_records,
    prune_log,
    purge_log,
    read_record,
    save_record,
)
from .workspace import TEMPORARY_PREFIX, Workspace, find_recording_workspace

# Files may hold bytes that are not UTF-8. This carries them through unchanged.
FILE_ENCODING = {"encoding": "utf-8", "errors": "surrogateescape"}
Item = TypeVar("Item")
FEW = 20  # changes that the index reads before the command ends, if a rule is among them
RULE = re.compile(r"^type: (?:constraint|correction|lesson|preference|procedure)\b", re.MULTILINE)
BULK_FILES, SYNC_THREADS = 100, 8  # from so many files on, threads make them durable together


class Replace(NamedTuple):
    """Give a file a new text. None before: create it. None after: delete it."""

    path: str
    before: str | None
    after: str | None


class Append(NamedTuple):
    """Add a text at the end of a file, whatever it contains by then."""

    path: str
    text: str


class ChangeGroup(NamedTuple):
    """The changes of one memory: its file, its line in MEMORY.md, its history record."""

    changes: Sequence[Replace | Append]
    allow_secrets: bool = False
    redact_secrets: bool = False
    # The user said it. Only the user may say again what was forgotten.
    is_said_by_user: bool = False
    # The text was in the workspace before, in another file. No gate checks it again.
    is_moved: bool = False
    # An agent edits a file. It may change texts, but no field that only the user may decide.
    is_by_agent: bool = False


@dataclass
class Commit:
    """The outcome of a command."""

    number: int = 0  # for `mem undo`; 0 if nothing was written or there is no undo log
    rejected: list[tuple[ChangeGroup, MemError]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def get_error(self, group: ChangeGroup) -> MemError | None:
        """Return the error of the gate that rejected a group."""
        return next((error for rejected, error in self.rejected if rejected is group), None)

    def raise_rejected(self) -> None:
        """Raise the error of the first rejected group, if there is one."""
        if self.rejected:
            raise self.rejected[0][1]


def commit(
    workspace: Workspace,
    command: str,
    groups: Sequence[ChangeGroup],
    *,
    summary: str = "",
    actor: str = "person",
    is_purge: bool = False,
    purged_texts: Sequence[str] = (),
) -> Commit:
    """Make the changes of all groups that pass the gates.

    Raises ChangedError if a file differs from `before`, and RejectedError if the disk refuses. Then
    no file has changed. A group is rejected for a path that leads out of the workspace.
    """
    from .gates import redact_text  # which imports this module

    if workspace.gates is None:
        raise RuntimeError("a workspace without gates: open it with api.open_target")
    result = Commit()
    workspace.ensure_machine()
    with hold_lock(workspace) as log_folder:
        delete_purged_files(workspace, log_folder)
        pending: dict[str, Change] = {}
        for group in report_progress(workspace, groups):
            try:
                for change in group.changes:
                    locate(workspace.root, change.path)
                # A purge only removes text, also from files that contain a secret.
                checked = group if is_purge or group.is_moved else check_group(workspace, group)
            except MemError as error:
                result.rejected.append((group, error))
                continue
            resolve_changes(workspace, pending, checked.changes)
        changes = [change for change in pending.values() if change.before != change.after]
        if not changes and not purged_texts:
            return result
        # The summary may be the sentence of a rejected memory, or of one that has a secret.
        summary = "" if result.rejected else redact_text(workspace, collapse_blanks(summary))
        if log_folder is None:
            result.messages.append("saved without undo: the state folder cannot be written")
        result.number = write_changes(
            workspace,
            log_folder,
            command,
            summary,
            changes,
            actor=actor,
            is_purge=is_purge,
            purged_texts=purged_texts,
        )
        result.paths = [change.path for change in changes]
        texts = [change.after or "" for change in changes]
        if len(texts) <= FEW and any(map(RULE.search, texts)):
            workspace.resources["has rule"] = True
        if is_purge and log_folder is not None:
            try:
                finish_purges(workspace, log_folder)
            except OSError as error:
                reason = f"the undo log still has the text ({error.strerror})"
                result.messages.append(f"{reason}; mem tend deletes it")
    return result


def report_progress(workspace: Workspace, items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items that a command checks, and tell a person how many are done."""
    on_check = workspace.resources.get("on check")
    for number, item in enumerate(items):
        if on_check:
            on_check(number, len(items))
        yield item
    if on_check:
        on_check(1, 1)


def check_group(workspace: Workspace, group: ChangeGroup) -> ChangeGroup:
    """Return a group after all gates. Raises the error of the gate that rejects it."""
    for gate in workspace.gates or ():
        group = gate(workspace, group)
    return group


def delete_purged_files(workspace: Workspace, log_folder: Path | None) -> None:
    """Delete the memories that another machine purged and a merge brought back."""
    if workspace.find_received_purges is None:
        return
    returned, texts = workspace.find_received_purges(workspace)
    if not returned and not texts:
        return
    changes = list(resolve_changes(workspace, {}, returned).values())
    write_changes(
        workspace, log_folder, "purge", "", changes, actor="hook", is_purge=True, purged_texts=texts
    )
    if log_folder is not None:
        with suppress(OSError):
            # If this fails, the record stays, and the next command tries again.
            finish_purges(workspace, log_folder)


def commit_one(
    workspace: Workspace,
    command: str,
    changes: Sequence[Replace | Append],
    *,
    summary: str = "",
    actor: str = "person",
    is_said_by_user: bool = False,
    is_by_agent: bool = False,
) -> Commit:
    """Commit one group. Raises the error of the gate that rejects it."""
    group = ChangeGroup(changes, is_said_by_user=is_said_by_user, is_by_agent=is_by_agent)
    result = commit(workspace, command, [group], summary=summary, actor=actor)
    result.raise_rejected()
    return result


def resolve_changes(
    workspace: Workspace, changes: dict[str, Change], requested: Sequence[Replace | Append]
) -> dict[str, Change]:
    """Add the requested changes to earlier ones, by path, checked against the disk.

    Several memories of one command may each change their line of MEMORY.md: the changes of one file
    are merged line by line.
    """
    for request in requested:
        known = changes.get(request.path)
        disk = known.before if known else read_text(locate(workspace.root, request.path))
        current = known.after if known else disk
        if isinstance(request, Append):
            after: str | None = append_text(current or "", request.text)
        elif request.before == current:
            after = request.after
        elif known and request.before == disk and None not in (disk, current, request.after):
            after = merge_lines(disk or "", current or "", request.after or "")
            if after is None:
                raise ChangedError(f"two changes of one command to {request.path} overlap")
        elif request.before is None:
            raise ChangedError(f"{request.path} already exists")
        else:
            raise ChangedError(
                f"{request.path} changed in the meantime, so nothing was written",
                "run the command again",
            )
        changes[request.path] = Change(request.path, disk, after)
    return changes


def append_text(current: str, text: str) -> str:
    """Return a file's text with a line added, in the file's own line ends."""
    newline = "\r\n" if "\r\n" in current else "\n"
    if current and not current.endswith("\n"):
        current += newline
    return current + text.replace("\n", newline)


def write_changes(
    workspace: Workspace,
    log_folder: Path | None,
    command: str,
    summary: str,
    changes: Sequence[Change],
    *,
    actor: str = "person",
    undoes: int = 0,
    is_purge: bool = False,
    purged_texts: Sequence[str] = (),
) -> int:
    """Make changes that were compared with the disk, and return the number of the command."""
    pending = None
    number = 0
    root = workspace.root
    try:
        if log_folder is not None:
            # Pending records do not count: taking the lock has reverted and deleted them.
            records = [*list_records(log_folder), *list_records(log_folder, "purge")]
            number = 1 + max((int(path.stem) for path in records), default=0)
            record = Record(
                number,
                command,
                summary,
                workspace.stamp,
                tuple(changes),
                actor=actor,
                undoes=undoes,
                is_purge=is_purge,
                purged_texts=tuple(purged_texts),
            )
            pending = save_record(log_folder, record, "pending")
        apply_changes(root, changes, workspace.resources.get("on progress"))
        if pending is not None:
            # A purge keeps its own suffix until its texts are deleted from the log too.
            os.rename(pending, pending.with_suffix(".purge" if is_purge else ".json"))
    except BaseException as error:
        outcome = "the next command restores the files"
        # The pending record stays if this fails too. Then the next command reverts the changes.
        with suppress(OSError):
            revert_changes(root, changes)
            if pending is not None:
                pending.unlink(missing_ok=True)
            outcome = "nothing was changed"
        if isinstance(error, OSError):
            raise RejectedError(f"cannot write to {root}: {error.strerror} ({outcome})") from None
        raise
    if log_folder is not None:
        # After the rename the command is done, so a failed sync must not revert it.
        with suppress(OSError):
            sync_path(log_folder)
            if number % PRUNE_INTERVAL == 0:
                prune_log(workspace, log_folder)
    with suppress(OSError):
        follow_forgetting(workspace, changes)
    return number


def follow_forgetting(workspace: Workspace, changes: Sequence[Change]) -> None:
    """Refuse texts in the user's own workspace as long as a shared one has forgotten them.

    Also after an undo. Otherwise the conversations of the shared workspace would show them.
    """
    texts: dict[bool, list[str]] = {True: [], False: []}  # by whether they are forgotten now
    for change in changes:
        if change.after is None or workspace.get_kind(change.path) != "entry":
            continue
        is_now_forgotten = is_forgotten(change.after)
        if is_now_forgotten != is_forgotten(change.before):
            texts[is_now_forgotten].append(get_content(change.before or change.after))
    own = find_recording_workspace(workspace) if texts[True] or texts[False] else None
    if own is not None:
        own.machine.store_purged_digests(texts[True])
        own.machine.remove_purged_digests(texts[False])


def revert_changes(root: Path, changes: Sequence[Change]) -> None:
    """Restore the files that have the text of a command. Files that somebody edited stay."""
    for change in reversed(changes):
        if read_text(locate(root, change.path)) == change.after:
            apply_changes(root, [Change(change.path, change.after, change.before)])


def apply_changes(
    root: Path,
    changes: Sequence[Change],
    on_progress: Progress | None = None,
) -> None:
    """Make the changes that are not on disk yet. Every new text is durable before its rename."""
    changed_folders = set()
    with write_new_texts(root, changes, on_progress) as temporaries:
        for change in changes:
            target = locate(root, change.path)
            text = read_text(target)
            temporary = temporaries.get(change.path)
            if text == change.after or (temporary is None and change.after is not None):
                continue
            if text != change.before:
                # Someone saved the file since we compared it. Their text stays; ours gets a free
                # name.
                if change.after is None:
                    continue
                target = choose_free_name(target)
            if temporary is None:
                target.unlink()
            else:
                os.rename(temporary, target)
            changed_folders.add(target.parent)
    # One fsync per folder instead of one per file: an import of 10,000 files would otherwise wait
    # for minutes.
    for folder in changed_folders:
        sync_path(folder)


@contextmanager
def write_new_texts(
    root: Path, changes: Sequence[Change], on_progress: Progress | None
) -> Iterator[dict[str, Path]]:
    """Write the new texts to temporary files, by path. Deletes those that the block leaves."""
    temporaries: dict[str, Path] = {}
    try:
        for number, change in enumerate(changes, 1):
            if on_progress:
                on_progress(number, len(changes))
            target = locate(root, change.path)
            if change.after is not None and read_text(target) != change.after:
                data = change.after.encode(**FILE_ENCODING)
                temporaries[change.path] = write_temporary_file(target, data)
        sync_files(list(temporaries.values()))
        yield temporaries
    finally:
        for temporary in temporaries.values():
            temporary.unlink(missing_ok=True)


def revert_unfinished_commands(workspace: Workspace, log_folder: Path) -> None:
    """Revert the changes of commands that were killed, or that failed on a full disk."""
    for path in list_records(log_folder, "pending"):
        try:
            record = read_record(path)
        except ValueError:
            record = None  # killed while it wrote the record: no file was changed
        if record is not None:
            revert_changes(workspace.root, record.changes)
            remove_temporary_files(workspace.root, record.changes)
        path.unlink()
    # Records that were killed before their first rename. We hold the lock, so nobody writes them.
    for path in log_folder.glob("*.pending.*"):
        path.unlink()


def finish_purges(workspace: Workspace, log_folder: Path) -> None:
    """Delete purged texts from the undo log, and refuse them from now on."""
    for path in list_records(log_folder, "purge"):
        record = read_record(path)
        deleted = [change for change in record.changes if change.after is None]
        bodies = [get_content(change.before or "") for change in deleted]
        bodies += record.purged_texts
        workspace.machine.store_purged_digests(bodies)
        purge_log(workspace, [change.path for change in deleted], bodies)
        save_record(log_folder, record._replace(changes=(), summary="", purged_texts=()), "json")
        path.unlink()
        with suppress(OSError):
            workspace.machine.save_pending_purges({})


@contextmanager
def hold_lock(workspace: Workspace, seconds: float = LOCK_SECONDS) -> Iterator[Path | None]:
    """Hold the workspace's lock. First revert the changes of a killed command.

    Yields the folder of the undo log, or None without one. Raises BusyError after some seconds.
    A function that holds the lock may call another one that takes it. Another thread has to wait.
    """
    if workspace.resources.get("holds lock") == get_ident():
        yield find_log_folder(workspace)
        return
    try:
        make_mem_folder(workspace.root)
        lock = open_lock(workspace.root / ".mem" / "lock", seconds)
    except OSError as error:
        reason = f"cannot write to {workspace.root}: {error.strerror}"
        hint = "an agent's sandbox may forbid it: use the MCP tool"
        raise RejectedError(reason, "" if workspace.context.is_terminal else hint) from None
    workspace.resources["holds lock"] = get_ident()
    try:
        log_folder = find_log_folder(workspace)
        if log_folder is not None:
            revert_unfinished_commands(workspace, log_folder)
            with suppress(OSError):
                finish_purges(workspace, log_folder)
        yield log_folder
    finally:
        del workspace.resources["holds lock"]
        workspace.resources.pop("forgotten texts", None)  # of the gate
        os.close(lock)


def locate(root: Path, path: str) -> Path:
    """Return the file of a path inside the workspace. Raises OutsideError; never follows a link."""
    if "\0" in path:
        raise OutsideError(f"{path!r} is not a path")
    target = root / path
    folder = target.parent.resolve()
    if not folder.is_relative_to(root) or ".." in Path(path).parts or not target.name:
        raise OutsideError(f"{path} is outside the workspace")
    try:
        if target.is_symlink():
            raise OutsideError(f"{path} is a symbolic link")
        # `.mem` has the undo log, and `.git` has hooks that git runs.
        if {".mem", ".git"}.intersection(Path(path).parts):
            raise OutsideError(f"{path} is not a file of the memory")
        if target.is_dir():
            raise RejectedError(f"{path} is a folder")
    except OSError as error:  # its name is too long
        raise RejectedError(f"{path[:100]}…: {error.strerror}", "choose another name") from None
    return folder / target.name


def read_text(path: Path) -> str | None:
    """Return the text of a file, or None if there is none. Refuses symbolic links."""
    try:
        # O_NONBLOCK: opening a named pipe would otherwise wait for a writer that never comes.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    with open(descriptor, "rb") as file:
        return file.read().decode(**FILE_ENCODING)


def read_file(workspace: Workspace, path: str) -> str | None:
    """Return the text of a workspace's file as `Replace` needs it.

    A link or folder in its place counts as no file. A clone may bring one, and `commit` rejects
    only the group that changes it.
    """
    try:
        return read_text(locate(workspace.root, path))
    except (OutsideError, RejectedError):
        return None


def choose_free_name(target: Path) -> Path:
    """Return a name next to `target` that no file has: NAME.mem-1.md, NAME.mem-2.md, …"""
    number = 1
    while True:
        free = target.with_name(f"{target.stem}.mem-{number}{target.suffix}")
        if not os.path.lexists(free):
            return free
        number += 1


def write_atomically(target: Path, data: bytes) -> None:
    """Write a temporary file next to the target and rename it over the target.

    A crash leaves the old file or the new one. Mode and owner of an existing file are preserved.
    """
    temporary = write_temporary_file(target, data)
    try:
        sync_files([temporary])
        os.rename(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_path(target.parent)


def write_temporary_file(target: Path, data: bytes) -> Path:
    """Write a file next to the target, with its mode and owner, that the caller must sync."""
    make_folder(target.parent)
    temporary = target.with_name(f"{TEMPORARY_PREFIX}{os.getpid()}-{os.urandom(4).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with open(descriptor, "wb") as file:
            with suppress(FileNotFoundError):
                status = target.stat()
                os.fchmod(descriptor, status.st_mode & 0o777)
                # Only root may give a file to another user.
                with suppress(PermissionError):
                    os.fchown(descriptor, status.st_uid, status.st_gid)
            file.write(data)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


def sync_files(paths: Sequence[Path]) -> None:
    """Make the contents of files durable.

    The file system writes requests of several threads together: 10,000 files take 1.3 s instead of
    50 s on ext4.
    """
    if len(paths) < BULK_FILES:
        for path in paths:
            sync_path(path)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(SYNC_THREADS) as executor:
        list(executor.map(sync_path, paths))


@contextmanager
def append_lines(target: Path, lines: str) -> Iterator[None]:
    """Append whole lines to a file. If that or the block fails, remove all of them again.

    Only call it while holding the lock.
    """
    make_folder(target.parent)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
    # Unbuffered, because closing a buffered file writes again what has just been removed.
    with open(os.open(target, flags, 0o666), "r+b", buffering=0) as file:
        size = file.seek(0, os.SEEK_END)
        data = lines.encode(**FILE_ENCODING)
        if size:
            # A writer that was killed can have left half a line.
            file.seek(size - 1)
            data = data if file.read(1) == b"\n" else b"\n" + data
        try:
            while data:
                data = data[file.write(data) :]
            os.fsync(file.fileno())
            yield
        except BaseException:
            with suppress(OSError):
                os.ftruncate(file.fileno(), size)
            raise


def remove_temporary_files(root: Path, changes: Sequence[Change]) -> None:
    """Delete what a killed command left next to its files. Only call it while holding the lock.

    Otherwise a person could commit the texts to git, and each killed import would leave hundreds.
    """
    for folder in {locate(root, change.path).parent for change in changes}:
        for temporary in folder.glob(f"{TEMPORARY_PREFIX}*"):
            with suppress(OSError):
                temporary.unlink()


def remove_temporary_file(workspace: Workspace, path: str) -> None:
    """Delete a temporary file that a killed writer left. Only call it while holding the lock."""
    target = locate(workspace.root, path)
    if target.name.startswith(TEMPORARY_PREFIX):
        target.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Create a folder and its parents, each one durable."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        sync_path(folder.parent)
