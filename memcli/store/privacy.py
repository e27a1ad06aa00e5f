"""Keep conversations, notes and derived data from others who use the machine, and secret files out of memory.

Owns which folders of a workspace are made with mode 0700, and that what is made in such a folder is no more open than
the folder. A folder that exists keeps its mode, so `chmod` shares it on purpose; in a workspace whose folder has the
setgid bit, as shared folders have, new ones are as open as the umask lets them be.

A file is shut out of memory by a `.secretsignore`, which counts for what lies below its folder, up to the top of the
repository; by a `.gitignore` as git takes it, without a repository below the folder where a conversation takes place;
and by its name `.env*`. It is known by its own path and by where links lead, one that is gone by its name alone.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import NotFoundError, RefusedError, UsageError
from ..formats.ignore_patterns import matches

PRIVATE = frozenset(("sessions", "notes", ".mem"))
SESSIONS = "sessions"
_MARKER = "mem.yaml"


def folder_mode(folder: Path) -> int:
    """Return the mode a new folder is made with, before the umask."""
    is_away = folder.parent.name == "archive" and folder.name == SESSIONS
    places = list(folder.parents)[1:3] if is_away else [folder.parent]
    above = next((parent for parent in places if (parent / _MARKER).exists()), None)
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


_LARGEST = 1 << 20


def small_text(folder: Path, name: str) -> str:
    """Return the text of a small file of settings in a folder; empty if there is none, or it is large or unreadable."""
    try:
        file = folder / name
        return file.read_text("utf-8", "replace") if file.is_file() and file.stat().st_size <= _LARGEST else ""
    except OSError:
        return ""


IGNORE, GIT_IGNORE, ENV = ".secretsignore", ".gitignore", ".env*"
EVERY = (IGNORE, GIT_IGNORE, ENV)
"""What shuts files out: two kinds of file with patterns, and a pattern that always holds."""
OUTSIDE_GIT = (IGNORE, ENV)
"""What shuts out a file that a person brings in by name: what git passes over may well be meant for memory."""
_ANY_CHILD = "\ue000"  # a name that no pattern spells out

Patterns = tuple[str, str, str]
"""A folder, the name of its ignore file, and what that says."""


class ExcludedFiles:
    """The files that are shut out, as the ignore files were when first looked at."""

    def __init__(self, *folders: Path, only_below: bool = False) -> None:
        """Begin with the folders that relative paths are taken from; `only_below` passes over a `.gitignore` above."""
        self.folders = tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders))
        self._only_below = only_below
        self._chains: dict[str, tuple[tuple[Patterns, ...], bool]] = {}
        self._answers: dict[tuple[str, tuple[str, ...]], str] = {}  # by path as it is given
        self._reasons: dict[tuple[str, tuple[str, ...]], str] = {}  # by absolute path
        self._links: dict[str, str] = {}

    def reason(self, path: str, kinds: tuple[str, ...] = EVERY, folders: Sequence[str] = ()) -> str:
        """Return what shuts a path out, an ignore file or `.env*`; empty for a path that is not shut out.

        A relative path is taken from each of the object's folders, and of `folders`.
        """
        if (path, kinds) not in self._answers:  # tools are given the same words again and again
            self._answers[path, kinds] = self._reason_from(self.folders, path, kinds)
        return self._answers[path, kinds] or (self._reason_from(folders, path, kinds) if folders else "")

    def _reason_from(self, folders: Sequence[str], path: str, kinds: tuple[str, ...]) -> str:
        if path.startswith("~"):
            path = os.path.expanduser(path)
        if not _is_possible(path):
            return ""
        for folder in folders:
            plain = os.path.normpath(os.path.join(folder, path))
            plain = plain[1:] if plain.startswith("//") else plain  # two slashes are kept, and lead nowhere up
            for candidate in dict.fromkeys((plain, self._real(plain))):
                if reason := self._reason(candidate, kinds) or self._reason_within(candidate, kinds):
                    return reason
        return ""

    def _real(self, path: str) -> str:
        """Follow the links of a path; those of its folder are followed once for all that lies there."""
        folder, _, name = path.rpartition("/")
        if folder not in self._links:
            self._links[folder] = os.path.realpath(folder or "/")
        real = os.path.join(self._links[folder], name)
        return os.path.realpath(real) if os.path.islink(real) else real

    def _reason_within(self, path: str, kinds: tuple[str, ...]) -> str:
        """Return what shuts out all that lies in a folder, such as the pattern `secrets/*`."""
        is_above = any(f"{folder}/".startswith(f"{path}/") for folder in self.folders)
        return "" if is_above or not os.path.isdir(path) else self._reason(f"{path}/{_ANY_CHILD}", kinds)

    def _reason(self, path: str, kinds: tuple[str, ...]) -> str:
        """Return what shuts out an absolute path, or a folder it lies in."""
        pending = []
        while path and (path, kinds) not in self._reasons:
            pending.append(path)
            path = path.rpartition("/")[0]
        reason = self._reasons[path, kinds] if path else ""
        for path in reversed(pending):
            reason = reason or self._own_reason(*path.rpartition("/")[::2], kinds)
            self._reasons[path, kinds] = reason
        return reason

    def _own_reason(self, folder: str, name: str, kinds: tuple[str, ...]) -> str:
        if ENV in kinds and name.startswith(".env"):
            return ENV
        chain, in_repository = self._chain(folder or "/")
        for parent, kind, patterns in chain:
            if kind not in kinds or (kind == GIT_IGNORE and not (in_repository or self._is_inside(parent))):
                continue
            # What is no file any more may have been a folder.
            if matches(patterns, f"{folder}/{name}"[len(parent.rstrip("/")) + 1 :], is_folder=True):
                return os.path.join(parent, kind)
        return ""

    def _is_inside(self, parent: str) -> bool:
        return any(f"{parent}/".startswith(f"{folder}/") for folder in self.folders)

    def _chain(self, folder: str) -> tuple[tuple[Patterns, ...], bool]:
        """Return the patterns that count in a folder, its own first, and whether it lies in a repository."""
        if folder not in self._chains:
            there = Path(folder)
            own = tuple((folder, kind, text) for kind in (IGNORE, GIT_IGNORE) if (text := small_text(there, kind)))
            if folder == "/" or os.path.exists(there / ".git"):
                self._chains[folder] = own, folder != "/" and not self._only_below
            else:
                above, in_repository = self._chain(os.path.dirname(folder))
                self._chains[folder] = (*own, *above), in_repository
        return self._chains[folder]


def _is_possible(path: str) -> bool:
    """Return whether a file system can hold a name."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def shut_out(file: Path, kinds: tuple[str, ...] = OUTSIDE_GIT, folder: Path = Path()) -> str:
    """Return what shuts a file out, an ignore file or `.env*`; empty for a file that is not shut out.

    Outside a repository a `.gitignore` counts from `folder` on.
    """
    return ExcludedFiles(folder).reason(os.path.abspath(file), kinds)


