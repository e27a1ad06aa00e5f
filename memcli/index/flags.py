"""Find the entries that others are flagged with."""

from collections.abc import Collection

from ..text.chunk import WORDING
from .filters import Filter, chunk_condition
from .index import Index


def chunks_of(index: Index, ids: Collection[str], wanted: Filter) -> list[int]:
    """Give the first chunk of each entry that may be found, by its id."""
    if not ids:
        return []
    where = chunk_condition(wanted)
    rows = index.connection.execute(
        "select min(chunk) from chunks where file in"
        f" (select file from entries where id in ({', '.join('?' * len(ids))}))"
        f" and anchor <> '{WORDING}' and {where} group by file order by 1",
        (*sorted(ids), *where.values),
    )
    return [chunk for (chunk,) in rows]
