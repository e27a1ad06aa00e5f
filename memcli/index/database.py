"""The SQLite database of the index: its schema, opening, and repair by rebuilding.

The index is derived from the files. If it is damaged or of another version, it is deleted and made
again. If it cannot be written, it lives in memory for one command.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..formats import build_digest

FILE = "index.db"
MATRIX_FILE = "vectors.f32"
BUSY_SECONDS = 0.25  # a command that cannot write by then works on a copy in memory
# Marks count as letters, because Thai and Hindi words would fall apart without them.
TOKENIZER = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
# The key of texts, by id, that another machine purged and that the state folder does not have yet.
PURGED_TEXTS = "purged texts"
# What `get_derived` stores, and the listing of the files that the index has seen.
DELETE_DERIVED = "delete from meta where key in ('seen', 'folders', 'rows', 'number pairs')"
READER_VERSION = 6  # raise it when files are read or cut differently

SCHEMA = f"""
create table meta(key text primary key, value) without rowid;
create table files(
    file integer primary key, path text unique not null, kind text not null,
    mtime integer, ctime integer, size integer, inode integer, noted integer,
    digest text not null, masked integer not null, hidden integer not null);
create table texts(file integer primary key, text text not null);
create table problems(
    file integer not null, path text not null, line integer, reason text not null,
    code text not null);
create index problems_of on problems(file);
create table entries(
    file integer primary key, id text not null, type text, title text, tags text, aliases text,
    key text, project text, owner text, source text, trust real, confidence real, strength integer,
    pinned integer, status text, superseded_by text, conflicts_with text, created_at text,
    updated_at text, expires_at text, forgotten_at text, reason text, files text, summary text,
    fields text, same_words blob);
create index entries_by_id on entries(id);
create index entries_by_tail on entries(substr(id, -6));
create index entries_by_key on entries(key) where key <> '';
create index entries_by_words on entries(same_words);
create index entries_forgotten on entries(file) where status = 'forgotten';
create index entries_with_files on entries(file) where files <> '[]';
create table names(
    name text not null, file integer not null, primary key(name, file)) without rowid;
create index names_of on names(file);
create table links(
    target text not null, file integer not null, primary key(target, file)) without rowid;
create index links_of on links(file);
create table chunks(
    chunk integer primary key autoincrement, file integer not null, kind text not null,
    active integer not null, anchor text not null, line integer not null, start integer not null,
    stop integer not null, title text not null, prefix text not null, timestamp text not null,
    hash blob not null, vector integer);
create index chunks_of on chunks(file);
create index chunks_by_hash on chunks(hash);
create index chunks_to_embed on chunks(chunk) where vector is null;
create virtual table words using fts5(title, body, tokenize="{TOKENIZER}");
create virtual table counts using fts5vocab(words, instance);
create virtual table terms using fts5vocab(words, row);
create table spellings(word text primary key) without rowid;
create table vectors(hash blob primary key, vector integer not null) without rowid;
"""
# A changed schema gets another number automatically. SQLite stores 31 bits of it.
VERSION = int(build_digest(f"{READER_VERSION}{SCHEMA}")[:7], 16)
# Errors that have an external cause. The index itself is sound.
BUSY_ERRORS = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
EXTERNAL_ERRORS = (
    *BUSY_ERRORS,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
)


class Database:
    """An open index database."""

    def __init__(self, connection: sqlite3.Connection, folder: Path | None) -> None:
        self.connection = connection
        self.folder = folder  # None: it lives in memory
        self.matrix_folder = folder  # where vectors are read from, also for a copy in memory

    def run(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        return self.connection.execute(statement, values)

    def get_meta(self, key: str) -> Any:
        row = self.run("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    def set_meta(self, key: str, value: Any) -> None:
        self.run("insert or replace into meta values(?, ?)", (key, value))

    @contextmanager
    def write(self) -> Iterator[None]:
        """Run a write transaction, rolled back if an exception leaves it."""
        # A plain `begin` fails in its middle if another process writes after the first read.
        self.run("begin immediate")
        try:
            yield
            self.run("commit")
        except BaseException:
            if self.connection.in_transaction:  # a full disk may have ended it
                self.run("rollback")
            raise

    def try_set_meta(self, key: str, value: Any) -> None:
        """Note something unless another process is writing or the disk is full."""
        with suppress(sqlite3.OperationalError), self.write():
            self.set_meta(key, value)

    def get_derived(self, key: str, build: Callable[[], Any]) -> Any:
        """Return a value that `build` reads from the tables, stored until a file changes."""
        stored = self.get_meta(key)
        if stored is not None:
            return stored
        try:
            # In one transaction, so that no other process changes the tables in between.
            with self.write():
                value = build()
                self.set_meta(key, value)
                return value
        except sqlite3.OperationalError:
            return build()

    def copy_to_memory(self) -> None:
        """Continue in a copy that no other process changes and that is not saved."""
        copy = connect(":memory:")
        self.connection.backup(copy)
        self.connection.close()
        self.connection = copy
        self.folder = None


def open_database(folder: Path | None) -> Database:
    """Open the index in a folder, made again if it is damaged, or in memory."""
    for _ in range(2 if folder else 0):
        assert folder is not None
        try:
            return Database(prepare(connect(folder / FILE)), folder)
        except sqlite3.OperationalError:
            break
        except sqlite3.DatabaseError:
            delete_database(folder)
    return Database(prepare(connect(":memory:")), None)


def connect(path: Path | str) -> sqlite3.Connection:
    if isinstance(path, Path):
        # SQLite would create the file as readable as the umask allows.
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
    # Without isolation_level=None, Python begins transactions by itself.
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    # SQLite's own lower() knows the letters A to Z only.
    connection.create_function("folded", 1, lambda text: str(text).casefold(), deterministic=True)
    return connection


def prepare(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Check the version of a database, and create its tables if it is new."""
    version = connection.execute("pragma user_version").fetchone()[0]
    if version == VERSION:
        # A power cut loses the last commits at most, and the next refresh makes them again.
        connection.execute("pragma synchronous = normal")
        # Reads a page, so that a damaged file is noticed here.
        connection.execute("select count(*) from meta").fetchone()
        return connection
    if version or connection.execute("select count(*) from sqlite_master").fetchone()[0]:
        connection.close()
        raise sqlite3.DatabaseError("an index of another version")
    # In this mode readers and a writer do not wait for each other.
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
    # All or nothing, because another process may create the tables at the same moment.
    connection.executescript(f"begin immediate; {SCHEMA} pragma user_version = {VERSION}; commit;")
    return connection


def delete_database(folder: Path) -> None:
    # The database last: from then on another process may create a new one, whose log must stay.
    for name in (f"{FILE}-wal", f"{FILE}-shm", FILE):
        with suppress(OSError):
            (folder / name).unlink()


def has_code(error: sqlite3.Error, codes: Sequence[int]) -> bool:
    """Return whether an error is of one of these kinds."""
    # The low byte tells the kind: SQLITE_BUSY_SNAPSHOT is one of SQLITE_BUSY.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in codes


def read_passages(database: Database, places: Sequence[tuple[int, str, int, int]]) -> list[str]:
    """Return the passages at places: file, prefix, start and stop.

    The text of each file is read once. A join would read the whole file for each of its passages.
    """
    files = {place[0] for place in places}
    texts: dict[int, str] = {}
    for file in files:
        row = database.run("select text from texts where file = ?", (file,)).fetchone()
        texts[file] = row[0] if row else ""
    return [prefix + texts[file][start:stop] for file, prefix, start, stop in places]
