"""The index's vectors: which texts have one, making those that lack one, and asking for the nearest."""

import math
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BusyError, UnavailableError
from .database import Database, text_hash, texts_of
from .embedder import default_model_name, open_embedder
from .embedding_model import find_model
from .filters import Filter, chunk_condition
from .hnsw import Neighbours
from .schema import is_busy
from .text_vectors import Embedder, unrelated_cosine
from .vector_file import Matrix

if TYPE_CHECKING:
    from .updater import Progress

FILE = "vectors.f32"
FIRST, BATCH, BULK_BATCH = 8, 64, 512  # texts between two looks at the clock and two commits
MEND_SECONDS = 2.0  # for embedding anew what was found damaged
KEPT_SECONDS = 30 * 86400  # a vector that nothing refers to is kept this long, for a branch switched back


class Embedding:
    """Vectors of one index; its model is opened when a text is embedded, not before."""

    def __init__(self, index: Database) -> None:
        """Belong to an index; `index.embedding` is the way to get one."""
        self.index = index
        folder = index.workspace.settings["embedding.model"]
        self.folder = Path(folder).expanduser() if folder else None
        self._embedder: Embedder | None = None
        self._neighbours = Neighbours(index.workspace.settings["embedding.threads"])
        self._matrix: Matrix | None = None
        self._asked: tuple[tuple[str, float], ...] | None = None
        self._answered: Any = None

    def embedder(self, *, bulk: bool = False) -> Embedder:
        """Open the model; raise UnavailableError if it is missing or damaged."""
        if self._embedder is None:
            threads = self.index.workspace.settings["embedding.threads"]
            self._embedder = open_embedder(self.folder, bulk=bulk, threads=threads, cache=self.index.workspace.cache)
        return self._embedder

    def lend(self, embedder: Embedder) -> None:
        """Use a model that is open already."""
        self._embedder = embedder

    def embed_all(self, progress: "Progress | None" = None) -> int:
        """Embed every chunk without a vector, drop vectors of no chunk and fold the file; return how many are left."""
        left = self.embed_missing(None, progress=progress)
        self.tidy()
        self.fold()
        return left

    def embed_missing(
        self,
        seconds: float | None,
        first: Collection[int] = (),
        wanted: Filter | None = None,
        progress: "Progress | None" = None,
    ) -> int:
        """Embed what has no vector yet, within a time, the chunks named first; return how many are left."""
        try:
            self._settle()
        except UnavailableError as error:
            if seconds is None and error.__cause__ is not None and is_busy(error.__cause__):
                raise BusyError("another process writes the index", "run `mem index` again") from None
            raise
        missing = self._missing(wanted)
        if not missing or self.index.folder is None or seconds == 0:
            return len(missing)
        started = time.monotonic()
        order = sorted(missing, key=lambda chunk: chunk not in first) if first else missing
        embedder = self.embedder(bulk=seconds is None)
        done = 0
        while done < len(order):
            # The first batch of an answer is small: it tells how quick this machine is.
            size = BULK_BATCH if seconds is None else BATCH if done else FIRST
            batch = self._texts(order[done : done + size])
            vectors = embedder.embed(list(batch.values()))
            try:
                self._keep(list(batch), vectors)
            except (sqlite3.OperationalError, UnavailableError) as error:
                if seconds is None:
                    if is_busy(error):
                        raise BusyError("another process writes the index", "run `mem index` again") from None
                    raise UnavailableError(f"the index cannot be written ({error})", "try again") from None
                break  # another process writes it, or the disk is full: answer with what there is
            done += size
            if progress:
                progress(min(done, len(order)), len(order))
            if seconds is not None and time.monotonic() - started >= seconds:
                break
        return len(self._missing(wanted))

    def remember(self, texts: Sequence[str], vectors: Any) -> None:
        """Keep vectors of texts that may soon be indexed, where nobody else writes; what has one already is left."""
        if self.index.folder is None:
            return
        rows = {text_hash(text): row for row, text in enumerate(texts) if text}
        marks = ", ".join("?" * len(rows))
        known = self.index.connection.execute(f"select hash from vectors where hash in ({marks})", list(rows))
        for (hash_,) in known.fetchall():
            del rows[hash_]
        if rows:
            with suppress(sqlite3.OperationalError, UnavailableError):
                self._keep(list(rows), vectors[list(rows.values())])

    def vector(self, parts: Sequence[tuple[str, float]]) -> Any:
        """Return the unit vector of a query, the weighted sum of its parts; the last one asked is kept."""
        asked = tuple(parts)
        if self._asked != asked:
            self._answered, self._asked = self._query_vector(asked), asked
        return self._answered

    def _query_vector(self, parts: Sequence[tuple[str, float]]) -> Any:
        import numpy as np

        vectors = self.embedder().embed([text for text, _ in parts], is_query=True)
        total = np.array([weight for _, weight in parts], dtype=np.float32) @ vectors
        return total / max(float(np.linalg.norm(total)), 1e-9)

    def floor(self) -> float:
        """Return the cosine of texts that have nothing in common: 0 for the built-in model, 0.7 or more for some."""
        return float(self.index.meta("floor") or 0)

    def nearest(
        self, vector: Any, wanted: Filter, limit: int, also: Collection[int] = ()
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Map the `limit` chunks nearest to a unit vector to their cosines, and so the chunks of `also`."""
        table, matrix = self.rows(wanted)
        if matrix is None or not len(table):
            return {}, {}
        import numpy as np

        near, bad = self._neighbours.best(matrix, table, vector, limit, self.index.meta("model"))
        if bad and self._forget(bad):
            self.embed_missing(MEND_SECONDS, wanted=wanted)
            return self.nearest(vector, wanted, limit, also)
        asked = table[np.isin(table[:, 0], np.array(sorted(also), dtype=np.int64))]
        scores = zip(asked[:, 0].tolist(), matrix.scores(asked[:, 1], vector).tolist(), strict=True)
        return near, {chunk: score for chunk, score in scores if math.isfinite(score)}

    def fold(self) -> None:
        """Bring the graph up to date, where the workspace is large enough for one to pay."""
        matrix = self._current()
        if matrix is not None and self.index.folder is not None:
            rows = [row[0] for row in self.index.connection.execute("select vector from vectors order by vector")]
            self._neighbours.fold(matrix, rows, self.index.meta("model"))

    def tidy(self) -> int:
        """Drop vectors unused for 30 days and return how many; rewrite the file if a quarter is dead."""
        if self.index.folder is None:
            return 0
        run = self.index.connection.execute
        now = int(time.time())
        with self.index.writing():
            # Before this one rewrites the file, lest a crash takes the generation that is named until the commit.
            Matrix.sweep(self.index.folder / FILE, bytes.fromhex(self.index.meta("token") or ""))
            run("update vectors set used = ? where hash in (select hash from chunks)", (now,))
            dropped = run("delete from vectors where used < ?", (now - KEPT_SECONDS,)).rowcount
            matrix = self._current()
            live = [row[0] for row in run("select vector from vectors order by vector")]
            if matrix is not None and matrix.rows - len(live) > max(matrix.rows // 4, BATCH):
                self._compact(matrix, live)
        return dropped

    def _compact(self, matrix: Matrix, live: list[int]) -> None:
        """Write a new generation of only the live rows and renumber them; the caller's transaction makes it count."""
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

    def _missing(self, wanted: Filter | None) -> list[int]:
        """Return the chunks without a vector, the newest first."""
        where = chunk_condition(wanted or Filter(statuses=()))
        rows = self.index.connection.execute(
            f"select chunk from chunks where vector is null and {where} order by chunk desc", where.values
        )
        return [row[0] for row in rows]

    def _texts(self, chunks: list[int]) -> dict[bytes, str]:
        return {kept.hash: kept.prefix + kept.text for kept in texts_of(self.index.connection, chunks)}

    def rows(self, wanted: Filter) -> tuple[Any, Matrix | None]:
        """Return the chunks and their rows, (n, 2) int64, and the matrix that has these rows; None if there is none."""
        import numpy as np

        where = chunk_condition(wanted)
        run = self.index.connection.execute
        for _ in range(3):  # a rewriting between the two sweeps the file away; the next look finds the new one
            run("begin")
            # As text: a tuple for each of 10,000 rows takes twice as long.
            chunks, rows = run(
                f"select group_concat(chunk), group_concat(vector) from chunks where vector is not null and {where}",
                where.values,
            ).fetchone()
            matrix = self._current()
            run("commit")
            if matrix is not None or not rows:
                break
        columns = [np.fromstring(numbers or "", dtype=np.int64, sep=",") for numbers in (chunks, rows)]
        return np.stack(columns, axis=1), matrix

    def _keep(self, hashes: list[bytes], vectors: Any) -> None:
        """Append vectors and name their rows in one transaction: a row no table names does not exist."""
        folder = self.index.folder
        assert folder is not None
        with self.index.writing():
            matrix = self._current()
            if matrix is None:
                matrix = Matrix.create(folder / FILE, vectors.shape[1])
                self._start_over(self.embedder().model)
                self.index.set_meta("token", matrix.token.hex())
                self.index.set_meta("dimension", matrix.dimension)
                if self.folder is not None:
                    self.index.set_meta("floor", unrelated_cosine(self.embedder()))
                Matrix.sweep(folder / FILE, matrix.token)
            first = matrix.rows
            matrix.append(first, vectors)
            now = int(time.time())
            rows = [(hash_, first + offset, now) for offset, hash_ in enumerate(hashes)]
            self.index.connection.executemany("insert or replace into vectors values(?, ?, ?)", rows)
            self.index.connection.executemany(
                "update chunks set vector = ? where hash = ?", [(row, hash_) for hash_, row, _ in rows]
            )
            self.index.set_meta("embedded", int(self.index.meta("embedded") or 0) + len(hashes))

    def _settle(self) -> None:
        """Forget vectors that are another model's (two models never share an index) or no longer in their file."""
        name = default_model_name() if self.folder is None else find_model(self.folder, self.index.workspace.cache).name
        if self._is_settled(name):
            return
        try:
            with self.index.writing():
                if not self._is_settled(name):
                    self._start_over(name)
        except sqlite3.OperationalError as error:
            raise UnavailableError(f"the index cannot be written ({error})", "try again") from error

    def _is_settled(self, name: str) -> bool:
        last = self.index.connection.execute("select max(vector) from vectors").fetchone()[0]
        if last is None:
            return bool(self.index.meta("model") == name)
        matrix = self._current()
        return self.index.meta("model") == name and matrix is not None and matrix.rows > last

    def _start_over(self, name: str) -> None:
        """Forget every vector; part of the caller's transaction."""
        run = self.index.connection.execute
        run("delete from vectors")
        run("update chunks set vector = null where vector is not null")
        self.index.set_meta("model", name)
        self.index.set_meta("token", "")
        self.index.set_meta("floor", "")

    def _current(self) -> Matrix | None:
        """Open the generation the index names; None if there is none or its file is gone."""
        token = self.index.meta("token")
        folder = self.index.matrix_folder
        if not token or folder is None:
            return None
        if self._matrix is None or self._matrix.token.hex() != token:
            self._matrix = Matrix.open(folder / FILE, int(self.index.meta("dimension")), bytes.fromhex(token))
        return self._matrix

    def _forget(self, rows: list[int]) -> bool:
        """Drop rows that turned out to be no unit vectors, so that their texts are embedded again."""
        marks = ", ".join(map(str, rows))
        try:
            with self.index.writing():
                self.index.connection.execute(f"delete from vectors where vector in ({marks})")
                self.index.connection.execute(f"update chunks set vector = null where vector in ({marks})")
        except sqlite3.OperationalError:  # another process writes; the next one to ask finds them again
            return False
        return True
