"""The state of the index: its size in numbers, and whether its content is as it was written."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from .database import Database, checked


@dataclass(frozen=True)
class Health:
    """The index in numbers."""

    kinds: Mapping[str, int]  # files by kind, without the archive's
    entries: int  # with the archive's
    chunks: int
    not_embedded: int  # chunks without a vector
    vectors: int
    embedded: int  # texts embedded since the index was made
    size: int  # bytes on disk


def health(index: Database) -> Health:
    """Count what is in the index."""
    run = index.connection.execute
    kinds = run("select kind, count(*) from files where status <> 'archived' group by kind").fetchall()
    chunks, missing = run("select count(*), coalesce(sum(vector is null), 0) from chunks").fetchone()
    folder = index.folder
    return Health(
        kinds=dict(kinds),
        entries=run("select count(*) from entries").fetchone()[0],
        chunks=chunks,
        not_embedded=missing,
        vectors=run("select count(*) from vectors").fetchone()[0],
        embedded=int(index.meta("embedded") or 0),
        size=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) if folder else 0,
    )


def verify(index: Database) -> None:
    """Read the whole index; raise sqlite3.DatabaseError if a text or its words differ from what was written."""
    run = index.connection.execute
    (answer,) = run("pragma quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)
    run("insert into words(words) values('integrity-check')")
    # A file at a time: SQLite would read the whole of a file's text for each of its chunks.
    file, text = None, ""
    for of, start, stop, prefix, turn, hash_ in run(
        "select chunks.file, start, stop, prefix, turns.text, hash from chunks left join turns using(chunk)"
        " order by chunks.file"
    ):
        if turn is None and of != file:
            file, text = of, (run("select text from texts where file = ?", (of,)).fetchone() or ("",))[0]
        checked(prefix + (text[start:stop] if turn is None else turn), hash_)


def out_of_step(index: Database, digests: Mapping[str, str]) -> list[str]:
    """Return the paths whose digest in the index differs from the one given, or that only one of both has.

    A file that the index could not read has no digest there and is left out. Raises as `verify` does.
    """
    verify(index)
    kept = dict(
        index.connection.execute("select path, digest from files where kind <> 'session' and digest <> ''").fetchall()
    )
    return sorted(path for path in kept.keys() | digests.keys() if kept.get(path) != digests.get(path))
