"""Bring the index in step with what is on disk now, doing no more than what changed."""

import json
import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from ..store.layout import ARCHIVE
from ..store.workspace import Workspace
from ..text.problem import Problem
from ..text.words import index_text
from .reading import Reading, digest_of, read_file, try_bytes
from .scan import Listing, Stat, scan

BATCH_SECONDS = 0.2  # the write lock is given up between batches
_RACY = 20_000_000  # nanoseconds: a file changed this shortly before it was noted may change again unseen
_COARSE = 2_000_000_000  # on file systems that keep whole seconds
_UNKNOWN: Stat = (0, 0, 0, 0)

Progress = Callable[[int, int], None]
"""Told how many of how many files are done."""


@dataclass(frozen=True)
class Refreshed:
    """What a refresh found."""

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0


def refresh(connection: sqlite3.Connection, workspace: Workspace, progress: Progress | None = None) -> Refreshed:
    """Take in every file that is new, changed or gone since the last time.

    Raises sqlite3.OperationalError when another process holds the index's lock.
    """
    listing = scan(workspace.root, workspace.layout)
    known = {
        row[0]: row
        for row in connection.execute("select path, file, mtime, ctime, size, inode, noted, digest from files")
    }
    layout = workspace.layout
    fresh: list[tuple[str, str]] = []
    for path, stat in listing.stats.items():
        row = known.get(path)
        if row is not None and row[2:6] == stat and _is_settled(stat, row[6]):
            continue
        kind = layout.kind_of(path)
        if kind:
            fresh.append((path, kind))
    gone = [row for path, row in known.items() if path not in listing.stats and not _is_unread(path, listing.unread)]
    _note_folders(connection, listing)
    if not fresh and not gone:
        return Refreshed(len(listing.stats))
    counts = {"added": 0, "changed": 0, "removed": len(gone)}
    writer = _Writer(connection)
    with writer:
        for row in gone:
            writer.forget(row[1])
            writer.breathe()
        for done, (path, kind) in enumerate(fresh):
            counts[_take_in(writer, workspace, path, kind, known.get(path))] += 1
            if progress:
                progress(done + 1, len(fresh))
            writer.breathe()
    return Refreshed(len(listing.stats), counts["added"], counts["changed"], counts["removed"])


def _take_in(writer: "_Writer", workspace: Workspace, path: str, kind: str, row: tuple | None) -> str:  # type: ignore[type-arg]
    noted = time.time_ns()
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        name = path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        writer.stand_in(name, kind, "its name is not UTF-8: rename it", row)
        return "changed" if row else "added"
    got = try_bytes(workspace, path)
    if isinstance(got, str):
        if got:
            writer.stand_in(path, kind, got, row)
        elif row:
            writer.forget(row[1])
        return "changed" if row else "added"
    data, stat = got
    digest = digest_of(data)
    if row and row[7] == digest:
        writer.note(row[1], stat, noted)
        return "changed"
    reading = read_file(workspace, path, kind, data, stat, digest)
    writer.keep(reading, noted, row[1] if row else None)
    return "changed" if row else "added"


def _note_folders(connection: sqlite3.Connection, listing: Listing) -> None:
    """Keep what the listing could not reach, as problems of no file (file 0)."""
    wanted = sorted((f"{path}: {reason}" for path, reason in listing.problems.items()))
    standing = [row[0] for row in connection.execute("select reason from problems where file = 0 order by reason")]
    if wanted != standing:
        connection.execute("begin immediate")
        connection.execute("delete from problems where file = 0")
        connection.executemany("insert into problems values(0, 0, ?)", [(reason,) for reason in wanted])
        connection.execute("commit")


