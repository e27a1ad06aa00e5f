"""The files of a folder or archive, with bounds on what a hostile one may cost.

Nothing is unpacked to disk, so no path can lead out of a folder.
"""

import os
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from ..formats import format_time, read_file_time
from .items import HEAD, BadItem, Item, ReadAgain, Source

LARGEST_FILE = 32 * 1024 * 1024  # bytes of a note
LARGEST_ARCHIVE = 4 * 1024 * 1024 * 1024  # bytes of all files in an archive
LARGEST_RATIO = 200  # unpacked bytes for each packed one; real texts reach 30
SMALL = 1024 * 1024  # bytes that are unpacked whatever the ratio
DEEPEST = 3  # archives in archives
LONGEST_NAME = 255  # bytes; the limit of file systems
IN_MEMORY = 16 * 1024 * 1024  # bytes of an archive in an archive
# What zipfile raises for a file that is damaged, encrypted or packed in an unknown way.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
DEFAULT_FOLDERS = ("__MACOSX",)


@dataclass
class Member:
    """A file in a folder or archive."""

    path: str  # in the folder, with slashes
    modified: str
    open: Callable[[], IO[bytes]]
    file: Path | None = None  # on disk

    def read_head(self, length: int) -> bytes:
        """Return the first bytes, or none of a damaged file."""
        try:
            with self.open() as file:
                return file.read(length)
        except (*ZIP_ERRORS, OSError):
            return b""

    def read(self) -> bytes:
        """Return the bytes of a note. Raises ValueError for one that is too large."""
        with self.open() as file:
            data = file.read(LARGEST_FILE + 1)
        if len(data) > LARGEST_FILE:
            raise ValueError(f"larger than {LARGEST_FILE >> 20} MiB")
        return data


def list_members(source: Source) -> Iterator[Member | Item]:
    """Yield the visible files of a folder or archive, and an item for each refused one."""
    if source.stream is None and source.path.is_dir():
        yield from list_folder(source)
        return
    try:
        if source.stream is not None and not source.stream.seekable():
            source.stream = store_stream(ReadAgain(source.head, source.stream))
        with nullcontext(source.stream) if source.stream else source.path.open("rb") as file:
            yield from list_archive(file, "", Budget(LARGEST_ARCHIVE), 1, source)
    except (*ZIP_ERRORS, OSError) as error:
        yield Item(source.name, BadItem(f"the archive cannot be read: {describe(error)}"))


def list_folder(source: Source) -> Iterator[Member | Item]:
    root = source.path
    paths: list[str] = []
    for folder, names, files in os.walk(root):
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        names[:] = [name for name in names if not name.startswith(".")]
        for name in [*links, *files]:
            if not name.startswith("."):
                paths.append(os.path.relpath(os.path.join(folder, name), root))
    for number, path in enumerate(sorted(paths)):
        file = root / path
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            yield Item(path, BadItem("a symbolic link: it may lead anywhere"))
        elif stat.S_ISREG(status.st_mode):
            modified = format_time(read_file_time(status.st_mtime_ns))
            yield Member(path, modified, lambda file=file: file.open("rb"), file)  # type: ignore[misc]
        if source.on_progress:
            source.on_progress(number, len(paths))


class Budget:
    """The bytes that may still be unpacked."""

    def __init__(self, left: int) -> None:
        self.left = left


def list_archive(
    file: IO[bytes], prefix: str, budget: Budget, depth: int, source: Source
) -> Iterator[Member | Item]:
    """Yield the files of an archive, and those of the archives in it."""
    with zipfile.ZipFile(file) as archive:
        infos = [info for info in archive.infolist() if is_visible(info)]
        infos.sort(key=read_name)
        # Most programs pack a folder together with its own name.
        tops = {read_name(info).partition("/")[:2] for info in infos} - {("entries", "/")}
        is_folder = len(tops) == 1 and next(iter(tops))[1] == "/"
        for number, info in enumerate(infos):
            parts = read_name(info).split("/")[is_folder:]
            path = prefix + "/".join(parts)
            reason = find_refusal(info, budget)
            if reason:
                yield Item(path, BadItem(reason))
                continue
            budget.left -= info.file_size
            if not info.filename.lower().endswith(".zip"):
                modified = read_zip_time(info)
                yield Member(path, modified, lambda info=info: archive.open(info))  # type: ignore[misc]
            elif depth == DEEPEST:
                yield Item(path, BadItem(f"an archive in {DEEPEST} archives: unpack it yourself"))
            else:
                try:
                    with archive.open(info) as packed, store_stream(packed) as inner:
                        folder = prefix + "".join(f"{part}/" for part in parts[:-1])
                        yield from list_archive(inner, folder, budget, depth + 1, source)
                except (*ZIP_ERRORS, OSError) as error:
                    yield Item(path, BadItem(f"the archive cannot be read: {describe(error)}"))
            if source.on_progress and depth == 1:
                source.on_progress(number, len(infos))


def read_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a file. Info-ZIP writes UTF-8 without saying so."""
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def is_visible(info: zipfile.ZipInfo) -> bool:
    parts = info.filename.split("/")
    is_hidden = any(part.startswith(".") and part.strip(".") for part in parts)
    # A folder ends with a slash. A damaged archive has files without a name.
    return bool(parts[-1]) and not is_hidden and parts[0] not in DEFAULT_FOLDERS


def find_refusal(info: zipfile.ZipInfo, budget: Budget) -> str:
    """Return why a file of an archive is not read, or an empty string."""
    parts = info.filename.replace("\\", "/").split("/")
    if info.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        return "its path leads out of the archive"
    if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
        return f"its name is longer than {LONGEST_NAME} bytes"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a symbolic link: it may lead anywhere"
    if info.file_size > SMALL and info.file_size > LARGEST_RATIO * info.compress_size:
        return f"suspicious: it unpacks to {info.file_size >> 20} MiB"
    if info.file_size > budget.left:
        return f"the archive unpacks to more than {LARGEST_ARCHIVE >> 30} GiB"
    return ""


def store_stream(stream: Any) -> IO[bytes]:
    """Return a stream that can be searched, which the table at the end of an archive needs."""
    file = tempfile.SpooledTemporaryFile(IN_MEMORY)
    left = LARGEST_ARCHIVE
    while left > 0 and (piece := stream.read(min(left, HEAD))):
        file.write(piece)
        left -= len(piece)
    file.seek(0)
    return file


def read_zip_time(info: zipfile.ZipInfo) -> str:
    try:
        return format_time(datetime(*info.date_time, tzinfo=UTC))
    except ValueError:
        return ""


def describe(error: Exception) -> str:
    """Return an error of a library in one line."""
    lines = str(getattr(error, "strerror", "") or error).splitlines()
    return lines[0] if lines else type(error).__name__


def open_member(source: Source, member: Member) -> Source:
    """Return a file of a folder or archive as a source of its own. Raises the errors of `open`."""
    name = f"{source.name.rstrip('/')}/{member.path}"
    inner = replace(
        source,
        path=member.file or source.path,
        name=name,
        stream=None,
        head=b"",
        modified=member.modified,
        is_inner=True,
        on_progress=None,
    )
    stream = member.open()
    inner.head = stream.read(HEAD)
    if member.file is None:
        inner.stream = stream
    else:
        stream.close()
    return inner
