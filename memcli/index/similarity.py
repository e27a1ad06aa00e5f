"""Which texts are alike: exact twins, the nearest to each of many texts, and all pairs above a cosine.

Owns the blocked matrix products, so that many texts cost what their product costs. Judges nothing.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from .database import text_hash
from .embedding_model import Calibration
from .filters import Filter, chunk_condition

if TYPE_CHECKING:
    from .index import Index


BLOCK = 1024  # rows multiplied at a time: the product of a block with 10,000 others takes 40 MB


def twins(index: "Index", texts: Sequence[str], wanted: Filter) -> dict[str, list[int]]:
    """Map each text to the chunks that pass the filter and hold exactly it."""
    hashes = {text_hash(text): text for text in texts}
    where = chunk_condition(wanted)
    chunks: dict[str, list[int]] = {}
    for start in range(0, len(hashes), 500):
        keys = list(hashes)[start : start + 500]
        rows = index.connection.execute(
            f"select chunk, hash from chunks where hash in ({', '.join('?' * len(keys))}) and {where}",
            (*keys, *where.values),
        )
        for chunk, hash_ in rows:
            chunks.setdefault(hashes[hash_], []).append(chunk)
    return chunks


def nearest_to_each(index: "Index", vectors: Any, wanted: Filter, limit: int) -> list[dict[int, float]]:
    """Map, for each unit vector of (n, dimension) float32, the `limit` nearest chunks to their scaled cosines."""
    import numpy as np

    table, matrix = index.embedding.rows(wanted)
    if matrix is None or not len(table):
        return [{} for _ in vectors]
    rows, scaled = matrix.take(table[:, 1]), index.embedding.scale().scaled
    nearest: list[dict[int, float]] = []
    with np.errstate(invalid="ignore", over="ignore"):
        for start in range(0, len(vectors), BLOCK):
            nearest += [
                {int(table[column, 0]): scaled(float(line[column])) for column in _best(line, limit)}
                for line in vectors[start : start + BLOCK] @ rows.T
            ]
    return nearest


def nearest_before(vectors: Any, limit: int, scale: Calibration) -> list[dict[int, float]]:
    """Map, for each unit vector of (n, dimension) float32, the `limit` nearest before it to their scaled cosines."""
    nearest: list[dict[int, float]] = []
    for start in range(0, len(vectors), BLOCK):
        block = vectors[start : start + BLOCK] @ vectors[: start + BLOCK].T
        for number, line in enumerate(block, start):
            nearest.append({int(column): scale.scaled(float(line[column])) for column in _best(line[:number], limit)})
    return nearest


def similar_pairs(index: "Index", threshold: float, wanted: Filter) -> Iterator[tuple[int, int, float]]:
    """Yield (earlier chunk, later chunk, scaled cosine) of each pair that has more than the threshold."""
    import numpy as np

    table, matrix = index.embedding.rows(wanted)
    if matrix is None or not len(table):
        return
    table = table[np.argsort(table[:, 0])]
    scale = index.embedding.scale()
    least = scale.unscaled(threshold)
    sound = matrix.verify(table[:, 1])
    chunks, rows = table[sound, 0], matrix.take(table[sound, 1])
    for start in range(0, len(rows), BLOCK):
        product = rows[start : start + BLOCK] @ rows[start:].T
        positions = np.flatnonzero(product > least)
        left, right = np.divmod(positions, product.shape[1])
        later = right > left
        pairs = zip(
            chunks[start + left[later]].tolist(),
            chunks[start + right[later]].tolist(),
            map(scale.scaled, product.ravel()[positions[later]].tolist()),
            strict=True,
        )
        yield from pairs


def _best(line: Any, limit: int) -> Any:
    """Return the positions of the highest numbers, the highest first; NaN is passed over."""
    import numpy as np

    line = np.nan_to_num(line, nan=-2.0)
    count = min(limit, len(line))
    if count == 0:
        return ()
    best = np.argpartition(-line, count - 1)[:count]
    return best[np.argsort(-line[best], kind="stable")]
