"""Bring the index in step with what is on disk now, doing no more than what changed."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..store.layouts import ITEMS, Layout, is_item
from ..store.workspace import Workspace
from .scan import FileListing, Stat, ask_helper, scan, shown

if TYPE_CHECKING:
    import socket

    from .writer import Writer

_RACY = 20_000_000  # nanoseconds: a file changed this shortly before it was noted may change again unseen
_COARSE = 2_000_000_000  # on file systems that keep whole seconds
_PATIENCE, _A_FILE = 0.1, 2e-5  # seconds to wait for a helper that began to look when the question was begun

Row = tuple[Any, ...]
Progress = Callable[[int, int], None]
"""Called with how many of how many files are done."""


@dataclass(frozen=True)
class Snapshot:
    """The files of a workspace as they were at one moment."""

    listing: FileListing
    began: int  # nanoseconds since 1970
    version: object  # of the index, before


@dataclass(frozen=True)
class Refreshed:
    """What a refresh found."""

    snapshot: Snapshot | None  # None where another process looks at the disk meanwhile, see `Index.holds`
    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def files(self) -> int:
        """Return the number of files there are."""
        return len(self.snapshot.listing.stats) if self.snapshot else 0


def refresh(
    connection: sqlite3.Connection,
    workspace: Workspace,
    progress: Progress | None = None,
    *,
    talk: bool = True,
    snapshot: Snapshot | None = None,
    changing: str = "",
    guess: Callable[[bytes], bool] | None = None,
) -> Refreshed:
    """Take in every file that is new, changed or gone since the last time; conversations only with `talk`.

    Where `guess` takes for granted that the disk has the noted hash it is not looked at. Files are those of `snapshot`
    where it is given; the one at `changing`, and the archive, are left for the next time.
    Raises sqlite3.OperationalError when another process holds the index's lock.
    """
    layout = workspace.layout
    _heed_settings(connection, workspace)
    key = "seen talk" if talk else "seen"
    seen = connection.execute("select value from meta where key = ?", (key,)).fetchone()
    if seen and guess and guess(seen[0]):
        return Refreshed(None)
    listing = (snapshot := snapshot or _snapshot(connection, workspace)).listing
    if seen == (listing.hash,):
        return Refreshed(snapshot)
    indexed = {
        row[0]: row for row in connection.execute("select path, file, mtime, ctime, size, inode, noted from files")
    }
    fresh: list[tuple[str, str]] = []
    for path, stat in listing.stats.items():
        row = indexed.get(path)
        if row is not None and row[2:6] == stat and _is_settled(stat, row[6]):
            continue
        kind = None if changing and (path == changing or layout.is_archived(path)) else layout.kind_of(path)
        if kind and (talk or kind != "session"):
            fresh.append((path, kind))
    removed = _deleted(indexed, snapshot, {shown(path) for path, _ in fresh})
    _note_folders(connection, layout, listing)
    if not fresh and not removed and not connection.execute("select 1 from meta where key = 'items'").fetchone():
        if not changing:
            _note_seen(connection, key, snapshot)
        return Refreshed(snapshot)
    # Late: most refreshes find nothing, and need not know how a file is read.
    from .file_updater import settle_items, take_in
    from .writer import Writer

    counts = Counter[str]()
    with Writer(connection, layout, _arrival(connection, workspace)) as writer:
        if layout.has_items:  # until they are settled, also if this is killed
            connection.execute("insert or replace into meta values('items', 1)")
        counts["removed"] += _forget(writer, removed)
        for done, (path, kind) in enumerate(fresh):
            counts[take_in(writer, workspace, path, kind)] += 1
            if progress:
                progress(done + 1, len(fresh))
            writer.breathe()
        if layout.has_items:
            settle_items(writer, workspace, listing.stats)
        connection.execute("insert or ignore into arrivals values('', '')")  # what comes from now on is new
    return Refreshed(snapshot, counts["added"], counts["changed"], counts["removed"])


def _arrival(connection: sqlite3.Connection, workspace: Workspace) -> str:
    """Return when an entry arrives that the index does not know; empty while the index is filled for the first time."""
    is_filled = connection.execute("select 1 from arrivals where id = ''").fetchone()
    return workspace.stamp if is_filled else ""


def _forget(writer: "Writer", rows: Sequence[Row]) -> int:
    """Take files out of the index that went away, and return how many."""
    count = 0
    for row in rows:
        file = writer.current(row[0])
        if file is not None and file[:3] == (row[1], row[2], row[6]):  # else another process saw it since
            writer.forget(row[1])
            count += 1
        writer.breathe()
    return count


def _deleted(rows: Mapping[str, Row], snapshot: Snapshot, fresh: set[str]) -> list[Row]:
    return [
        rows[path]
        for path in rows.keys() - snapshot.listing.stats.keys() - fresh
        # What another process took in since the scan began is no file that went away.
        if rows[path][6] < snapshot.began and not is_item(path) and not path.startswith(tuple(snapshot.listing.unread))
    ]


def _snapshot(connection: sqlite3.Connection, workspace: Workspace) -> Snapshot:
    began = time.time_ns()
    version = connection.execute("pragma data_version").fetchone()
    return Snapshot(scan(workspace.root, workspace.layout), began, version)


def _heed_settings(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Mark every file to be read again if the settings that reading depends on have changed."""
    layout = workspace.layout
    trusted = "" if workspace.is_trusted else " from others"
    terms = f"{workspace.zone} {sorted(layout.patterns.items())}{layout.ignore}{layout.archive}{ITEMS}{trusted}"
    if connection.execute("select value from meta where key = 'terms'").fetchone() == (terms,):
        return
    from .writer import Writer

    with Writer(connection, layout) as writer:
        for path, file in connection.execute("select path, file from files").fetchall():
            if workspace.layout.kind_of(path) is None:
                writer.forget(file)
        connection.execute("update files set noted = 0, digest = ''")
        connection.execute("insert or replace into meta values('terms', ?)", (terms,))


