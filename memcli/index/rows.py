"""What the index knows of files named by their paths: the row of an entry, the whole text."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from .index import Index


@dataclass(frozen=True)
class Known:
    """A file as the index last read it."""

    text: str
    digest: str
    entry: Mapping[str, Any]  # empty for what is none


def known(index: Index, paths: Collection[str]) -> dict[str, Known]:
    """Give what is known of files, those that are gone meanwhile left out."""
    run = index.connection.execute
    files = run(
        "select file, path, text, digest from files join texts using(file)"
        f" where path in ({', '.join('?' * len(paths))})",
        tuple(paths),
    ).fetchall()
    cursor = run(f"select * from entries where file in ({', '.join(str(row[0]) for row in files)})")
    names = [column[0] for column in cursor.description]
    entries = {row[0]: dict(zip(names, row, strict=True)) for row in cursor}
    return {path: Known(text, digest, entries.get(file, {})) for file, path, text, digest in files}
