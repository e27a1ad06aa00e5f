"""The index's vectors: which texts have one, making those that lack one, finding the nearest.

All are of one model, that of the settings when they were made. Where the settings name another one, words alone answer
until `mem index` has embedded every text anew: vectors of two models are never compared.
"""

import math
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import BusyError, MemError, UnavailableError
from ..formats.entry_fields import WORDING
from .database import Database, MovedError, is_busy, text_hash, texts_of
from .embedder import open_embedder
from .embedding_model import (
    Calibration,
    built_in_name,
    calibration_of,
    find_model,
    keep,
    know_built_in,
    measure,
    require_libraries,
)
from .filters import Filter, Where, chunk_condition
from .hnsw import Neighbours
from .text_vectors import Embedder
from .vector_file import CosinesAmong, Matrix

if TYPE_CHECKING:
    from .updater import Progress

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
        """Return whether the table is of a model, and its file holds every row that the table names."""
        if self.model != model:
            return False
        (last,) = self.index.connection.execute("select max(vector) from vectors").fetchone()
        matrix = self.matrix()
        return last is None or (matrix is not None and matrix.rows > last)

    def is_of_another(self, model: str) -> bool:
        """Return whether the table holds vectors of another model."""
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
        """Return the rows that the table names, in growing order."""
        named = self.index.connection.execute("select vector from vectors order by vector")
        return [row for (row,) in named]

    def missing(self, where: str = "true", values: Sequence[Any] = ()) -> list[int]:
        """Return the chunks that pass a condition and have no vector, the newest first."""
        rows = self.index.connection.execute(
            f"select chunk from chunks where vector is null and {where} order by chunk desc", values
        )
        return [chunk for (chunk,) in rows]

    def embedded(self, hashes: Sequence[bytes]) -> set[bytes]:
        """Return the hashes, of those given, of texts that have a vector."""
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
        self.index.answers = None

    def forget(self, rows: Sequence[int]) -> None:
        """Drop rows, so that their texts are embedded again; part of the caller's transaction."""
        marks = ", ".join(map(str, rows))
        self.index.connection.execute(f"delete from vectors where vector in ({marks})")
        self.index.connection.execute(f"update chunks set vector = null where vector in ({marks})")

    def drop_unused(self) -> None:
        """Drop vectors that no text has had for 30 days; part of the caller's transaction."""
        run = self.index.connection.execute
        now = int(time.time())
        run("update vectors set used = ? where hash in (select hash from chunks)", (now,))
        run("delete from vectors where used < ?", (now - KEPT_SECONDS,))

    def compact(self) -> None:
        """Write the live rows anew if a quarter of the file is dead; part of the caller's transaction."""
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


FIRST, BATCH, BULK_BATCH = 8, 64, 512  # texts between two looks at the clock and two commits
PREPARING = 1.0  # seconds for which it pays to open the model for bulk, which takes half of one the first time
MOST_CHUNKS = 100  # of an entry, whose mean stands for it: three thousand words and more
MEND_SECONDS = 2.0  # for embedding anew what was found damaged
_ROUNDS = 5  # looks at what is missing, while others write


