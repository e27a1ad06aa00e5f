"""The nearest rows to a vector, by exact scan or by graph, whichever costs less."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from .hnsw import Graph, graph_available, is_graph_cheaper
from .vector_file import Matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "graph.json"
FOLDED = 20_000
"""Rows from which a graph is kept: below, a scan is as quick as asking one (measured in `is_graph_cheaper`)."""


class Neighbours:
    """What a process knows of who is near whom; a graph is opened once enough has been asked."""

    def __init__(self, threads: int) -> None:
        """Start without a graph."""
        self._threads = threads
        self._asked = 0
        self._graph: Graph | None = None

    def best(
        self, matrix: Matrix, table: "NDArray[np.int64]", vector: "NDArray[np.float32]", limit: int, model: str
    ) -> tuple[dict[int, float], list[int]]:
        """Give the chunks with the highest cosines, and rows that turned out to be damaged.

        `table` has a line of chunk and row for everything that may be found.
        """
        import numpy as np

        self._asked += 1
        if self._graph is not None and self._graph.matrix.token != matrix.token:
            self._graph = None
        if self._graph is None and is_graph_cheaper(len(table), self._asked, False) and graph_available():
            self._graph = Graph.load(matrix.file.with_name(FILE), matrix, model, threads=self._threads)
        looked = table
        if self._graph is not None and is_graph_cheaper(len(table), 1, True):
            alive = np.zeros(matrix.rows, np.bool_)
            alive[table[table[:, 1] < matrix.rows, 1]] = True
            rows, _ = self._graph.nearest(vector, limit, alive)
            looked = table[np.isin(table[:, 1], rows) | (table[:, 1] >= self._graph.end)]
        scores = matrix.scores(looked[:, 1], vector)
        count = min(limit, len(scores))
        best = np.argpartition(-np.nan_to_num(scores, nan=-2.0), count - 1)[:count] if count else np.empty(0, np.int64)
        sound = matrix.verify(looked[best, 1]) & np.isfinite(scores[best])
        bad = {*looked[best[~sound], 1].tolist(), *looked[np.isnan(scores), 1].tolist()}
        return {int(looked[place, 0]): float(scores[place]) for place in best[sound]}, sorted(bad)

    def fold(self, matrix: Matrix, rows: Collection[int], model: str) -> None:
        """Take the rows into the graph beside the matrix, making it where there is none; small workspaces have none."""
        import numpy as np

        path = matrix.file.with_name(FILE)
        if len(rows) < FOLDED or not graph_available():
            return
        wanted: Any = np.array(rows, dtype=np.int64)
        graph = Graph.load(path, matrix, model, threads=self._threads)
        if graph is None:
            graph = Graph.build(matrix, wanted, threads=self._threads)
        elif graph.end <= wanted[-1]:
            graph.add(wanted[wanted >= graph.end])
        else:
            return
        graph.save(path, model)
