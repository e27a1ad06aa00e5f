"""The index's vectors: which texts have one, making those that lack one, and asking for the nearest."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .embedder import Embedder, default_model_name, open_embedder
from .filters import Filter, chunk_condition
from .vectors import Matrix

if TYPE_CHECKING:
    from .index import Index
    from .refresh import Progress

FILE = "vectors.f32"
BATCH = 64  # texts between two looks at the clock and two commits
BULK = 200  # from this many texts on, optimising the model's graph pays for itself
KEPT_SECONDS = 30 * 86400  # a vector that nothing refers to is kept this long, for a branch switched back


@dataclass(frozen=True)
class Coverage:
    """How much of what is indexed has a vector."""

    chunks: int
    missing: int
    vectors: int
    embedded: int  # texts embedded since the index was made


class Embedding:
    """Vectors of one index; its model is opened when a text is embedded, not before."""

    def __init__(self, index: "Index") -> None:
        """Belong to an index; `index.embedding` is the way to get one."""
        self.index = index
        folder = index.workspace.settings["embedding.model"]
        self.folder = Path(folder).expanduser() if folder else None
        self._embedder: Embedder | None = None
        self._matrix: Matrix | None = None

    def embedder(self, *, bulk: bool = False) -> Embedder:
        """Open the model; UnavailableError where it is missing or damaged."""
        if self._embedder is None:
            threads = self.index.workspace.settings["embedding.threads"]
            self._embedder = open_embedder(self.folder, bulk=bulk, threads=threads)
        return self._embedder

    def coverage(self) -> Coverage:
        """Count chunks, chunks without a vector and vectors."""
        run = self.index.connection.execute
        chunks, missing = run("select count(*), coalesce(sum(vector is null), 0) from chunks").fetchone()
        vectors = run("select count(*) from vectors").fetchone()[0]
        return Coverage(chunks, missing, vectors, int(self.index.meta("embedded") or 0))

    def embed_missing(
        self,
        seconds: float | None,
        first: Collection[int] = (),
        wanted: Filter | None = None,
        progress: "Progress | None" = None,
    ) -> int:
        """Embed what has no vector yet, within a time, the chunks named first; give how many are left."""
        missing = self._missing(wanted)
        if not missing or self.index.folder is None or seconds == 0:
            return len(missing)
        started = time.monotonic()
        order = sorted(missing, key=lambda chunk: chunk not in first) if first else list(missing)
        embedder = self.embedder(bulk=len(order) >= BULK and seconds is None)
        self._matrix = self._opened(embedder)
        done = 0
        while done < len(order):
            size = BATCH if seconds is None or done else 8  # the first batch tells how quick this machine is
            batch = self._texts(order[done : done + size])
            vectors = embedder.embed(list(batch.values()))
            self._keep(list(batch), vectors)
            done += size
            if progress:
                progress(min(done, len(order)), len(order))
            if seconds is not None and time.monotonic() - started >= seconds:
                break
        return len(self._missing(wanted))

    def nearest(
        self, query: str, wanted: Filter, limit: int, also: Collection[int] = ()
    ) -> tuple[dict[int, float], dict[int, float]]:
        """Give the cosines of the nearest chunks to a query, and those of the chunks named in `also`."""
        import numpy as np

        vector = self.embedder().embed([query])[0]
        where = chunk_condition(wanted)
        rows = self.index.connection.execute(
            f"select chunk, vector from chunks where vector is not null and {where}", where.values
        ).fetchall()
        if not rows:
            return {}, {}
        matrix = self._opened(self.embedder())
        table = np.array(rows, dtype=np.int64)
        table = table[table[:, 1] < matrix.rows]
        scores = matrix.scores(table[:, 1], vector)
        count = min(limit, len(scores))
        best = np.argpartition(-np.nan_to_num(scores, nan=-2.0), count - 1)[:count] if count else []
        best = self._sound(matrix, table, scores, best)
        near = {int(table[i, 0]): float(scores[i]) for i in best}
        places = {chunk: place for place, chunk in enumerate(table[:, 0].tolist())} if also else {}
        named = {chunk: float(scores[places[chunk]]) for chunk in also if chunk in places}
        return near, {chunk: score for chunk, score in named.items() if score == score}

    def tidy(self) -> int:
        """Drop vectors nothing has referred to for a month, and rewrite the file when a quarter is dead."""
        run = self.index.connection.execute
        now = int(time.time())
        run("begin immediate")
        run("update vectors set used = ? where hash in (select hash from chunks)", (now,))
        dropped = run("delete from vectors where used < ?", (now - KEPT_SECONDS,)).rowcount
        run("commit")
        self._compact()
        return dropped

    def _compact(self) -> None:
        matrix = self._opened(None)
        run = self.index.connection.execute
        if matrix is None or self.index.folder is None:
            return
        live = [row[0] for row in run("select distinct vector from vectors order by vector")]
        if matrix.rows - len(live) <= max(matrix.rows // 4, 64):
            return
        run("begin immediate")
        smaller = matrix.compacted(self.index.folder / FILE, live)
        renumbered = [(new, old) for new, old in enumerate(live)]
        run("create temp table moved(new integer, old integer primary key)")
        self.index.connection.executemany("insert into moved values(?, ?)", renumbered)
        run("update vectors set vector = (select new from moved where old = vector)")
        run("update chunks set vector = (select vector from vectors where vectors.hash = chunks.hash)")
        run("drop table moved")
        self.index.set_meta("token", smaller.token.hex())
        run("commit")
        self._matrix = smaller

    def _missing(self, wanted: Filter | None) -> list[int]:
        where = chunk_condition(wanted or Filter(statuses=()))
        self._check_model()
        rows = self.index.connection.execute(
            f"select chunk from chunks where vector is null and {where} order by chunk desc", where.values
        )
        return [row[0] for row in rows]

    def _texts(self, chunks: list[int]) -> dict[bytes, str]:
        rows = self.index.connection.execute(
            "select hash, prefix || substr(text, start + 1, stop - start) from chunks join texts using(file)"
            f" where chunk in ({', '.join(map(str, chunks))}) group by hash"
        )
        return dict(rows)

    def _keep(self, hashes: list[bytes], vectors: Any) -> None:
        """Append vectors and name their rows in one transaction: a row no table names does not exist."""
        run = self.index.connection.execute
        run("begin immediate")
        try:
            first = run("select coalesce(max(vector) + 1, 0) from vectors").fetchone()[0]
            matrix = self._opened(self.embedder())
            matrix.append(first, vectors)
            now = int(time.time())
            rows = [(hash_, first + offset, now) for offset, hash_ in enumerate(hashes)]
            self.index.connection.executemany("insert or replace into vectors values(?, ?, ?)", rows)
            self.index.connection.executemany(
                "update chunks set vector = ? where hash = ?", [(row, hash_) for hash_, row, _ in rows]
            )
            self.index.set_meta("embedded", int(self.index.meta("embedded") or 0) + len(hashes))
        except BaseException:
            run("rollback")
            raise
        run("commit")

    def _check_model(self) -> None:
        """Forget vectors of another model: two models never share an index."""
        name = default_model_name() if self.folder is None else self.embedder().model
        if self.index.meta("model") == name:
            return
        self._reset(name)

    def _reset(self, name: str) -> None:
        run = self.index.connection.execute
        own = not self.index.connection.in_transaction
        if own:
            run("begin immediate")
        run("delete from vectors")
        run("update chunks set vector = null where vector is not null")
        self.index.set_meta("model", name)
        self.index.set_meta("token", "")
        if own:
            run("commit")

    def _opened(self, embedder: Embedder | None) -> Any:
        """Map the matrix the index names; where it is not the one, start a new one and forget its rows."""
        token = self.index.meta("token") or ""
        if self._matrix is not None and self._matrix.token.hex() == token:
            return self._matrix
        folder = self.index.folder
        dimension = embedder.dimension if embedder else int(self.index.meta("dimension") or 0)
        if folder is None or not dimension:
            return None
        matrix = Matrix.open(folder / FILE, dimension, bytes.fromhex(token)) if token else None
        if matrix is None:
            if self.index.meta("token"):
                self._reset(self.index.meta("model"))
            matrix = Matrix.create(folder / FILE, dimension)
            self.index.set_meta("token", matrix.token.hex())
            self.index.set_meta("dimension", dimension)
        self._matrix = matrix
        return matrix

    def _sound(self, matrix: Any, table: Any, scores: Any, best: Any) -> Any:
        """Leave out rows that are no unit vectors, and forget them so that they are embedded again."""
        if not len(best):
            return best
        good = matrix.verify(table[best, 1])
        bad = [int(row) for row in table[best, 1][~good]]
        if bad and self.index.folder is not None:
            run = self.index.connection.execute
            run("begin immediate")
            marks = ", ".join(map(str, bad))
            run(f"delete from vectors where vector in ({marks})")
            run(f"update chunks set vector = null where vector in ({marks})")
            run("commit")
        return best[good]
