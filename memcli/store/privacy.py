"""Keep conversations, notes and derived data from others who use the machine.

Owns which folders of a workspace are made with mode 0700, and that what is made in such a folder is no more open than
the folder. A folder that exists keeps its mode, so `chmod` shares it on purpose; in a workspace whose folder has the
setgid bit, as shared folders have, new ones are as open as the umask lets them be.
"""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import NotFoundError, RefusedError, UsageError
from ..formats.ignore_patterns import ignored

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
    """Make the folder of derived data where it is missing, with those above it; `.mem` tells git to pass over it.

    Raise NotFoundError if the workspace that `.mem` belongs into is gone.
    """
    if not folder.parent.is_dir():
        if folder.name == ".mem":
            raise gone(folder.parent)
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


IGNORE = ".secretsignore"
_LARGEST = 1 << 20


def small_text(folder: Path, name: str = IGNORE) -> str:
    """Return the text of a small file of settings in a folder; empty if there is none, or it is large or unreadable."""
    try:
        file = folder / name
        return file.read_text("utf-8", "replace") if file.is_file() and file.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""


def shut_out(file: Path, names: tuple[str, ...] = (IGNORE,)) -> Path | None:
    """Return the ignore file that names a file, by its own path or by where a link leads; None where none does."""
    for path in dict.fromkeys((Path(os.path.abspath(file)), Path(os.path.realpath(file)))):
        for folder in _above(path):
            for name in names:
                patterns = small_text(folder, name)
                if patterns and ignored(patterns, path.relative_to(folder).as_posix()):
                    return folder / name
    return None


def require_open(file: Path, fix: str = "--allow-secret takes it all the same", name: str = "") -> None:
    """Raise RefusedError for a file that a `.secretsignore` names; `name` is how a person called it."""
    ignore = shut_out(file)
    if ignore is not None:
        raise RefusedError(f"{name or file} is named in {ignore}", fix)


def open_named(file: str | Path, *, allow_secret: bool = False, folder: Path = Path()) -> BinaryIO:
    """Open a file as a person named it from a folder.

    Raise RefusedError if a `.secretsignore` names it, UsageError if it cannot be read.
    """
    path = folder / Path(file).expanduser()
    if path.is_dir():
        raise UsageError(f"{file} is a folder", "name a file in it")
    if not allow_secret:
        require_open(path, name=str(Path(file).expanduser()))
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"cannot read {file}: {reason}", "check the name") from None


def _above(path: Path) -> Iterator[Path]:
    """Yield the folders whose ignore files count for a file."""
    for folder in path.parents:
        yield folder
        if (folder / ".git").exists():
            return


def kept_out(root: Path, paths: Iterable[str]) -> set[str]:
    """Return those paths of a folder of documents that a `.secretsignore` names, or a `.gitignore` in the folder."""
    root = root.resolve()
    upper = [(folder, small_text(folder)) for folder in _above(root / "any")][1:]
    upper = [(folder, patterns) for folder, patterns in upper if patterns]
    own: dict[Path, str] = {}
    found = set()
    for path in paths:
        file = root / path
        inner = [folder for folder in file.parents if folder == root or root in folder.parents]
        for folder in inner:
            if folder not in own:
                own[folder] = "\n".join(filter(None, (small_text(folder, name) for name in (".gitignore", IGNORE))))
        for folder, patterns in (*upper, *((folder, own[folder]) for folder in inner)):
            if patterns and ignored(patterns, file.relative_to(folder).as_posix()):
                found.add(path)
                break
    return found


_PRIVATE = (".git", ".mem")


def contained(root: Path, path: Path) -> Path:
    """Return the real path, links followed; raise RefusedError for one outside the root or inside `.git` or `.mem`.

    Raise NotFoundError if the root is gone: writing would make it anew, and reading find nothing in it.
    """
    name = os.fspath(path)
    _require_possible(name)
    try:
        base = os.path.realpath(root, strict=True)
    except (FileNotFoundError, NotADirectoryError):
        raise gone(root) from None
    real = _real(os.path.join(root, name))
    if real != base and not real.startswith(base.rstrip("/") + "/"):
        raise RefusedError(f"{name} leads outside the workspace {root}", "name a file inside it")
    for part in real[len(base) :].split("/"):
        if part.casefold() in _PRIVATE:
            raise RefusedError(f"{name} lies in {part}, which is not for memories", "choose another folder")
    return Path(real)


def gone(root: Path) -> NotFoundError:
    """Return what to raise for a workspace whose folder is not there."""
    return NotFoundError(f"there is no workspace {root}", "`mem init` makes one")


def _require_possible(name: str) -> None:
    """Refuse a name that no file system can hold."""
    try:
        possible = b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise RefusedError(f"{name!r} cannot be the name of a file", "choose another name")


def _real(path: str) -> str:
    """Follow every link of a path that may not exist yet."""
    try:
        return os.path.realpath(path, strict=True)
    except OSError:
        # Behind a link that leads to itself realpath resolves nothing: `loop/../out` may still be a link.
        loose = os.path.realpath(path)
        if os.path.realpath(loose) != loose:
            raise RefusedError(f"{path} goes through a link to itself", "remove that link") from None
        return loose
