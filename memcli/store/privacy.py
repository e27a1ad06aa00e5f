"""Keep conversations, notes and derived data from others who use the machine.

Owns which folders of a workspace are made with mode 0700, and that what is made in such a folder is no more open than
the folder. A folder that exists keeps its mode, so `chmod` shares it on purpose; in a workspace whose folder has the
setgid bit, as shared folders have, new ones are as open as the umask lets them be.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

PRIVATE = frozenset(("sessions", "notes", ".mem"))
SESSIONS = "sessions"
_MARKER = "mem.yaml"


def folder_mode(folder: Path) -> int:
    """Return the mode a new folder is made with, before the umask."""
    is_away = folder.parent.name == "archive" and folder.name == SESSIONS
    places = list(folder.parents)[1:3] if is_away else [folder.parent]
    above = next((one for one in places if (one / _MARKER).exists()), None)
    if folder.name in PRIVATE and above is not None:
        return 0o777 if _mode(above) & stat.S_ISGID else 0o700
    return narrowed(0o777, folder.parent)


def narrowed(mode: int, folder: Path) -> int:
    """Return the mode of something new in a folder: below a private one, no more open than the folder."""
    if PRIVATE.isdisjoint(folder.parts):
        return mode
    seen = _mode(folder)
    return mode & ~(0 if seen & 0o010 else 0o070) & ~(0 if seen & 0o001 else 0o007)


def opener(path: str, flags: int) -> int:
    """Open a file of derived data for `open(…, opener=opener)`: a new one is no more open than its folder."""
    return os.open(path, flags | os.O_CLOEXEC, narrowed(0o666, Path(path).parent))


def write_private(path: Path, text: str) -> None:
    """Write a file of derived data, no more open than its folder."""
    with open(path, "w", encoding="utf-8", errors="replace", opener=opener) as file:
        file.write(text)


def hide(folder: Path) -> None:
    """Tell git to pass over a folder of derived data that was just made; those below it need no file of their own."""
    if folder.name == ".mem":
        with suppress(OSError):
            write_private(folder / ".gitignore", "*\n")


def make_derived(folder: Path) -> None:
    """Make the folder of derived data where it is missing, with those above it; `.mem` tells git to pass over it."""
    if not folder.parent.is_dir():
        make_derived(folder.parent)
    try:
        os.mkdir(folder, folder_mode(folder))
    except FileExistsError:
        return
    hide(folder)


def _mode(folder: Path) -> int:
    try:
        return os.stat(folder).st_mode
    except OSError:
        return 0o777
