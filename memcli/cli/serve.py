"""Serve the memory: to commands (`serve`) and to the browser (`ui`).

`mem serve` answers the commands that read, one at a time. Its process has imported everything and
has the model open. It takes the arguments, the folder and the environment of the caller, and runs
the command as the caller would. It answers only a caller with the same rights, so nobody can use it
to read files that are closed to them.
"""

import ast
import fcntl
import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Option

from ..api import BusyError, Context, MemError, NotFoundError, UnavailableError, open_all
from ..context import build_context
from . import ask
from .main import load_command, run
from .terminal import Result, print_message

LIMIT_SECONDS = 0.2  # for a caller to send its request, and to take its answer
LOOK_SECONDS = 5.0  # between checks whether the process is still needed
# Events that start a process. After the model is loaded, a fork would lack its threads.
FORKING = ("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec")


class NotServedError(BaseException):
    """The caller has to run the command. Not an Exception, which commands may handle."""


def run_serve(
    context: Context,
    stop: Annotated[bool, "Stop the server."] = False,
    idle: Annotated[
        int, Option(min=0, help="Stop after this many minutes without a command; 0: never.")
    ] = 60,
) -> Result:
    """Answer search, grep, read, ls, recall, context and the hooks of agents faster.

    Commands use the server automatically, with the same result. Commands that write, and callers
    with other rights, such as a sandboxed agent, run without it. It uses about 150 MB.

    \b
    To start it with the computer, add this line to your crontab:
      @reboot mem serve --idle 0
    or save this as ~/.config/systemd/user/mem.service, and run
    systemctl --user enable mem
      [Service]
      ExecStart=%h/.local/bin/mem serve --idle 0
      [Install]
      WantedBy=default.target

    \b
    Examples:
      mem serve
      mem serve --idle 0
      mem serve --stop
    """
    address = Path(ask.find_address(context.environment))
    if stop:
        if ask.ask_server(str(address), ask.STOP, b"") is None:
            raise NotFoundError("no server answers", "start one: mem serve")
        return Result(lines=["Stopped the server"])
    try:
        address.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # In /tmp, another user may have created the folder, or a link with its name.
        if address.parent.is_symlink() or address.parent.stat().st_uid != os.geteuid():
            raise UnavailableError(f"{address.parent} is not a folder of yours", "remove it")
        address.parent.chmod(0o700)
        # The lock goes with its process, even after kill -9; a file with a process id would stay.
        lock = os.open(address.parent / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise BusyError("a server is running", "stop it: mem serve --stop") from None
    except OSError as error:
        raise UnavailableError(f"{address.parent}: {error.strerror}") from None
    server = Server(context, address, 60 * idle)
    print_message(context, "reading commands are faster until you stop this (Ctrl-C)")
    server.serve()
    return Result()


class Server:
    """The process that answers commands and hooks."""

    def __init__(self, context: Context, address: Path, idle: int) -> None:
        self.address = address
        self.idle = idle
        self.is_stopped = False
        # Records which memories were shown, once the agent has the answer.
        self.save: Callable[[], object] = bool
        self.rights = ask.read_rights(os.getpid())
        self.embedder = load_everything(context)
        # After an update of mem, answers of the old program would surprise.
        files = [m.__file__ for name, m in sys.modules.items() if name.startswith("memcli")]
        self.sources = {file: os.stat(file).st_mtime_ns for file in files if file}

    def serve(self) -> None:
        """Answer one caller after the other, until the server is stopped or idle for too long."""
        # Commands start programs in several places: git, an editor, a pager. This stops them all.
        sys.addaudithook(refuse_processes)
        # Otherwise systemd would end the process before it deletes its socket.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        self.address.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
            try:
                listener.bind(str(self.address))
                listener.listen()
                # The loop must wake up to notice an update or a long pause.
                listener.settimeout(LOOK_SECONDS)
                self.accept(listener)
            except (KeyboardInterrupt, SystemExit, FileNotFoundError):
                pass
            finally:
                self.address.unlink(missing_ok=True)

    def accept(self, listener: socket.socket) -> None:
        last = time.monotonic()
        while not self.is_stopped:
            connection = None
            with suppress(TimeoutError):
                connection = listener.accept()[0]
            # An update replaces the files of the program. FileNotFoundError: it was uninstalled.
            if any(os.stat(file).st_mtime_ns != time for file, time in self.sources.items()):
                return
            if connection is not None:
                # A caller that gave up or lied gets no answer, and the next one need not wait.
                with connection, suppress(OSError, ValueError):
                    connection.settimeout(LIMIT_SECONDS)
                    self.answer(connection)
                last = time.monotonic()
            elif 0 < self.idle < time.monotonic() - last:
                return

    def answer(self, connection: socket.socket) -> None:
        """Answer one caller. Raises OSError or ValueError if it must not get an answer."""
        request = self.admit(connection)
        self.save = bool
        with ExitStack() as cleanups:
            try:
                code, *texts = self.run(ast.literal_eval(request.decode()), cleanups)
            except (Exception, NotServedError):
                # The caller finds out whether it is a bug.
                code, texts = ask.DECLINED, ["", ""]
            errors, output = (text.encode("utf-8", "surrogateescape") for text in texts)
            connection.sendall(b"%8d%8d%8d" % (code, len(errors), len(output)) + errors + output)
            if connection.recv(1) == ask.FINISH:
                self.save()

    def admit(self, connection: socket.socket) -> bytes:
        """Return the request of a caller. Raises PermissionError if it has other rights."""
        # Only a process that may look into this one can read the random name. This keeps out
        # sandboxes made with Landlock, which /proc does not show.
        with open_secret_file() as secret:
            process = ask.get_peer(connection)
            if ask.read_rights(process) != self.rights:
                raise PermissionError(process)
            connection.sendall(bytes([secret]))
            size, request_size = int(ask.receive(connection, 8)), int(ask.receive(connection, 8))
            if max(size, request_size) > ask.MOST_BYTES:
                raise ValueError(request_size)
            if ask.receive(connection, size) != ask.read_name(os.getpid(), secret):
                raise PermissionError(process)
        return ask.receive(connection, request_size)

    def run(self, request: Any, cleanups: ExitStack) -> tuple[int, str, str]:
        """Run a command in the surroundings of its caller. Return its code, stderr and stdout."""
        identity, folder, umask, size, arguments, environment, data = request
        if identity != ask.IDENTITY:
            raise NotServedError
        os.chdir(folder)
        os.umask(umask)
        # Libraries read the home folder and the time zone from there.
        os.environ.clear()
        os.environ.update(environment)
        # The C library remembers the time zone of the caller before.
        time.tzset()
        stdin = io.TextIOWrapper(io.BytesIO(data), "utf-8", "surrogateescape")
        output, errors = io.StringIO(), io.StringIO()
        context = build_context(environment, (stdin, output, errors), size)
        context = context._replace(embedder=self.embedder)
        if arguments[0] in ask.READING:
            return run(context, arguments), errors.getvalue(), output.getvalue()
        if arguments[:2] == ["hook", "run"]:
            from ..agents.hooks import read_answer

            answer = read_answer(arguments[2], data, context._replace(cleanups=cleanups))
            if answer is not None:
                self.save = answer.save
                return 0, "", answer.text
        self.is_stopped = arguments == ask.STOP
        if not self.is_stopped:
            raise NotServedError
        return 0, "", ""


def load_everything(context: Context) -> Any:
    """Import what commands need, and open the model as a command does. None without a model."""
    for command in ask.READING:
        load_command(command)
    from ..agents.hooks import read_answer  # noqa: F401
    from ..index import open_embedder, prepare_model

    with suppress(MemError):  # each command reports it
        prepare_model(context.cache_folder)
        return open_embedder(context.cache_folder, is_bulk=False)


@contextmanager
def open_secret_file() -> Iterator[int]:
    """Open a file with a random name, and yield its descriptor."""
    secret = os.memfd_create(f"mem-{os.urandom(16).hex()}") if ask.HAS_PROC else os.dup(0)
    try:
        yield secret
    finally:
        os.close(secret)


def refuse_processes(event: str, _: Any) -> None:
    """Stop a command that wants to start a process: its caller has to run it."""
    if event in FORKING:
        raise NotServedError(event)


def run_ui(
    context: Context,
    port: Annotated[int, Option(min=0, max=65535, help="Listen on this port; 0 chooses one.")] = 0,
    browser: Annotated[
        bool, Option("--browser/--no-browser", help="Open the page in your browser.")
    ] = True,
) -> Result:
    """Show your memory as a web page, for this machine only.

    This command prints the address of the page, which is new each time. To stop the page, press
    Ctrl-C.

    \b
    Examples:
      mem ui
      mem ui --port 8765
    """
    import webbrowser

    from ..index import open_embedder
    from ..ui.server import PageServer

    # Without a workspace, this command fails and not the page.
    open_all(context)
    with suppress(MemError):  # if the model is missing, searches report it
        context = context._replace(embedder=open_embedder(context.cache_folder, is_bulk=False))
    server = PageServer(context, port)
    context.stdout.write(f"{server.url}\n")
    context.stdout.flush()
    print_message(context, "press Ctrl-C to stop the page")
    if browser and context.is_terminal and has_desktop(context):
        threading.Thread(target=webbrowser.open, args=(server.url_for_browser,)).start()
    with suppress(KeyboardInterrupt):
        server.serve_forever()
    server.server_close()
    return Result()


def has_desktop(context: Context) -> bool:
    """Return whether a browser can have a window. Otherwise Python starts one in the terminal."""
    names = ("DISPLAY", "WAYLAND_DISPLAY")
    return sys.platform == "darwin" or any(context.environment.get(name) for name in names)
