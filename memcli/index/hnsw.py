"""A graph over the matrix for processes that ask often: nearest neighbours without looking at every row.

Derived from the matrix and kept beside it; any doubt about the file and it is not loaded, since hnswlib reads a file of
another dimension without complaint and can crash on a damaged one. Needs the extra `graph`; all works without it.
"""

import json
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UnavailableError
from ..store.privacy import write_private
from .onnx_session import usable
from .vector_file import Matrix

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FILE = "graph.json"
FOLDED = 20_000
"""Rows from which a graph is kept: below, a scan is as quick as asking one (measured in `is_graph_cheaper`)."""
_FORMAT = 1
_LINKS = 16  # hnswlib's M
_EF_BUILD = 200
_EF = 400  # 5,000 random vectors of 384 numbers, the hardest there are: recall@10 .88 at 100, .95 at 200, .99 at 400
_BLOCK = 4096  # rows handed over at a time while building
_MORE = 8  # rows looked at beyond those wanted, for some may be dead or damaged
_SPARE = 1.5  # room made when the graph is full


def graph_available() -> bool:
    """Return whether hnswlib is installed and can be loaded."""
    try:
        import hnswlib  # noqa: F401
    except ImportError:
        return False
    return True


class Graph:
    """An hnswlib graph whose labels are the matrix's row numbers."""

    def __init__(self, matrix: Matrix, index: Any, end: int) -> None:
        """Take a filled hnswlib index; `build` and `load` are the ways to get one."""
        self.matrix = matrix
        self.end = end  # rows from this number on are not in the graph: search them exactly
        self._index = index

    @classmethod
    def build(cls, matrix: Matrix, rows: "NDArray[np.int64]", *, threads: int = 0) -> "Graph":
        """Make a graph of the rows, on every core unless `threads` is given; seconds for tens of thousands."""
        index = _hnswlib_index(matrix.dimension)
        index.init_index(max_elements=max(1, len(rows)), M=_LINKS, ef_construction=_EF_BUILD, random_seed=1)
        index.set_num_threads(usable(threads))
        index.set_ef(_EF)
        graph = cls(matrix, index, 0)
        for start in range(0, len(rows), _BLOCK):
            graph.add(rows[start : start + _BLOCK])
        return graph

    @classmethod
    def load(cls, path: Path, matrix: Matrix, model: str, *, threads: int = 0) -> "Graph | None":
        """Load the graph a manifest describes; None unless it is whole and of this matrix and model."""
        manifest = _manifest(path)
        if manifest is None or any(manifest.get(key) != value for key, value in _identity(matrix, model).items()):
            return None
        file, rows, end = path.with_name(manifest["file"]), manifest["rows"], manifest["end"]
        index = _hnswlib_index(matrix.dimension)
        try:
            if end > matrix.rows or _sha256(file) != manifest["sha256"]:
                return None
            index.load_index(str(file), max_elements=rows)
        except (OSError, RuntimeError):
            return None
        if index.get_current_count() != rows:
            return None
        index.set_num_threads(usable(threads))
        index.set_ef(_EF)
        return cls(matrix, index, end)

    def save(self, path: Path, model: str) -> None:
        """Write the graph beside its manifest; a crash leaves the old pair or the new one."""
        making = path.with_name(f"{path.stem}.{os.getpid()}")
        try:
            write_private(making, "")  # the library would make it as open as the umask lets it
            self._index.save_index(str(making))
            if making.stat().st_size != self._index.index_file_size():  # it does not notice a full disk
                raise OSError("the disk took only a part")
            digest = _sha256(making)
            file = path.with_name(f"{path.stem}-{digest[:16]}.bin")
            making.replace(file)
            facts = {"file": file.name, "sha256": digest, "rows": len(self), "end": self.end}
            write_private(making, json.dumps({**_identity(self.matrix, model), **facts}))
            making.replace(path)
        except (OSError, RuntimeError) as error:
            raise UnavailableError(f"cannot write {path} ({error})", "make room, or let it be written") from error
        finally:
            with suppress(OSError):
                making.unlink()
        for other in path.parent.glob(f"{path.stem}-*.bin"):
            if other != file:
                with suppress(OSError):
                    other.unlink()

    def __len__(self) -> int:
        """Count the rows in the graph, dead ones included."""
        count: int = self._index.get_current_count()
        return count

    def add(self, rows: "NDArray[np.int64]") -> None:
        """Take in rows of the matrix, in growing order; one that is no unit vector is left out."""
        import numpy as np

        rows = np.asarray(rows, dtype=np.int64)
        if not len(rows):
            return
        self.end = max(self.end, int(rows.max()) + 1)
        rows = rows[self.matrix.verify(rows)]
        needed = len(self) + len(rows)
        if needed > self._index.get_max_elements():
            self._index.resize_index(int(needed * _SPARE))
        if len(rows):
            self._index.add_items(self.matrix.take(rows), rows)

    def nearest(
        self, query: "NDArray[np.float32]", k: int, alive: "NDArray[np.bool_]"
    ) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
        """Return the k nearest rows that are alive, best first, with their cosines; fewer where there are fewer.

        `alive` says of each row number whether it may be found; rows from `end` on are not looked at.
        """
        import numpy as np

        alive = alive[: self.end]
        k = min(k, int(np.count_nonzero(alive)))
        rows = self._asked(query, k, alive) if k > 0 else np.empty(0, np.int64)
        scores = self.matrix.scores(rows, query)
        order = np.lexsort((rows, -scores))
        order = order[: k + _MORE]
        order = order[self.matrix.verify(rows[order])][:k]
        return rows[order], scores[order]

    def _asked(self, query: "NDArray[np.float32]", k: int, alive: "NDArray[np.bool_]") -> "NDArray[np.int64]":
        """Ask for more until k of the answers are alive; when that comes to much of the graph, give all alive rows."""
        import numpy as np

        ask = k + k // 2 + _MORE
        while ask <= len(self) // 8:
            try:
                labels = self._index.knn_query(query, k=ask, num_threads=1)[0][0]
            except RuntimeError:  # a part of the graph cannot be reached: it found fewer than it was asked for
                break
            rows: NDArray[np.int64] = labels[labels < len(alive)].astype(np.int64)
            rows = rows[alive[rows]]
            if len(rows) >= k:
                return rows
            ask *= 4
        return np.flatnonzero(alive)


