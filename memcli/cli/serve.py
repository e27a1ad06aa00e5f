"""`mem serve`: a process that has imported everything and forks for each command line it is asked to run.

It has one thread and opens no workspace: a fork starts as a process of its own would, minus the imports. Only a process
with the rights of this one is served, so that a sandboxed agent does nothing outside its sandbox.
"""

import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Annotated, NoReturn

import typer

from .. import warm
from ..api import maintain
from ..errors import NotFoundError, UnavailableError, UsageError
from . import output, warm_fork

MOST_FORKS = 64
_LOOK = 2.0  # seconds between two looks at whether it is still wanted
_PAUSE = 0.1  # seconds for which the request before has both processors, before the next fork rehearses


def serve(
    detach: Annotated[bool, typer.Option("--detach", help="Go on in the background.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End the warm process.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Say whether there is one; exit code 4 if not.")] = False,
    idle: Annotated[str, typer.Option(metavar="TIME", help="End after so long without a request.")] = "30m",
) -> None:
    """Keep a warm process, which answers commands that read in a fourth of the time.

    It runs `search`, `recall`, `read`, `ls`, `grep`, `stats`, `context` and the hooks of agents for this user on this
    machine, with the same output and exit code; what cannot reach it runs as without it. `mem mcp` has one as long as
    it lives. The environment MEM_WARM=off keeps a command, or an agent, away from it. On Linux only.
    """
    if stop or status:
        pid = _holder()
        if stop and pid:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if not pid:
            raise NotFoundError("there is no warm process", "`mem serve --detach` starts one")
        output.say_row(("stopped" if stop else "warm", pid))
        return
    seconds = seconds_in(idle)
    if warm.is_off():
        raise UnavailableError("there is no warm process here: MEM_WARM is off, or this is not Linux", "unset MEM_WARM")
    if warm_fork.rights(os.getpid()) is None:
        raise UnavailableError(
            "what this process may do cannot be compared with others", "start it outside of a sandbox"
        )
    lock = _lock()
    if lock is None:
        raise UsageError(f"a warm process is there already, {_holder()}", "`mem serve --stop` ends it")
    if detach and os.fork():
        output.leave()
    if detach:
        _leave_terminal()
    Listener(lock, seconds).listen()


def serve_beside() -> None:
    """Start a warm process that ends with this one, which must not have threads yet."""
    if warm.is_off() or warm_fork.rights(os.getpid()) is None:
        return
    parent, alive = os.pipe()  # who reads it notices the end of this process
    with suppress(OSError):
        if pid := os.fork():
            os.close(parent)
            os.waitpid(pid, 0)
            return
        try:
            if not os.fork():  # nobody's child, so that it leaves no zombie
                os.close(alive)
                _leave_terminal()
                lock = _lock()
                while lock is None and not select.select([parent], [], [], _LOOK)[0]:  # another one is there
                    lock = _lock()
                if lock is not None:
                    Listener(lock, float("inf"), parent).listen()
        finally:
            os._exit(0)


def seconds_in(text: str) -> float:
    """Return the seconds that a time such as `30m` means; raise UsageError for what is none."""
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    number, unit = text[:-1], text[-1:]
    if unit not in units or not number.isdecimal() or not int(number):
        raise UsageError(f"--idle is {text!r}", "write a time such as 90s, 30m or 8h")
    return float(int(number) * units[unit])


def _leave_terminal() -> None:
    """Go on in a session of our own, with none of the streams of who started us."""
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)
    os.chdir("/")


def _lock_path() -> Path:
    return Path(_folder(), f"{warm.socket_name()}.lock")


def _folder() -> str:
    """Return the folder for the socket, made if need be; raise UnavailableError where there is none that is private."""
    for folder in warm.folders():
        with suppress(OSError):
            os.makedirs(folder, 0o700, exist_ok=True)
        longest = len(os.fsencode(folder)) + 1 + len(warm.socket_name())
        if warm.is_private(folder) and longest <= warm.LONGEST_ADDRESS:
            return folder
    raise UnavailableError(
        "there is no private folder for a socket", "set XDG_RUNTIME_DIR or HOME to one of a short name"
    )


