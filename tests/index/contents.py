"""What an index says, told by paths instead of row numbers, so that two indexes can be compared."""

import sqlite3
from typing import Any

from memcli.index import database
from memcli.index.index import Index
from memcli.store.workspace import Workspace

Contents = dict[str, list[tuple[Any, ...]]]


def contents(connection: sqlite3.Connection) -> Contents:
    """Tell everything an index keeps of the files; when it looked at them is left out, and its vectors."""
    queries = {
        "files": "select path, kind, status, mtime, ctime, size, inode, digest from files",
        "texts": "select path, text from texts left join files using(file)",
        "problems": "select path, line, reason from problems",
        "turns": "select path, anchor, line, turns.* from turns left join chunks using(chunk)"
        " left join files using(file)",
        "talks": "select path, talks.* from talks left join files using(file)",
        "entries": "select path, entries.* from entries left join files using(file)",
        "chunks": "select path, chunks.* from chunks left join files using(file)",
        "words": "select path, start, words.title, tags, body from words"
        " left join chunks on chunk = words.rowid left join files using(file)",
    }
    told = {}
    for name, query in queries.items():
        cursor = connection.execute(query)
        kept = [
            place for place, column in enumerate(cursor.description) if column[0] not in ("file", "chunk", "vector")
        ]
        told[name] = sorted((tuple(row[place] for place in kept) for row in cursor), key=repr)
    return told


def assert_sound(index: Index) -> None:
    """Check that the tables fit each other and that every vector is where its text says."""
    run = index.connection.execute
    assert run("select count(*) from words").fetchone() == run("select count(*) from chunks").fetchone()
    run("insert into words(words) values('integrity-check')")
    for table in ("texts", "chunks", "entries", "talks", "problems"):
        assert run(f"select * from {table} where file not in (select file from files) and file != 0").fetchall() == []
    stray = "select * from chunks left join vectors using(hash) where chunks.vector is not vectors.vector"
    assert run(stray).fetchall() == []


def assert_as_new(index: Index) -> None:
    """Bring an index in step with the disk and compare it with one made of nothing."""
    index.refresh(talk=True)
    assert index.folder is not None
    assert_sound(index)
    assert contents(index.connection) == made_anew(index.workspace)


def made_anew(workspace: Workspace) -> Contents:
    """Tell what an index says that is made of the files alone."""
    fresh = Index(workspace, *database.connect(None))
    try:
        fresh.refresh(talk=True)
        return contents(fresh.connection)
    finally:
        fresh.close()
