"""The index's SQLite file: opened, made anew on any doubt, never the only copy of anything."""

import os
import sqlite3
from contextlib import closing, suppress
from hashlib import blake2b
from pathlib import Path

from ..text.words import TOKENIZE

FILE = "index.db"
LOCK_WAIT = 0.25  # seconds; whoever cannot write by then answers from a copy in memory

_SCHEMA = f"""
create table meta(key text primary key, value) without rowid;
create table files(
    file integer primary key, path text unique not null, kind text not null, status text not null,
    mtime integer, ctime integer, size integer, inode integer, noted integer, digest text not null
);
create table texts(file integer primary key, text text not null);
create table problems(file integer not null, line integer not null, reason text not null);
create index problems_of on problems(file);
create table entries(
    file integer primary key, id text not null, type text, layer text, title text, tags text, project text,
    created_at text, updated_at text, source text, status text, trust real, confidence real, salience real,
    strength integer, pinned integer, expires_at text, superseded_by text, conflicts_with text,
    access_count integer, last_accessed_at text, summary text
);
create index entries_by_id on entries(id);
create index entries_by_tail on entries(substr(id, -6));
create table chunks(
    chunk integer primary key, file integer not null, kind text not null, status text not null,
    anchor text not null, line integer not null, start integer not null, stop integer not null,
    title text not null, prefix text not null, timestamp text not null, hash blob not null, vector integer
);
create index chunks_of on chunks(file);
create index chunks_by_hash on chunks(hash);
create index chunks_to_embed on chunks(chunk) where vector is null;
create virtual table words using fts5(title, tags, body, context, tokenize="{TOKENIZE}");
create table vectors(hash blob primary key, vector integer not null, used integer not null) without rowid;
"""
_READING = 1  # to be raised when files are read or cut differently
VERSION = int.from_bytes(blake2b(f"{_READING}{_SCHEMA}".encode(), digest_size=4).digest()) >> 1
"""The schema's fingerprint: an index of another one is dropped and made anew, never migrated."""
_COSTLY = ("meta", "vectors")
"""Tables kept if they are as they should be: a new release must not embed everything again."""


def folder_of(derived: Path, cache: Path) -> Path | None:
    """Give the folder for derived data: the workspace's own, else one in the user's cache, else None."""
    for folder in (derived, cache / blake2b(os.fsencode(derived), digest_size=8).hexdigest()):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder, os.W_OK):
                continue
            mark = folder / ".gitignore"
            if not mark.exists():
                mark.write_text("*\n", encoding="utf-8")
        except OSError:
            continue
        return folder
    return None


def connect(folder: Path | None) -> sqlite3.Connection:
    """Open the index in a folder, making it anew where it is absent, damaged or of another schema.

    Without a folder the index is in memory and lasts as long as the command.
    """
    if folder is None:
        return _made(sqlite3.connect(":memory:", isolation_level=None))
    path = folder / FILE
    for attempt in range(3):
        connection = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)
        try:
            return _checked(connection)
        except sqlite3.OperationalError as error:
            connection.close()
            if "locked" in str(error) and attempt < 2:
                continue
            return _made(sqlite3.connect(":memory:", isolation_level=None))
        except sqlite3.DatabaseError:
            connection.close()
            discard(folder)
    return _made(sqlite3.connect(":memory:", isolation_level=None))


def discard(folder: Path) -> None:
    """Remove the index; the next command makes it anew."""
    for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
        with suppress(FileNotFoundError):
            path = folder / name
            if path.is_dir():
                path.rename(folder / f"{name}.{os.getpid()}.not-ours")
            else:
                path.unlink()


def copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy an index into memory, for an answer while another process writes it."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    with closing(connection):
        connection.backup(copy)
    return copy


def _checked(connection: sqlite3.Connection) -> sqlite3.Connection:
    version = connection.execute("pragma user_version").fetchone()[0]
    if version == VERSION:
        connection.execute("select count(*) from meta").fetchone()
        connection.execute("pragma synchronous = normal")
        return connection
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = normal")
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
        run(f"pragma user_version = {VERSION}")
    run("commit")
    return connection


def _name(statement: str) -> str:
    return statement.split("(")[0].replace(" using fts5", "").split(" on ")[0].split()[-1]
