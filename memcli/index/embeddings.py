"""The index's vectors: whose model answers, which texts have a vector, making those that lack one, finding the nearest.

The model that answers is the one whose vectors the index has, whatever model the settings name: `reembedding` changes
that. A text that comes in meanwhile gets a vector of the model that answers, since that one is open for the query
anyway and a text just written must be found by meaning at once. Vectors of two models are never compared.
"""

import math
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ..errors import BusyError, MemError, UnavailableError
from .calibration import Calibration, read_calibration
from .database import Database, MovedError, text_hash, texts_of
from .embedder import default_model_name, open_embedder
from .embedding_model import KnownModel
from .filters import Filter, chunk_condition
from .generations import Generation, swap
from .hnsw import Neighbours
from .schema import is_busy
from .text_vectors import Embedder, unrelated_cosine
from .vector_file import Matrix

if TYPE_CHECKING:
    from .updater import Progress

FIRST, BATCH, BULK_BATCH = 8, 64, 512  # texts between two looks at the clock and two commits
MEND_SECONDS = 2.0  # for embedding anew what was found damaged


class Embedding:
    """Vectors of one index; its model is opened when a text is embedded, not before."""

    def __init__(self, index: Database) -> None:
        """Belong to an index; `index.embedding` is the way to get one."""
        self.index = index
        self.answering, self.other = Generation(index), Generation(index, is_other=True)
        self._model: KnownModel | None = None
        self._embedder: Embedder | None = None
        self._neighbours = Neighbours(index.workspace.settings["embedding.threads"])
        self._asked: tuple[tuple[str, float], ...] | None = None
        self._answered: Any = None

    def model(self) -> str:
        """Return the name of the model that answers; raise UnavailableError if it is missing."""
        return self._answers().name

    def wanted(self) -> KnownModel:
        """Return the model that the settings name; raise UnavailableError if it is missing."""
        where = self.index.workspace
        if not where.settings["embedding.model"]:
            return KnownModel(default_model_name(), None)
        from .model_catalog import chosen_model

        return chosen_model(where.settings, where.cache)

    def look_again(self) -> None:
        """Forget which model answers: another process may have let another one take its place."""
        self._model = self._embedder = None

    def notices(self) -> tuple[str, ...]:
        """Say that another model answered than the settings name, or that it is not calibrated, a line each."""
        if self._model is None:
            return ()
        name = self._model.name
        try:
            wanted = self.wanted().name
        except UnavailableError as error:
            return (f"searching with the model {name}: {error}",)
        if name != wanted:
            return (f"searching with the model {name}: `mem index` goes over to {wanted}",)
        if read_calibration(name, self._model.folder) is None:
            return (f"relevance is not calibrated for {name}: run `mem model calibrate {self._model.folder}`",)
        return ()

    def embedder(self, *, bulk: bool = False) -> Embedder:
        """Open the model that answers; raise UnavailableError if it is missing or damaged."""
        if self._embedder is None:
            self._embedder = self.open(self._answers(), bulk=bulk)
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

        Return how many are left.
        """
        self._settle(is_bulk=seconds is None)
        where = chunk_condition(wanted or Filter(statuses=()))
        missing = self.answering.missing(str(where), where.values)
        if not missing or self.index.folder is None or seconds == 0:
            return len(missing)
        order = sorted(missing, key=lambda chunk: chunk not in first) if first else missing
        self.fill(self.answering, self.embedder(bulk=seconds is None), order, seconds, progress)
        return len(self.answering.missing(str(where), where.values))

    def remember(self, texts: Sequence[str], vectors: Any) -> None:
        """Keep vectors of texts that may soon be indexed, where nobody else writes; what has one already is left."""
        if self.index.folder is None:
            return
        rows = {text_hash(text): row for row, text in enumerate(texts) if text}
        for hash_ in self.answering.known(list(rows)):
            del rows[hash_]
        if rows:
            with suppress(sqlite3.OperationalError, UnavailableError, MovedError):
                self._keep(self.answering, self.embedder(), list(rows), vectors[list(rows.values())])

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

    def scale(self) -> Calibration:
        """Return what makes the cosines of the model that answers comparable with those of the built-in one."""
        model = self._answers()
        return read_calibration(model.name, model.folder) or Calibration(self.answering.floor)

    def nearest(
        self, vector: Any, wanted: Filter, limit: int, also: Collection[int] = ()
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Map the `limit` chunks nearest to a unit vector to their scaled cosines, and so the chunks of `also`."""
        table, matrix = self.rows(wanted)
        if matrix is None or not len(table):
            return {}, {}
        import numpy as np

        scaled = self.scale().scaled
        near, bad = self._neighbours.best(matrix, table, vector, limit, self.answering.model)
        if bad and self._forget(matrix, bad):
            self.embed_missing(MEND_SECONDS, wanted=wanted)
            return self.nearest(vector, wanted, limit, also)
        asked = table[np.isin(table[:, 0], np.array(sorted(also), dtype=np.int64))]
        scores = zip(asked[:, 0].tolist(), matrix.scores(asked[:, 1], vector).tolist(), strict=True)
        found = {chunk: scaled(score) for chunk, score in scores if math.isfinite(score)}
        return {chunk: scaled(score) for chunk, score in near.items()}, found

    def fold(self) -> None:
        """Bring the graph up to date, where the workspace is large enough for one to pay."""
        matrix = self.answering.matrix()
        if matrix is not None and self.index.folder is not None:
            self._neighbours.fold(matrix, self.answering.rows(), self.answering.model)

    def vectors_of(self, chunks: Collection[int]) -> dict[int, Any]:
        """Map those of some chunks that have a vector to it, (dimension,) float32 of length 1.

        Raise MovedError as `rows`.
        """
        import numpy as np

        table, matrix = self.rows(Filter(statuses=()), chunks)
        if matrix is None or not len(table):
            return {}
        vectors = matrix.take(table[:, 1])
        return {
            chunk: vector
            for chunk, vector in zip(table[:, 0].tolist(), vectors, strict=True)
            if np.isfinite(vector).all()
        }

    def rows(self, wanted: Filter, chunks: Collection[int] | None = None) -> tuple[Any, Matrix | None]:
        """Return the chunks and their rows, (n, 2) int64, and the matrix that has these rows; None if there is none.

        With `chunks` only those of them. Raise MovedError if another model answers now than the one that was asked
        before.
        """
        import numpy as np

        where = chunk_condition(wanted)
        if chunks is not None:
            where.parts.append(f"chunk in ({', '.join(map(str, chunks))})")
        run = self.index.connection.execute
        for _ in range(3):  # a rewriting between the two sweeps the file away; the next look finds the new one
            run("begin")
            # As text: a tuple for each of 10,000 rows takes twice as long.
            numbers_of, rows = run(
                f"select group_concat(chunk), group_concat(vector) from chunks where vector is not null and {where}",
                where.values,
            ).fetchone()
            matrix, held = self.answering.matrix(), self.answering.model
            run("commit")
            if rows and self._model is not None and held != self._model.name:
                raise MovedError
            if matrix is not None or not rows:
                break
        columns = [np.fromstring(numbers or "", dtype=np.int64, sep=",") for numbers in (numbers_of, rows)]
        return np.stack(columns, axis=1), matrix

    def _answers(self) -> KnownModel:
        """Return the model that answers: the one of the vectors there are, as long as it can be found."""
        if self._model is None:
            held = "" if self.answering.is_empty() else self.answering.model
            try:
                wanted = self.wanted()
            except UnavailableError:
                old = self._known(held)
                if old is None:
                    raise
                self._model = old
            else:
                self._model = wanted if held in ("", wanted.name) else self._known(held) or wanted
        return self._model

    def _known(self, name: str) -> KnownModel | None:
        """Find the model of a name, where no more is known of it; None if it is not here any more."""
        if name == default_model_name():
            return KnownModel(name, None)
        from .model_catalog import known_model

        where = self.index.workspace
        return known_model(where.settings, where.cache, name) if name else None

    def open(self, model: KnownModel, *, bulk: bool) -> Embedder:
        threads = self.index.workspace.settings["embedding.threads"]
        return open_embedder(model.folder, bulk=bulk, threads=threads, cache=self.index.workspace.cache)

    def _settle(self, *, is_bulk: bool) -> None:
        """Forget vectors that nobody can ask: of a model that is gone, or that are no longer in their file."""
        name = self.model()
        if self.answering.is_of(name):
            return
        try:
            with self.index.writing():
                if self.answering.is_of(name):
                    return
                if self.other.is_of(name) and not self.other.is_empty():
                    swap(self.index)
                else:
                    self.answering.start_over(name)
        except sqlite3.OperationalError as error:
            raise unwritten(error, is_bulk) from error

    def fill(
        self,
        generation: Generation,
        embedder: Embedder,
        order: Sequence[int],
        seconds: float | None,
        progress: "Progress | None",
    ) -> None:
        """Embed chunks in an order within a time; raise MovedError if the generation is another model's now."""
        started = time.monotonic()
        done = 0
        while done < len(order):
            # The first batch of an answer is small: it tells how quick this machine is.
            size = BULK_BATCH if seconds is None else BATCH if done else FIRST
            chunks = order[done : done + size]
            texts = {one.hash: one.prefix + one.text for one in texts_of(self.index.connection, chunks)}
            vectors = embedder.embed(list(texts.values()))
            try:
                self._keep(generation, embedder, list(texts), vectors)
            except (sqlite3.OperationalError, UnavailableError) as error:
                if seconds is None:
                    raise unwritten(error, True) from None
                break  # another process writes it, or the disk is full: answer with what there is
            done += size
            if progress:
                progress(min(done, len(order)), len(order))
            if seconds is not None and time.monotonic() - started >= seconds:
                break

    def _keep(self, generation: Generation, embedder: Embedder, hashes: Sequence[bytes], vectors: Any) -> None:
        """Append vectors to a generation; raise MovedError if it is another model's."""
        is_first = generation.matrix() is None and embedder.model != default_model_name()
        floor = unrelated_cosine(embedder) if is_first else 0.0
        with self.index.writing():
            if generation.model != embedder.model:
                raise MovedError
            generation.keep(hashes, vectors, floor)

    def _forget(self, matrix: Matrix, rows: list[int]) -> bool:
        """Drop rows that turned out to be no unit vectors, so that their texts are embedded again."""
        try:
            with self.index.writing():
                if self.answering.token == matrix.token:
                    self.answering.forget(rows)
        except sqlite3.OperationalError:  # another process writes; the next one to ask finds them again
            return False
        return True


def unwritten(error: Exception, is_bulk: bool) -> MemError:
    """Return what to tell of an index that cannot be written: an answer goes on without, whoever embeds all ends."""
    if is_bulk and is_busy(error):
        return BusyError("another process writes the index", "run `mem index` again")
    return UnavailableError(f"the index cannot be written ({error})", "try again")
