"""The files of a folder or archive, and how an import saves each of them, byte for byte.

The first half lists the files. A hostile archive has bounds on what it may cost, and nothing is
unpacked to disk, so no path can lead out of a folder. The second half, `FilePlanner`, compares a
file with the memories that are here and plans its changes.
"""

import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property, partial
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
    is_id,
    parse_time,
    read_document,
    read_entry,
    read_file_time,
)
from ..index import Index, IndexedEntry
from ..reconcile import Draft, build_inbox_entry, can_replace, find_same_key, supersede
from ..store import (
    APP_SETTINGS,
    ARCHIVE,
    EVENTS,
    EXCLUDING_SETTINGS,
    METADATA,
    UNKNOWN,
    Append,
    ChangeGroup,
    Replace,
    find_day,
    is_ignored,
    parse_excluded,
    read_daily_settings,
    read_excluded,
    read_file,
    read_log,
)
from .items import (
    HEAD,
    LARGEST_ARCHIVE,
    BadItem,
    Item,
    Source,
    TransferFile,
    is_encodable,
    store_stream,
)

LARGEST_FILE = 32 * 1024 * 1024  # bytes of a note
# A zip bomb reaches 1,000.
LARGEST_RATIO = 200  # unpacked bytes for each packed one; real texts reach 30
SMALL_FILE = 1024 * 1024  # bytes that are unpacked whatever the ratio
DEEPEST_ARCHIVE = 3  # archives in archives
LONGEST_NAME = 255  # bytes; the limit of file systems
LONGEST_PATH = 4000  # bytes; Linux allows 4,096, and a temporary file needs some
# What zipfile raises for a file that is damaged, encrypted or packed in an unknown way.
ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    ValueError,
)
# The folder of each kind of file in a standard workspace. Other kinds are at the top.
FOLDERS = {"entry": "entries/", "note": "notes/", "session": "sessions/", "inbox": "inbox/"}
# Where a record of the history or a note begins.
BLOCK_START = re.compile(r"(?m)^(?=## |(?:[-*] )?\[\d\d:\d\d\])")
Excluded = dict[str, list[re.Pattern[str]]]  # patterns by the folder of a vault
EPOCH = datetime.fromtimestamp(0, UTC)


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
        """Return the bytes of a note.

        Raises ValueError for one that is too large.
        """
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
        with nullcontext(source.stream) if source.stream else source.path.open("rb") as file:
            yield from list_archive(file, "", Budget(LARGEST_ARCHIVE), 1, source)
    except (*ZIP_ERRORS, OSError) as error:
        yield build_archive_error(source.name, error)


def list_folder(source: Source) -> Iterator[Member | Item]:
    root = source.path
    paths = sorted(walk_folder(root))
    for number, path in enumerate(paths):
        file = root / path
        status = file.lstat()
        if stat.S_ISLNK(status.st_mode):
            yield Item(path, BadItem("a symbolic link: it may lead anywhere"))
        # Reading a pipe or a device would never end.
        elif stat.S_ISREG(status.st_mode):
            modified = format_time(read_file_time(status.st_mtime_ns))
            # The default binds this file. Otherwise all members would open the last one.
            yield Member(path, modified, lambda file=file: file.open("rb"), file)  # type: ignore[misc]
        if source.on_progress:
            source.on_progress(number, len(paths))


def walk_folder(root: Path) -> Iterator[str]:
    """Yield the paths of visible files, of links and of settings.

    Links to folders are not followed.
    """
    for folder, names, files in os.walk(root):
        # The only files that mem reads in hidden folders.
        for name in EXCLUDING_SETTINGS:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                yield os.path.relpath(path, root)
        names[:] = [name for name in names if not name.startswith(".")]
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]
        # The links are yielded too, because the user should know that mem does not follow them.
        for name in [*links, *files]:
            if not name.startswith("."):
                yield os.path.relpath(os.path.join(folder, name), root)


@dataclass
class Budget:
    """The bytes that may still be unpacked."""

    left: int


