"""A command of mem in a real terminal, where a test reads what is shown and presses keys."""

import errno
import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path
from types import TracebackType
from typing import Self


def _take_terminal() -> None:
    """Let Ctrl-C reach the command, also where the tests run in the background of a shell, which ignores it."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """One command in a terminal of its own, until the block ends; `shown` is everything it showed."""

    def __init__(self, folder: Path, *arguments: str, **environ: str) -> None:
        self.shown = ""
        self._read = 0
        master, slave = pty.openpty()
        self._master = master
        self._process = subprocess.Popen(
            [sys.executable, "-m", "memcli", *arguments],
            cwd=folder,
            env={**os.environ, "COLUMNS": "100", "TERM": "xterm", **environ},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(slave)

    def until(self, text: str, seconds: float = 120.0) -> str:
        """Wait until a text is shown after all that was read before; give what came up to it."""
        end = time.monotonic() + seconds
        while text not in self.shown[self._read :]:
            assert self._more(end), f"{text!r} did not come:\n{self.shown[self._read :]}"
        start = self._read
        self._read = self.shown.index(text, start) + len(text)
        return self.shown[start : self._read]

    def press(self, keys: str) -> None:
        """Type what a person would; Ctrl-C is \\x03."""
        os.write(self._master, keys.encode())

    def end(self, seconds: float = 120.0) -> int:
        """Wait for the end of the command; give its exit code."""
        end = time.monotonic() + seconds
        while self._more(end):
            pass
        return self._process.wait(max(0.1, end - time.monotonic()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def _more(self, end: float) -> bool:
        """Take in what is shown; False at the end of the command or of the time."""
        if not select.select([self._master], [], [], max(0.0, end - time.monotonic()))[0]:
            return False
        try:
            piece = os.read(self._master, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # the other end is closed
                return False
            raise
        self.shown += piece.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(piece)
