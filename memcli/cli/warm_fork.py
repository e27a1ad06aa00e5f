"""What a fork of the warm process does: it rehearses, looks at who asks, and runs the command line in their stead.

Only a process with the rights of this one is served, so that a sandboxed agent does nothing outside its sandbox.
"""

import ctypes
import fcntl
import gc
import io
import json
import os
import pkgutil
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from shutil import rmtree

from .. import warm
from ..api import maintain
from ..api.workspace import surroundings
from . import app, hook_run, output, run

MOST_BYTES = 8 << 20  # of a request; the kernel takes no more of a command line and its environment
_HANDSHAKE, _LONGEST = 5, 3600  # seconds for a request to arrive, and for a fork to live
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
_RIGHTS = (
    *("Uid", "Gid", "Groups", "Umask", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"),
    *("Seccomp", "Seccomp_filters", "TracerPid", "Cpus_allowed"),
)


def answer(connection: socket.socket) -> None:
    """Run what is asked for, as its process would, and end; return where it is not to be run."""
    signal.alarm(_HANDSHAKE)  # whoever sends nothing is not waited for
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    own = rights(os.getpid())
    if uid != os.geteuid() or own is None or rights(pid) != own:
        return
    arguments, environ = _request(connection)
    connection.sendall(warm.READY)
    go, streams, _, _ = socket.recv_fds(connection, 1, 4)
    if go != warm.GO or len(streams) != 4:
        return
    signal.alarm(_LONGEST)
    for number, stream in enumerate(streams[:3]):
        os.dup2(stream, number)
    os.fchdir(streams[3])
    for stream in streams:
        os.close(stream)
    _end_with(connection)
    _live_in(environ)
    time.tzset()
    sys.argv = ["mem", *arguments]
    sys.stdin = os.fdopen(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    hook_run.waiting, hook_run.behind = pid, partial(_beside, connection)
    output.ending = lambda code: _let_go(connection, code)
    try:
        run(arguments)
    except Exception:
        traceback.print_exc()
        output.leave(1)


_WORK: list[threading.Thread] = []
"""What goes on when nobody waits any more."""


def _beside(connection: socket.socket, work: Callable[[int], None], held: int) -> None:
    """Do work in a thread: the caller is another process, which ends when it has its answer, and this one goes on."""
    _outlive(connection)
    own = os.dup(held) if held >= 0 else -1

    def run() -> None:
        try:
            work(own)
        finally:
            if own >= 0:
                os.close(own)

    _WORK.append(threading.Thread(target=run, daemon=True))
    _WORK[-1].start()


def _let_go(connection: socket.socket, code: int) -> None:
    """Give the caller its exit code, and finish what nobody waits for."""
    _outlive(connection)
    with suppress(OSError):
        connection.send(bytes([code & 0xFF]))
    connection.close()
    if _WORK:
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)  # an agent reads until nobody holds its pipes any more
    for thread in _WORK:
        thread.join()


def _request(connection: socket.socket) -> tuple[list[str], dict[bytes, bytes]]:
    """Read the words of a command line and the environment; raise OSError if it breaks off or is too much."""
    size = struct.unpack("I", _read(connection, 4))[0]
    if size > MOST_BYTES:
        raise ConnectionAbortedError
    count, *words = _read(connection, size).split(b"\0")
    arguments, pairs = words[: int(count)], words[int(count) :]
    return list(map(os.fsdecode, arguments)), dict(pair.split(b"=", 1) for pair in pairs)


def _read(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise ConnectionAbortedError
        data += piece
    return bytes(data)


def _outlive(connection: socket.socket) -> None:
    """Go on when the other side goes away."""
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) & ~os.O_ASYNC)


