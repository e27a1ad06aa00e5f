"""Ask `mem serve` to answer a command that only reads.

This runs before anything else is imported, so it imports nothing that takes time. Every problem
has the same result: None, and the command runs as if there were no server.

The server sends the number of one of its descriptors. The client looks up the name behind it and
sends it with the command. A process that may not look into the server cannot know that name.
"""

import os
import sys
import time
from collections.abc import Mapping, Sequence

TYPE_CHECKING = False  # `typing` takes 5 ms to import
if TYPE_CHECKING:
    from _socket import socket

STOP = ["serve", "--stop"]
# Other commands write, ask questions or start programs: the server must not do that for a caller.
READING = ("search", "grep", "read", "ls", "recall", "context")
# A server that is busy with another caller is slower than a process of our own.
ADMISSION = 0.05  # seconds until the server takes the command
PATIENCE = 3.0  # seconds until it has answered: no reading command embeds texts for longer than 2
DECLINED = 255  # in place of an exit code
FINISH = b"f"  # confirms the answer
MOST_BYTES = 1 << 20  # of a request
LONGEST_ADDRESS = 100  # bytes of a socket's path: Linux accepts 107, macOS 103
HAS_PROC = sys.platform == "linux"
IDENTITY = f"{__file__} {sys.version}"  # of this installation of mem
# These namespaces separate a sandbox from the processes outside it.
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts")
RIGHTS = (b"Uid", b"Gid", b"Groups", b"Cap", b"NoNewPrivs", b"Seccomp")  # starts of lines


def answer_from_server(arguments: Sequence[str]) -> int | None:
    """Print the server's answer to a command and return its exit code. None without an answer."""
    command = arguments[0] if arguments else ""
    address = find_address(os.environ)
    # Most machines have no server, so they pay for one look-up of a path.
    if command not in READING or not os.path.exists(address):
        return None
    # The record of a session must not say that a text was shown if its answer is lost.
    if any(word.startswith("--session") for word in arguments):
        return None
    data = sys.stdin.buffer.read() if command == "recall" and "-" in arguments else b""
    answer = ask_server(address, arguments, data)
    # The command reads its input itself, and the pipe is empty by now.
    if answer is None and data:
        import io

        sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    return None if answer is None else print_answer(*answer)


def find_address(environment: Mapping[str, str]) -> str:
    """Return the path of the socket. It is in a folder that only the user can open."""
    state, home = environment.get("XDG_STATE_HOME", ""), environment.get("HOME", "")
    base = state if state.startswith("/") else f"{home}/.local/state"
    address = f"{base}/mem/serve/socket"
    # The kernel refuses a longer address, and a home folder may be deep.
    if len(os.fsencode(address)) > LONGEST_ADDRESS:
        from zlib import crc32

        return f"/tmp/mem-{os.geteuid()}-{crc32(os.fsencode(base)):08x}/socket"
    return address


def ask_server(
    address: str, arguments: Sequence[str], data: bytes
) -> tuple[int, bytes, bytes] | None:
    """Return the exit code, stderr and stdout of a command, or None if it has to run here."""
    import _socket  # `socket` takes 5 ms to import

    try:
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            # Below 3, it would have the number of a stream that is closed.
            if connection.fileno() < 3:
                return None
            connection.settimeout(ADMISSION)
            connection.connect(address)
            return exchange_messages(connection, build_request(arguments, data))
        finally:
            connection.close()
    except (OSError, ValueError):
        return None


def build_request(arguments: Sequence[str], data: bytes) -> bytes:
    """Return the surroundings of a command, its arguments and its input, as Python literals."""
    # The only way to read the umask is to change it.
    umask = os.umask(0o77)
    os.umask(umask)
    size = tuple(os.get_terminal_size(1)) if os.isatty(1) else None
    environment = dict(os.environ)
    request = (IDENTITY, os.getcwd(), umask, size, list(arguments), environment, data)
    # `json` takes 5 ms to import, and `pickle` would run code of the other side.
    return ascii(request).encode()


def exchange_messages(connection: "socket", request: bytes) -> tuple[int, bytes, bytes] | None:
    """Send a request and return the answer. Raises OSError or ValueError if anything fails."""
    server = get_peer(connection)
    name = read_name(server, receive(connection, 1)[0])
    # A sandboxed agent must not answer for the server either.
    if read_rights(server) != read_rights(os.getpid()):
        raise PermissionError(server)
    connection.sendall(b"%8d%8d" % (len(name), len(request)) + name + request)
    # Admitted. From now on only the command itself takes time.
    connection.settimeout(PATIENCE)
    head = receive(connection, 24)
    code, errors, length = (int(head[start : start + 8]) for start in (0, 8, 16))
    # Only a process of its own may do what the command needs, such as starting git.
    if code == DECLINED:
        return None
    text = receive(connection, errors + length)
    connection.sendall(FINISH)
    connection.recv(1)  # until the server has recorded which memories were shown
    return code, text[:errors], text[errors:]


def receive(connection: "socket", size: int) -> bytes:
    """Receive exactly `size` bytes."""
    data = bytearray()
    # A timeout counts from the last byte, so a slow sender could hold us for hours.
    deadline = time.monotonic() + PATIENCE
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part or time.monotonic() > deadline:
            raise ConnectionAbortedError
        data += part
    return bytes(data)


def get_peer(connection: "socket") -> int:
    """Return the process at the other end. Raises PermissionError if it is another user's."""
    import _socket

    if HAS_PROC:
        peer = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:
        # macOS: LOCAL_PEERCRED, a version and the user.
        peer = connection.getsockopt(0, 1, 8)
    process, user = (int.from_bytes(peer[start : start + 4], sys.byteorder) for start in (0, 4))
    if user != os.geteuid():
        raise PermissionError(user)
    return process


def read_name(process: int, descriptor: int) -> bytes:
    """Return the name of the file behind a descriptor of the server."""
    return os.readlink(b"/proc/%d/fd/%d" % (process, descriptor)) if HAS_PROC else b""


def read_rights(process: int) -> list[object]:
    """Return the rights and namespaces of a process. macOS shows none of them."""
    rights: list[object] = []
    if not HAS_PROC:
        return rights
    folder = f"/proc/{process}"
    for name in NAMESPACES:
        try:
            rights.append(os.readlink(f"{folder}/ns/{name}"))
        except FileNotFoundError:
            pass  # an older Linux
    # A process in a chroot sees other files behind the same paths.
    root = os.stat(f"{folder}/root")
    with open(f"{folder}/status", "rb") as file:
        rights += [root.st_dev, root.st_ino, *(line for line in file if line.startswith(RIGHTS))]
    try:
        with open(f"{folder}/attr/current", "rb") as file:
            rights.append(file.read())
    except OSError:
        pass  # without AppArmor and SELinux
    return rights


def print_answer(code: int, error_output: bytes, output: bytes) -> int:
    """Print an answer as the command itself would."""
    try:
        for descriptor, text in ((2, error_output), (1, output)):
            while text:
                text = text[os.write(descriptor, text) :]
    except BrokenPipeError:
        return 141  # like a program that SIGPIPE stopped
    except OSError as error:
        os.write(2, f"mem: done, but cannot write the output: {error.strerror}\n".encode())
        return 3
    return code
