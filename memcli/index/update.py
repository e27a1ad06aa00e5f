"""Read files into the index, and hide what repeats forgotten memories."""

import time
from collections.abc import Iterable

from ..formats.text import Problem, build_digest
from ..store.workspace import Workspace
from .database import Database
from .forgotten import ForgottenTexts, load_forgotten
from .reader import ParsedFile, parse_file, read_bytes
from .scan import format_path
from .writer import delete_file, store_file


def refresh_file(
    database: Database,
    workspace: Workspace,
    path: str,
    forgotten: ForgottenTexts,
    *,
    is_forced: bool = False,
) -> None:
    """Read one file into the index, within a transaction; if forced, even without changes."""
    noted = time.time_ns()
    if path != format_path(path):
        store_problem(database, workspace, path, "its name is not UTF-8: rename it", noted)
        return
    # Read here, because another process may have indexed the file since the scan.
    row = database.run("select file, digest, mtime from files where path = ?", (path,)).fetchone()
    try:
        data, stat = read_bytes(workspace, path)
    except FileNotFoundError:
        if row is not None:
            delete_file(database, row[0])
        return
    except OSError as error:
        store_problem(database, workspace, path, f"cannot be read: {error.strerror}", noted)
        return
    # A file without dates takes its own, so its time counts even if its content is the same.
    is_same_time = row is not None and row[2] // 10**9 == stat[0] // 10**9
    if row is not None and row[1] == build_digest(data) and is_same_time and not is_forced:
        database.run(
            "update files set mtime = ?, ctime = ?, size = ?, inode = ?, noted = ? where file = ?",
            (*stat, noted, row[0]),
        )
        return
    store_file(database, parse_file(workspace, path, data, stat, forgotten), noted)


def store_problem(
    database: Database, workspace: Workspace, path: str, reason: str, noted: int
) -> None:
    """Store a file that cannot be read. Its stat is zero, so the next refresh tries again."""
    parsed = ParsedFile(format_path(path), workspace.get_kind(path), (0, 0, 0, 0), "")
    parsed.problems.append(Problem(1, reason, "unread"))
    store_file(database, parsed, noted)


def apply_forgotten(database: Database, workspace: Workspace) -> None:
    """Read files again if the texts to hide have changed since they were read."""
    forgotten = load_forgotten(database, workspace)
    signature = forgotten.build_signature()
    if database.get_meta("forgotten") == signature:
        return
    with database.write():
        database.run("delete from meta where key in ('seen', 'rows')")
        for path in list(find_affected_files(database, forgotten)):
            refresh_file(database, workspace, path, forgotten, is_forced=True)
        database.set_meta("forgotten", signature)


def find_affected_files(database: Database, forgotten: ForgottenTexts) -> Iterable[str]:
    rows = database.run(
        "select path, text, hidden, status, id from files join texts using(file)"
        " left join entries using(file) where digest <> ''"
    ).fetchall()
    for path, text, hidden, status, entry_id in rows:
        repeats = status != "forgotten" and forgotten.hide(text)[1]
        is_page = path.endswith("MEMORY.md")  # its lines are hidden by id
        if hidden or repeats or is_page or entry_id in forgotten.purged_ids:
            yield path
