"""The files of a folder or archive, and how each is saved here, byte for byte.

A hostile archive has bounds on what it may cost. Nothing is unpacked to disk, so no path can lead
out of a folder.
"""

import os
import re
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ..errors import OutsideError, RejectedError
from ..formats import (
    Entry,
    build_digest,
    build_words_digest,
    edit_entry,
    format_entry,
    format_time,
    frontmatter,
    is_id,
    parse_time,
    read_entry,
    read_file_time,
)
from ..index import Index, IndexedEntry
from ..reconcile import Draft, Neighbors, build_inbox_entry, can_replace, find_same_key, supersede
from ..store import ARCHIVE, EVENTS, METADATA, Append, ChangeGroup, Replace, read_file
from .items import HEAD, BadItem, Item, ReadAgain, Source, TransferFile

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
EPOCH = datetime.fromtimestamp(0, UTC)
# Where a record of the history or a note begins.
BLOCK_START = re.compile(r"(?m)^(?=## |(?:[-*] )?\[\d\d:\d\d\])")
LONGEST_PATH = 4000  # bytes; Linux allows 4,096, and a temporary file needs some
FOLDERS = {"entry": "entries/", "note": "notes/", "session": "sessions/", "inbox": "inbox/"}


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


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@dataclass
class PlannedFile:
    """The changes that import one file."""

    path: str
    group: ChangeGroup
    modified: str = ""  # the time to give it
    is_held: bool = False  # it waits in the inbox


