"""How the index is doing: in step with the files or not, how large, how much of it has vectors."""

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass

from .index import Index
from .kept import as_kept


@dataclass(frozen=True)
class Health:
    """The index in numbers."""

    kinds: Mapping[str, int]  # files by kind, the archive's not counted
    chunks: int
    not_embedded: int
    vectors: int
    size: int  # bytes on disk


def health(index: Index) -> Health:
    """Count what is in the index."""
    run = index.connection.execute
    chunks, missing = run("select count(*), coalesce(sum(vector is null), 0) from chunks").fetchone()
    folder = index.folder
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) if folder else 0
    return Health(
        dict(run("select kind, count(*) from files where status <> 'archived' group by kind").fetchall()),
        chunks,
        missing,
        run("select count(*) from vectors").fetchone()[0],
        size,
    )


def verify(index: Index) -> None:
    """Read the whole index once; DatabaseError where its texts or words are not as they were written."""
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
        as_kept(prefix + (text[start:stop] if turn is None else turn), hash_)


def out_of_step(index: Index, digests: Mapping[str, str]) -> list[str]:
    """List the paths of which the index has another content than the digests given, or none, or too much.

    What it could not read has no digest there and is passed over.
    """
    verify(index)
    kept = dict(
        index.connection.execute("select path, digest from files where kind <> 'session' and digest <> ''").fetchall()
    )
    return sorted(path for path in kept.keys() | digests.keys() if kept.get(path) != digests.get(path))