def list_archive(
    file: IO[bytes], prefix: str, budget: Budget, depth: int, source: Source
) -> Iterator[Member | Item]:
    """Yield the files of an archive, and those of the archives in it."""
    with zipfile.ZipFile(file) as archive:
        infos = [info for info in archive.infolist() if is_visible(info)]
        infos.sort(key=read_name)
        top = find_top_folder(infos)
        for number, info in enumerate(infos):
            path = prefix + read_name(info).removeprefix(top)
            reason = find_refusal(info, budget)
            if reason:
                yield Item(path, BadItem(reason))
                continue
            # An archive inside this one counts twice, which is on the safe side.
            budget.left -= info.file_size
            if not info.filename.lower().endswith(".zip"):
                yield Member(path, read_zip_time(info), partial(archive.open, info))
            elif depth == DEEPEST_ARCHIVE:
                reason = f"an archive in {DEEPEST_ARCHIVE} archives: unpack it yourself"
                yield Item(path, BadItem(reason))
            else:
                try:
                    with archive.open(info) as packed, store_stream(packed) as inner:
                        folder = path[: path.rfind("/") + 1]
                        yield from list_archive(inner, folder, budget, depth + 1, source)
                except (*ZIP_ERRORS, OSError) as error:
                    yield build_archive_error(path, error)
            if source.on_progress and depth == 1:
                source.on_progress(number, len(infos))


def find_top_folder(infos: Sequence[zipfile.ZipInfo]) -> str:
    """Return the folder that contains all files of an archive, or an empty string.

    Most programs pack a folder together with its own name. `entries/` is part of a workspace.
    """
    tops = {"".join(read_name(info).partition("/")[:2]) for info in infos}
    top = tops.pop() if len(tops) == 1 else ""
    return top if top.endswith("/") and top != FOLDERS["entry"] else ""


def find_settings(path: str) -> str:
    """Return which settings of a vault a file has, or an empty string."""
    return next((name for name in EXCLUDING_SETTINGS if f"/{path}".endswith(f"/{name}")), "")


def find_vault(source: Source) -> tuple[Path, str]:
    """Return the vault of Obsidian that has a folder, and the path of the folder in it."""
    path = source.path.resolve()
    folders = [path, *path.parents] if path.is_dir() else []
    root = next((folder for folder in folders if (folder / ".obsidian").is_dir()), path)
    return root, "" if root == path else f"{path.relative_to(root).as_posix()}/"


def find_date(source: Source, member: Member) -> str:
    """Return the date of a note without one: the day of a daily note, or that of its file."""
    root, prefix = find_vault(source)
    day = find_day(read_daily_settings(root), prefix + member.path, source.zone)
    return format_time(day) if day else member.modified


def find_excluded(source: Source) -> Excluded:
    """Return the patterns of what the settings of vaults exclude."""
    root, prefix = find_vault(source)
    # Nobody has accepted the memories in the inbox of mem.
    excluded = {"": read_excluded(root) if prefix else [], prefix: []}
    excluded[prefix].append(re.compile("^mem/inbox/"))
    for member in list_members(source) if source.is_tree else ():
        if isinstance(member, Member) and (name := find_settings(member.path)):
            patterns = parse_excluded(name, member.read_head(HEAD).decode("utf-8", "replace"))
            excluded.setdefault(prefix + member.path.removesuffix(name), []).extend(patterns)
    for folder, patterns in excluded.items():
        if UNKNOWN in patterns:
            unread = f"{folder}{APP_SETTINGS}".removeprefix(prefix)
            source.messages.append(f"{unread} cannot be read: it may exclude any note")
    return excluded


def is_excluded(path: str, excluded: Excluded) -> bool:
    return any(
        path.startswith(vault) and is_ignored(patterns, path[len(vault) :])
        for vault, patterns in excluded.items()
    )


def is_visible(info: zipfile.ZipInfo) -> bool:
    if find_settings(info.filename):
        return True
    parts = info.filename.split("/")
    is_hidden = any(part.startswith(".") and part.strip(".") for part in parts)
    # A folder ends with a slash. A damaged archive has files without a name.
    return bool(parts[-1]) and not is_hidden and parts[0] != "__MACOSX"


