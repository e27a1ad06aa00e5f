"""The index's SQLite file: opened, made anew on any doubt, never the only copy of anything."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from .. import data
from ..formats.ids import blake2b
from ..store.privacy import make_derived, narrowed

FILE = "index.db"
TOKENIZE = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Marks count as letters, or Thai and Hindi fall apart."""
NO_PLACE = ("the index cannot be kept here", "give write access or free disk space")
LOCK_WAIT = 0.25  # seconds; whoever cannot write by then answers from a copy in memory

_SCHEMA = data.path("index.sql").read_text(encoding="utf-8").replace("@tokenize", TOKENIZE)
_CIRCUMSTANCES = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM),
)
_READING = 7  # to be raised when files are read or cut differently
_OURS = 0x6D656D31  # application_id: a database of somebody else is not emptied but put aside
VERSION = int.from_bytes(blake2b(f"{_READING}{_SCHEMA}".encode(), digest_size=4).digest()) >> 1
"""The schema's fingerprint: an index of another one is dropped and made anew, never migrated."""
_COSTLY = ("meta", "vectors")
"""Tables kept if they are as they should be: a new release must not embed everything again."""


def folder_of(derived: Path, cache: Path) -> Path | None:
    """Return the folder for derived data: the workspace's own, else one in the user's cache, else None.

    A link in the place of the workspace's own is not followed: it may come from a clone and lead anywhere.
    """
    for folder in (derived, cache / blake2b(os.fsencode(derived), digest_size=8).hexdigest()):
        try:
            if folder == derived and folder.is_symlink():
                continue
            make_derived(folder)
            if not os.access(folder, os.W_OK):
                continue
            mark = folder / ".gitignore"
            if not mark.exists():
                mark.write_text("*\n", encoding="utf-8")
        except OSError:
            continue
        return folder
    return None


def connect(folder: Path | None) -> tuple[sqlite3.Connection, Path | None, bool]:
    """Open the index in a folder, making it anew where it is absent, damaged, foreign or of another schema.

    Gives the folder too, and whether another process kept it locked. Without a folder, or where nothing can be kept in
    it, the index is in memory, lasts as long as the command, and the folder given is None.
    """
    busy = False
    for _ in range(3 if folder else 0):
        assert folder is not None
        try:
            return _opened(folder), folder, False
        except sqlite3.OperationalError as error:
            busy = is_busy(error)
            if "locked" not in str(error) and not _is_unfit(folder / FILE):
                break
        except sqlite3.DatabaseError:
            discard(folder)
    return _made(_connection(":memory:")), None, busy


def discard(folder: Path) -> None:
    """Remove the index, as far as it can be removed; the next command makes it anew."""
    # The database goes last: from then on another process may make a new one, whose log must stay.
    for name in (f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal", FILE):
        with suppress(OSError):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                path.rename(folder / f"{name}.{os.getpid()}.not-ours")
            else:
                path.unlink()


def is_busy(error: BaseException) -> bool:
    """Return whether another process held the lock, rather than that nothing can be written."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_circumstance(error: BaseException) -> bool:
    """Return whether the index itself is sound: it is locked, cannot be written, or no space is left."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _CIRCUMSTANCES


def is_damage(error: BaseException) -> bool:
    """Return whether the file is malformed, or no database at all; subclasses of the error mean other things."""
    return type(error) is sqlite3.DatabaseError


def copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy an index into memory, for an answer while another process writes it."""
    copy = _connection(":memory:")
    with closing(connection):
        connection.backup(copy)
    return copy


def _opened(folder: Path) -> sqlite3.Connection:
    path = folder / FILE
    if _is_unfit(path):
        discard(folder)
    with suppress(OSError):  # SQLite would make it as open as the umask lets it
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, narrowed(0o666, folder)))
    connection = _connection(path)
    try:
        return _checked(connection)
    except sqlite3.Error:
        connection.close()
        raise


def _connection(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)
    # SQLite's own lower() knows A to Z only.
    connection.create_function("folded", 1, lambda text: str(text).casefold(), deterministic=True)
    return connection


def _is_unfit(path: Path) -> bool:
    """Return whether something that can be no index of ours has its name; a link may lead to somebody's database."""
    return path.is_symlink() or (path.exists() and not (path.is_file() and os.access(path, os.R_OK)))


def _checked(connection: sqlite3.Connection) -> sqlite3.Connection:
    run = connection.execute
    version = run("pragma user_version").fetchone()[0]
    owner = run("pragma application_id").fetchone()[0]
    if owner != _OURS and run("select count(*) from sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError("the database of another program")
    if version == VERSION:
        run("select count(*) from meta").fetchone()
        run("pragma synchronous = normal")
        return connection
    run("pragma journal_mode = wal")
    run("pragma synchronous = normal")
    return _made(connection)


def _made(connection: sqlite3.Connection) -> sqlite3.Connection:
    run = connection.execute
    run("begin immediate")
    if run("pragma user_version").fetchone()[0] != VERSION:
        wanted = {_name(statement): statement.strip() for statement in _SCHEMA.split(";\n") if statement.strip()}
        for kind, name, statement in run("select type, name, sql from sqlite_master").fetchall():
            if name in _COSTLY and statement == wanted[name].replace("create table", "CREATE TABLE", 1):
                del wanted[name]
            elif kind == "table" and not name.startswith("sqlite_"):
                run(f'drop table if exists "{name}"')
        for statement in wanted.values():
            run(statement)
        run("delete from meta where key in ('seen', 'seen talk')")
        run(f"pragma application_id = {_OURS}")
        run(f"pragma user_version = {VERSION}")
    run("commit")
    return connection


def _name(statement: str) -> str:
    return statement.split("(")[0].replace(" using fts5", "").split(" on ")[0].split()[-1]
