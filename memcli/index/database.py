"""The open index: its connection, its notes about itself, its write lock, its size, and the texts it keeps.

A text is checked by its hash when it is read back, since SQLite does not check what it reads.
"""

import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from ..dataclass import dataclass
from ..formats.ids import blake2b
from ..store.layouts import IS_ITEM
from ..store.workspace import Workspace
from . import schema


class MovedError(Exception):
    """Another process took in changes in the middle of a question: what was found first is not there any more."""


@dataclass(frozen=True)
class Health:
    """The index in numbers."""

    kinds: Mapping[str, int]  # files by kind, without the archive's
    entries: int  # with the archive's
    chunks: Annotated[int, "texts in the index"]
    not_embedded: Annotated[int, "texts known only by their words so far"]
    vectors: Annotated[int, "vectors kept"]
    embedded: int  # texts embedded since the index was made
    bytes: Annotated[int, "size"]  # on disk


class Database:
    """The SQLite database of one workspace's index, open for one command."""

    def __init__(
        self, workspace: Workspace, connection: sqlite3.Connection, folder: Path | None, is_overtaken: bool = False
    ) -> None:
        """Take an open connection; `index.ask` opens one."""
        self.workspace = workspace
        self.connection = connection
        self.folder = folder  # None when the index lives in memory and cannot keep anything
        self.matrix_folder = folder  # where vectors are read from, also for a copy in memory
        self.is_overtaken = is_overtaken  # another process was writing, so that this one keeps nothing

    def detach(self) -> None:
        """Continue in a copy in memory, which no other process changes and which is not kept."""
        self.connection = schema.copied(self.connection)
        self.folder = None

    def meta(self, key: str) -> Any:
        """Return a note of the index about itself, such as its model; None if there is none."""
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a write transaction: commit it at the end, roll it back if an exception leaves it."""
        self.connection.execute("begin immediate")
        try:
            yield
            self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:  # a full disk may have ended it
                self.connection.execute("rollback")
            raise

    def set_meta(self, key: str, value: Any) -> None:
        """Write a note of the index about itself."""
        self.connection.execute("insert or replace into meta values(?, ?)", (key, value))

    def wipe_deleted(self) -> None:
        """Leave nothing of deleted texts in the file, where SQLite only marks their pages as free."""
        self.connection.execute("insert into words(words) values('optimize')")
        self.connection.execute("vacuum")
        self.connection.execute("pragma wal_checkpoint(truncate)")

    def health(self) -> Health:
        """Return the index in numbers."""
        run = self.connection.execute
        kinds = run("select kind, count(*) from files where status <> 'archived' group by kind").fetchall()
        chunks, missing = run("select count(*), coalesce(sum(vector is null), 0) from chunks").fetchone()
        folder = self.folder
        return Health(
            kinds=dict(kinds),
            entries=run("select count(*) from entries").fetchone()[0],
            chunks=chunks,
            not_embedded=missing,
            vectors=run("select count(*) from vectors").fetchone()[0],
            embedded=int(self.meta("embedded") or 0),
            bytes=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) if folder else 0,
        )

    def chunk_count(self) -> int:
        """Return the number of chunks."""
        count: int = self.connection.execute("select count(*) from chunks").fetchone()[0]
        return count

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@dataclass(frozen=True)
class StoredText:
    """The text of a chunk; what is embedded is `prefix + text`, and `hash` is its key."""

    chunk: int
    prefix: str
    text: str
    hash: bytes


def text_hash(text: str) -> bytes:
    """Return the 16-byte key of an embedded text and of its vector."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def checked(text: str, hash_: bytes) -> str:
    """Return a text read from the index; raise sqlite3.DatabaseError if its hash differs."""
    if text_hash(text) != hash_:
        raise sqlite3.DatabaseError("a text is not as it was kept")
    return text


def texts_of(connection: sqlite3.Connection, chunks: Collection[int]) -> Iterator[StoredText]:
    """Yield the texts of chunks that exist, by file; raise sqlite3.DatabaseError if one has another hash.

    A file's text is read once: for `substr` in the query, SQLite would read the whole of it for each of its chunks.
    """
    rows = connection.execute(
        "select chunk, prefix, hash, start, stop, turns.text, nth,"
        " case nth when 1 then (select text from texts where texts.file = named.file) end from"
        " (select *, row_number() over (partition by file order by chunk) as nth from chunks"
        f" where chunk in ({', '.join(map(str, chunks))})) as named left join turns using(chunk) order by file, nth"
    )
    whole: str | None = None  # of the file at hand; a turn of a conversation is no stretch of its file
    for chunk, prefix, hash_, start, stop, turn, nth, text in rows:
        whole = text if nth == 1 else whole
        body = turn if turn is not None or whole is None else whole[start:stop]
        if body is None:
            raise sqlite3.DatabaseError("a text is not there")
        checked(prefix + body, hash_)
        yield StoredText(chunk, prefix, body, hash_)


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

    A file that the index could not read is left out. Raise sqlite3.DatabaseError if a text or its words are damaged.
    """
    verify(index)
    indexed = dict(
        index.connection.execute(
            f"select path, digest from files where kind <> 'session' and digest <> '' and not {IS_ITEM}"
        ).fetchall()
    )
    return sorted(path for path in indexed.keys() | digests.keys() if indexed.get(path) != digests.get(path))
