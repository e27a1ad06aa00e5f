"""The index a command asks: in step with the disk, searched by words and by meaning."""

import json
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import UnavailableError
from ..store.workspace import Workspace
from . import database, refresh
from .filters import Filter, chunk_condition, entry_condition, file_condition
from .refresh import Progress, Refreshed

if TYPE_CHECKING:
    from .embedding import Embedding

T = TypeVar("T")


@dataclass(frozen=True)
class Piece:
    """A chunk with what its file says of it."""

    chunk: int
    file: int
    path: str
    kind: str
    status: str
    anchor: str
    line: int
    title: str
    text: str
    timestamp: str
    entry: Mapping[str, Any]  # the row of its entry; empty for what is none


@dataclass(frozen=True)
class FileProblem:
    """Something wrong with a file, as `path:line: reason`."""

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.reason}" if self.path else self.reason


class Index:
    """The derived data of one workspace, open for one command."""

    def __init__(self, workspace: Workspace, connection: sqlite3.Connection, folder: Path | None) -> None:
        """Take an open connection; use `ask` to get one."""
        self.workspace = workspace
        self.connection = connection
        self.folder = folder  # None when the index lives in memory and cannot keep anything
        self.matrix_folder = folder  # where vectors are read from, also for a copy in memory
        self._embedding: Embedding | None = None

    @property
    def embedding(self) -> "Embedding":
        """Give the part that knows vectors, loaded when first used."""
        if self._embedding is None:
            from .embedding import Embedding

            self._embedding = Embedding(self)
        return self._embedding

    def refresh(self, progress: Progress | None = None) -> Refreshed:
        """Take in what changed on disk; while another process writes the index, do so in a copy."""
        try:
            return refresh.refresh(self.connection, self.workspace, progress)
        except sqlite3.OperationalError:  # locked, read-only or no space left
            if self.folder is None:
                raise
        self.connection = database.copied(self.connection)
        self.folder = None
        return refresh.refresh(self.connection, self.workspace, progress)

    def words(self, match: str, wanted: Filter, limit: int) -> dict[int, float]:
        """Find the chunks whose words fit best: chunk → BM25 (title and tags count three times), highest first."""
        if not match:
            return {}
        where = chunk_condition(wanted)
        rows = self.connection.execute(
            # The cross join keeps SQLite from asking the word index once for every chunk.
            "select chunk, -bm25(words, 3.0, 3.0, 1.0, 0.5) as score from words cross join chunks"
            f" on chunk = words.rowid where words match ? and {where} order by score desc limit ?",
            (match, *where.values, limit),
        )
        return dict(rows)

    def words_of(self, match: str, chunks: Collection[int]) -> dict[int, float]:
        """Give BM25 of the chunks named, for those that hold any of the words."""
        if not match or not chunks:
            return {}
        rows = self.connection.execute(
            "select rowid, -bm25(words, 3.0, 3.0, 1.0, 0.5) from words where words match ?"
            f" and rowid in ({', '.join(map(str, chunks))})",
            (match,),
        )
        return dict(rows)

    def chunk_count(self) -> int:
        """Count all chunks."""
        count: int = self.connection.execute("select count(*) from chunks").fetchone()[0]
        return count

    def pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        """Fetch chunks with their texts."""
        cursor = self.connection.execute(
            "select chunk, file, path, chunks.kind, chunks.status, anchor, line, chunks.title,"
            " substr(text, start + 1, stop - start) as text, timestamp"
            " from chunks join files using(file) join texts using(file)"
            f" where chunk in ({', '.join(map(str, chunks))})"
        )
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        entries = self._entries_of({row["file"] for row in rows})
        return {row["chunk"]: Piece(**row, entry=entries.get(row["file"], {})) for row in rows}

    def list_entries(self, wanted: Filter, order: str, limit: int = -1) -> list[dict[str, Any]]:
        """List entries with their paths; `order` is an SQL order of our own making."""
        where = entry_condition(wanted)
        cursor = self.connection.execute(
            f"select entries.*, path from entries join files using(file) where {where} order by {order} limit ?",
            (*where.values, limit),
        )
        return _rows(cursor)

    def find_id(self, name: str) -> list[tuple[str, str]]:
        """Find entries by whole id, unique prefix or suffix: (id, path), an exact one alone if there is one."""
        run = self.connection.execute
        exact = run("select id, path from entries join files using(file) where id = ?", (name,)).fetchall()
        if exact:
            return exact
        size = len(name)
        return run(
            "select id, path from entries join files using(file)"
            " where substr(id, 1, ?) = ? or substr(id, -?) = ? or substr(id, 5, ?) = ? order by id limit 20",
            (size, name, size, name, size, name),
        ).fetchall()

    def find_record(self, identifier: str) -> list[tuple[str, str]]:
        """Find history records by id: (anchor, path)."""
        return self.connection.execute(
            "select distinct anchor, path from chunks join files using(file)"
            " where chunks.kind = 'history' and substr(anchor, 1, ?) = ?",
            (len(identifier), identifier),
        ).fetchall()

    def texts(self, wanted: Filter) -> Iterator[tuple[str, str]]:
        """Yield path and text of every file that passes, by path."""
        where = file_condition(wanted)
        yield from self.connection.execute(
            f"select path, text from files join texts using(file) where {where} order by path", where.values
        )

    def problems(self) -> list[FileProblem]:
        """List what is wrong with files, two of one id included."""
        found = [
            FileProblem(path or "", line, reason)
            for path, line, reason in self.connection.execute(
                "select path, line, reason from problems left join files using(file) order by path, line"
            )
        ]
        doubles = self.connection.execute(
            "select id, path, min(path) over (partition by id) from entries join files using(file)"
            " where id in (select id from entries group by id having count(*) > 1) order by path"
        )
        found += [
            FileProblem(path, 1, f"has the id {identifier} of {first}: give one of them another")
            for identifier, path, first in doubles
            if path != first
        ]
        return found

    def meta(self, key: str) -> Any:
        """Read a note of the index about itself; None where there is none."""
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the index's write lock for a moment; what is done is kept whole or not at all."""
        self.connection.execute("begin immediate")
        try:
            yield
        except BaseException:
            self.connection.execute("rollback")
            raise
        self.connection.execute("commit")

    def set_meta(self, key: str, value: Any) -> None:
        """Write a note of the index about itself."""
        self.connection.execute("insert or replace into meta values(?, ?)", (key, value))

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    def _entries_of(self, numbers: Collection[int]) -> dict[int, dict[str, Any]]:
        cursor = self.connection.execute(f"select * from entries where file in ({', '.join(map(str, numbers))})")
        return {row["file"]: row for row in _rows(cursor)}


def ask(workspace: Workspace, question: Callable[[Index], T]) -> T:
    """Open the index, answer from it and close it; a damaged one is made anew and asked again.

    Raises UnavailableError when even a
    new index fails.
    """
    for attempt in range(3):
        folder = database.folder_of(workspace.derived, workspace.cache) if attempt < 2 else None
        index = Index(workspace, database.connect(folder), folder)
        try:
            return question(index)
        except sqlite3.DatabaseError as error:
            if attempt == 2:
                raise UnavailableError(
                    f"the index in {workspace.derived} fails ({error})",
                    "free some disk space, then `mem index --rebuild`",
                ) from None
            if folder and not isinstance(error, sqlite3.OperationalError):
                database.discard(folder)
        finally:
            index.close()
    raise AssertionError("unreachable")


def _rows(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    found = [dict(zip(names, row, strict=True)) for row in cursor]
    for row in found:
        row["tags"] = json.loads(row["tags"] or "[]")
        row["pinned"] = bool(row["pinned"])
    return found