class Embedding:
    """Vectors of one index; its model is opened when a text is embedded, not before."""

    def __init__(self, index: Database) -> None:
        """Belong to an index; `index.embedding` is the way to get one."""
        self.index = index
        self.table = VectorTable(index)
        self._name = ""
        self._embedder: Embedder | None = None
        self._neighbours = Neighbours(index.workspace.settings["embedding.threads"])
        self._last_query: tuple[tuple[str, float], ...] | None = None
        self._last_vector: Any = None

    def model(self) -> str:
        """Return the name of the model; raise UnavailableError if it is missing, or the vectors are of another one."""
        if not self._name:
            name = self._chosen()
            if self.table.is_of_another(name):
                raise UnavailableError(f"the texts are embedded with {self.table.model}, not {name}", "run `mem index`")
            self._name = name
        return self._name

    def embedder(self, *, bulk: bool = False) -> Embedder:
        """Return the open model; raise UnavailableError if it is missing, damaged, or not that of the vectors."""
        if self._embedder is None:
            self.model()
            workspace = self.index.workspace
            threads = workspace.settings["embedding.threads"]
            self._embedder = open_embedder(self._folder(), bulk=bulk, threads=threads, cache=workspace.cache)
        return self._embedder

    def lend(self, embedder: Embedder) -> None:
        """Use a model that is open already, if it is the one that answers."""
        if embedder.model == self.model():
            self._embedder = embedder

    def embed_missing(
        self,
        seconds: float | None,
        first: Collection[int] = (),
        wanted: Filter | None = None,
        progress: "Progress | None" = None,
    ) -> int:
        """Embed what has no vector yet with the model that answers, within a time, the chunks named first.

        Return how many are left. Raise UnavailableError if the model is missing, or the vectors are of another one.
        """
        require_libraries()
        if not self.table.is_of(self.model()):
            self._start_over(is_bulk=seconds is None)
        where = chunk_condition(wanted or Filter(statuses=()))
        missing = self._without_vector(where)
        if not missing or self.index.folder is None or seconds == 0:
            return len(missing)
        order = sorted(missing, key=lambda chunk: chunk not in first) if first else missing
        is_bulk = seconds is None or (seconds >= PREPARING and len(order) > BATCH)
        self._fill(self.embedder(bulk=is_bulk), order, seconds, progress)
        return len(self.table.missing(str(where), where.values))

    def _without_vector(self, where: Where) -> list[int]:
        """Return the chunks that pass a condition and have no vector, the newest first."""
        return self.table.missing(str(where), where.values)

    def embed_all(self, progress: "Progress | None" = None) -> int:
        """Embed every chunk with the model that the settings name, drop what is not needed, return how many are left.

        Vectors of another model are dropped first. What was made is kept when a process is killed or the disk is full,
        and the next one goes on from there. Raise UnavailableError if there is no such model, BusyError if another
        process writes, or embeds with another model.
        """
        self._name, left = self._chosen(), 0
        if self.table.model != self._name:
            self.scale()  # raises for a model that is of no use before any vector goes
        for _ in range(_ROUNDS):
            try:
                left = self.embed_missing(None, progress=progress)
            except MovedError:
                raise BusyError(f"another process embeds with {self.table.model}", "let it end first") from None
            if not left or self.index.folder is None:
                break
        self._tidy()
        self.fold()
        return left

    def pending(self) -> int:
        """Count the texts that `embed_all` would embed; those without a vector where the model is missing."""
        with suppress(UnavailableError):
            if self.table.is_of_another(self._chosen()):
                return self.index.chunk_count()
        return len(self.table.missing())

    def remember(self, texts: Sequence[str], vectors: Any) -> None:
        """Keep vectors of texts that may soon be indexed, where nobody else writes; what has one already is left."""
        if self.index.folder is None:
            return
        rows = {text_hash(text): row for row, text in enumerate(texts) if text}
        for hash_ in self.table.embedded(list(rows)):
            del rows[hash_]
        if rows:
            with suppress(sqlite3.OperationalError, UnavailableError, MovedError):
                self._keep(self.embedder(), list(rows), vectors[list(rows.values())])

    def vector(self, parts: Sequence[tuple[str, float]]) -> Any:
        """Return the unit vector of a query, the weighted sum of its parts; the last vector is kept."""
        query = tuple(parts)
        if self._last_query != query:
            self._last_vector, self._last_query = self._query_vector(query), query
        return self._last_vector

    def _query_vector(self, parts: Sequence[tuple[str, float]]) -> Any:
        import numpy as np

        vectors = self.embedder().embed([text for text, _ in parts], is_query=True)
        total = np.array([weight for _, weight in parts], dtype=np.float32) @ vectors
        return total / max(float(np.linalg.norm(total)), 1e-9)

    def scale(self) -> Calibration:
        """Return what makes the cosines of the model comparable with those of the built-in one.

        What is not measured yet is measured, once for a model on a machine: that takes seconds.
        """
        name, cache = self.model(), self.index.workspace.cache
        if self._folder() is None:
            return know_built_in(name)
        return calibration_of(name, cache) or keep(measure(self.embedder(bulk=True)), name, cache)

    def nearest(
        self, vector: Any, wanted: Filter, limit: int, also: Collection[int] = ()
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Map the `limit` chunks nearest to a unit vector to their scaled cosines, and so the chunks of `also`."""
        table, matrix = self.index.answered_once(("rows", wanted), lambda: self.rows(wanted))
        if matrix is None or not len(table):
            return {}, {}
        import numpy as np

        scaled = self.scale().scaled
        near, bad = self._neighbours.best(matrix, table, vector, limit, self.table.model)
        if bad and self._forget(matrix, bad):
            self.embed_missing(MEND_SECONDS, wanted=wanted)
            return self.nearest(vector, wanted, limit, also)
        rows = table[np.isin(table[:, 0], np.array(sorted(also), dtype=np.int64))]
        scores = zip(rows[:, 0].tolist(), matrix.scores(rows[:, 1], vector).tolist(), strict=True)
        named = {chunk: scaled(score) for chunk, score in scores if math.isfinite(score)}
        return {chunk: scaled(score) for chunk, score in near.items()}, named

    def mean_cosines(self, vector: Any, files: Collection[int]) -> dict[int, float]:
        """Map entries, by their files, to the scaled mean of the cosines of a unit vector and each of their chunks.

        Of an entry of more chunks than `MOST_CHUNKS` the first count.
        """
        import numpy as np

        where = f"vector is not null and file in ({', '.join(map(str, files))}) and anchor <> ?"
        table, matrix = self._rows("file", f"(select * from chunks where {where} order by file, chunk)", [WORDING])
        if matrix is None or not len(table):
            return {}
        begins = np.diff(table[:, 0], prepend=-1) != 0  # `unique` imports numpy's masked arrays, for 10 ms
        starts, owners = np.flatnonzero(begins), np.cumsum(begins) - 1
        entries = table[starts, 0]
        first = np.arange(len(table)) - starts[owners] < MOST_CHUNKS
        owners = owners[first]
        means = np.bincount(owners, matrix.scores(table[first, 1], vector)) / np.bincount(owners)
        scaled = self.scale().scaled
        pairs = zip(entries.tolist(), means.tolist(), strict=True)
        return {file: scaled(mean) for file, mean in pairs if math.isfinite(mean)}

    def fold(self) -> None:
        """Bring the graph up to date, where the workspace is large enough for one to pay."""
        matrix = self.table.matrix()
        if matrix is not None and self.index.folder is not None:
            self._neighbours.fold(matrix, self.table.rows(), self.table.model)

    def cosines_among(self, chunks: Collection[int]) -> CosinesAmong:
        """Return the cosines among those of some chunks that have a vector.

        Raise MovedError if the vectors are another model's by now.
        """
        numbers, vectors = self.vectors_of(chunks)
        return CosinesAmong(numbers, self.scale().scaled(vectors @ vectors.T))

    def vectors_of(self, chunks: Collection[int]) -> tuple[Any, Any]:
        """Return those of some chunks that have a vector, (n,) int64, and their vectors, (n, dimension) float32.

        Raise MovedError if the vectors are another model's by now.
        """
        import numpy as np

        table, matrix = self.rows(Filter(statuses=()), chunks)
        if matrix is None or not len(table):
            return np.empty(0, np.int64), np.empty((0, 0), np.float32)
        vectors = matrix.take(table[:, 1])
        sound = np.isfinite(vectors).all(axis=1)
        return table[sound, 0], vectors[sound]

    def rows(self, wanted: Filter, chunks: Collection[int] | None = None) -> tuple[Any, Matrix | None]:
        """Return the chunks and their rows, (n, 2) int64, and the matrix that has these rows; None if there is none.

        With `chunks` only those of them. Raise MovedError if another model answers now than the one that was asked
        before.
        """
        where = chunk_condition(wanted)
        if chunks is not None:
            where.parts.append(f"chunk in ({', '.join(map(str, chunks))})")
        return self._rows("chunk", f"chunks where vector is not null and {where}", where.values)

    def _rows(self, column: str, source: str, values: Sequence[Any]) -> tuple[Any, Matrix | None]:
        """Return a column and the rows of an SQL source as `rows` does."""
        import numpy as np

        run = self.index.connection.execute
        for _ in range(3):  # a rewriting between the two sweeps the file away; the next look finds the new one
            run("begin")
            # As text: a tuple for each of 10,000 rows takes twice as long.
            numbers_of, rows = run(
                f"select group_concat({column}), group_concat(vector) from {source}", values
            ).fetchone()
            matrix, held = self.table.matrix(), self.table.model
            run("commit")
            if rows and self._name and held != self._name:
                raise MovedError
            if matrix is not None or not rows:
                break
        columns = [np.fromstring(numbers or "", dtype=np.int64, sep=",") for numbers in (numbers_of, rows)]
        return np.stack(columns, axis=1), matrix

    def _chosen(self) -> str:
        """Return the name of the model that the settings name; raise UnavailableError if it is missing."""
        folder = self._folder()
        return find_model(folder, self.index.workspace.cache).name if folder else built_in_name()

    def _folder(self) -> Path | None:
        """Return the folder of the model that the settings name; None for the built-in one."""
        setting = self.index.workspace.settings["embedding.model"]
        folder = Path(setting).expanduser()
        # A relative one would be looked for wherever one stands, such as in a clone that brings a model along.
        if setting and not folder.is_absolute():
            raise UnavailableError(f"embedding.model is {setting}", "name the folder of a model from / or ~")
        return folder if setting else None

    def _start_over(self, *, is_bulk: bool) -> None:
        """Forget vectors that nobody can ask: of another model, or that are no longer in their file."""
        try:
            with self.index.writing():
                if self.table.is_of(self._name):
                    return
                if not is_bulk and self.table.is_of_another(self._name):
                    raise MovedError
                self.table.start_over(self._name)
        except sqlite3.OperationalError as error:
            raise _unwritten(error, is_bulk) from error

    def _fill(
        self,
        embedder: Embedder,
        order: Sequence[int],
        seconds: float | None,
        progress: "Progress | None",
    ) -> None:
        """Embed chunks in an order within a time; raise MovedError if the vectors are another model's now."""
        started = time.monotonic()
        done, hashes = 0, set[bytes]()
        while done < len(order):
            # The first batch of an answer is small: it tells how quick this machine is.
            size = BULK_BATCH if seconds is None else BATCH if done else FIRST
            chunks = order[done : done + size]
            stored = texts_of(self.index.connection, chunks)
            texts = {each.hash: each.prefix + each.text for each in stored if each.hash not in hashes}
            hashes.update(texts)
            vectors = embedder.embed(list(texts.values()))
            try:
                self._keep(embedder, list(texts), vectors)
            except (sqlite3.OperationalError, UnavailableError) as error:
                if seconds is None:
                    raise _unwritten(error, True) from None
                break  # another process writes it, or the disk is full: answer with what there is
            done += size
            if progress:
                progress(min(done, len(order)), len(order))
            if seconds is not None and time.monotonic() - started >= seconds:
                break

    def _keep(self, embedder: Embedder, hashes: Sequence[bytes], vectors: Any) -> None:
        """Append vectors; raise MovedError if those there are another model's."""
        with self.index.writing():
            if self.table.model != embedder.model:
                raise MovedError
            self.table.keep(hashes, vectors)

    def _forget(self, matrix: Matrix, rows: list[int]) -> bool:
        """Drop rows that turned out to be no unit vectors, so that their texts are embedded again."""
        self.index.answers = None
        try:
            with self.index.writing():
                if self.table.token == matrix.token:
                    self.table.forget(rows)
        except sqlite3.OperationalError:  # another process writes; the next one to ask finds them again
            return False
        return True

    def _tidy(self) -> None:
        """Drop vectors unused for 30 days; rewrite the file if a quarter is dead."""
        if self.index.folder is None:
            return
        with self.index.writing():
            # Before this one rewrites the file, lest a crash takes the one that is named until the commit.
            self.table.sweep()
            self.table.drop_unused()
            self.table.compact()


def _unwritten(error: Exception, is_bulk: bool) -> MemError:
    """Return what to tell of an index that cannot be written: an answer goes on without, whoever embeds all ends."""
    if is_bulk and is_busy(error):
        return BusyError("another process writes the index", "run `mem index` again")
    return UnavailableError(f"the index cannot be written ({error})", "try again")
