"""Rows of the full-text table, kept back and written together.

Before many a statement on another table SQLite has the full-text table put what it holds into a segment of its own,
to be merged with the others later: words written file by file took a third of the time of indexing.
"""

import sqlite3
from collections.abc import Iterable

_HELD = 4_000_000  # characters


class WordRows:
    """What is to be written to the full-text table before the transaction ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._added: list[tuple[int, str, str, str]] = []
        self._dropped: list[tuple[int]] = []
        self._size = 0

    def add(self, chunk: int, title: str, tags: str, body: str) -> None:
        """Have the words of a chunk written."""
        self._added.append((chunk, title, tags, body))
        self._size += len(body)
        if self._size > _HELD:
            self.write()

    def drop(self, chunks: Iterable[tuple[int]]) -> None:
        """Have the words of chunks removed, also of those just added; their numbers never come again."""
        self._dropped += chunks

    def write(self) -> None:
        """Write what was kept back."""
        many = self._connection.executemany
        many("insert into words(rowid, title, tags, body) values(?, ?, ?, ?)", self._added)
        many("delete from words where rowid = ?", self._dropped)
        self._added.clear()
        self._dropped.clear()
        self._size = 0
