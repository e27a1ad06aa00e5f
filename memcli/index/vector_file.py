"""The matrix of vectors: rows appended to a file, mapped and scanned exactly.

Knows rows by number and nothing of texts: which rows exist, and whose they are, is in the index's tables. A row that is
no unit vector (a crash, a damaged disk) has no score and is for the caller to drop and make again.
"""

import os
import re
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UnavailableError
from ..store.privacy import opener

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_HEADER = struct.Struct("<8sII16s32x")  # magic, version, dimension, token
_MAGIC = b"memvecs\n"
_VERSION = 1
_BLOCK = 1024  # rows gathered at a time: 1.5 MB, which stays in the processor's cache
_TOLERANCE = 1e-3  # how far from 1 the length of a vector may be


class Matrix:
    """Unit vectors in a file of their own; a token distinguishes it from its earlier generations.

    The token is part of the file's name: a rewritten matrix never takes the place of one that the index still names,
    so a crash between the rewriting and the commit loses nothing.
    """

    def __init__(self, path: Path, dimension: int, token: bytes) -> None:
        """Belong to an existing file; `open` and `create` are the ways to get one."""
        self.dimension = dimension
        self.token = token
        self.file = _file(path, token)
        self._map: NDArray[np.float32] | None = None

    @classmethod
    def open(cls, path: Path, dimension: int, token: bytes) -> "Matrix | None":
        """Open the generation a token names; None if it is missing, cut short, foreign or of another dimension."""
        try:
            with _file(path, token).open("rb") as file:
                header = file.read(_HEADER.size)
        except OSError:
            return None
        if header != _HEADER.pack(_MAGIC, _VERSION, dimension, token):
            return None
        return cls(path, dimension, token)

    @classmethod
    def create(cls, path: Path, dimension: int) -> "Matrix":
        """Start an empty generation; it counts once the caller has committed its token."""
        matrix = cls(path, dimension, os.urandom(16))
        with _writing(matrix.file), open(matrix.file, "xb", opener=opener) as file:
            file.write(_HEADER.pack(_MAGIC, _VERSION, dimension, matrix.token))
        return matrix

    @staticmethod
    def sweep(path: Path, keep: Collection[bytes]) -> None:
        """Remove all but some generations; only inside the transaction in which their tokens were read as current."""
        name = re.compile(rf"{re.escape(path.stem)}-[0-9a-f]{{16}}{re.escape(path.suffix)}")
        remaining = {_file(path, token) for token in keep}
        for other in path.parent.iterdir():
            if name.fullmatch(other.name) and other not in remaining:
                with suppress(OSError):
                    other.unlink()

    @property
    def rows(self) -> int:
        """Return the number of whole rows in the file, those that no table names included."""
        try:
            size = self.file.stat().st_size
        except FileNotFoundError:
            return 0
        return max(0, size - _HEADER.size) // (4 * self.dimension)

    def append(self, first_row: int, vectors: "NDArray[np.float32]") -> None:
        """Write rows from a number on; they are in the file on return, so that their numbers can be committed.

        To be called inside the write transaction, with `rows` as the first number: a number used again could be read
        under its old meaning by a process that began earlier. A torn write leaves a row that is no unit vector.
        """
        import numpy as np

        if vectors.ndim != 2 or vectors.shape[1] != self.dimension or first_row < 0:
            raise ValueError(f"rows of {self.dimension} numbers wanted, got {vectors.shape} at {first_row}")
        data = np.asarray(vectors, dtype="<f4").tobytes()
        with _writing(self.file), self.file.open("r+b", buffering=0) as file:
            offset = _HEADER.size + 4 * self.dimension * first_row
            while data:
                written = os.pwrite(file.fileno(), data, offset)
                data, offset = data[written:], offset + written

    def scores(self, rows: "NDArray[np.int64] | None", query: "NDArray[np.float32]") -> "NDArray[np.float32]":
        """Return the cosine of a unit vector with each row (None: all rows), (n,) float32; NaN for a damaged row.

        What cannot be seen from a score, a row that is too short, is found by `verify` on the best.
        """
        import numpy as np

        mapped = self._mapped()
        wanted = np.arange(len(mapped)) if rows is None else np.asarray(rows, dtype=np.int64)
        query = np.asarray(query, dtype=np.float32)
        valid = (wanted >= 0) & (wanted < len(mapped))
        scores = np.full(len(wanted), np.nan, np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            if 2 * len(wanted) > len(mapped):  # measured: from half of the rows on, reading all is quicker
                scores[valid] = (mapped @ query)[wanted[valid]]
            else:
                for block in _blocks(len(wanted)):
                    sound = valid[block]
                    scores[block][sound] = mapped.take(wanted[block][sound], axis=0) @ query
        # A hole in the file scores 0, a damaged row anything: only such scores are worth a look at their rows.
        odd = np.flatnonzero(~(np.abs(scores) <= 1 + _TOLERANCE) | (scores == 0))
        scores[odd[~self.verify(wanted[odd])]] = np.nan
        return scores

    def verify(self, rows: "NDArray[np.int64] | Sequence[int]") -> "NDArray[np.bool_]":
        """Return for each row whether it exists and is a unit vector, (n,) bool."""
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        sound = np.zeros(len(wanted), np.bool_)
        with np.errstate(invalid="ignore", over="ignore"):
            for block in _blocks(len(wanted)):
                vectors = self.take(wanted[block])
                lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
                sound[block] = np.abs(lengths - 1) <= _TOLERANCE
        return sound

    def take(self, rows: "NDArray[np.int64] | Sequence[int]") -> "NDArray[np.float32]":
        """Return a copy of rows in the order asked for, (n, dimension) float32; a row that is not there is all NaN."""
        import numpy as np

        mapped = self._mapped()
        wanted = np.asarray(rows, dtype=np.int64)
        valid = (wanted >= 0) & (wanted < len(mapped))
        if valid.all():
            return mapped.take(wanted, axis=0)
        taken = np.full((len(wanted), self.dimension), np.nan, np.float32)
        taken[valid] = mapped.take(wanted[valid], axis=0)
        return taken

    def compacted(self, path: Path, rows: "NDArray[np.int64] | Sequence[int]") -> "Matrix":
        """Write a new generation with only these rows, in this order, beside the old one.

        To be called inside the write transaction that renumbers the rows and commits the new token.
        """
        import numpy as np

        wanted = np.asarray(rows, dtype=np.int64)
        smaller = Matrix.create(path, self.dimension)
        for block in _blocks(len(wanted)):
            smaller.append(block.start, self.take(wanted[block]))
        return smaller

    def _mapped(self) -> "NDArray[np.float32]":
        import numpy as np

        rows = self.rows
        if rows == 0:
            return np.empty((0, self.dimension), np.float32)
        if self._map is None or len(self._map) < rows:
            mapped = np.memmap(self.file, "<f4", "r", _HEADER.size, (rows, self.dimension))
            self._map = mapped.view(np.ndarray)
        return self._map


def _file(path: Path, token: bytes) -> Path:
    return path.with_name(f"{path.stem}-{token.hex()[:16]}{path.suffix}")


def _blocks(count: int) -> Iterator[slice]:
    return (slice(start, min(start + _BLOCK, count)) for start in range(0, count, _BLOCK))


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UnavailableError(f"cannot write {file}: {error.strerror}", "make room, or let it be written") from error


class CosinesAmong(NamedTuple):
    """Chunks and how near each is to each other."""

    chunks: "NDArray[np.int64]"  # (n,)
    cosines: "NDArray[np.float32]"  # (n, n), scaled

    def alike(self, least: float) -> dict[int, frozenset[int]]:
        """Map each chunk to those whose cosine is at least so much, itself among them."""
        return {
            int(chunk): frozenset(self.chunks[line >= least].tolist())
            for chunk, line in zip(self.chunks, self.cosines, strict=True)
        }

    def neighbours_above(self, values: Mapping[int, float], count: int, unlike: float) -> dict[int, float]:
        """Map each chunk to how far the `count` nearest to it are above the mean of all values, by their nearness.

        Nearness is 0 at the cosine `unlike` and below, 1 at 1. What is below the mean gives 0. Empty where there are no
        more than `count` chunks.
        """
        import numpy as np

        rows = np.flatnonzero(np.isin(self.chunks, np.fromiter(values, np.int64)))
        if len(rows) <= count:
            return {}
        rows = np.array(sorted(rows, key=lambda row: -values[int(self.chunks[row])]))
        chunks = self.chunks[rows].tolist()
        near = np.maximum(self.cosines[np.ix_(rows, rows)] - unlike, 0.0) / (1 - unlike)
        np.fill_diagonal(near, 0.0)
        # Of about the same nearness the better count, however exactly a server keeps the vectors.
        nearest = np.argsort(-np.round(near, 2), axis=1, kind="stable")[:, :count]
        own = np.array([values[chunk] for chunk in chunks])
        above = np.take_along_axis(near, nearest, axis=1) * (own[nearest] - own.mean())
        return dict(zip(chunks, np.maximum(above.mean(axis=1), 0.0).tolist(), strict=True))