def _note_folders(connection: sqlite3.Connection, layout: Layout, listing: FileListing) -> None:
    """Keep what the listing could not reach, as problems of no file (file 0)."""
    wanted = sorted((shown(path), reason) for path, reason in listing.problems.items())
    noted = connection.execute("select path, reason from problems where file = 0 order by path, reason").fetchall()
    if wanted != noted:
        from .writer import Writer

        with Writer(connection, layout):
            connection.execute("delete from problems where file = 0")
            connection.executemany("insert into problems values(0, ?, 1, ?)", wanted)


def _note_seen(connection: sqlite3.Connection, key: str, snapshot: Snapshot) -> None:
    """Note what the disk looks like when nothing on it is new, so that the next refresh has one thing to compare.

    Whoever writes to the index takes the note away in the same transaction. It is made only if nobody has since
    it was looked at, and never waited for.
    """
    (wait,) = connection.execute("pragma busy_timeout").fetchone()
    connection.execute("pragma busy_timeout = 0")
    try:
        connection.execute("begin immediate")
        if connection.execute("pragma data_version").fetchone() == snapshot.version:
            connection.execute("insert or replace into meta values(?, ?)", (key, snapshot.listing.hash))
        connection.execute("commit")
    except sqlite3.OperationalError:  # somebody else writes, or nobody can
        if connection.in_transaction:
            connection.execute("rollback")
    finally:
        connection.execute(f"pragma busy_timeout = {wait}")


def _is_settled(stat: Stat, noted: int) -> bool:
    """Return whether a file noted at this moment could not have changed since without its stat showing it."""
    newest = max(stat[0], stat[1])
    return newest + (_COARSE if newest % 1_000_000_000 == 0 else _RACY) < noted


class Guess:
    """That the disk is as it was noted to be, while a helper looks at it."""

    def __init__(self, connection: sqlite3.Connection, workspace: Workspace) -> None:
        """Take an index that is in step with the disk, as far as it knows."""
        self._connection, self._workspace = connection, workspace
        self._version = self._data_version()
        self._answer: socket.socket | None = None
        self._seen: set[bytes] = set()

    @property
    def is_taken(self) -> bool:
        """Return whether something is taken for granted that a helper is looking at."""
        return self._answer is not None

    def take(self, seen: bytes) -> bool:
        """Take for granted that the disk has a hash; return False where nobody looks at it meanwhile."""
        if self._answer is None:
            self._answer = ask_helper(self._workspace.root, self._workspace.layout)
        self._seen.add(seen)
        return self.is_taken

    def holds(self) -> bool:
        """Return whether the disk is as it was taken to be, and no other process has changed the index since."""
        if self._answer is None:
            return True
        seen = b""
        (files,) = self._connection.execute("select coalesce(max(file), 0) from files").fetchone()
        with self._answer, suppress(OSError):
            self._answer.settimeout(_PATIENCE + _A_FILE * files)
            seen = self._answer.recv(16)
        seen = seen or scan(self._workspace.root, self._workspace.layout).hash
        return self._seen == {seen} and self._version == self._data_version()

    def _data_version(self) -> object:
        return self._connection.execute("pragma data_version").fetchone()
