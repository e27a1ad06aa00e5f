"""Look at what is on disk now: names and stats of a workspace's files, nothing of their content."""

import marshal
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..formats.ids import blake2b
from ..formats.ignore_patterns import ignored
from ..store.file_steps import is_abandoned, is_temporary
from ..store.layouts import DOCUMENTS, Layout
from ..store.privacy import IGNORE, kept_out, small_text

if TYPE_CHECKING:
    import socket

Stat = tuple[int, int, int, int]
"""Modification and change time in nanoseconds, size in bytes, inode."""


@dataclass
class FileListing:
    """The files found, and what could not be looked into."""

    stats: dict[str, Stat] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # path → reason
    unread: list[str] = field(default_factory=list)  # paths that could not be looked at: what begins so is unknown
    unfinished: list[str] = field(default_factory=list)  # paths of files being written, or that a killed writer left
    ignoring: list[str] = field(default_factory=list)  # folders that have a `.secretsignore`

    @property
    def hash(self) -> bytes:
        """Return what is the same where the disk is."""
        return blake2b(marshal.dumps((self.stats, self.problems, self.unread), 2), digest_size=16).digest()


def scan(root: Path, layout: Layout) -> FileListing:
    """List every file that may be a memory, following no symbolic link out of the workspace."""
    listing = FileListing()
    for prefix in ("", layout.archive):
        for folder, deep in layout.roots:
            top = f"{prefix}{folder}".rstrip("/")
            if top and _leaves(root, top):
                listing.problems[top] = "a symbolic link that leaves the workspace: not followed"
            else:
                _walk(root, f"{top}/" if top else "", deep, listing, layout)
    if layout is DOCUMENTS:  # which nobody brought in one by one
        for path in kept_out(root, listing.stats):
            del listing.stats[path]
    for folder in filter(None, listing.ignoring if layout.is_vault else ()):  # that of the top is in the layout
        patterns = small_text(root / folder, IGNORE)
        for path in [path for path in listing.stats if path.startswith(folder)]:
            if ignored(patterns, path.removeprefix(folder)):
                del listing.stats[path]
    return listing


helper: "socket.socket | None" = None
"""Leads to a process that scans for others, if there is one: while it does they go on as if nothing had changed."""
_LARGEST = 1 << 16  # bytes of a request


def help_others(requests: "socket.socket") -> None:
    """Scan for the processes that ask for it, until none is left that could."""
    import pickle
    import socket
    from select import select

    while (message := socket.recv_fds(requests, _LARGEST, 1))[0]:
        with socket.socket(fileno=message[1][0]) as answer, suppress(OSError):
            if not select([answer], [], [], 0)[0]:  # else whoever asked has gone
                answer.send(scan(*pickle.loads(message[0])).hash)


def ask_helper(root: Path, layout: Layout) -> "socket.socket | None":
    """Have the helper scan, and return where the listing's hash will come; None where nobody helps with that."""
    import pickle
    import socket

    if helper is None or layout is DOCUMENTS:  # which is known by its identity
        return None
    if len(request := pickle.dumps((Path.cwd() / root, layout))) > _LARGEST:
        return None
    answer, theirs = socket.socketpair()
    with theirs:
        try:
            socket.send_fds(helper, [request], [theirs.fileno()], socket.MSG_DONTWAIT)
        except OSError:
            answer.close()
            return None
    return answer


def abandoned(root: Path, listing: FileListing) -> list[str]:
    """Return the paths of a listing's unfinished files that no living process writes, sorted."""
    now = time.time()  # the machine's own clock, which stamped the files
    return sorted(path for path in listing.unfinished if is_abandoned(root / path, now))


def stat_of(status: os.stat_result) -> Stat:
    """Return the part of a stat that changes whenever the content does."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def shown(path: str) -> str:
    """Return a name as a text; bytes of it that are no UTF-8 come as lone surrogates, which SQLite cannot take."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _walk(root: Path, top: str, deep: bool, listing: FileListing, layout: Layout) -> None:
    """Walk below a folder; an explicit stack, since a path may be deeper than Python's calls."""
    base = os.fspath(root)
    stack = [top]
    while stack:
        inside = stack.pop()
        try:
            folder = os.open(f"{base}/{inside}", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:  # by its number, from which the stat of a file takes half as long as from its whole path
                stack += _folders(folder, root, inside, deep, listing, layout)
            finally:
                os.close(folder)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            listing.problems[inside] = f"cannot be looked into: {error.strerror}"
            listing.unread.append(inside)


def _folders(folder: int, root: Path, inside: str, deep: bool, listing: FileListing, layout: Layout) -> list[str]:
    """Note what is in an open folder, and return the paths of the folders in it that are to be walked."""
    with os.scandir(folder) as items:
        others = _take_files(items, inside, listing, layout.endings)
    folders = []
    for item in others:
        path = f"{inside}{item.name}"
        try:
            if item.is_dir(follow_symlinks=False):
                if deep and f"{path}/" != layout.archive:  # which is walked by itself
                    folders.append(f"{path}/")
            elif item.is_symlink():
                _look_behind(root, path, deep, listing, layout)
            elif path.endswith(layout.endings) and item.stat(follow_symlinks=False) and layout.kind_of(path):
                listing.problems[path] = "no regular file: move it out of the workspace"
        except FileNotFoundError:
            continue
        except OSError as error:
            listing.problems[path] = f"cannot be looked at: {error.strerror}"
            listing.unread.append(path)
    return folders


def _take_files(
    items: Iterable[os.DirEntry[str]], inside: str, listing: FileListing, endings: tuple[str, ...]
) -> list[os.DirEntry[str]]:
    """Note the files among the items of a folder, and return the others; with thousands of files each step is felt."""
    others = []
    for item in items:
        name = item.name
        if name[0] == ".":  # hidden
            if is_temporary(name):
                listing.unfinished.append(inside + name)
            elif name == IGNORE:
                listing.ignoring.append(inside)
            continue
        if name.endswith(endings):
            try:
                seen = item.stat(follow_symlinks=False)
            except OSError:
                others.append(item)
                continue
            if S_ISREG(seen.st_mode):
                listing.stats[inside + name] = (seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino)
                continue
        others.append(item)
    return others


def _look_behind(root: Path, path: str, deep: bool, listing: FileListing, layout: Layout) -> None:
    """List the file behind a link, unless it is listed anyway under its own name; folders are not followed."""
    kind = layout.kind_of(path) if path.endswith(layout.endings) else None
    try:
        real = (root / path).resolve(strict=True)
        status = real.stat()
    except (OSError, RuntimeError):
        if kind:
            listing.problems[path] = "a symbolic link to nothing: mend or remove it"
        return
    folder = S_ISDIR(status.st_mode)
    if not (deep if folder else kind):
        return
    inner = real.relative_to(root.resolve()).as_posix() if real.is_relative_to(root.resolve()) else None
    if inner is None:
        listing.problems[path] = "a symbolic link that leaves the workspace: not followed"
    elif folder:
        if layout.kind_of(f"{inner}/x.md".removeprefix("./")) is None:
            listing.problems[path] = "a symbolic link to a folder: not followed"
    elif not S_ISREG(status.st_mode):
        listing.problems[path] = "no regular file: move it out of the workspace"
    elif layout.kind_of(inner) != kind or layout.is_archived(inner) != layout.is_archived(path):
        listing.stats[path] = stat_of(status)


def _leaves(root: Path, folder: str) -> bool:
    """Return whether a folder lies, links followed, outside the workspace."""
    real = os.path.realpath(root / folder)
    base = os.path.realpath(root)
    return real != base and not real.startswith(base.rstrip("/") + "/")