def _end_with(connection: socket.socket) -> None:
    """Have the kernel end this process when the other side goes away: Ctrl-C there is Ctrl-C here."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(connection, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(connection, fcntl.F_SETFL, fcntl.fcntl(connection, fcntl.F_GETFL) | os.O_ASYNC)
    with suppress(BlockingIOError):
        if not connection.recv(1, socket.MSG_DONTWAIT):
            os._exit(70)


def rights(pid: int) -> tuple[object, ...] | None:
    """Return what a process may do: its namespaces, cgroup, limits, capabilities and what else confines it.

    None is equal to nothing, and given where that cannot be read, or was given up: what is behind it cannot be seen.
    """
    try:
        folder = Path(f"/proc/{pid}")
        names = (os.readlink(folder / "ns" / name) for name in _NAMESPACES if os.path.lexists(f"/proc/self/ns/{name}"))
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        if status["NoNewPrivs"].strip() != "0":
            raise PermissionError
        root = os.stat(folder / "root")
        files = [(folder / name).read_text() for name in ("cgroup", "limits")]
        with suppress(OSError):
            files.append((folder / "attr" / "current").read_text())
        return (*names, *(status.get(name) for name in _RIGHTS), root.st_dev, root.st_ino, *files)
    except (OSError, KeyError, ValueError):
        return None


_OF_OTHERS = ("memcli.__main__", "memcli.integrations.mcp_tools", "memcli.ui", "memcli.cli.ui")
"""Beginnings of the modules that no command which reads needs: they bring along an SDK and a web server, of 20 MB."""


def preload(stage: str) -> list[str]:
    """Import all that a command that reads may need, open the model, and return the files that this rests on.

    `stage` is a folder for a workspace in which all is tried once: patterns are compiled and tables read then.
    """
    import memcli

    around = surroundings("/", dict(os.environ))
    os.environ.clear()
    files = maintain.hold_model(around)  # first: it has the libraries start no threads
    _set_by_libraries.update(os.environ)
    for module in pkgutil.walk_packages(memcli.__path__, "memcli."):
        if not module.name.startswith(_OF_OTHERS):
            import_module(module.name)
    os.makedirs(stage, 0o700, exist_ok=True)
    _rehearsed(stage, _ALL)
    gc.collect()
    with suppress(AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)  # the index of the rehearsal took 60 MB, which each fork would have too
    gc.freeze()
    named = (getattr(module, "__file__", None) for name, module in [*sys.modules.items()] if name.startswith("memcli"))
    tables = (Path(memcli.__path__[0]) / "data").glob("*.*")
    return [*filter(None, named), *map(str, [*tables, *files])]


_QUESTION = "Which port did the staging service of Rita use last Friday?"
_AGAIN = (("search", _QUESTION), ("hook", "run", "claude-code"))
_ALL = (
    ("init",),
    ("write", "Rita's team deploys the staging service on port 8077 since last Friday.", "--no-dedup"),
    ("index",),
    *_AGAIN,
    ("recall", _QUESTION),
    ("ls",),
    ("grep", "port"),
    ("read", "MEMORY.md"),
    ("stats",),
    ("context",),
)


_HARMLESS = {
    b"MEM_RECALL_JUDGE": b"off",
    b"MEM_LLM_COMMAND": b"",
    b"MEM_LLM_MODEL": b"",
    b"GIT_CONFIG_GLOBAL": os.devnull.encode(),
    b"GIT_CONFIG_NOSYSTEM": b"1",
}
"""Runs and asks nothing, whatever somebody puts into the stage."""


def rehearse(stage: str) -> None:
    """Run what is asked most, so that a fork has made the pages its own that it will write to."""
    _rehearsed(stage, _AGAIN)


def _rehearsed(stage: str, commands: Iterable[Sequence[str]]) -> None:
    """Run commands in a workspace of our own, and leave the process as it was but for its environment."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    event = {"hook_event_name": "UserPromptSubmit", "session_id": "rehearsal", "cwd": stage, "prompt": _QUESTION}
    with open(os.devnull, "w", encoding="utf-8") as nothing:
        try:
            _live_in({b"HOME": os.fsencode(stage), b"PATH": os.defpath.encode(), **_HARMLESS})
            os.chdir(stage)
            sys.stdout = sys.stderr = nothing
            for words in commands:
                sys.stdin = io.TextIOWrapper(io.BytesIO(json.dumps(event).encode()))
                app.run(words)
            while threading.active_count() > 1:
                time.sleep(0.001)
        except OSError:  # somebody removed it: what comes first is slower
            pass
        finally:
            sys.stdin, sys.stdout, sys.stderr = streams
            os.chdir("/")
            rmtree(f"{stage}/memory/.mem/turns", ignore_errors=True)  # or it grows with each rehearsal


_set_by_libraries: dict[str, str] = {}


def _live_in(environ: Mapping[bytes, bytes]) -> None:
    """Take another environment, but for what libraries put into ours: OpenBLAS reads it again in a fork."""
    os.environ.clear()
    os.environ.update(_set_by_libraries)
    os.environb.update(environ)
