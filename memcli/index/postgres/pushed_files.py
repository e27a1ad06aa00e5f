"""The files of an index as the server takes them: their fields, chunks, stems and vectors."""

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...formats.entry_fields import WORDING
from ..database import TOKENIZE, texts_of
from .connection import HalfVector, storable

if TYPE_CHECKING:
    from psycopg import Connection

    from ..index import Index

TEXTS = ("kind", "status", "anchor", "title", "prefix", "text", "timestamp")
_COLUMNS = dict.fromkeys(TEXTS, "text") | dict.fromkeys(("line", "stop"), "integer")
_COLUMNS |= {"file": "bigint", "is_whole": "boolean", "words": "text[]", "counts": "smallint[]"}
_LONGEST = 500  # characters of a word, or of a status, in an index of the server
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
            values = (kind, status[:_LONGEST], anchor, title, text.prefix, text.text, timestamp, hash_.hex())
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

    def write(
        self,
        connection: "Connection[Any]",
        workspace: int,
        sound: Sequence[tuple[int, str, str]],
        listed: Mapping[str, str],
    ) -> list[tuple[int, str, str, int]]:
        """Write files, given as number, path and digest, of which the server has the text that was `listed`.

        Return those that were, each with its number there.
        """
        theirs = dict(
            connection.execute(
                "select path, digest from files where workspace = %s and path = any(%s)",
                (workspace, [path for _, path, _ in sound]),
            ).fetchall()
        )
        free = [row for row in sound if theirs.get(row[1], "") in (listed.get(row[1], ""), row[2])]
        if not free:
            return []
        about = [(*self.files[file], len(self.chunks[file])) for file, *_ in free]
        numbers = dict(
            connection.execute(
                "insert into files(workspace, path, kind, status, digest, entry, pieces)"
                " select %s, path, kind, status, digest, entry, pieces"
                " from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[], %s::integer[])"
                " as own(path, kind, status, digest, entry, pieces)"
                " on conflict (workspace, path) do update set kind = excluded.kind, status = excluded.status,"
                " digest = excluded.digest, entry = excluded.entry, pieces = excluded.pieces returning path, file",
                (workspace, *map(list, zip(*about, strict=True))),
            ).fetchall()
        )
        files = list(numbers.values())
        (before,) = connection.execute(
            "select coalesce(array_agg(chunk), '{}') from chunks where workspace = %s and file = any(%s)",
            (workspace, files),
        ).fetchone() or ([],)
        chunks = [{**chunk, "file": numbers[path]} for file, path, _ in free for chunk in self.chunks[file]]
        hashes = dict.fromkeys(bytes.fromhex(chunk["hash"]) for chunk in chunks)
        connection.cursor().executemany(
            "insert into embeddings(workspace, model, hash, vector) values(%s, %s, %s, %b) on conflict do nothing",
            [
                (workspace, self.model, hash_, HalfVector(self.vectors[hash_]))
                for hash_ in hashes
                if hash_ in self.vectors
            ],
        )
        connection.execute(
            f"insert into chunks(workspace, hash, {', '.join(_COLUMNS)})"
            f" select %s, decode(hash, 'hex'), {', '.join(_COLUMNS)} from json_to_recordset(%s::json)"
            f" as own(hash text, {', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())})",
            (workspace, json.dumps(chunks)),
        )
        # After the new ones: a text that stays keeps its vector.
        connection.execute("delete from chunks where workspace = %s and chunk = any(%s)", (workspace, list(before)))
        return [(file, path, digest, numbers[path]) for file, path, digest in free]


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