def _lock() -> int | None:
    """Return the lock that one warm process holds, with its number in it; None where another one has it."""
    lock = os.open(_lock_path(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    os.ftruncate(lock, 0)  # the number in it is of one that has ended
    return lock


def _holder() -> int:
    """Return the number of the warm process; 0 where there is none."""
    lock = _lock()
    if lock is not None:
        os.close(lock)
        return 0
    with suppress(OSError, ValueError):
        path = _lock_path()
        number = int(path.read_text(encoding="ascii"))
        if any(opened.samefile(path) for opened in Path(f"/proc/{number}/fd").iterdir() if opened.exists()):
            return number  # and not a process of that number in another container that shares the folder
    return 0


class Listener:
    """Keeps one fork that waits for a request; the kernel has made its pages its own before one comes."""

    def __init__(self, lock: int, idle: float, parent: int = -1) -> None:
        """Take the lock that is held, the seconds to wait for a request, and a pipe that ends with whom to end with."""
        self._lock, self._idle, self._parent = lock, idle, parent
        self._address = str(_lock_path().with_suffix(""))
        self._number = os.getpid()
        self._stage = f"{self._address}.{self._number}.stage"
        self._taken, self._take = os.pipe()  # the number of each fork that takes a request
        self._waiting = 0  # the number of the fork that waits for one
        self._begun = self._ended = 0
        self._files: list[str] = []
        self._stamp: list[tuple[int, int, int]] = []

    def listen(self) -> NoReturn:
        """Import everything, then serve until nobody needs it; the process ends."""
        os.pwrite(self._lock, str(self._number).encode(), 0)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        signal.signal(signal.SIGCHLD, self._reap)
        try:
            for left in Path(self._address).parent.glob("*.stage"):  # by one that was killed
                rmtree(left, ignore_errors=True)
            self._files = warm_fork.preload(self._stage)
            if len(os.sched_getaffinity(0)) > 1:
                self._fork_helper()
            with suppress(FileNotFoundError):
                os.unlink(self._address)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
                mask = os.umask(0o177)
                door.bind(self._address)
                os.umask(mask)
                self._files += [f"{self._address}.lock", self._address]
                self._stamp = _stamp(self._files)
                door.listen(128)
                self._serve(door)
        except (SystemExit, KeyboardInterrupt):
            pass
        finally:
            if os.getpid() == self._number:
                with suppress(OSError):
                    if _stamp([self._address]) == self._stamp[-1:]:  # another one may have taken its place
                        os.unlink(self._address)
                rmtree(self._stage, ignore_errors=True)
            os._exit(0)

    def _serve(self, door: socket.socket) -> None:
        asked = time.monotonic()
        while self._is_wanted(asked):
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})  # no fork ends before its number is known
            if not self._waiting and self._begun - self._ended < MOST_FORKS:
                self._waiting = self._fork(door)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
            if select.select([self._taken], [], [], _LOOK if self._waiting else 0.1)[0]:
                taken_by = struct.unpack("i", os.read(self._taken, 4))[0]
                asked = time.monotonic() if taken_by else asked
                if taken_by == self._waiting:
                    self._waiting = 0

    def _is_wanted(self, asked: float) -> bool:
        is_left = self._parent >= 0 and select.select([self._parent], [], [], 0)[0]
        return not is_left and time.monotonic() - asked < self._idle and self._is_whole()

    def _is_whole(self) -> bool:
        return bool(self._stamp) and _stamp(self._files) == self._stamp

    def _reap(self, *_: object) -> None:
        with suppress(ChildProcessError):
            while pid := os.waitpid(-1, os.WNOHANG)[0]:
                self._ended += 1
                if pid == self._waiting:  # it was killed, or had taken a request already
                    self._waiting = 0
                    os.write(self._take, struct.pack("i", 0))  # wakes who waits for a number

    def _fork_helper(self) -> None:
        """Fork a process that looks at the disk for all forks to come, and ends with the last of them."""
        helper, asked = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            number = os.fork()
        except OSError:  # no room for one: each fork looks for itself
            return
        if number:
            self._begun += 1
            asked.close()
            maintain.look_by(helper)
            return
        try:
            self._part()
            helper.close()
            maintain.help_others(asked)
        finally:
            os._exit(0)

    def _part(self) -> None:
        """Be a process of its own after a fork."""
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        os.setsid()  # a terminal stops who reads it in the background
        os.close(self._lock)

    def _fork(self, door: socket.socket) -> int:
        """Fork a process that takes one request, and return its number; 0 where there is no room for one."""
        try:
            if pid := os.fork():
                self._begun += 1
                return pid
        except OSError:
            return 0
        try:
            self._part()
            if not select.select([door], [], [], _PAUSE)[0]:
                warm_fork.rehearse(self._stage)
            while not select.select([door], [], [], _LOOK)[0]:
                if os.getppid() != self._number:
                    rmtree(self._stage, ignore_errors=True)  # what was rehearsed since the listener removed it
                    os._exit(0)
            connection = door.accept()[0]
            os.write(self._take, struct.pack("i", os.getpid()))
            door.close()
            if self._is_whole():
                warm_fork.answer(connection)
        finally:
            os._exit(70)


def _stamp(files: list[str]) -> list[tuple[int, int, int]]:
    """Return what tells files from those that took their place."""
    stamp = []
    for file in files:
        try:
            status = os.stat(file)
        except OSError:
            return []
        stamp.append((status.st_ino, status.st_mtime_ns, status.st_size))
    return stamp