def read_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a file. Info-ZIP writes UTF-8 without saying so."""
    try:
        return info.filename.encode("cp437").decode()
    except UnicodeError:
        return info.filename


def read_zip_time(info: zipfile.ZipInfo) -> str:
    try:
        # A zip has local times without a zone, and a damaged one has a month 0 or 15.
        return format_time(datetime(*info.date_time, tzinfo=UTC))
    except ValueError:
        return ""


def find_refusal(info: zipfile.ZipInfo, budget: Budget) -> str:
    """Return why a file of an archive is not read, or an empty string."""
    # `../out.md`, `/abs.md`, `C:\win.md`, `a\..\..\b.md`
    parts = info.filename.replace("\\", "/").split("/")
    if info.filename.startswith(("/", "\\")) or ".." in parts or ":" in parts[0]:
        return "its path leads out of the archive"
    # The upper half has the mode of the file, if a Unix program made the archive.
    if stat.S_ISLNK(info.external_attr >> 16):
        return "a symbolic link: it may lead anywhere"
    if info.file_size > SMALL_FILE and info.file_size > LARGEST_RATIO * info.compress_size:
        return f"suspicious: it unpacks to {info.file_size >> 20} MiB"
    if info.file_size > budget.left:
        return f"the archive unpacks to more than {LARGEST_ARCHIVE >> 30} GiB"
    return ""


def open_member(source: Source, member: Member) -> Source:
    """Return a file of a folder or archive as a source of its own.

    Raises the errors of `open`.
    """
    with member.open() as file:
        head = file.read(HEAD)
    return replace(
        source,
        path=member.file or source.path,
        name=f"{source.name.rstrip('/')}/{member.path}",
        stream=None if member.file else member.open(),
        head=head,
        modified=member.modified,
        is_inner=True,
        on_progress=None,
    )


def describe_error(error: Exception) -> str:
    """Return an error of a library in one line."""
    lines = str(getattr(error, "strerror", "") or error).splitlines()
    return lines[0] if lines else type(error).__name__


def build_archive_error(place: str, error: Exception) -> Item:
    return Item(place, BadItem(f"the archive cannot be read: {describe_error(error)}"))


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
        self.near_forgotten: dict[int, IndexedEntry | None] = {}
        self.paths: set[str] = set()
        self.folders: set[str] = set()  # of these paths

    @cached_property
    def imported(self) -> set[tuple[str, str | None]]:
        """Paths, and texts that imports wrote there."""
        records = [record for record in read_log(self.workspace) if record.command == "import"]
        return {(change.path, change.after) for record in records for change in record.changes}

    def find_near_forgotten(self, files: Sequence[TransferFile]) -> None:
        """Find the forgotten memory that each of the files to plan next nearly repeats."""
        # Without forgotten memories, nothing needs to be embedded.
        if not self.has_forgotten:
            return
        from ..reconcile import find_neighbors

        files = [file for file in files if file.kind == "entry"]
        drafts = [
            Draft(entry.body, entry.type, entry.title, project=entry.project, owner=entry.owner)
            for entry in map(read_file_entry, files)
        ]
        pairs = zip(files, find_neighbors(self.index, drafts, deduplicate=False), strict=True)
        self.near_forgotten = {id(file): near.forgotten for file, near in pairs}

    def plan(self, file: TransferFile) -> PlannedFile | None:
        """Return the changes that import a file, or None if it is here.

        Raises RejectedError.
        """
        path = self.build_path(file)
        if not self.has_room(path):
            raise RejectedError("a file and a folder have the same name")
        current = read_file(self.workspace, path)
        if current == file.text:
            return None
        if file.kind == "entry":
            return self.plan_entry(file, path, current)
        # Ids of agents look like secrets.
        is_metadata = path.endswith(METADATA)
        if current is None:
            change: Replace | Append = Replace(path, None, file.text)
        elif file.kind in ("history", "note"):
            missing = find_missing_blocks(file.text, current)
            if not missing:
                return None
            change = Append(path, missing)
        elif is_metadata:
            return None
        else:
            raise RejectedError("differs from the file here, which was not changed")
        group = ChangeGroup([change], allow_secrets=is_metadata, redact_secrets=not is_metadata)
        return PlannedFile(path, group)

    def build_path(self, file: TransferFile) -> str:
        """Return where a file belongs in this workspace. Raises OutsideError."""
        parts = file.path.split("/")
        if any(len(os.fsencode(part)) > LONGEST_NAME for part in parts):
            raise RejectedError(f"its name is longer than {LONGEST_NAME} bytes")
        if not is_encodable(file.path):
            raise RejectedError("its name is not UTF-8")  # the index leaves such files out
        # An absolute path begins with an empty part, and `..` with a dot.
        is_hidden = any(part.startswith(".") for part in parts)
        if is_hidden or "" in parts or "\0" in file.path:
            raise OutsideError(f"{file.path} is hidden or outside the workspace")
        folder = FOLDERS.get(file.kind, "")
        path = self.workspace.prefix + folder + file.path.removeprefix(folder)
        if len(os.fsencode(self.workspace.root / path)) > LONGEST_PATH:
            raise RejectedError(f"its path is longer than {LONGEST_PATH} bytes")
        if file.kind == "session":
            is_right = len(parts) == 3 and parts[-1] in (EVENTS, ARCHIVE, METADATA)
        elif file.kind == "inbox":
            is_right = len(parts) == 2 and path.endswith(".md")
        else:
            is_right = self.workspace.get_kind(path) == file.kind
        if not is_right:
            raise RejectedError(f"{file.path} is not the path of a file of this kind")
        return path

    def plan_entry(self, file: TransferFile, path: str, current: str | None) -> PlannedFile | None:
        entry = read_file_entry(file)
        near = self.near_forgotten.get(id(file))
        if entry.id in self.purged_ids:
            raise RejectedError("this memory was purged")
        if self.is_known(entry, file.text):
            return None
        is_active = entry.status == "active"
        if near is not None and is_active and near.id != entry.id:
            return self.plan_inbox_entry(entry, near)
        if path in self.paths or (current is not None and is_id(entry.id)):
            path = build_longer_path(path, entry, file.text)
            # The same file twice in one import, or again in a later one.
            if path in self.paths or read_file(self.workspace, path) == file.text:
                return None
            current = None
        # Without an id, the path is the identity of a note. It may have changed in the other tool.
        elif current is not None and (path, current) not in self.imported:
            raise RejectedError(f"differs from {path} here, which was not changed")
        self.paths.add(path)
        self.folders.update(map(str, PurePosixPath(path).parents))
        text = file.text
        changes: list[Replace | Append] = []
        if is_active:
            text, changes = self.compare_keys(entry, text)
        # Without a date in its text, the date of a memory is the time of its file.
        has_date = read_file_entry(replace(file, modified="")).created_at != format_time(EPOCH)
        group = ChangeGroup([Replace(path, current, text), *changes])
        return PlannedFile(path, group, "" if has_date else file.modified)

    def plan_inbox_entry(self, entry: Entry, near: IndexedEntry) -> PlannedFile | None:
        """Return the changes that hold a memory until the user decides.

        None if it is in the inbox already.
        """
        reason = f"resembles a memory that was forgotten: {self.index.shorten_id(near.id)}"
        path, held = build_inbox_entry(self.workspace, entry, reason)
        if read_file(self.workspace, path) is not None:
            return None
        change = Replace(path, None, format_entry(held))
        return PlannedFile(path, ChangeGroup([change]), is_held=True)

    def has_room(self, path: str) -> bool:
        """Return whether a path and its folders can be created."""
        root = self.workspace.root
        # A zip can contain both `good.md` and `good.md/inner.md`.
        if path in self.folders or os.path.isdir(root / path):
            return False
        parents = map(str, PurePosixPath(path).parents)
        return not any(name in self.paths or os.path.isfile(root / name) for name in parents)

    def is_known(self, entry: Entry, text: str) -> bool:
        """Return whether a memory is here.

        Raises RejectedError if it has changed since.
        """
        known = self.index.find_by_id(entry.id) if is_id(entry.id) else None
        if known is not None:
            if read_file(self.workspace, known.path) == text:
                return True
            if known.status == "forgotten":
                raise RejectedError("was forgotten here")
            raise RejectedError(f"differs from {known.path} here, which was not changed")
        # An inactive memory may repeat an active one: it is an older version of it.
        if entry.status != "active":
            return False
        # People with the same memory both keep it, so the owner must be the same too.
        words = build_words_digest(entry.body or entry.title)
        same = self.index.list_entries(
            "same_words = ? and owner = ? and project = ? and status = 'active'",
            (words, entry.owner, entry.project),
        )
        return bool(same)

    def compare_keys(self, entry: Entry, text: str) -> tuple[str, list[Replace | Append]]:
        """Let the later of two values of a key replace the earlier value.

        A value that is trusted more is not replaced. Then both stay active, as a conflict.
        """
        changes: list[Replace | Append] = []
        fields: dict[str, Any] = {}
        for other in find_same_key(self.index, entry.key, entry.project, entry.owner):
            if other.path in self.paths:  # this import changes it
                continue
            is_later = entry.updated_at >= other.updated_at
            if is_later and can_replace(entry.trust, other.trust):
                changes += supersede(self.workspace, other, entry.id, entry.summary)
            elif not is_later and can_replace(other.trust, entry.trust):
                fields["superseded_by"] = other.id
            else:
                fields["conflicts_with"] = [*entry.conflicts_with, other.id]
        return (edit_entry(text, fields) if fields else text), changes


def read_file_entry(file: TransferFile) -> Entry:
    """Return the memory of a file.

    One that does not parse is plain text, as for the index.
    """
    document = read_document(file.text)
    return read_entry(document, file.path, parse_time(file.modified) or EPOCH)[0]


def build_longer_path(path: str, entry: Entry, text: str) -> str:
    """Return a longer path for a memory whose own path is taken."""
    suffix = entry.id if is_id(entry.id) else build_digest(text)
    return f"{path.removesuffix('.md')}-{suffix[-6:]}.md"


def find_missing_blocks(text: str, current: str) -> str:
    """Return the notes or records that the file here does not have."""
    return "".join(block for block in BLOCK_START.split(text) if block.strip() not in current)
