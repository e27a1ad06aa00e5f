"""Have a living `mem` of this user run a command line: it has imported everything, and holds the model open.

It forks for each request, and the fork runs the same code on the caller's own streams, folder and environment. Whoever
does not get through at once runs the command line in its own process, without a word.
"""

import os
import sys
import time
from collections.abc import Sequence

from . import __version__

READING = ("search", "recall", "read", "ls", "grep", "stats", "context")
"""Commands that a warm process runs, beside the hooks of an agent; what writes has a process of its own."""
_OFF = ("off", "false", "no", "0")
_CONNECT = 0.02  # seconds to be let in
_ONE_SHOT = 20
"""What a process of its own takes for a search, in the time that it took to get here: it waits no longer for a fork."""
_MOST = 0.1  # seconds of that time; a process that did other things before has used more
READY, GO = b"r", b"g"
LONGEST_ADDRESS = 107
"""Bytes that the name of a socket may have on Linux."""


def is_off() -> bool:
    """Return whether the user wants no warm process, or the system has none of the checks that it needs."""
    return os.environ.get("MEM_WARM", "").lower() in _OFF or sys.platform != "linux"


def folders() -> list[str]:
    """Return the folders in which a socket may lie, the best first: all are the user's own."""
    home = os.environ.get("HOME", "")
    cache = os.environ.get("XDG_CACHE_HOME", "") or (f"{home}/.cache" if home else "")
    bases = (os.environ.get("XDG_RUNTIME_DIR", ""), f"{cache}/mem" if cache else "")
    return [f"{base}/mem-warm" for base in bases if base.startswith("/")]


def is_private(folder: str) -> bool:
    """Return whether a folder is the user's own, and nobody else may look into it."""
    try:
        status = os.lstat(folder)
    except OSError:
        return False
    return status.st_uid == os.geteuid() and status.st_mode & 0o170077 == 0o040000


def socket_name() -> str:
    """Return the name of the socket of this version in this interpreter and installation: no other one has it."""
    from _blake2 import blake2b

    parts = (__version__, sys.version, sys.prefix, os.path.dirname(__file__), os.environ.get("PYTHONPATH", ""))
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def ask(arguments: Sequence[str]) -> int | None:
    """Run a command line in the warm process and return its exit code; None where none runs it: nothing was done."""
    if not arguments or not (arguments[0] in READING or arguments[:2] == ["hook", "run"]) or is_off():
        return None
    folder = next((folder for folder in folders() if is_private(folder)), "")
    address = f"{folder}/{socket_name()}"
    if not folder or len(os.fsencode(address)) > LONGEST_ADDRESS or not os.path.exists(address):
        return None
    import _socket  # `socket` adds names of constants to it, for the price of half an interpreter

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
    try:
        try:
            _enter(connection, address, arguments)
        except OSError:
            connection.close()
            return None
        code = connection.recv(1)
    except KeyboardInterrupt:
        connection.close()  # which ends the fork
        raise
    except OSError:
        code = b""
    if code:
        return code[0]
    if arguments[0] == "hook":  # an agent must not stop because its memory does
        return 0
    os.write(2, b"mem: the warm process was killed: run the command again\n")
    return 137


def _enter(connection: "_socket.socket", address: str, arguments: Sequence[str]) -> None:
    """Hand everything over that a process has, and let the fork begin; raise OSError where it does not."""
    import _socket
    import struct

    connection.settimeout(_CONNECT)
    connection.connect(address)
    pid, uid, _ = struct.unpack("3i", connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))
    if uid != os.geteuid() or _confinement(str(pid)) != _confinement("self"):
        raise PermissionError(address)
    words = [str(len(arguments)).encode(), *map(os.fsencode, arguments)]
    words += [b"%b=%b" % pair for pair in os.environb.items()]
    request = b"\0".join(words)
    connection.settimeout(_ONE_SHOT * min(time.process_time(), _MOST))
    connection.sendall(struct.pack("I", len(request)) + request)
    if connection.recv(1) != READY:
        raise ConnectionRefusedError(address)
    folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:  # not before: what lies unread in its socket would hold our pipes open
        rights = struct.pack("4i", 0, 1, 2, folder)
        connection.sendmsg([GO], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
    finally:
        os.close(folder)
    connection.settimeout(None)


def _confinement(pid: str) -> list[object]:
    """Return what keeps a process apart: who is in a sandbox gets nothing of who is not. Raise OSError if unknown."""
    names = [os.readlink(f"/proc/{pid}/ns/{name}") for name in ("user", "mnt", "pid", "net")]
    root = os.stat(f"/proc/{pid}/root")
    with open(f"/proc/{pid}/status", "rb") as file:
        lines = [line for line in file if line.startswith((b"NoNewPrivs", b"Seccomp"))]
    return [*names, root.st_dev, root.st_ino, *lines]


TYPE_CHECKING = False  # `typing` would cost more than all the rest
if TYPE_CHECKING:
    import _socket
