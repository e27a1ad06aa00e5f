"""The files of an index as the server takes them: their fields, chunks, stems and vectors."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...formats.entry_fields import WORDING
from ..database import TOKENIZE, texts_of
from .connection import storable

if TYPE_CHECKING:
    from ..index import Index

TEXTS = ("kind", "status", "anchor", "title", "prefix", "text", "timestamp")
_LONGEST = 500  # characters of a word in the server's index
_TELLING = ("title", "summary", "tags", "key", "project", "aliases")  # fields of an entry that may hold a secret


class PushedFiles:
    """Files of the index as the server takes them."""

    def __init__(self, index: "Index", files: Sequence[int]) -> None:
        """Read files by their numbers."""
        run, among = index.connection.execute, ", ".join(map(str, files))
        entries = index._entries_of(files)
        self.files = {
            file: (path, kind, status, digest, json.dumps(storable(entries[file])) if file in entries else None)
            for file, path, kind, status, digest in run(
                f"select file, path, kind, status, digest from files where file in ({among})"
            )
        }
        table = run(
            "select chunk, file, kind, status, anchor, line, stop, title, timestamp, hash, vector,"
            " kind <> 'entry' or not exists (select 1 from chunks as other where other.file = chunks.file"
            f" and other.anchor <> '{WORDING}' limit 1 offset 1) from chunks where file in ({among}) order by chunk"
        ).fetchall()
        numbers = [row[0] for row in table]
        texts = {stored.chunk: stored for stored in texts_of(index.connection, numbers)} if numbers else {}
        words = _words(index.connection, numbers)
        self.chunks: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self.texts: dict[int, list[str]] = defaultdict(list)
        for chunk, file, kind, status, anchor, line, stop, title, timestamp, hash_, _, is_whole in table:
            text = texts[chunk]
            stems = words.get(chunk, Counter[str]())
            values = (kind, status, anchor, title, text.prefix, text.text, timestamp, hash_.hex())
            own: dict[str, Any] = dict(zip((*TEXTS, "hash"), map(storable, values), strict=True))
            own |= {"line": line, "stop": stop, "is_whole": bool(is_whole)}
            self.chunks[file].append(own | {"words": list(stems), "counts": list(stems.values())})
            self.texts[file].append(f"{title}\n{text.text}")
        for file, entry in entries.items():
            self.texts[file].append("\n".join(str(entry[name]) for name in _TELLING))
        self.model, matrix = index.embedding.table.model, index.embedding.table.matrix()
        self.vectors: dict[bytes, Any] = {}
        if matrix is not None:
            rows = {row[9]: row[10] for row in table if row[10] is not None}
            self.vectors = dict(zip(rows, matrix.take(list(rows.values())), strict=True))


def _words(connection: sqlite3.Connection, chunks: Sequence[int]) -> dict[int, Counter[str]]:
    """Return how often each stem stands in each chunk; one in the title counts twice."""
    run = connection.execute
    run(f'create virtual table temp.pushed using fts5(title, tags, body, tokenize="{TOKENIZE}")')
    run("create virtual table temp.pushed_stems using fts5vocab(temp, pushed, 'instance')")
    try:
        run(
            "insert into temp.pushed(rowid, title, tags, body) select rowid, title, tags, body from words"
            " where rowid in (select value from json_each(?))",
            (json.dumps(list(chunks)),),
        )
        counted: dict[int, Counter[str]] = defaultdict(Counter)
        for stem, chunk, column in run("select term, doc, col from temp.pushed_stems"):
            counted[chunk][storable(stem)[:_LONGEST]] += 2 if column == "title" else 1
    finally:
        run("drop table temp.pushed_stems")
        run("drop table temp.pushed")
    return counted
