"""The two generations of an index's vectors: the one that answers, and beside it the one being made or left.

A generation has the vectors of one model: a table that says which row of a matrix is whose, the matrix's file, and
notes. Both change places in one transaction, so that whoever asks meets the old vectors or the new ones and never some
of each. Knows nothing of how vectors are made.
"""

import time
from collections.abc import Sequence
from typing import Any

from .database import Database
from .vector_file import Matrix

FILE = "vectors.f32"
KEPT_SECONDS = 30 * 86400
"""A vector that nothing refers to is kept this long, for a branch switched back; and so is the model that was left."""
_WASTE = 64  # dead rows that are never worth a rewriting
_NOTES = ("model", "token", "dimension", "floor")


class Generation:
    """The vectors of one model in an index."""

    def __init__(self, index: Database, *, is_other: bool = False) -> None:
        """Belong to an index: the generation that answers, or the other one."""
        self.index = index
        self._table, self._prefix = ("other_vectors", "other ") if is_other else ("vectors", "")
        self._is_other = is_other
        self._matrix: Matrix | None = None

    @property
    def model(self) -> str:
        """Return the name of the model; empty where there is none yet."""
        return str(self._note("model") or "")

    @property
    def floor(self) -> float:
        """Return the cosine of texts that have nothing in common: 0 for the built-in model, 0.7 or more for some."""
        return float(self._note("floor") or 0)

    @property
    def token(self) -> bytes:
        """Return what tells its file from those of other generations; empty where there is none."""
        return bytes.fromhex(self._note("token") or "")

    def is_of(self, model: str) -> bool:
        """Return whether it is of the model, and its file holds every row that is named."""
        if self.model != model:
            return False
        (last,) = self.index.connection.execute(f"select max(vector) from {self._table}").fetchone()
        matrix = self.matrix()
        return last is None or (matrix is not None and matrix.rows > last)

    def is_empty(self) -> bool:
        """Return whether it holds no vector."""
        return self.index.connection.execute(f"select 1 from {self._table} limit 1").fetchone() is None

    def matrix(self) -> Matrix | None:
        """Open its file; None if there is none, or it is gone."""
        token, folder = self.token, self.index.matrix_folder
        if not token or folder is None:
            return None
        if self._matrix is None or self._matrix.token != token:
            self._matrix = Matrix.open(folder / FILE, int(self._note("dimension")), token)
        return self._matrix

    def rows(self) -> list[int]:
        """Return the rows that are named, in growing order."""
        named = self.index.connection.execute(f"select vector from {self._table} order by vector")
        return [row for (row,) in named]

    def missing(self, where: str = "true", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that pass a condition and have no vector here, the newest first."""
        lacking = f"hash not in (select hash from {self._table})" if self._is_other else "vector is null"
        rows = self.index.connection.execute(
            f"select chunk from chunks where {lacking} and {where} order by chunk desc", values
        )
        return [chunk for (chunk,) in rows]

    def known(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return those of the texts, named by their hashes, that have a vector here."""
        marks = ", ".join("?" * len(hashes))
        rows = self.index.connection.execute(f"select hash from {self._table} where hash in ({marks})", list(hashes))
        return {hash_ for (hash_,) in rows}

    def start_over(self, model: str) -> None:
        """Forget every vector and belong to a model from now on; part of the caller's transaction."""
        run = self.index.connection.execute
        run(f"delete from {self._table}")
        if not self._is_other:
            run("update chunks set vector = null where vector is not null")
        self._note_all(model, "", "", "")

    def keep(self, hashes: Sequence[bytes], vectors: Any, floor: float) -> None:
        """Append vectors and name their rows, (n, dimension) float32; part of the caller's transaction.

        A row that no table names does not exist. `floor` is noted where these are the first vectors.
        """
        folder = self.index.folder
        assert folder is not None
        matrix = self.matrix()
        if matrix is None:
            matrix = Matrix.create(folder / FILE, vectors.shape[1])
            self.start_over(self.model)
            self._note_all(self.model, matrix.token.hex(), matrix.dimension, floor)
            sweep(self.index)
        first = matrix.rows
        matrix.append(first, vectors)
        now = int(time.time())
        rows = [(hash_, first + offset, now) for offset, hash_ in enumerate(hashes)]
        self.index.connection.executemany(f"insert or replace into {self._table} values(?, ?, ?)", rows)
        if not self._is_other:
            self.index.connection.executemany(
                "update chunks set vector = ? where hash = ?", [(row, hash_) for hash_, row, _ in rows]
            )
        self.index.set_meta("embedded", int(self.index.meta("embedded") or 0) + len(hashes))

    def forget(self, rows: Sequence[int]) -> None:
        """Drop rows of the generation that answers, so that their texts are embedded again; as `start_over`."""
        marks = ", ".join(map(str, rows))
        self.index.connection.execute(f"delete from vectors where vector in ({marks})")
        self.index.connection.execute(f"update chunks set vector = null where vector in ({marks})")

    def drop_unused(self, *, is_wanted: bool) -> int:
        """Drop vectors unused for 30 days and return how many; where it is wanted, those of texts there are stay."""
        run = self.index.connection.execute
        now = int(time.time())
        if is_wanted:
            run(f"update {self._table} set used = ? where hash in (select hash from chunks)", (now,))
        dropped = run(f"delete from {self._table} where used < ?", (now - KEPT_SECONDS,)).rowcount
        if dropped and self._is_other and self.is_empty():
            self.start_over("")
        return dropped

    def compact(self) -> None:
        """Write the live rows anew if a quarter of the file is dead, for the one that answers; as `start_over`."""
        matrix, live = self.matrix(), self.rows()
        if matrix is None or matrix.rows - len(live) <= max(matrix.rows // 4, _WASTE):
            return
        run = self.index.connection.execute
        smaller = matrix.compacted(matrix.file.with_name(FILE), live)
        run("create temp table moved(old integer primary key, new integer)")
        self.index.connection.executemany(
            "insert into moved values(?, ?)", [(old, new) for new, old in enumerate(live)]
        )
        run("update vectors set vector = (select new from moved where old = vector)")
        run("update chunks set vector = (select vector from vectors where vectors.hash = chunks.hash)")
        run("drop table moved")
        self.index.set_meta("token", smaller.token.hex())

    def _note(self, name: str) -> Any:
        return self.index.meta(self._prefix + name)

    def _note_all(self, *values: Any) -> None:
        for name, value in zip(_NOTES, values, strict=True):
            self.index.set_meta(self._prefix + name, value)


def swap(index: Database) -> None:
    """Let both generations change places; part of the caller's transaction.

    What answered so far is kept as the other for 30 days: to switch back then embeds only what is new.
    """
    run = index.connection.execute
    run("create temp table left_vectors as select * from vectors")
    run("delete from vectors")
    run("insert into vectors select * from other_vectors")
    run("delete from other_vectors")
    run("insert into other_vectors select hash, vector, ? from left_vectors", (int(time.time()),))
    run("drop table left_vectors")
    run("update chunks set vector = (select vector from vectors where vectors.hash = chunks.hash)")
    for name in _NOTES:
        ours, others = index.meta(name), index.meta(f"other {name}")
        index.set_meta(name, others)
        index.set_meta(f"other {name}", ours)


def sweep(index: Database) -> None:
    """Remove the files of generations that are no longer named; only in a transaction."""
    if index.folder is not None:
        Matrix.sweep(index.folder / FILE, [one.token for one in (Generation(index), Generation(index, is_other=True))])
