"""Bring the index in step with the files as they are now."""

import time
from collections.abc import Callable, Iterable
from typing import Any

from ..formats.frontmatter import FrontmatterError, parse
from ..formats.text import Problem
from ..store.workspace import Workspace
from .database import Database
from .forgotten import ForgottenTexts
from .reader import Reading, parse_file, read_bytes
from .scan import Listing, Stat, format_path, scan_workspace
from .writer import delete_file, store_reading

# A file changed this shortly before it was read may change again with the same stat.
RACY_NANOSECONDS = 20_000_000
COARSE_NANOSECONDS = 2_000_000_000  # file systems that store whole seconds
FILES_PER_TRANSACTION = 500

Progress = Callable[[int, int], None]
"""Called with the number of files done and of all files."""


def refresh(database: Database, workspace: Workspace, progress: Progress | None = None) -> bool:
    """Read every file that is new, changed or deleted. Return whether anything was.

    A file is not read only if its stat is as noted and older than the note itself. Raises
    sqlite3.OperationalError if another process holds the lock of the index.
    """
    check_settings(database, workspace)
    began = time.time_ns()
    listing = scan_workspace(workspace)
    digest = listing.make_digest()
    if database.get_meta("seen") == digest:
        return False
    rows = {
        row[0]: row
        for row in database.run(
            "select path, file, mtime, ctime, size, inode, noted, digest from files"
        )
    }
    changed = find_changed_files(workspace, listing, rows)
    known = {format_path(path) for path in listing.stats}
    deleted = [
        row for path, row in rows.items() if path not in known and is_gone(row, listing, began)
    ]
    store_listing_problems(database, listing)
    purged = repr(sorted(workspace.read_purged_ids()))
    if not changed and not deleted and database.get_meta("purged") in (purged, None):
        # Every file is older than its note, so an equal listing means equal files.
        database.try_set_meta("seen", digest)
        return False
    forgotten = load_forgotten(database, workspace)
    with database.write():
        database.run("delete from meta where key in ('seen', 'rows')")
        for row in deleted:
            delete_file(database, row[1])
    for start in range(0, len(changed), FILES_PER_TRANSACTION):
        with database.write():
            database.run("delete from meta where key in ('seen', 'rows')")
            for number, path in enumerate(changed[start : start + FILES_PER_TRANSACTION], start):
                refresh_file(database, workspace, path, rows.get(format_path(path)), forgotten)
                if progress:
                    progress(number + 1, len(changed))
    apply_forgotten(database, workspace, forgotten)
    database.try_set_meta("purged", purged)
    return True


def find_changed_files(workspace: Workspace, listing: Listing, rows: dict[str, Any]) -> list[str]:
    changed = []
    for path, stat in listing.stats.items():
        row = rows.get(path if path.isascii() else format_path(path))
        if row is not None and row[2:6] == stat and is_settled(stat, row[6]):
            continue
        if workspace.get_kind(path):
            changed.append(path)
    return changed


def is_settled(stat: Stat, noted: int) -> bool:
    """Return whether a file that was noted then cannot have changed since with the same stat."""
    newest = max(stat[0], stat[1])
    margin = COARSE_NANOSECONDS if newest % 1_000_000_000 == 0 else RACY_NANOSECONDS
    return newest + margin < noted


def is_gone(row: Any, listing: Listing, began: int) -> bool:
    """Return whether a file was deleted, rather than unreadable or new since the scan began."""
    path, noted = row[0], row[6]
    return noted < began and not (listing.unread and path.startswith(tuple(listing.unread)))


def refresh_file(
    database: Database, workspace: Workspace, path: str, row: Any, forgotten: ForgottenTexts
) -> None:
    """Read one file into the index. A file that cannot be read is a problem."""
    noted = time.time_ns()
    if path != format_path(path):
        store_problem(database, workspace, path, "its name is not UTF-8: rename it", noted)
        return
    try:
        data, stat = read_bytes(workspace, path)
    except FileNotFoundError:
        if row is not None:
            delete_file(database, row[1])
        return
    except OSError as error:
        store_problem(database, workspace, path, f"cannot be read: {error.strerror}", noted)
        return
    reading = parse_file(workspace, path, data, stat, forgotten)
    # A file without dates takes its own, so its time counts even if its content is the same.
    if row is not None and row[7] == reading.digest and row[2] // 10**9 == stat[0] // 10**9:
        database.run(
            "update files set mtime = ?, ctime = ?, size = ?, inode = ?, noted = ? where file = ?",
            (*stat, noted, row[1]),
        )
        return
    store_reading(database, reading, noted)


def store_problem(
    database: Database, workspace: Workspace, path: str, reason: str, noted: int
) -> None:
    """Store a file that cannot be read. Its stat is zero, so the next refresh tries again."""
    reading = Reading(format_path(path), workspace.get_kind(path), (0, 0, 0, 0), "")
    reading.problems.append(Problem(1, reason))
    store_reading(database, reading, noted)


def load_forgotten(database: Database, workspace: Workspace) -> ForgottenTexts:
    """Return the texts of the forgotten memories, as far as the index knows them."""
    rows = database.run(
        "select id, text from entries join texts using(file) where status = 'forgotten'"
    ).fetchall()
    texts = {entry_id: get_body(text) for entry_id, text in rows}
    return ForgottenTexts(texts, workspace.machine, workspace.read_purged_ids())


def get_body(text: str) -> str:
    try:
        return parse(text).body
    except FrontmatterError:
        return text


def apply_forgotten(database: Database, workspace: Workspace, before: ForgottenTexts) -> None:
    """Read files again that repeat a newly forgotten memory, or no longer repeat a restored one."""
    after = load_forgotten(database, workspace)
    has_purged = any(
        database.run("select 1 from entries where id = ?", (entry_id,)).fetchone()
        for entry_id in after.purged_ids
    )
    if not has_purged and after.is_same_as(before):
        return
    with database.write():
        database.run("delete from meta where key in ('seen', 'rows')")
        for path in list(find_affected_files(database, after)):
            data, stat = read_bytes(workspace, path)
            store_reading(database, parse_file(workspace, path, data, stat, after), time.time_ns())


def find_affected_files(database: Database, forgotten: ForgottenTexts) -> Iterable[str]:
    rows = database.run(
        "select path, text, hidden, status, id from files join texts using(file)"
        " left join entries using(file) where digest <> ''"
    ).fetchall()
    for path, text, hidden, status, entry_id in rows:
        repeats = status != "forgotten" and forgotten.hide(text)[1]
        if hidden or repeats or entry_id in forgotten.purged_ids:
            yield path


def check_settings(database: Database, workspace: Workspace) -> None:
    """Read every file again if a setting changed that reading depends on."""
    settings = workspace.settings
    names = ("timezone", "layout", "index.include", "secrets.personal")
    current = repr([[str(settings[name]) for name in names], workspace.is_trusted])
    noted = database.get_meta("settings")
    if noted == current:
        return
    with database.write():
        if noted is not None:
            for (file,) in database.run("select file from files").fetchall():
                delete_file(database, file)
        database.run("delete from meta where key in ('seen', 'rows')")
        database.set_meta("settings", current)


def store_listing_problems(database: Database, listing: Listing) -> None:
    """Store the problems of files and folders that could not be listed, as problems of file 0."""
    wanted = sorted((format_path(path), reason) for path, reason in listing.problems.items())
    noted = database.run("select path, reason from problems where file = 0 order by path, reason")
    if wanted != noted.fetchall():
        with database.write():
            database.run("delete from problems where file = 0")
            database.connection.executemany("insert into problems values(0, ?, 1, ?)", wanted)
