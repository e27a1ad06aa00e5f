"""Vectors of chunks: one append-only matrix in a file, keyed by the digest of the text.

Renames and branch switches embed nothing, because a text that comes back has its vector already.
"""

import os
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .database import MATRIX_FILE, Database, read_passages
from .model import DIMENSION, Embedder

if TYPE_CHECKING:
    import numpy as np

ROW_BYTES = 4 * DIMENSION
# Chunks embedded together: small enough to stop within a time limit.
SLICE = 64


class Matrix:
    """The vectors of an index."""

    def __init__(self, database: Database) -> None:
        self.database = database
        folder = database.matrix_folder
        self.path = folder / MATRIX_FILE if folder else None
        # Rows after those of the file, of an index that cannot be saved.
        self.in_memory: list[np.ndarray] = []

    def count_rows(self) -> int:
        row = self.database.run("select coalesce(max(vector), -1) + 1 from vectors").fetchone()
        return int(row[0])

    def load(self) -> "np.ndarray":
        """Return all vectors, (n, 384) float32, mapped from the file."""
        import numpy as np

        rows = self.count_rows() - sum(map(len, self.in_memory))
        stored = np.empty((0, DIMENSION), np.float32)
        if rows and self.path and self.path.exists():
            if self.path.stat().st_size >= rows * ROW_BYTES:
                stored = np.memmap(self.path, np.float32, "r", shape=(rows, DIMENSION))
        if rows and not len(stored):
            self.discard()
        return np.concatenate([stored, *self.in_memory]) if self.in_memory else stored

    def discard(self) -> None:
        """Forget the vectors of a file that is shorter than it should be."""
        with self.database.write():
            self.database.run("delete from vectors")
            self.database.run("update chunks set vector = null")
            self.database.run("delete from meta where key = 'rows'")

    def append(
        self, chunks: Sequence[int], digests: Sequence[bytes], vectors: "np.ndarray"
    ) -> None:
        """Add vectors to the file, then to the tables, so that no row exists without its bytes."""
        with self.database.write():
            first = self.count_rows()
            if self.database.folder is None or self.path is None:
                self.in_memory.append(vectors)
            else:
                descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT, 0o600)
                try:
                    os.pwrite(descriptor, vectors.tobytes(), first * ROW_BYTES)
                    # After a power cut the tables must not name rows that are zeros.
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            rows = range(first, first + len(chunks))
            many = self.database.connection.executemany
            many("insert or replace into vectors values(?, ?)", zip(digests, rows, strict=True))
            many("update chunks set vector = ? where hash = ?", zip(rows, digests, strict=True))
            self.database.run("delete from meta where key = 'rows'")


def embed_missing(
    database: Database,
    matrix: Matrix,
    embedder: Embedder,
    seconds: float | None,
    first: Sequence[int] = (),
    progress: Any = None,
    *,
    where: str = "vector is null",
) -> int:
    """Embed chunks without a vector until the time is up, `first` before others.

    Returns how many are left.
    """
    rows = database.run(
        f"select hash, chunk, file, prefix, start, stop from chunks where {where} order by chunk"
    ).fetchall()
    wanted = set(first)
    rows.sort(key=lambda row: row[1] not in wanted)
    pending = list({row[0]: row for row in rows}.values())
    deadline = None if seconds is None else time.monotonic() + seconds
    done = 0
    size = SLICE if seconds is not None else SLICE * 16
    while done < len(pending) and (deadline is None or time.monotonic() < deadline):
        part = pending[done : done + size]
        texts = read_passages(database, [row[2:] for row in part])
        vectors = embedder.embed([text or " " for text in texts])
        matrix.append([row[1] for row in part], [row[0] for row in part], vectors)
        done += len(part)
        if progress:
            progress(done, len(pending))
    return len(pending) - done
