"""Bring the index in step with what is on disk now, doing no more than what changed."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from ..store.workspace import Workspace
from .reading import digest_of, opened, read_file, try_bytes
from .scan import Listing, Stat, scan
from .talk import Talk
from .writer import OvertakenError, Writer

_RACY = 20_000_000  # nanoseconds: a file changed this shortly before it was noted may change again unseen
_COARSE = 2_000_000_000  # on file systems that keep whole seconds

Progress = Callable[[int, int], None]
"""Told how many of how many files are done."""


@dataclass(frozen=True)
class Refreshed:
    """What a refresh found."""

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0


def refresh(
    connection: sqlite3.Connection, workspace: Workspace, progress: Progress | None = None, *, talk: bool = True
) -> Refreshed:
    """Take in every file that is new, changed or gone since the last time; conversations only with `talk`.

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
        if kind and (talk or kind != "session"):
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
    with Writer(connection) as writer:
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


def _take_in(writer: "Writer", workspace: Workspace, path: str, kind: str) -> str:
    """Read one file into the index; say whether it was added, changed, removed or the same as before."""
    noted = time.time_ns()
    name = _shown(path)
    file, mtime, _, digest = writer.standing(name) or (None, 0, 0, "")
    if kind == "session" and name == path:
        return _take_in_talk(writer, workspace, path, noted, file, digest)
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


def _take_in_talk(writer: "Writer", workspace: Workspace, path: str, noted: int, file: int | None, digest: str) -> str:
    """Read what was added to a conversation, or all of it where it was changed before its end."""
    known = writer.known(file)
    try:
        with opened(workspace, path) as stream:
            return writer.keep_talk(path, Talk(stream, known, digest), noted, file)
    except OvertakenError:
        return _take_in(writer, workspace, path, "session")
    except FileNotFoundError:
        if file is not None:
            writer.forget(file)
        return "same" if file is None else "removed"
    except OSError as error:
        return writer.stand_in(path, "session", f"cannot be read: {error.strerror}", file)


def _heed_settings(connection: sqlite3.Connection, workspace: Workspace) -> None:
    """Have everything read anew where the settings that reading depends on are others than the last time."""
    terms = f"{workspace.zone} {sorted(workspace.layout.patterns.items())}"
    if connection.execute("select value from meta where key = 'terms'").fetchone() == (terms,):
        return
    with Writer(connection) as writer:
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
        with Writer(connection):
            connection.execute("delete from problems where file = 0")
            connection.executemany("insert into problems values(0, ?, 1, ?)", wanted)


def _shown(path: str) -> str:
    """Give a name as a text; bytes of it that are no UTF-8 come as lone surrogates, which SQLite cannot take."""
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _is_settled(stat: Stat, noted: int) -> bool:
    """Tell whether a file noted at this moment could not have changed since without its stat showing it."""
    newest = max(stat[0], stat[1])
    return newest + (_COARSE if newest % 1_000_000_000 == 0 else _RACY) < noted


def _is_unread(path: str, folders: list[str]) -> bool:
    return any(path.startswith(folder) for folder in folders)
