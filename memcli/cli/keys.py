"""Read one key of a person at a terminal, without waiting for a line to end."""

import os
import sys
from collections.abc import Callable

_ESCAPE = b"\x1b"


def read_key(prompt: Callable[[], None]) -> str:
    """Wait for a key; return its letter in lower case, empty at the end of input.

    `prompt` says what may be pressed, when the terminal is ready: a Ctrl-D that came before would be swallowed. Keys
    that are no letter, such as arrows, are a sign of no meaning. The terminal is left as it was, also by Ctrl-C.
    """
    try:
        import termios
        import tty
    except ImportError:  # no POSIX terminal: the first letter of a line
        prompt()
        return sys.stdin.readline().strip()[:1].lower()
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)  # what was typed ahead counts
        prompt()
        found = os.read(fd, 1)
        if found == _ESCAPE:
            _drain(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
    return found.decode("ascii", "replace").lower()


def _drain(fd: int) -> None:
    """Read the rest of what one key sends."""
    import select

    while select.select([fd], [], [], 0.01)[0] and os.read(fd, 1):
        pass
