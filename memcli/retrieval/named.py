"""What a query calls by its name: an id in it, or the path or address that it is. Part of a name names nothing."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..index.filters import Filter, bindable, chunk_condition
from ..store.address import prefixes

if TYPE_CHECKING:
    from ..index.index import Index

_ID = re.compile(r"\b[a-z]+_[0-9a-z]{16}\b")
_PATH = re.compile(r"(?P<path>[^\n]+?)(?::(?P<line>\d{1,9})|#(?P<anchor>[^\n]+))?")
MOST = 50
"""Chunks of what is named, at most: a long history file is not one memory."""


def named(index: "Index", query: str, wanted: Filter, folder: Path | None = None) -> list[int]:
    """Give the chunks of what the query names, of those that may be found; a path may also be one from `folder`."""
    text = query.strip()
    ids = list(dict.fromkeys(_ID.findall(text[:4000])))[:MOST]
    conditions: list[str] = []
    values: list[str | int] = []
    if ids:
        marks = ", ".join("?" * len(ids))
        conditions.append(f"file in (select file from entries where id in ({marks})) or anchor in ({marks})")
        values += [*ids, *ids]
    path = _PATH.fullmatch(text) if "/" in text or ".md" in text else None
    if path:
        paths = [path["path"]] if folder is None else prefixes(index.workspace, path["path"], folder)
        marks = ", ".join("?" * len(paths))
        conditions.append(
            f"file in (select file from files where path in ({marks})) and ? in ('', anchor) and (? = 0 or line ="
            " (select max(line) from chunks as other where other.file = chunks.file and line <= ?))"
        )
        line = int(path["line"] or 0)
        values += [*map(bindable, paths), bindable(path["anchor"] or ""), line, line]
    if not conditions:
        return []
    where = chunk_condition(wanted)
    rows = index.connection.execute(
        f"select chunk from chunks where ({' or '.join(f'({one})' for one in conditions)}) and {where} limit {MOST}",
        (*values, *where.values),
    )
    return [row[0] for row in rows]
