"""Take the small steps that a promise about files is made of, each safe on disk when it returns.

Owns the sentences for what the system refuses, and the names of files that are being written: the name tells the
process that writes, and while one of that number runs, its file is only taken for dead after an hour. Nothing else is
ever removed. Knows no rule of when a file may change.
"""

import errno
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ..data import table
from ..errors import RefusedError
from ..formats.ids import blake2b
from .privacy import SESSIONS, folder_mode, narrowed

_NO_HARD_LINKS = (errno.EPERM, errno.EACCES, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)
_NO_FOLDER_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EBADF)
_MOST_WAITING = 200  # open files that wait to be synced; systems allow 256 and more
_SYNCS = 16  # at once: a journaling file system makes one commit of them
_batch = threading.local()
PREFIX = ".mem-tmp-"
_NAME = re.compile(rf"{re.escape(PREFIX)}(?:(?P<machine>[0-9a-f]{{8}})-(?P<process>\d{{1,10}})-)?[0-9a-f]{{16}}\Z")
_ABANDONED = 3600.0  # seconds after which no writer is still at it


class Watcher(Protocol):
    """Is told of each change of a file or folder once it is made; raises nothing of the user's world."""

    def entered(self, workspace: Any) -> None:
        """Take in a workspace that is worked in from now on."""

    def watches(self, path: Path) -> bool:
        """Return whether changes of a path matter to it."""

    def changed(self, path: Path, before: bytes | None, after: bytes | None, mode: int = 0) -> None:
        """Take in the bytes and the mode that a file had and the bytes it has; None where there is no file."""

    def appended(self, path: Path, size: int, data: bytes) -> None:
        """Take in the bytes put at the end of a file that was `size` bytes long."""

    def counted(self, workspace: Any, lines: str, *, is_added: bool) -> None:
        """Take in lines put to, or taken from, the confirmations that wait beside the files."""

    def moved(self, src: Path, dst: Path, then: Mapping[Path, bytes] | None = None) -> None:
        """Take in that a file or folder has another path; `then` is what files there said that were changed since."""

    def made(self, folder: Path) -> None:
        """Take in that there is a new folder."""

    def number(self, workspace: Any) -> int:
        """Return the number by which the command is taken back in a workspace; 0 where no file there changed."""

    def mark(self, workspace: Any) -> list[Any] | None:
        """Return what the command is known by, for one who may have to finish it."""

    def takes_back(self, number: int) -> None:
        """Take in that what is changed takes back a command that was noted."""

    def destroyed(self, contents: dict[Path, bytes]) -> None:
        """Take in that files were deleted for good, and forget them."""

    def forgotten(self, contents: dict[Path, bytes]) -> None:
        """Forget what is known of files that are gone for good, given by what stood in them."""

    def close(self) -> None:
        """Take in that the command ends."""


watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
"""Who is told of what this thread changes."""


@contextmanager
def naming(verb: str, path: Path) -> Iterator[None]:
    """Turn the system's refusal into a sentence that names the file; FileExistsError passes through."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise refusal(verb, path, error) from error


def refusal(verb: str, path: Path, error: OSError) -> RefusedError:
    """Say which file could not be read, written, moved or locked, and why."""
    reason = (error.strerror or str(error)).lower()
    return RefusedError(
        f"cannot {verb} {path}: {reason}",
        table("file_refusals.toml").get(errno.errorcode.get(error.errno or 0, ""), ""),
    )


def require_regular(path: Path, seen: os.stat_result) -> None:
    """Refuse what is no plain file: a pipe would hang, a device would answer for ever."""
    if stat.S_ISLNK(seen.st_mode):
        raise RefusedError(f"{path} is a symbolic link", "name the file it leads to")
    if stat.S_ISDIR(seen.st_mode):
        raise RefusedError(f"{path} is a folder", "name a file in it")
    if not stat.S_ISREG(seen.st_mode):
        raise RefusedError(f"{path} is not a regular file", "move it out of the workspace")


def require_writable(path: Path, seen: os.stat_result) -> None:
    """Refuse a file its owner made read-only: a rename would not ask."""
    require_regular(path, seen)
    if not seen.st_mode & 0o222:  # root is asked nothing either
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK))


def contents(path: Path, flags: int = 0) -> bytes:
    """Read a regular file to its end."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | flags)
    try:
        require_regular(path, os.fstat(fd))
        with open(fd, "rb", buffering=0, closefd=False) as file:
            return file.readall()
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write everything, going on after a short write."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(fd, remaining) :]


def write_temporary(folder: Path, data: bytes, like: os.stat_result | None = None, mode: int = 0o666) -> str:
    """Put the bytes on disk under a temporary name, with the mode and owner of another file if given.

    Else the mode is the one given, less what the user's umask takes away.
    """
    temporary = os.path.join(folder, temporary_name())
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, narrowed(mode, folder) if like is None else 0o600)
    try:
        write_all(fd, data)
        if like is not None:
            _keep_mode(fd, like)
        sync(fd)
    except BaseException:
        discard(temporary)
        raise
    finally:
        os.close(fd)
    return temporary


def publish(path: Path, data: bytes, like: os.stat_result | None = None, mode: int = 0o666) -> None:
    """Let a new file appear whole under a name that is free, else raise FileExistsError."""
    temporary = write_temporary(path.parent, data, like, mode)
    try:
        second_name(temporary, path)
    finally:
        discard(temporary)