class _Writer:
    """A write transaction that lets go every few moments."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.since = 0.0

    def __enter__(self) -> "_Writer":
        self.connection.execute("begin immediate")
        self.since = time.monotonic()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self.connection.in_transaction:
            self.connection.execute("rollback" if kind else "commit")

    def breathe(self) -> None:
        """Commit and begin again when the batch has lasted long enough."""
        if time.monotonic() - self.since >= BATCH_SECONDS:
            self.connection.execute("commit")
            self.connection.execute("begin immediate")
            self.since = time.monotonic()

    def forget(self, file: int) -> None:
        """Take a file and all its chunks out of the index; its vectors stay for when it comes back."""
        self._clear(file)
        self.connection.execute("delete from files where file = ?", (file,))

    def note(self, file: int, stat: Stat, noted: int) -> None:
        """Note that a file was seen unchanged."""
        self.connection.execute(
            "update files set mtime = ?, ctime = ?, size = ?, inode = ?, noted = ? where file = ?",
            (*stat, noted, file),
        )

    def stand_in(self, path: str, kind: str, reason: str, row: tuple | None) -> None:  # type: ignore[type-arg]
        """Keep the name of a file that cannot be read, with the reason, so that it is tried and told again."""
        status = "archived" if path.startswith(ARCHIVE) else "active"
        reading = Reading(path, kind, status, _UNKNOWN, "", "", [], None, (Problem(1, reason),))
        self.keep(reading, 0, row[1] if row else None)

    def keep(self, reading: Reading, noted: int, file: int | None) -> None:
        """Put a file as it was read in the place of what the index had of it."""
        run = self.connection.execute
        if file is not None:
            self._clear(file)
        values = (reading.path, reading.kind, reading.status, *reading.stat, noted, reading.digest)
        cursor = run(
            "insert or replace into files(file, path, kind, status, mtime, ctime, size, inode, noted, digest)"
            " values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file, *values),
        )
        file = cursor.lastrowid
        run("insert into texts values(?, ?)", (file, reading.text))
        for problem in reading.problems:
            run("insert into problems values(?, ?, ?)", (file, problem.line, problem.reason))
        tags = self._keep_entry(reading, file)
        for chunk in reading.chunks:
            body = reading.text[chunk.start : chunk.stop]
            hash_ = text_hash(chunk.prefix + body)
            cursor = run(
                "insert into chunks"
                "(file, kind, status, anchor, line, start, stop, title, prefix, timestamp, hash, vector)"
                " values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select vector from vectors where hash = ?))",
                (
                    *(file, reading.kind, reading.status, chunk.anchor, chunk.line, chunk.start, chunk.stop),
                    *(chunk.title, chunk.prefix, chunk.timestamp, hash_, hash_),
                ),
            )
            run(
                "insert into words(rowid, title, tags, body, context) values(?, ?, ?, ?, ?)",
                (cursor.lastrowid, index_text(chunk.title), tags, index_text(body), ""),
            )

    def _keep_entry(self, reading: Reading, file: int | None) -> str:
        entry = reading.entry
        if entry is None:
            return ""
        self.connection.execute(
            "insert into entries values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(
                    file,
                    entry.id,
                    entry.type,
                    entry.layer,
                    entry.title,
                    json.dumps(entry.tags, ensure_ascii=False),
                ),
                *(
                    entry.project,
                    entry.created_at,
                    entry.updated_at,
                    entry.source,
                    reading.status,
                    entry.trust,
                ),
                *(entry.confidence, entry.salience, entry.strength, entry.pinned, entry.expires_at),
                *(
                    entry.superseded_by,
                    " ".join(entry.conflicts_with),
                    entry.access_count,
                    entry.last_accessed_at,
                ),
                entry.summary,
            ),
        )
        return index_text(" ".join([*entry.tags, entry.project, entry.type]))

    def _clear(self, file: int) -> None:
        run = self.connection.execute
        run("delete from words where rowid in (select chunk from chunks where file = ?)", (file,))
        for table in ("chunks", "entries", "texts", "problems"):
            run(f"delete from {table} where file = ?", (file,))


def text_hash(text: str) -> bytes:
    """Give the key by which a vector is kept: the text that is embedded, wherever it stands."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _is_settled(stat: Stat, noted: int) -> bool:
    """Tell whether a file noted at this moment could not have changed since without its stat showing it."""
    newest = max(stat[0], stat[1])
    return newest + (_COARSE if newest % 1_000_000_000 == 0 else _RACY) < noted


def _is_unread(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder) for folder in folders)