class FilePlanner:
    """Compares files with the memories that were here before the import."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.workspace = index.workspace
        self.forgotten = index.load_forgotten()
        self.purged_ids = self.workspace.read_purged_ids()
        self.has_forgotten = index.has_forgotten()
        self.is_empty = not index.run("select 1 from entries limit 1").fetchone()
        self.paths: set[str] = set()
        self.folders: set[str] = set()  # of these paths

    def find_near_forgotten(self, files: Sequence[TransferFile]) -> list[IndexedEntry | None]:
        """Return for each file the forgotten memory that it nearly repeats."""
        if not self.has_forgotten:
            return [None] * len(files)
        from ..reconcile import find_neighbors

        drafts = {
            number: build_draft(read_file_entry(file))
            for number, file in enumerate(files)
            if file.kind == "entry"
        }
        near = find_neighbors(self.index, list(drafts.values()), deduplicate=False)
        found = dict(zip(drafts, near, strict=True))
        return [found.get(number, Neighbors()).forgotten for number in range(len(files))]

    def plan(self, file: TransferFile, near: IndexedEntry | None) -> PlannedFile | None:
        """Return the changes that import a file, or None if it is here. Raises RejectedError."""
        path = self.build_path(file)
        if not self.has_room(path):
            raise RejectedError("a file and a folder have the same name")
        current = read_file(self.workspace, path)
        if current == file.text:
            return None
        if file.kind == "entry":
            return self.plan_entry(file, path, current, near)
        if current is None:
            change: Replace | Append = Replace(path, None, file.text)
        elif file.kind in ("history", "note"):
            blocks = BLOCK_START.split(file.text)
            missing = "".join(block for block in blocks if block.strip() not in current)
            if not missing:
                return None
            change = Append(path, missing)
        elif path.endswith(METADATA):
            return None
        else:
            raise RejectedError("differs from the file here, which was not changed")
        # Ids of agents look like secrets.
        is_metadata = path.endswith(METADATA)
        group = ChangeGroup([change], allow_secrets=is_metadata, redact_secrets=not is_metadata)
        return PlannedFile(path, group)

    def build_path(self, file: TransferFile) -> str:
        """Return where a file belongs in this workspace. Raises OutsideError."""
        path = PurePosixPath(file.path)
        parts = file.path.split("/")
        is_odd = path.is_absolute() or "\0" in file.path or "" in parts
        if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
            raise RejectedError(f"its name is longer than {LONGEST_NAME} bytes")
        if not is_encodable(file.path):
            raise RejectedError("its name is not UTF-8")  # the index leaves such files out
        if is_odd or any(part.startswith(".") for part in parts):
            raise OutsideError(f"{file.path} is hidden or outside the workspace")
        folder = FOLDERS.get(file.kind, "")
        inner = file.path if file.path.startswith(folder) else folder + file.path
        target = self.workspace.prefix + inner
        if len(os.fsencode(self.workspace.root / target)) > LONGEST_PATH:
            raise RejectedError(f"its path is longer than {LONGEST_PATH} bytes")
        is_sound = self.workspace.get_kind(target) == file.kind
        if file.kind == "session":
            is_sound = len(parts) == 3 and path.name in (EVENTS, ARCHIVE, METADATA)
        if file.kind == "inbox":
            is_sound = len(parts) == 2 and path.suffix == ".md"
        if not is_sound:
            raise RejectedError(f"{file.path} is not the path of a file of this kind")
        return target

    def plan_entry(
        self, file: TransferFile, path: str, current: str | None, near: IndexedEntry | None
    ) -> PlannedFile | None:
        entry = read_file_entry(file)
        if entry.id in self.purged_ids:
            raise RejectedError("this memory was purged")
        if self.is_known(entry, file.text):
            return None
        is_active = entry.status == "active"
        if near is not None and is_active and near.id != entry.id:
            reason = f"resembles a memory that was forgotten: {self.index.shorten_id(near.id)}"
            path, entry = build_inbox_entry(self.workspace, entry, reason)
            if read_file(self.workspace, path) is not None:
                return None
            change = Replace(path, None, format_entry(entry))
            return PlannedFile(path, ChangeGroup([change]), is_held=True)
        if current is not None and not is_id(entry.id) and path not in self.paths:
            raise RejectedError(f"differs from {path} here, which was not changed")
        if current is not None or path in self.paths:
            suffix = (
                entry.id if is_id(entry.id) else build_digest(file.text.encode("utf-8", "replace"))
            )
            path = f"{path.removesuffix('.md')}-{suffix[-6:]}.md"
            if path in self.paths or read_file(self.workspace, path) == file.text:
                return None
        self.paths.add(path)
        self.folders.update(map(str, PurePosixPath(path).parents))
        text, changes = self.compare_keys(entry, file.text) if is_active else (file.text, [])
        is_undated = read_file_entry(TransferFile(file.path, file.kind, file.text)).created_at
        modified = file.modified if is_undated == format_time(EPOCH) else ""
        return PlannedFile(path, ChangeGroup([Replace(path, None, text), *changes]), modified)

    def has_room(self, path: str) -> bool:
        """Return whether a path and its folders can be created."""
        root = self.workspace.root
        above = [str(folder) for folder in PurePosixPath(path).parents]
        is_planned = path in self.folders or not self.paths.isdisjoint(above)
        if is_planned or os.path.isdir(root / path):
            return False
        return not any(os.path.isfile(root / folder) for folder in above)

    def is_known(self, entry: Entry, text: str) -> bool:
        """Return whether a memory is here. Raises RejectedError if it has changed since."""
        if self.is_empty:
            return False
        known = self.index.find_by_id(entry.id) if is_id(entry.id) else None
        if known is not None:
            if read_file(self.workspace, known.path) == text:
                return True
            if known.status == "forgotten":
                raise RejectedError("was forgotten here")
            raise RejectedError(f"differs from {known.path} here, which was not changed")
        words = build_words_digest(entry.body or entry.title)
        same = self.index.list_entries(
            "same_words = ? and owner = ? and project = ? and status = 'active'",
            (words, entry.owner, entry.project),
        )
        return bool(same) and entry.status == "active"

    def compare_keys(self, entry: Entry, text: str) -> tuple[str, list[Replace | Append]]:
        """Let the later of two values of a key replace the other, unless that is trusted more."""
        changes: list[Replace | Append] = []
        fields: dict[str, Any] = {}
        for other in find_same_key(self.index, entry.key, entry.project, entry.owner):
            is_later = entry.updated_at >= other.updated_at
            if is_later and can_replace(entry.trust, other.trust):
                changes += supersede(self.workspace, other, entry.id, entry.summary)
            elif not is_later and can_replace(other.trust, entry.trust):
                fields["superseded_by"] = other.id
            else:
                fields["conflicts_with"] = [*entry.conflicts_with, other.id]
        return (edit_entry(text, fields) if fields else text), changes


def read_file_entry(file: TransferFile) -> Entry:
    """Return the memory of a file. One that does not parse is plain text, as for the index."""
    modified = parse_time(file.modified) or EPOCH
    try:
        document = frontmatter.parse(file.text)
    except frontmatter.FrontmatterError:
        document = frontmatter.Document("", {}, file.text)
    return read_entry(document, file.path, modified)[0]


def build_draft(entry: Entry) -> Draft:
    """Return a draft to compare a memory with others."""
    return Draft(entry.body, entry.type, entry.title, project=entry.project, owner=entry.owner)