def require_open(
    file: Path,
    fix: str = "--allow-secret takes it all the same",
    name: str = "",
    kinds: tuple[str, ...] = OUTSIDE_GIT,
    folder: Path = Path(),
) -> None:
    """Raise RefusedError for a file that is shut out as by `shut_out`; `name` is how a person called it."""
    if reason := shut_out(file, kinds, folder):
        raise RefusedError(f"{name or file} is shut out of memory by {reason}", fix)


def open_named(
    file: str | Path, *, allow_secret: bool = False, folder: Path = Path(), kinds: tuple[str, ...] = OUTSIDE_GIT
) -> BinaryIO:
    """Open a file as a person named it from a folder.

    Raise RefusedError if it is shut out and not `allow_secret`, UsageError if it cannot be read.
    """
    path = folder / Path(file).expanduser()
    if path.is_dir():
        raise UsageError(f"{file} is a folder", "name a file in it")
    if not allow_secret:
        require_open(path, name=str(Path(file).expanduser()), kinds=kinds, folder=folder)
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UsageError(f"cannot read {file}: {reason}", "check the name") from None


def kept_out(root: Path, paths: Iterable[str]) -> set[str]:
    """Return those paths of a folder of documents that are shut out; of `.gitignore` only those in the folder count."""
    files = ExcludedFiles(root, only_below=True)
    return {path for path in paths if files.reason(os.path.join(files.folders[0], path))}


_PRIVATE = (".git", ".mem")


def contained(root: Path, path: Path) -> Path:
    """Return the real path, links followed; raise RefusedError for one outside the root or inside `.git` or `.mem`.

    Raise NotFoundError if the root is gone: writing would make it anew, and reading find nothing in it.
    """
    name = os.fspath(path)
    if not _is_possible(name):
        raise RefusedError(f"{name!r} cannot be the name of a file", "choose another name")
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
