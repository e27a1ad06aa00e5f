"""The SQLite database of another tool, read from a copy: its owner may hold it locked, and nothing is written to it."""

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..exchange.detect import UnknownTranscriptError

_TRIES = 5
_LOG = "-wal"
"""What the owner has written and not yet put into the database itself lies beside it in a file with this ending."""


def stamp_of(path: Path) -> tuple[int, ...]:
    """Give size and time of a database and of its log: they change whenever the content does."""
    seen = os.stat(path)
    try:
        log = os.stat(f"{path}{_LOG}")
    except OSError:
        return seen.st_size, seen.st_mtime_ns
    return seen.st_size, seen.st_mtime_ns, log.st_size, log.st_mtime_ns


class Copy:
    """A copy of a database that is open for reading."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._connection.row_factory = sqlite3.Row

    def columns(self, table: str) -> set[str]:
        """Name the columns of a table; none where there is no such table."""
        return {row["name"] for row in self._connection.execute("select name from pragma_table_info(?)", (table,))}

    def rows(self, table: str, order: str, **equal: str) -> list[dict[str, Any]]:
        """Give the rows of a table whose columns have the values given, in the order of other columns."""
        where = " and ".join(f"{column} = ?" for column in equal) or "1"
        found = self._connection.execute(f"select * from {table} where {where} order by {order}", (*equal.values(),))
        return [dict(row) for row in found]


@contextmanager
def copied(path: Path, beside: Path) -> Iterator[Copy]:
    """Open a copy of a database, which lies in the folder `beside`; UnknownTranscriptError for a damaged one."""
    with TemporaryDirectory(dir=beside if beside.is_dir() else None, prefix="copy-") as folder:
        target = Path(folder) / "copy.db"
        _copy(path, target)
        try:
            with closing(sqlite3.connect(target)) as connection:
                yield Copy(connection)
        except sqlite3.Error as error:
            message = f"{path} cannot be read: {error}"
            raise UnknownTranscriptError(message, "close the tool it belongs to and try again") from None


def _copy(path: Path, target: Path) -> None:
    """Copy a database and its log as they are at one moment, between two writes of the owner."""
    log = Path(f"{target}{_LOG}")
    for _ in range(_TRIES):
        before = stamp_of(path)
        shutil.copyfile(path, target)
        try:
            shutil.copyfile(f"{path}{_LOG}", log)
        except FileNotFoundError:
            log.unlink(missing_ok=True)
        if stamp_of(path) == before:
            return
