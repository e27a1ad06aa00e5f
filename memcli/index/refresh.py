"""Bring the index in step with the files on disk."""

import json
import time
from collections.abc import Sequence
from typing import Any

from ..formats import Progress, build_digest, get_content
from ..store import Workspace, read_daily_settings
from .database import DELETE_DERIVED, PURGED_TEXTS, Database
from .scan import Listing, format_path, scan_workspace
from .settled import is_settled

FILES_PER_TRANSACTION = 500


def refresh(
    database: Database,
    workspace: Workspace,
    progress: Progress | None = None,
    *,
    with_sessions: bool = True,
) -> bool:
    """Read every file that is new, changed or deleted. Return whether anything was.

    Conversations may be left for the next refresh. A file is not read only if its stat is as noted
    and older than the note itself. Raises sqlite3.OperationalError if another process holds the
    lock of the index.
    """
    unreadable = workspace.settings.unreadable
    if not unreadable:
        check_settings(database, workspace)
    # Before the scan: a note that another process makes from now on is newer than our listing.
    began = time.time_ns()
    listing = scan_workspace(workspace)
    purged = repr(
        [sorted(workspace.read_purged_ids()), sorted(workspace.machine.read_purged_digests())]
    )
    # A text can be purged without a change in this folder: in a project's shared workspace.
    digest = build_digest(f"{listing.build_digest()} {purged}")
    if database.get_meta("seen") == digest:
        return False
    rows = {
        row[0]: row
        for row in database.run(
            "select path, file, mtime, ctime, size, inode, noted, digest from files"
        )
    }
    changed = find_changed_files(workspace, listing, rows)
    read = [path for path in changed if with_sessions or workspace.get_kind(path) != "session"]
    if unreadable:
        read = [path for path in read if format_path(path) in rows]
    is_complete, changed = len(read) == len(changed), read
    known = {format_path(path) for path in listing.stats}
    deleted = [
        row for path, row in rows.items() if path not in known and is_deleted(row, listing, began)
    ]
    store_listing_problems(database, listing)
    if not changed and not deleted and database.get_meta("purged") in (purged, None):
        if is_complete:
            # Every file is older than its note, so an equal listing means equal files.
            database.try_set_meta("seen", digest)
            database.try_set_meta("folders", json.dumps(listing.folders))
        return False
    # Most refreshes find nothing, and need not know how a file is read.
    from .reader import load_forgotten
    from .writer import apply_forgotten, delete_file, refresh_file, wipe_deleted_texts

    is_noted = note_purged_texts(database, workspace, [row[1] for row in deleted])
    forgotten = load_forgotten(database, workspace)
    with database.write():
        database.run(DELETE_DERIVED)
        for row in deleted:
            noted = database.run("select noted from files where file = ?", (row[1],)).fetchone()
            if noted == (row[6],):  # otherwise another process has seen the file again
                delete_file(database, row[1])
    # In parts, so that another command waits for half a second at most.
    for start in range(0, len(changed), FILES_PER_TRANSACTION):
        with database.write():
            database.run(DELETE_DERIVED)
            for number, path in enumerate(changed[start : start + FILES_PER_TRANSACTION], start):
                refresh_file(database, workspace, path, forgotten)
                if progress:
                    progress(number + 1, len(changed))
    apply_forgotten(database, workspace)
    if database.get_meta("purged") not in (purged, None):
        wipe_deleted_texts(database)
    # The next refresh notes them if this one could not.
    database.try_set_meta("purged", purged if is_noted else "")
    return True


def note_purged_texts(database: Database, workspace: Workspace, files: Sequence[int]) -> bool:
    """Hide the texts of memories that git deleted because another machine purged them.

    The next command that may write deletes them where they are repeated. If the state folder cannot
    be written, the index keeps them, and False is returned.
    """
    purged_ids = workspace.read_purged_ids() if files and workspace.is_trusted else frozenset()
    # A purge on this machine has deleted them already.
    purged_ids -= workspace.machine.read_carried_purges() if purged_ids else frozenset()
    texts: dict[str, str] = json.loads(database.get_meta(PURGED_TEXTS) or "{}")
    for file in files if purged_ids else ():
        row = database.run(
            "select id, text from entries join texts using(file) where file = ?", (file,)
        ).fetchone()
        if row is not None and row[0] in purged_ids:
            texts[row[0]] = get_content(row[1])
    if not texts:
        return True
    machine = workspace.machine
    try:
        machine.save_pending_purges({**machine.read_pending_purges(), **texts})
        machine.store_purged_digests(texts.values())
        texts = {}
    except OSError:
        pass  # an agent's sandbox, or a full disk
    with database.write():
        database.set_meta(PURGED_TEXTS, json.dumps(texts))
    return not texts


def find_changed_files(workspace: Workspace, listing: Listing, rows: dict[str, Any]) -> list[str]:
    changed = []
    for path, stat in listing.stats.items():
        row = rows.get(path if path.isascii() else format_path(path))
        if row is not None and row[2:6] == stat and is_settled(stat, row[6]):
            continue
        if workspace.get_kind(path):
            changed.append(path)
    return changed


def is_deleted(row: Any, listing: Listing, began: int) -> bool:
    """Return whether a file was deleted, rather than unreadable or new since the scan began."""
    path, noted = row[0], row[6]
    if listing.unread and path.startswith(tuple(listing.unread)):
        return False
    # A note from the future was made before the clock of this machine was set back.
    return not began <= noted <= time.time_ns()


def check_settings(database: Database, workspace: Workspace) -> None:
    """Read every file again if a setting changed that reading depends on."""
    settings = workspace.settings
    names = ("timezone", "layout", "index.include", "secrets.personal")
    # Daily notes have their date in their name.
    days = read_daily_settings(workspace.root) if workspace.is_vault else ()
    workspace.resources["daily notes"] = days  # for each note that is read
    current = repr([[str(settings[name]) for name in names], workspace.is_trusted, days])
    noted = database.get_meta("settings")
    if noted == current:
        return
    from .writer import delete_file

    with database.write():
        if noted is not None:
            for (file,) in database.run("select file from files").fetchall():
                delete_file(database, file)
        database.run(DELETE_DERIVED)
        database.set_meta("settings", current)


def store_listing_problems(database: Database, listing: Listing) -> None:
    """Store the problems of files and folders that could not be listed, as problems of file 0."""
    wanted = sorted((format_path(path), reason) for path, reason in listing.problems.items())
    noted = database.run("select path, reason from problems where file = 0 order by path, reason")
    if wanted != noted.fetchall():
        with database.write():
            database.run("delete from problems where file = 0")
            database.connection.executemany(
                "insert into problems values(0, ?, 1, ?, 'unread')", wanted
            )
