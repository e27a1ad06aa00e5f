"""Write what was read into the index, in a transaction that lets go of the lock every few moments."""

import json
import sqlite3
import time
from collections.abc import Iterable
from dataclasses import astuple

from ..formats.chunking import Chunk
from ..formats.history import INSTEAD, records
from ..formats.ids import date_words
from ..formats.links import link_targets
from ..formats.text_lines import Problem, normalized
from ..language.keyword_tokens import index_text
from ..store.layouts import Layout
from .database import text_hash
from .file_reader import Reading, Talk, TalkPosition
from .scan import Stat

_HELD = 4_000_000  # characters


class WordRows:
    """What is to be written to the full-text table before the transaction ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._added: list[tuple[int, str, str, str]] = []
        self._dropped: list[tuple[int]] = []
        self._size = 0

    def add(self, chunk: int, title: str, tags: str, body: str) -> None:
        """Add the words of a chunk, to be written with the batch."""
        self._added.append((chunk, title, tags, body))
        self._size += len(body)
        if self._size > _HELD:
            self.write()

    def drop(self, chunks: Iterable[tuple[int]]) -> None:
        """Remove the words of chunks with the batch, also of those just added; their numbers are never used again."""
        self._dropped += chunks

    def write(self) -> None:
        """Write what was kept back."""
        many = self._connection.executemany
        many("insert into words(rowid, title, tags, body) values(?, ?, ?, ?)", self._added)
        many("delete from words where rowid = ?", self._dropped)
        self._added.clear()
        self._dropped.clear()
        self._size = 0


BATCH_SECONDS = 0.15  # the write lock is given up between batches; the words of a batch are written at its end
_as_json = json.JSONEncoder(ensure_ascii=False).encode
_OF_SIZE = "select 1 from files where file = ? and size = ?"  # of another, it ended in a line without its newline
_UNKNOWN: Stat = (0, 0, 0, 0)


class OvertakenError(Exception):
    """Another process has gone on with the file at hand."""


class Writer:
    """A write transaction that lets go every few moments."""

    def __init__(self, connection: sqlite3.Connection, layout: Layout, now: str = "") -> None:
        self.layout = layout
        self.now = now  # when entries arrive that are new to the index; empty where all are
        self.connection = connection
        self.words = WordRows(connection)
        self.since = 0.0

    def __enter__(self) -> "Writer":
        self._begin()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if kind is None:
                self._commit()
        finally:
            if self.connection.in_transaction:
                self.connection.execute("rollback")

    def breathe(self) -> None:
        """Commit and begin again when the batch has lasted long enough."""
        if time.monotonic() - self.since >= BATCH_SECONDS:
            self._commit()
            self._begin()

    def current(self, path: str) -> tuple[int, int, int, str] | None:
        """Return file, mtime, moment noted and digest as they stand now, another process's changes included."""
        row: tuple[int, int, int, str] | None = self.connection.execute(
            "select file, mtime, noted, digest from files where path = ?", (path,)
        ).fetchone()
        return row

    def forget(self, file: int) -> None:
        """Take a file and all its chunks out of the index; its vectors stay for when it comes back."""
        self._clear(file)
        row = self.connection.execute("delete from files where file = ? returning kind", (file,)).fetchone()
        if row == ("history",):
            self._mark_retold()

    def note(self, file: int, stat: Stat, noted: int) -> None:
        """Note that a file was seen unchanged."""
        self.connection.execute(
            "update files set mtime = ?, ctime = ?, size = ?, inode = ?, noted = ? where file = ?",
            (*stat, noted, file),
        )

    def stand_in(self, path: str, kind: str, reason: str, file: int | None) -> str:
        """Keep the name of a file that cannot be read, with the reason, so that it is tried and reported again."""
        status = "archived" if self.layout.is_archived(path) else "active"
        reading = Reading(path, kind, status, _UNKNOWN, "", "", [], None, (Problem(1, reason),))
        return self.keep(reading, 0, file)

    def text(self, file: int) -> str:
        """Return a file's text as it was last read."""
        row = self.connection.execute("select text from texts where file = ?", (file,)).fetchone()
        return row[0] if row else ""

    def keep(self, reading: Reading, noted: int, file: int | None) -> str:
        """Put a file as it was read in the place of what the index had of it."""
        run = self.connection.execute
        was_indexed = file is not None
        if file is not None:
            self._clear(file)
        values = (reading.path, reading.kind, reading.status, *reading.stat, noted, reading.digest)
        cursor = run(
            "insert or replace into files(file, path, kind, status, mtime, ctime, size, inode, noted, digest, managed)"
            " values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (file, *values, reading.is_managed(self.layout)),
        )
        file = cursor.lastrowid
        run("insert into texts values(?, ?)", (file, reading.text))
        self._keep_problems(file, reading.path, reading.problems)
        self._keep_links(file, reading)
        tags = self._keep_entry(reading, file) or index_text(_path_words(reading.path))
        for chunk in reading.chunks:
            text = chunk.text or reading.text[chunk.start : chunk.stop]
            number = self._keep_chunk(file, (reading.kind, reading.status), tags, chunk, text)
            if chunk.text:
                run("insert into turns values(?, ?)", (number, chunk.text))
        if reading.kind == "history":
            self._mark_retold()
        return "changed" if was_indexed else "added"

    def _mark_retold(self) -> None:
        """Mark the records of history that another one stands for, in whichever file either is, and no others."""
        texts = self.connection.execute(
            "select text from files join texts using(file) where kind = 'history' and instr(text, ?)", (INSTEAD,)
        )
        retold = _as_json(sorted({name for (text,) in texts for record in records(text) for name in record.instead_of}))
        self.connection.execute(
            "update chunks set status = iif(status = 'active', 'superseded', 'active')"
            " where file in (select file from files where kind = 'history')"
            " and (status = 'active' and anchor in (select value from json_each(?1))"
            " or status = 'superseded' and anchor not in (select value from json_each(?1)))",
            (retold,),
        )

    def position(self, file: int | None) -> TalkPosition:
        """Return how far a conversation's file was read."""
        row = self.connection.execute(
            "select size, lines, events, previous, timestamp from talks where file = ?", (file,)
        ).fetchone()
        return TalkPosition(*row) if row else TalkPosition()

    def keep_talk(self, path: str, talk: Talk, noted: int, file: int | None) -> str:
        """Add the new turns of a conversation; begin anew where its file does not go on from the indexed position.

        A long one lets go of the lock in between, and whoever comes next goes on from there.
        """
        run = self.connection.execute
        is_read = talk.is_resumed and talk.position.size == talk.before.st_size
        if file is not None and is_read and run(_OF_SIZE, (file, talk.position.size)).fetchone():
            self.note(file, talk.stat, noted)
            return "same"
        was_indexed = file is not None
        if file is not None and not talk.is_resumed:
            self._clear(file)
        cursor = run(
            "insert or replace into files(file, path, kind, status, mtime, ctime, size, inode, noted, digest, managed)"
            " values(?, ?, 'session', ?, 0, 0, 0, 0, 0, '', 1)",
            (file, path, status := "archived" if self.layout.is_archived(path) else "active"),
        )
        file = cursor.lastrowid or 0
        # A last line without its newline was taken in as far as it went.
        of_last = "file = ? and line > ?"
        self.words.drop(run(f"select chunk from chunks where {of_last}", (file, talk.position.lines)))
        run(f"delete from turns where chunk in (select chunk from chunks where {of_last})", (file, talk.position.lines))
        run(f"delete from chunks where {of_last}", (file, talk.position.lines))
        run(f"delete from problems where {of_last}", (file, talk.position.lines))
        tags = index_text(_path_words(path))
        run("insert or replace into texts values(?, '')", (file,))
        self._note_talk(file, talk)
        for chunk in talk.chunks():
            number = self._keep_chunk(file, ("session", status), tags, chunk, chunk.text)
            run("insert into turns values(?, ?)", (number, chunk.text))
            if time.monotonic() - self.since >= BATCH_SECONDS:
                self._keep_problems(file, path, talk.problems)
                talk.problems.clear()
                self._note_talk(file, talk)
                self.breathe()
                if self.current(path) != (file, 0, 0, talk.digest) or self.position(file) != talk.position:
                    raise OvertakenError
        self._keep_problems(file, path, talk.problems)
        self._note_talk(file, talk)
        self.note(file, talk.stat, noted)
        return "changed" if was_indexed else "added"

    def _note_talk(self, file: int, talk: Talk) -> None:
        run = self.connection.execute
        run("insert or replace into talks values(?, ?, ?, ?, ?, ?)", (file, *astuple(talk.position)))
        run("update files set digest = ? where file = ?", (talk.digest, file))

    def _keep_problems(self, file: int | None, path: str, problems: Iterable[Problem]) -> None:
        rows = ((file, path, problem.line, problem.reason) for problem in problems)
        self.connection.executemany("insert into problems values(?, ?, ?, ?)", rows)

    def _keep_links(self, file: int | None, reading: Reading) -> None:
        """Keep what a file links to: the last part of each name or path, and the whole."""
        if targets := link_targets(reading.path, reading.text):
            rows = [(target.rpartition("/")[2], target, file) for target in targets]
            self.connection.executemany("insert into links values(?, ?, ?)", rows)

    def _keep_chunk(self, file: int | None, of: tuple[str, str], tags: str, chunk: Chunk, body: str) -> int:
        """Keep a piece of a file, `of` being the file's kind and status; return its number."""
        hash_ = text_hash(chunk.prefix + body)
        cursor = self.connection.execute(
            "insert into chunks"
            "(file, kind, status, anchor, line, start, stop, title, prefix, timestamp, hash, vector)"
            " values(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, (select vector from vectors where hash = ?))",
            (
                *(file, *of, chunk.anchor, chunk.line, chunk.start, chunk.stop),
                *(chunk.title, chunk.prefix, chunk.timestamp, hash_, hash_),
            ),
        )
        number = cursor.lastrowid or 0
        dated = f"{tags} {date_words(chunk.timestamp)}"
        self.words.add(number, index_text(chunk.title), dated, index_text(body))
        return number

    def _keep_entry(self, reading: Reading, file: int | None) -> str:
        entry = reading.entry
        if entry is None:
            return ""
        self.connection.execute("insert or ignore into arrivals values(?, ?)", (entry.id, self.now))
        self.connection.execute(
            f"insert into entries values({'?, ' * 26}?)",
            (
                *(file, entry.id, entry.type, entry.layer, entry.title, _as_json(entry.tags)),
                *(entry.project, entry.created_at, entry.updated_at, entry.source, reading.status, entry.trust),
                *(entry.confidence, entry.salience, entry.strength, entry.pinned, entry.expires_at),
                *(
                    entry.superseded_by,
                    " ".join(entry.conflicts_with),
                    " ".join(entry.verdicts),
                    entry.access_count,
                    entry.last_accessed_at,
                ),
                *(entry.summary, entry.key, entry.superseded_at, entry.version_of, "\n".join(entry.aliases)),
            ),
        )
        if entry.forgotten_at and not entry.version_of and self.layout.is_archived(reading.path):
            texts = {normalized(text) for text in (entry.body, *entry.wordings)}
            self.connection.executemany("insert into forgotten values(?, ?)", [(file, text) for text in texts if text])
        status = "" if reading.status == "active" else reading.status
        names = [*entry.tags, *entry.aliases, entry.key, entry.project]
        return index_text(" ".join([*names, entry.type, status, _path_words(reading.path)]))

    def _begin(self) -> None:
        self.connection.execute("begin immediate")
        self.connection.execute("delete from meta where key in ('seen', 'seen talk')")  # see refresh._note_seen
        self.since = time.monotonic()

    def _commit(self) -> None:
        self.words.write()
        self.connection.execute("commit")

    def _clear(self, file: int) -> None:
        run = self.connection.execute
        # From now on nothing may refer to these vectors: the month they are kept for begins.
        run(
            "update vectors set used = ? where hash in (select hash from chunks where file = ?)",
            (int(time.time()), file),
        )
        self.words.drop(run("select chunk from chunks where file = ?", (file,)))
        run("delete from turns where chunk in (select chunk from chunks where file = ?)", (file,))
        for table in ("chunks", "entries", "forgotten", "texts", "talks", "problems", "links"):
            run(f"delete from {table} where file = ?", (file,))


def _path_words(path: str) -> str:
    """Return the names of a path by which people ask: not its ending nor the folder everything lies in."""
    return path.rpartition(".")[0].partition("/")[2] or path.rpartition(".")[0]
