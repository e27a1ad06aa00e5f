"""Let one process at a time change a workspace.

Owns `.mem/lock` and the note beside it of who holds it. Refuses to trust a lock file that was deleted or
replaced while it was waited for or held: somebody else would lock another one.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import BusyError, NotFoundError, RefusedError
from . import file_steps
from .privacy import folder_mode, gone, hide, make_derived, narrowed, write_private
from .workspace import Workspace

if TYPE_CHECKING:
    from filelock import BaseFileLock


BRINGING = "bringing"
"""A file that is there while whoever holds the lock lets git bring files, with what they were and are to be."""

_TRIES = 5  # new lock files found after a wait before giving up
_POLL = 0.02  # seconds between two looks at a lock that another holds
_held_here: set[tuple[int, int, str]] = set()  # process, thread and folder


@dataclass(frozen=True)
class Held:
    """A lock that was had, and on which file."""

    path: Path
    identity: tuple[int, int]  # device and inode of the lock file
    mark: str = ""  # the change mark as it was when the lock was had

    def is_ours(self) -> bool:
        """Return whether the lock file is still the one that was locked."""
        with suppress(OSError):
            return _identity(os.stat(self.path, follow_symlinks=False)) == self.identity
        return False

    def has_seen(self, mark: str) -> bool:
        """Return whether no other command changed anything since this change mark was read.

        What a killed one left, and this lock finished, does not count: the same command again is to end as it would.
        """
        return bool(mark) and mark == self.mark

    def check(self) -> None:
        """Raise BusyError when somebody deleted the lock file: call this before each rename."""
        if not self.is_ours():
            raise BusyError(f"{self.path} was deleted while it was held", "run it again")


@contextmanager
def locked(mem_dir: Path, *, command: str, now: str, wait: float = 10.0) -> Iterator[Held]:
    """Hold the workspace's lock, waiting at most `wait` seconds; BusyError names who has it.

    `command` is what to call the holder, such as `mem consolidate`. Threads of one process exclude each other
    too; a thread that asks for what it holds is a bug and gets RuntimeError.
    """
    here = (os.getpid(), get_ident(), os.path.realpath(mem_dir))
    if is_held_here(mem_dir):
        raise RuntimeError(f"this thread already holds {mem_dir / 'lock'}: pass its Held on instead")
    lock, held = _acquire(mem_dir, wait)
    _held_here.add(here)
    try:
        _write_holder(mem_dir, command, now)
        yield held
    finally:
        _held_here.discard(here)
        if held.is_ours():
            file_steps.discard(_holder(mem_dir))
        lock.release()


def is_held_here(mem_dir: Path) -> bool:
    """Tell whether this thread holds the workspace's lock."""
    return (os.getpid(), get_ident(), os.path.realpath(mem_dir)) in _held_here


def _acquire(mem_dir: Path, wait: float) -> tuple["BaseFileLock", Held]:
    """Lock the file that bears the name now, not one that bore it when the wait began."""
    from filelock import FileLock, Timeout  # 70 ms: paid by commands that lock

    path = mem_dir / "lock"
    try:
        for _ in range(_TRIES):
            pin = _open(path)
            try:
                lock = FileLock(path)
                lock.acquire(timeout=wait, poll_interval=_POLL)
                # The pin keeps its inode number from a new file: the same before and after is the same file.
                held = Held(path, _identity(os.fstat(pin)))
                if held.is_ours():
                    return lock, held
                lock.release()
                if type(lock) is not FileLock:  # it made do with a file that a crash leaves behind
                    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
            finally:
                os.close(pin)
    except Timeout:
        raise BusyError(f"workspace is busy: {_read_holder(mem_dir)}", "try again") from None
    except OSError as error:
        raise file_steps.refusal("lock", mem_dir, error) from error
    except NotImplementedError as error:  # how older versions of filelock say ENOSYS
        raise file_steps.refusal("lock", mem_dir, OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))) from error
    raise BusyError(f"workspace is busy: {path} is deleted again and again", "try again")


def _open(path: Path) -> int:
    """Open the lock file, made with its folder if need be."""
    try:
        os.mkdir(path.parent, folder_mode(path.parent))
    except FileExistsError:
        pass
    except FileNotFoundError:
        raise gone(path.parent.parent) from None
    else:
        hide(path.parent)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, narrowed(0o666, path.parent))


def _identity(seen: os.stat_result) -> tuple[int, int]:
    return seen.st_dev, seen.st_ino


def _holder(mem_dir: Path) -> Path:
    return mem_dir / "lock.holder"


def _write_holder(mem_dir: Path, command: str, now: str) -> None:
    """Note who holds the lock; it serves a message only, so a full disk does not matter."""
    lines = (" ".join(command.split()), str(os.getpid()), os.uname().nodename, now)
    with suppress(OSError):
        write_private(_holder(mem_dir), "\n".join(lines))


def _read_holder(mem_dir: Path) -> str:
    """Return who holds the lock, as far as the note tells."""
    try:
        command, pid, host, since = _holder(mem_dir).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return "another process holds its lock"
    return f"{command} (pid {pid} on {host}) since {since}"


PATIENCE = 2.0  # seconds to wait while no earlier command finishes; after that this one goes on beside them
ROUNDS = 30  # times that the wait begins anew, because a command finished
_CHANGE_MARK = "turn"
_QUEUE = "looking"  # a folder below the derived data, with a lock of its own; "queue" is that of consolidation


@contextmanager
def alone(workspace: Workspace, name: str, command: str, wait: float = 0.0) -> Iterator[None]:
    """Hold a lock of its own below the derived data, for which no writer waits; BusyError after `wait` seconds."""
    with file_steps.naming("write", workspace.derived):
        make_derived(workspace.derived)
    with locked(workspace.derived / name, command=command, now=workspace.stamp, wait=wait):
        yield


@contextmanager
def queued(workspace: Workspace, command: str, wait: float) -> Iterator[None]:
    """Take a turn among those who think for long; BusyError after `wait` seconds."""
    with alone(workspace, "queue", command, wait):
        yield


@contextmanager
def one_by_one(workspace: Workspace, command: str) -> Iterator[None]:
    """Wait for earlier commands as long as they finish; take the workspace's lock inside, never around it."""
    with ExitStack() as stack:
        with suppress(OSError):
            make_derived(workspace.derived)
        # Where no folder can be made the workspace's own lock says why.
        with suppress(NotFoundError, RefusedError):
            for _ in range(ROUNDS):
                mark = change_mark(workspace)
                now = workspace.stamp
                try:
                    stack.enter_context(locked(workspace.derived / _QUEUE, command=command, now=now, wait=PATIENCE))
                except BusyError:
                    if change_mark(workspace) != mark:
                        continue
                break
        yield


def change_mark(workspace: Workspace) -> str:
    """Return a text that is another one after each change of memory; empty where it cannot be read."""
    try:
        return (workspace.derived / _CHANGE_MARK).read_text(encoding="ascii")
    except FileNotFoundError:
        return "never changed"
    except (OSError, UnicodeDecodeError):
        return ""


@contextmanager
def changing(workspace: Workspace) -> Iterator[str]:
    """Move the change mark before and after changes of memory, also where they fail; yield the mark of before."""
    path = workspace.derived / _CHANGE_MARK
    mark = change_mark(workspace)
    with suppress(OSError):
        write_private(path, os.urandom(8).hex())
    try:
        yield mark
    finally:
        with suppress(OSError):
            write_private(path, os.urandom(8).hex())
