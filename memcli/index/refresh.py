"""Bring the index in step with what is on disk now, doing no more than what changed."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b

from ..store.layout import ARCHIVE
from ..store.workspace import Workspace
from ..text.problem import Problem
from ..text.times import date_words
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
    layout = workspace.layout
    _heed_settings(connection, workspace)
    # Before the scan: what another process adds meanwhile is then not known here, and not taken for gone.
    known = {
        row[0]: row for row in connection.execute("select path, file, mtime, ctime, size, inode, noted from files")
    }
    listing = scan(workspace.root, layout)
    fresh: list[tuple[str, str]] = []
    for path, stat in listing.stats.items():
        row = known.get(path)
        if row is not None and row[2:6] == stat and _is_settled(stat, row[6]):
            continue
        kind = layout.kind_of(path)
        if kind:
            fresh.append((path, kind))
    odd = {_shown(path) for path, _ in fresh}
    gone = [
        row
        for path, row in known.items()
        if path not in listing.stats and path not in odd and not _is_unread(path, listing.unread)
    ]
    _note_folders(connection, listing)
    if not fresh and not gone:
        return Refreshed(len(listing.stats))
    counts = Counter[str]()
    with _Writer(connection) as writer:
        for row in gone:
            file = writer.standing(row[0])
            if file is not None and file[:3] == (row[1], row[2], row[6]):  # else another process saw it since
                writer.forget(row[1])
                counts["removed"] += 1
            writer.breathe()
        for done, (path, kind) in enumerate(fresh):
            counts[_take_in(writer, workspace, path, kind)] += 1
            if progress:
                progress(done + 1, len(fresh))
            writer.breathe()
    return Refreshed(len(listing.stats), counts["added"], counts["changed"], counts["removed"])


def _take_in(writer: "_Writer", workspace: Workspace, path: str, kind: str) -> str:
    """Read one file into the index; say whether it was added, changed, removed or the same as before."""
    noted = time.time_ns()
    name = _shown(path)
    file, mtime, _, digest = writer.standing(name) or (None, 0, 0, "")
    got = try_bytes(workspace, path) if name == path else "its name is not UTF-8: rename it"
    if isinstance(got, str):
        if got:
            return writer.stand_in(name, kind, got, file)
        if file is not None:
            writer.forget(file)
        return "same" if file is None else "removed"
    data, stat = got
    # What states no time is as old as its file, so that an index made anew would say another time.
    if file is not None and digest_of(data) == digest and stat[0] // 10**9 == mtime // 10**9:
        writer.note(file, stat, noted)
        return "same"
    return writer.keep(read_file(workspace, path, kind, data, stat, digest_of(data)), noted, file)


def _heed_settings(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Have everything read anew where the settings that reading depends on are others than the last time."""
    terms = f"{workspace.zone} {sorted(workspace.layout.patterns.items())}"
    if connection.execute("select value from meta where key = 'terms'").fetchone() == (terms,):
        return
    with _Writer(connection) as writer:
        for path, file in connection.execute("select path, file from files").fetchall():
            if workspace.layout.kind_of(path) is None:
                writer.forget(file)
        connection.execute("update files set noted = 0, digest = ''")
        connection.execute("insert or replace into meta values('terms', ?)", (terms,))


def _note_folders(connection: sqlite3.Connection, listing: Listing) -> None:
    """Keep what the listing could not reach, as problems of no file (file 0)."""
    wanted = sorted((_shown(path), reason) for path, reason in listing.problems.items())
    standing = connection.execute("select path, reason from problems where file = 0 order by path, reason").fetchall()
    if wanted != standing:
        with _Writer(connection):
            connection.execute("delete from problems where file = 0")
            connection.executemany("insert into problems values(0, ?, 1, ?)", wanted)


def _shown(path: str) -> str:
    """Give a name as a text; bytes of it that are no UTF-8 come as lone surrogates, which SQLite cannot take."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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

    def standing(self, path: str) -> tuple[int, int, int, str] | None:
        """Give file, mtime, moment noted and digest as they stand now, another process's changes included."""
        row: tuple[int, int, int, str] | None = self.connection.execute(
            "select file, mtime, noted, digest from files where path = ?", (path,)
        ).fetchone()
        return row

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

    def stand_in(self, path: str, kind: str, reason: str, file: int | None) -> str:
        """Keep the name of a file that cannot be read, with the reason, so that it is tried and told again."""
        status = "archived" if path.startswith(ARCHIVE) else "active"
        reading = Reading(path, kind, status, _UNKNOWN, "", "", [], None, (Problem(1, reason),))
        return self.keep(reading, 0, file)

    def keep(self, reading: Reading, noted: int, file: int | None) -> str:
        """Put a file as it was read in the place of what the index had of it."""
        run = self.connection.execute
        known = file is not None
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
            run("insert into problems values(?, ?, ?, ?)", (file, reading.path, problem.line, problem.reason))
        tags = self._keep_entry(reading, file) or index_text(_path_words(reading.path))
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
                "insert into words(rowid, title, tags, body) values(?, ?, ?, ?)",
                (cursor.lastrowid, index_text(chunk.title), f"{tags} {date_words(chunk.timestamp)}", index_text(body)),
            )
        return "changed" if known else "added"

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
        status = "" if reading.status == "active" else reading.status
        return index_text(" ".join([*entry.tags, entry.project, entry.type, status, _path_words(reading.path)]))

    def _clear(self, file: int) -> None:
        run = self.connection.execute
        # From now on nothing may refer to these vectors: the month they are kept for begins.
        run(
            "update vectors set used = ? where hash in (select hash from chunks where file = ?)",
            (int(time.time()), file),
        )
        run("delete from words where rowid in (select chunk from chunks where file = ?)", (file,))
        for table in ("chunks", "entries", "texts", "problems"):
            run(f"delete from {table} where file = ?", (file,))


def text_hash(text: str) -> bytes:
    """Give the key by which a vector is kept: the text that is embedded, wherever it stands."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def as_kept(text: str, hash_: bytes) -> str:
    """Give a text read from the index; DatabaseError if it is not the one put there, since SQLite does not check."""
    if text_hash(text) != hash_:
        raise sqlite3.DatabaseError("a text is not as it was kept")
    return text


def _path_words(path: str) -> str:
    """Give the names of a path by which people ask: not its ending nor the folder everything lies in."""
    return path.rpartition(".")[0].partition("/")[2] or path.rpartition(".")[0]


def _is_settled(stat: Stat, noted: int) -> bool:
    """Tell whether a file noted at this moment could not have changed since without its stat showing it."""
    newest = max(stat[0], stat[1])
    return newest + (_COARSE if newest % 1_000_000_000 == 0 else _RACY) < noted


def _is_unread(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder) for folder in folders)
