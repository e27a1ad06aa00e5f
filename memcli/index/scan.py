"""Look at what is on disk now: names and stats of a workspace's files, nothing of their content."""

import os
from dataclasses import dataclass, field
from pathlib import Path

from ..store.layout import ARCHIVE, Layout

Stat = tuple[int, int, int, int]
"""Modification and change time in nanoseconds, size in bytes, inode."""

_ENDINGS = (".md", ".jsonl")


@dataclass
class Listing:
    """The files found, and what could not be looked into."""

    stats: dict[str, Stat] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)  # path → reason
    unread: list[str] = field(default_factory=list)  # folders whose files are unknown this time


def scan(root: Path, layout: Layout) -> Listing:
    """List every file that may be a memory, following no symbolic link out of the workspace."""
    listing = Listing()
    for prefix in ("", ARCHIVE):
        for folder, deep in layout.roots:
            place = f"{prefix}{folder}"
            _walk(root, place + "/" if place and not place.endswith("/") else place, deep, listing, layout)
    return listing


def stat_of(status: os.stat_result) -> Stat:
    """Give the part of a stat that changes whenever the content does."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def _walk(root: Path, place: str, deep: bool, listing: Listing, layout: Layout) -> None:
    """Walk below a folder; an explicit stack, since a path may be deeper than Python's calls."""
    base = os.fspath(root)
    stats = listing.stats
    stack = [place]
    while stack:
        inside = stack.pop()
        try:
            found = os.scandir(f"{base}/{inside}")
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            listing.problems[inside] = f"cannot be looked into: {error.strerror}"
            listing.unread.append(inside)
            continue
        with found:
            for item in found:
                name = item.name
                if name[0] == ".":  # hidden, or a file being written
                    continue
                if item.is_dir(follow_symlinks=False):
                    if deep and f"{inside}{name}/" != ARCHIVE:  # which is walked by itself
                        stack.append(f"{inside}{name}/")
                elif name.endswith(_ENDINGS):
                    try:
                        status = item.stat(follow_symlinks=False)
                        path = f"{inside}{name}"
                        if item.is_symlink():
                            path, status = _linked(root, path)
                        stats[path] = stat_of(status)
                    except _Unfit as error:
                        if layout.kind_of(path):
                            listing.problems[path] = str(error)
                    except FileNotFoundError:
                        continue
                    except OSError as error:
                        listing.problems[path] = f"cannot be looked at: {error.strerror}"


class _Unfit(Exception):
    """A name that is not to be followed."""


def _linked(root: Path, path: str) -> tuple[str, os.stat_result]:
    try:
        real = (root / path).resolve(strict=True)
    except (OSError, RuntimeError):
        raise _Unfit("a symbolic link to nothing: mend or remove it") from None
    if not real.is_relative_to(root.resolve()):
        raise _Unfit("a symbolic link that leaves the workspace: not followed")
    if not real.is_file():
        raise _Unfit("a symbolic link to a folder: not followed")
    return path, real.stat()