def second_name(src: str | Path, dst: Path) -> None:
    """Add a second name that is free to a file; where there are no hard links, rename it."""
    try:
        os.link(src, dst)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        os.close(os.open(dst, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))  # reserves the name
        try:
            os.rename(src, dst)
        except BaseException:
            discard(dst)
            raise


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, each safe on disk; git is told to pass over conversations."""
    _make_folder(folder)
    for created in (folder, folder.parent):
        if created.name == SESSIONS:
            _hide(created)


def _hide(sessions: Path) -> None:
    """Write an ignore file into a new folder of sessions: the workspace's may be lost or replaced.

    One that holds more than a session was made otherwise, and may be tracked by git on purpose.
    """
    others = [name for name in os.listdir(sessions) if not is_temporary(name)]
    if len(others) <= 1 and ".gitignore" not in others and folder_mode(sessions) == 0o700:
        with suppress(FileExistsError):
            publish(sessions / ".gitignore", b"*\n")
            if watch := watcher.get():
                watch.changed(sessions / ".gitignore", None, b"*\n")


def _make_folder(folder: Path) -> None:
    try:
        os.mkdir(folder, folder_mode(folder))
    except FileExistsError:
        if not os.path.isdir(folder):
            # Not FileExistsError, which would tell the caller that the file's own name is taken.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
    except FileNotFoundError:
        make_folder(folder.parent)
        _make_folder(folder)
    else:
        sync_folder(folder.parent)
        if watch := watcher.get():
            watch.made(folder)


def sync_folder(folder: Path) -> None:
    """Make the folder's list of names safe on disk, where the file system can."""
    try:
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except PermissionError:
        return  # a folder that may be written but not listed cannot be synced
    try:
        sync(fd)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(fd)


def sync(fd: int) -> None:
    """Make an open file safe on disk: now, or with the others of `synced_together`."""
    waiting: dict[tuple[int, int], int] | None = getattr(_batch, "waiting", None)
    if waiting is None:
        os.fsync(fd)
        return
    seen = os.fstat(fd)
    if (seen.st_dev, seen.st_ino) not in waiting:
        waiting[seen.st_dev, seen.st_ino] = os.dup(fd)
    if len(waiting) >= _MOST_WAITING:
        _sync_all(waiting)


@contextmanager
def synced_together() -> Iterator[None]:
    """Let all that this thread writes meanwhile be safe on disk at the end, not each file when it is written.

    A power cut before the end may leave files of it empty: for what can be had from elsewhere again.
    """
    waiting: dict[tuple[int, int], int] = {}
    _batch.waiting = waiting
    try:
        yield
    finally:
        _batch.waiting = None
        _sync_all(waiting)


def _sync_all(waiting: dict[tuple[int, int], int]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(_SYNCS) as threads:
        faults = [fault for fault in threads.map(_synced, waiting.values()) if fault]
    waiting.clear()
    if faults:
        raise faults[0]


def _synced(fd: int) -> OSError | None:
    try:
        os.fsync(fd)
    except OSError as error:
        return None if error.errno in _NO_FOLDER_SYNC else error
    finally:
        os.close(fd)
    return None


def discard(path: str | Path) -> None:
    """Remove a file of ours if it can be; what stays is swept later."""
    with suppress(OSError):
        os.unlink(path)


def _keep_mode(fd: int, like: os.stat_result) -> None:
    """Set the mode and, where the system permits, the owner and group of an open file to those of another."""
    mode = stat.S_IMODE(like.st_mode)
    if not _keep_owner(fd, like):
        mode = mode & ~0o6070 | (mode & 0o007) << 3  # our group must not gain what theirs was allowed
    with suppress(PermissionError):  # a file system without modes
        os.fchmod(fd, mode)


def _keep_owner(fd: int, like: os.stat_result) -> bool:
    """Set the owner of an open file to that of another if permitted; return whether it has at least the group."""
    ours = os.fstat(fd)
    if (ours.st_uid, ours.st_gid) == (like.st_uid, like.st_gid):
        return True
    for uid in (like.st_uid, -1):
        with suppress(OSError):
            os.fchown(fd, uid, like.st_gid)
            return True
    return ours.st_gid == like.st_gid


def temporary_name() -> str:
    """Return a new name for a file to be written by this process."""
    return f"{PREFIX}{_machine()}-{os.getpid()}-{os.urandom(8).hex()}"


def is_temporary(name: str) -> bool:
    """Return whether a file name is one of ours that was never finished."""
    return name.startswith(PREFIX)


def is_abandoned(path: str | Path, now: float) -> bool:
    """Return whether a plain file of ours has no living writer.

    `now` is the machine's own clock, which stamped the files; one set for a replay would take living ones for dead.
    """
    match = _NAME.match(os.path.basename(path))
    if match is None or os.path.islink(path) or not os.path.isfile(path):
        return False
    with suppress(OSError):
        if now - os.lstat(path).st_mtime > _ABANDONED:
            return True
        return match["machine"] == _machine() and not is_running(int(match["process"]))
    return False


def remove_abandoned(path: str | Path, now: float) -> bool:
    """Remove a file of a dead writer; return whether it was one and is gone."""
    if is_abandoned(path, now):
        with suppress(OSError):  # another writer sweeps too
            os.unlink(path)
            return True
    return False


def sweep(folder: Path, now: float) -> int:
    """Remove the folder's temporary files of dead writers and count them."""
    try:
        with os.scandir(folder) as entries:
            paths = [entry.path for entry in entries if is_temporary(entry.name)]
    except OSError:
        return 0
    return sum(remove_abandoned(path, now) for path in paths)


@cache
def _machine() -> str:
    """Name where process numbers are this one's: a folder may be shared with other machines and with containers."""
    space = ""
    with suppress(OSError):  # not Linux
        space = os.readlink("/proc/self/ns/pid")
    return blake2b(f"{os.uname().nodename} {space}".encode(), digest_size=4).hexdigest()


def is_running(process: int) -> bool:
    """Return whether a process of this number runs on this machine, of whichever user."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user
        return True
    return True
