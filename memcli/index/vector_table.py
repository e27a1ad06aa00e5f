"""Which row of the vectors' file is whose, and whose model made them; knows nothing of how vectors are made."""

import time
from collections.abc import Sequence
from typing import Any

from .database import Database
from .vector_file import Matrix

FILE = "vectors.f32"
KEPT_SECONDS = 30 * 86400
"""A vector that nothing refers to is kept this long, for a branch switched back."""
_WASTE = 64  # dead rows that are never worth a rewriting


class VectorTable:
    """The rows of an index's vectors, all of one model, and the file that holds them."""

    def __init__(self, index: Database) -> None:
        """Belong to an index."""
        self.index = index
        self._matrix: Matrix | None = None

    @property
    def model(self) -> str:
        """Return the name of the model; empty where there is none yet."""
        return str(self.index.meta("model") or "")

    @property
    def token(self) -> bytes:
        """Return what tells its file from earlier ones; empty where there is none."""
        return bytes.fromhex(self.index.meta("token") or "")

    def is_of(self, model: str) -> bool:
        """Return whether it is of the model, and its file holds every row that is named."""
        if self.model != model:
            return False
        (last,) = self.index.connection.execute("select max(vector) from vectors").fetchone()
        matrix = self.matrix()
        return last is None or (matrix is not None and matrix.rows > last)

    def is_of_another(self, model: str) -> bool:
        """Return whether it holds vectors of another model."""
        run = self.index.connection.execute
        return self.model not in ("", model) and run("select 1 from vectors limit 1").fetchone() is not None

    def matrix(self) -> Matrix | None:
        """Open its file; None if there is none, or it is gone."""
        token, folder = self.token, self.index.matrix_folder
        if not token or folder is None:
            return None
        if self._matrix is None or self._matrix.token != token:
            self._matrix = Matrix.open(folder / FILE, int(self.index.meta("dimension")), token)
        return self._matrix

    def rows(self) -> list[int]:
        """Return the rows that are named, in growing order."""
        named = self.index.connection.execute("select vector from vectors order by vector")
        return [row for (row,) in named]

    def missing(self, where: str = "true", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that pass a condition and have no vector here, the newest first."""
        rows = self.index.connection.execute(
            f"select chunk from chunks where vector is null and {where} order by chunk desc", values
        )
        return [chunk for (chunk,) in rows]

    def known(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return those of the texts, named by their hashes, that have a vector here."""
        marks = ", ".join("?" * len(hashes))
        rows = self.index.connection.execute(f"select hash from vectors where hash in ({marks})", list(hashes))
        return {hash_ for (hash_,) in rows}

    def start_over(self, model: str) -> None:
        """Forget every vector and belong to a model from now on; part of the caller's transaction."""
        run = self.index.connection.execute
        run("delete from vectors")
        run("update chunks set vector = null where vector is not null")
        self._note(model, "", "")

    def keep(self, hashes: Sequence[bytes], vectors: Any) -> None:
        """Append vectors and name their rows, (n, dimension) float32; part of the caller's transaction.

        A row that the table does not name does not exist.
        """
        folder = self.index.folder
        assert folder is not None
        matrix = self.matrix()
        if matrix is None:
            matrix = Matrix.create(folder / FILE, vectors.shape[1])
            self.start_over(self.model)
            self._note(self.model, matrix.token.hex(), matrix.dimension)
            self.sweep()
        first = matrix.rows
        matrix.append(first, vectors)
        now = int(time.time())
        rows = [(hash_, first + offset, now) for offset, hash_ in enumerate(hashes)]
        self.index.connection.executemany("insert or replace into vectors values(?, ?, ?)", rows)
        self.index.connection.executemany(
            "update chunks set vector = ? where hash = ?", [(row, hash_) for hash_, row, _ in rows]
        )
        self.index.set_meta("embedded", int(self.index.meta("embedded") or 0) + len(hashes))

    def forget(self, rows: Sequence[int]) -> None:
        """Drop rows, so that their texts are embedded again; as `start_over`."""
        marks = ", ".join(map(str, rows))
        self.index.connection.execute(f"delete from vectors where vector in ({marks})")
        self.index.connection.execute(f"update chunks set vector = null where vector in ({marks})")

    def drop_unused(self) -> None:
        """Drop vectors that no text has had for 30 days; as `start_over`."""
        run = self.index.connection.execute
        now = int(time.time())
        run("update vectors set used = ? where hash in (select hash from chunks)", (now,))
        run("delete from vectors where used < ?", (now - KEPT_SECONDS,))

    def compact(self) -> None:
        """Write the live rows anew if a quarter of the file is dead; as `start_over`."""
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

    def sweep(self) -> None:
        """Remove files of vectors that are no longer named; only in a transaction."""
        if self.index.folder is not None:
            Matrix.sweep(self.index.folder / FILE, [self.token])

    def _note(self, model: str, token: str, dimension: int | str) -> None:
        self.index.set_meta("model", model)
        self.index.set_meta("token", token)
        self.index.set_meta("dimension", dimension)