def is_graph_cheaper(rows: int, queries: int, loaded: bool) -> bool:
    """Return whether asking a graph of so many rows is quicker than as many exact scans of the mapped matrix.

    Measured in milliseconds, 384 numbers a row, two cores, a scan on one:

       rows  scan  load  query   build
      1,000   0.1     3    0.3     100
     10,000   0.5    27    0.7   1,200
     20,000   0.9    58    0.8   3,000
     50,000   5.5   130    1.2   9,000
    100,000  10     250    1.5  24,000

    Up to 20,000 rows fit the processor's cache. Loading includes the check of the file's hash, which is half of it.
    """
    thousands = rows / 1000
    scan = thousands * (0.045 if rows <= 20_000 else 0.1)
    load = 0.0 if loaded else 2.6 * thousands
    return load + queries * (0.7 + 0.008 * thousands) < queries * scan


def _hnswlib_index(dimension: int) -> Any:
    import hnswlib

    return hnswlib.Index(space="ip", dim=dimension)


def _identity(matrix: Matrix, model: str) -> dict[str, Any]:
    return {
        "format": _FORMAT,
        "model": model,
        "dimension": matrix.dimension,
        "token": matrix.token.hex(),
        "links": _LINKS,
        "ef": _EF_BUILD,
    }


def _manifest(path: Path) -> Mapping[str, Any] | None:
    try:
        manifest = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict):
        return None
    file, numbers = manifest.get("file"), [manifest.get("rows"), manifest.get("end")]
    named = isinstance(file, str) and re.fullmatch(rf"{re.escape(path.stem)}-[0-9a-f]{{16}}\.bin", file)
    return manifest if named and all(type(each) is int and each > 0 for each in numbers) else None


def _sha256(file: Path) -> str:
    from hashlib import file_digest

    with file.open("rb") as opened:
        return file_digest(opened, "sha256").hexdigest()


class Neighbours:
    """The nearest rows to a vector; a graph is opened once enough has been asked of one process."""

    def __init__(self, threads: int) -> None:
        """Start without a graph."""
        self._threads = threads
        self._asked = 0
        self._graph: Graph | None = None

    def best(
        self, matrix: Matrix, table: "NDArray[np.int64]", vector: "NDArray[np.float32]", limit: int, model: str
    ) -> tuple[dict[int, float], list[int]]:
        """Return the chunks with the highest cosines, and rows that turned out to be damaged.

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
        return {int(looked[position, 0]): float(scores[position]) for position in best[sound]}, sorted(bad)

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
