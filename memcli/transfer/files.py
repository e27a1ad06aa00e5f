"""Plan how to save a whole file of another workspace in this workspace, byte for byte."""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

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
)
from ..index import Index, IndexedEntry
from ..reconcile.changes import can_replace, find_same_key, supersede
from ..reconcile.draft import Draft, Neighbors, build_inbox_entry
from ..store import ARCHIVE, EVENTS, METADATA, Append, ChangeGroup, Replace, read_file
from .backup import is_encodable
from .folders import LONGEST_NAME
from .items import TransferFile

EPOCH = datetime.fromtimestamp(0, UTC)
# Where a record of the history or a note begins.
BLOCK_START = re.compile(r"(?m)^(?=## |(?:[-*] )?\[\d\d:\d\d\])")
LONGEST_PATH = 4000  # bytes; Linux allows 4,096, and a temporary file needs some
FOLDERS = {"entry": "entries/", "note": "notes/", "session": "sessions/", "inbox": "inbox/"}


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
        from ..reconcile.similar import find_neighbors

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
