"""The index a command asks: in step with the disk, searched by words and by meaning."""

import json
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from ..dataclass import dataclass
from ..errors import MemError, UnavailableError
from ..formats.entry_fields import WORDING
from ..formats.text_lines import BINARY, ONLY_BEGINNING, FileProblem
from ..store.access_log import confirmations
from ..store.workspace import MARKER, Workspace
from . import database, updater
from .database import Database, MovedError, texts_of
from .filters import Filter, TheirFile, Where, bindable, chunk_condition, entry_condition, file_condition
from .updater import Guess, Progress, Refreshed

if TYPE_CHECKING:
    from .embeddings import Embedding
    from .filters import Posting, TurnPiece

T = TypeVar("T")
_FEW = 5_000
"""Chunks up to which naming them is quicker than looking at all, and the statement far from too long."""


@dataclass(frozen=True)
class Piece:
    """A chunk with what its file says of it."""

    chunk: int
    file: int
    path: str
    kind: str
    status: str
    anchor: str
    line: int
    title: str
    text: str
    timestamp: str
    is_whole: bool  # all its document has to say
    entry: Mapping[str, Any]  # the row of its entry; empty for what is none
    is_here: bool = True  # and not only on a server, where another machine put it


class MemoryIndex(Protocol):
    """What is asked of an open index; `tests/index/test_contract.py` says what each question is to be answered with."""

    workspace: Workspace
    failure: str

    @property
    def embedding(self) -> "Embedding":
        """Return what compares by meaning."""

    def refresh(
        self, progress: Progress | None = None, *, talk: bool = False, changing: str = "", within: float = 0.0
    ) -> Refreshed:
        """Bring the index in step with the disk."""

    def reach_others(self) -> None:
        """Find from now on what others keep too; `failure` tells why that cannot be had."""

    def their_files(self, names: Collection[str] | None = None, limit: int = 100) -> list[TheirFile]:
        """Return files that only others have."""

    def list_entries(
        self, wanted: Filter, order: str, limit: int = -1, *, columns: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Return the rows of entries."""

    def has_expired(self) -> bool:
        """Return whether an active entry is past its time."""

    def files(self, wanted: Filter) -> list[tuple[str, str]]:
        """Return paths with their kinds."""

    def texts(self, wanted: Filter, part: str = "") -> Iterator[tuple[str, str]]:
        """Yield paths with their texts."""

    def problems(
        self, wanted: Filter | None = None, within: str = "chunks", *, whole: bool = False
    ) -> list[FileProblem]:
        """Return what is wrong with files."""

    def chunk_count(self) -> int:
        """Return the number of texts."""

    def documents(self, wanted: Filter, among: Collection[int] | None = None) -> dict[int, int]:
        """Map chunks to documents."""

    def turns(self, wanted: Filter) -> "dict[int, TurnPiece]":
        """Map pieces of turns to where they stand."""

    def turns_around(self, path: str, line: int) -> list[tuple[int, str, int]]:
        """List a turn and its neighbours."""

    def postings(self, terms: Sequence[tuple[str, ...]]) -> "list[Posting]":
        """Return counts of words by chunk."""

    def alike_postings(self, word: str) -> "Posting":
        """Return counts of words that begin as one does, by chunk."""

    def pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        """Map chunks to their texts."""


_looked: dict[Path, tuple[Refreshed, bool]] = {}
"""What was found where an answer may be older than the disk, conversations included or not, by the index's folder."""
_answers: dict[Path, tuple[object, dict[Any, Any]]] = {}
"""What was answered where letters come, with the notes of the index, by the index's folder."""
_COUNTED = {
    "strength": "coalesce(strength, 1) + coalesce(more, 0) as strength",
    "updated_at": "max(updated_at, coalesce(last, '')) as updated_at",
}


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "aliases": lambda text: text.split("\n") if text else [],
    "pinned": bool,
    "conflicts_with": lambda text: (text or "").split(),
    "verdicts": lambda text: (text or "").split(),
}


class Index(Database):
    """The index of one workspace, open for one command: the questions it answers."""

    _embedding: "Embedding | None" = None
    may_guess = False
    """Whether the disk may be taken to be as it was until the question is answered."""
    _guess: Guess | None = None
    _refreshed: Refreshed | None = None
    _has_talk = False
    failure = ""  # why a team's server could not be had
    pushed = 0  # chunks that went to it
    withheld: tuple[str, ...] = ()  # paths of what did not go there, since it holds a secret
    behind = 0  # files of which it has another text, which stays there
    _pieces: Mapping[int, Piece] = {}
    """What several searches of one question read, until the index is brought in step."""

    @property
    def embedding(self) -> "Embedding":
        """Return the vectors of the index; their modules are loaded when first used."""
        if self._embedding is None:
            from .embeddings import Embedding

            self._embedding = Embedding(self)
        return self._embedding

    def refresh(
        self, progress: Progress | None = None, *, talk: bool = False, changing: str = "", within: float = 0.0
    ) -> Refreshed:
        """Read what changed on disk and return what was found; if another process writes the index, do so in a copy.

        Conversations, which are long and asked for seldom, only with `talk`. `changing` is the path of a file that
        whoever asks has just changed: neither it nor the archive is read. The disk is looked at once: what several
        searches say to one question is of one moment. Where this process looked `within` so many seconds, it does not
        look again.
        """
        if self._refreshed is None and within and self.folder:
            looked, has_talk = _looked.get(self.folder, (None, False))
            if looked and looked.snapshot and time.time_ns() - looked.snapshot.began < 1e9 * within:
                self._refreshed, self._has_talk = looked, has_talk
        if self._refreshed is None or (talk and not self._has_talk):
            self._pieces = {}
            self._refreshed, self._has_talk = self._refresh(progress, talk, changing), talk
            if (
                self._refreshed.added or self._refreshed.changed
            ) and not changing:  # else the next one sees the changed file
                from .page_in_step import bring_in_step  # late: most refreshes find nothing

                if bring_in_step(self.connection, self.workspace):
                    self._refreshed = updater.refresh(self.connection, self.workspace, talk=talk)
            if within and self.folder:
                _looked[self.folder] = self._refreshed, talk
        if within and self.folder:
            self.answers = self._earlier_answers(self.folder)
        return self._refreshed

    def _earlier_answers(self, folder: Path) -> dict[Any, Any] | None:
        """Return what this process was answered since somebody wrote last; None where that cannot be told.

        Whoever writes takes the note of what was seen away, or changes the number of the vectors or their token; an
        index that is made anew has another mark.
        """
        notes = self.connection.execute("select * from meta").fetchall()
        if not any(key.startswith("seen") for key, _ in notes):
            return None
        if folder not in _answers or _answers[folder][0] != notes:
            _answers[folder] = notes, {}
        return _answers[folder][1]

    def reach_others(self) -> None:
        """Do nothing: this index has what is on this machine."""

    def their_files(self, names: Collection[str] | None = None, limit: int = 100) -> list[TheirFile]:
        """Return nothing: this index has what is on this machine."""
        return []

    def holds(self) -> bool:
        """Return whether the disk is as it was taken to be, and no other process has changed the index since."""
        return self._guess is None or self._guess.holds()

    def _refresh(self, progress: Progress | None, talk: bool, changing: str) -> Refreshed:
        snapshot = self._refreshed.snapshot if self._refreshed else None
        if self.may_guess and self._guess is None and self.folder:
            self._guess = Guess(self.connection, self.workspace)
        guess = self._guess.take if self._guess and snapshot is None and not changing else None
        try:
            return updater.refresh(
                self.connection, self.workspace, progress, talk=talk, snapshot=snapshot, changing=changing, guess=guess
            )
        except sqlite3.OperationalError as error:  # locked, read-only or no space left
            if self.folder is None:
                raise
            if self._guess and self._guess.is_taken:  # what was answered by it cannot be proved in a copy
                raise MovedError from error
            self.is_overtaken = database.is_busy(error)
        self.detach()
        return updater.refresh(
            self.connection, self.workspace, progress, talk=talk, snapshot=snapshot, changing=changing
        )

    def documents(self, wanted: Filter, among: Collection[int] | None = None) -> dict[int, int]:
        """Map each chunk that passes the filter, and is in `among` if given, to the number of its document."""
        where = chunk_condition(wanted)
        if self.answers is not None and among is not None:
            every = self.answered_once(("documents", wanted), lambda: self._documents(where))
            return {chunk: every[chunk] for chunk in among if chunk in every}
        if among is not None and len(among) < _FEW:
            where.parts.append(f"chunk in ({', '.join(map(str, among))})")
        return self._documents(where)

    def _documents(self, where: Where) -> dict[int, int]:
        names = ("chunk", "case kind when 'entry' then file else -chunk end")
        return dict(zip(*self._columns(names, str(where), where.values), strict=True))

    def turns(self, wanted: Filter) -> "dict[int, TurnPiece]":
        """Map each piece of a conversation's turn that passes the filter to where it stands."""
        where = chunk_condition(wanted)
        names = ("chunk", "file", "line", "stop")
        chunks, *about = self._columns(names, f"kind = 'session' and {where}", where.values)
        return dict(zip(chunks, zip(*about, strict=True), strict=True))

    def postings(self, terms: Sequence[tuple[str, ...]]) -> "list[Posting]":
        """Return for each word, given in its forms, its count by chunk."""
        from .filters import postings

        return postings(self.connection, terms)

    def alike_postings(self, word: str) -> "Posting":
        """Return the count by chunk of the words that begin as a word does and differ at the end."""
        from .filters import alike_postings

        return alike_postings(self.connection, word)

    def pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        """Map the numbers of chunks to the chunks with their texts; without what only a server had that went away."""
        if missing := [chunk for chunk in chunks if chunk not in self._pieces]:
            self._pieces = {**self._pieces, **self._read_pieces(missing)}
        return {chunk: self._pieces[chunk] for chunk in sorted(chunks) if chunk in self._pieces}

    def _read_pieces(self, chunks: Collection[int]) -> dict[int, Piece]:
        cursor = self.connection.execute(
            "select chunk, file, path, chunks.kind, chunks.status, anchor, line, chunks.title,"
            " timestamp, chunks.kind <> 'entry' or not exists (select 1 from chunks as other"
            f" where other.file = chunks.file and other.anchor <> '{WORDING}' limit 1 offset 1) as is_whole"
            " from chunks left join files using(file)"
            f" where chunk in ({', '.join(map(str, chunks))})"
        )
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor]
        texts = {stored.chunk: stored.text for stored in texts_of(self.connection, chunks)}
        if not len(rows) == len(texts) == len(set(chunks)):
            raise MovedError
        if any(row["path"] is None for row in rows):
            raise sqlite3.DatabaseError("a file is not there")
        entries = self._entries_of({row["file"] for row in rows})
        return {
            row["chunk"]: Piece(**row, text=texts[row["chunk"]], entry=entries.get(row["file"], {})) for row in rows
        }

    def turns_around(self, path: str, line: int) -> list[tuple[int, str, int]]:
        """List the turn of a conversation that stands in a line of its file, and those before and behind it.

        Each as its line, its number in the conversation and the chunk of it that is next to the line.
        """
        run = self.connection.execute
        (file,) = run("select file from files where path = ?", (path,)).fetchone() or (0,)
        return run(
            "select line, anchor, iif(line < ?2, max(chunk), min(chunk)) from chunks where file = ?1 and line between"
            " coalesce((select max(line) from chunks where file = ?1 and line < ?2), ?2) and"
            " coalesce((select min(line) from chunks where file = ?1 and line > ?2), ?2) group by line order by line",
            (file, line),
        ).fetchall()

    def list_entries(
        self,
        wanted: Filter,
        order: str,
        limit: int = -1,
        among: Collection[int] | None = None,
        columns: Sequence[str] = (),
    ) -> list[dict[str, Any]]:
        """Return the rows of entries that pass the filter, with their paths; `order` is one of `filters.SORTS`.

        Confirmations that wait beside the files are counted in. `among` are numbers of files, None: of all. `columns`
        are those that are needed, none: all.
        """
        where = entry_condition(wanted)
        if among is not None:
            where.parts.append(f"file in ({', '.join(map(str, among))})")
        names = columns or [row[1] for row in self.connection.execute("pragma table_info(entries)")]
        selected = [_COUNTED.get(name, f"entries.{name}") for name in names]
        waiting = self._confirmations()
        cursor = self.connection.execute(
            f"select {', '.join(selected)}, path from entries join files using(file)"
            " left join (select key as one, json_extract(value, '$[0]') as more, json_extract(value, '$[1]') as last"
            f" from json_each(?)) on one = id where {where} order by {order} limit ?",
            (json.dumps(waiting), *where.values, limit),
        )
        return _rows(cursor)

    def _confirmations(self) -> dict[str, tuple[int, str]]:
        """Map ids to the confirmations that are not in the files yet: how many, and when the last one was."""
        return {identifier: (noted.count, noted.last) for identifier, noted in confirmations(self.workspace).items()}

    def has_expired(self) -> bool:
        """Return whether an active entry is past its `expires_at`."""
        where = "files.status = 'active' and expires_at between '0' and ?"
        query = f"select 1 from entries join files using(file) where {where} limit 1"
        return self.connection.execute(query, (self.workspace.stamp,)).fetchone() is not None

    def texts(self, wanted: Filter, part: str = "") -> Iterator[tuple[str, str]]:
        """Yield (path, text) of every file that passes the filter, by path.

        With `part` only of those with it in their text, and of those whose text is not here as a whole: conversations,
        and files of which the index has the beginning.
        """
        where = file_condition(wanted)
        if part:
            where.parts.append(
                "(instr(text, ?) > 0 or kind = 'session' or file in (select file from problems where reason like ?))"
            )
            where.values += [bindable(part), f"%{ONLY_BEGINNING}"]
        yield from self.connection.execute(  # crossed: in the order of the files, texts are read far faster
            f"select path, text from texts cross join files using(file) where {where} order by path", where.values
        )

    def files(self, wanted: Filter) -> list[tuple[str, str]]:
        """Return (path, kind) of every file that passes the filter, by path."""
        where = file_condition(wanted)
        return self.connection.execute(
            f"select path, kind from files where {where} order by path", where.values
        ).fetchall()

    def problems(
        self, wanted: Filter | None = None, within: str = "chunks", *, whole: bool = False
    ) -> list[FileProblem]:
        """Return what is wrong with files, two that have one id included.

        A file is left out of an answer to `wanted` where it cannot be read, where the table asked, `chunks` or `texts`,
        has nothing of it, and where the fields of entries, which cannot be trusted here, are asked for; with `whole`
        also where the index has no more than its beginning. A binary file says nothing that an answer could lack,
        and an archived one only what is asked for with the archive.
        """
        asks = bool(wanted and wanted.asks_entries)
        in_use = wanted is not None and bool(wanted.statuses) and "archived" not in wanted.statuses
        rows = self.connection.execute(
            "select path, line, reason, case file when 0 then reason like 'cannot %' else"
            f" (file not in (select file from {within})"
            " or ? and file in (select file from files where kind = 'entry') or ? and reason like '%' || ?)"
            " and reason not like ? || '%'"
            " and not (? and file in (select file from files where status = 'archived')) end"
            " from problems order by path, line",
            (asks, whole, ONLY_BEGINNING, BINARY, in_use),
        )
        scope = self.workspace.scope
        problems = [
            FileProblem(path, line, reason, scope=scope, left_out=bool(left_out))
            for path, line, reason, left_out in rows
        ]
        doubles = self.connection.execute(
            "select id, path, min(path) over (partition by id) from entries join files using(file)"
            " where managed and id in (select id from entries group by id having count(*) > 1) order by path"
        )
        problems += [
            FileProblem(path, 1, f"has the id {identifier} of {first}: give one of them another", scope=scope)
            for identifier, path, first in doubles
            if path != first
        ]
        return problems

    def _columns(self, names: Sequence[str], where: str, values: Sequence[Any]) -> list[list[int]]:
        """Read numbers of chunks, a long text for each column: a tuple for each of 10,000 rows takes twice as long."""
        selected = ", ".join(f"group_concat({name})" for name in names)
        columns = self.connection.execute(f"select {selected} from chunks where {where}", values).fetchone()
        return [list(map(int, column.split(","))) if column else [] for column in columns]

    def _entries_of(self, numbers: Collection[int]) -> dict[int, dict[str, Any]]:
        cursor = self.connection.execute(f"select * from entries where file in ({', '.join(map(str, numbers))})")
        return {row["file"]: row for row in _rows(cursor)}


def ask(workspace: Workspace, question: Callable[[Index], T], *, may_guess: bool = False) -> T:
    """Return the answer of a function of the open index; a damaged index is made anew and asked again.

    A question may be asked more than once: also, where it `may_guess` that the disk is as it was noted to be, and a
    helper finds out meanwhile that it is not. Raises UnavailableError when even a new index fails.
    """
    folder = database.folder_of(workspace.derived, workspace.cache)
    for _ in range(2 if folder else 0):
        assert folder is not None
        try:
            return _answer(workspace, question, folder, may_guess=may_guess)
        except MemError:
            raise
        except MovedError:
            return _answer(workspace, question, folder, apart=True)
        except Exception as error:
            if database.is_circumstance(error):
                return _answer_in_memory(workspace, question, overtaken=database.is_busy(error))
            if not database.is_damage(error):
                # What fails here and not on a new index is this one's fault: SQLite does not check what it reads.
                _answer_in_memory(workspace, question)
            database.discard(folder)
    return _answer_in_memory(workspace, question)


def ask_readonly(workspace: Workspace, question: Callable[[Index], T]) -> T:
    """Return the answer of a function of the index, without an index on disk, for commands that only show a plan."""
    if (workspace.derived / database.FILE).exists():
        return ask(workspace, question)
    return _answer_in_memory(workspace, question)


def _answer(
    workspace: Workspace,
    question: Callable[[Index], T],
    folder: Path | None,
    *,
    apart: bool = False,
    overtaken: bool = False,
    may_guess: bool = False,
) -> T:
    index = _kind_of(workspace)(workspace, *database.connect(folder))
    index.is_overtaken |= overtaken
    try:
        if apart:
            index.detach()
        index.may_guess = may_guess and type(index) is Index  # a team's index has more to look at
        try:
            answer = question(index)
        except Exception:
            if index.holds():
                raise
        else:
            if index.holds():
                return answer
        return _answer(workspace, question, folder)
    finally:
        index.close()


def _kind_of(workspace: Workspace) -> type[Index]:
    """Return which index answers: with a server only for a workspace that says itself that it is shared."""
    settings = workspace.settings
    is_shared = settings.places["index.workspace"] == str(workspace.root / MARKER) and workspace.beside is None
    if settings["index.backend"] == "postgres" and is_shared and workspace.is_trusted:
        # By name, since it is built on this one; and late, since it brings along what connects.
        return cast(type[Index], import_module(".postgres.postgres_index", __package__).PostgresIndex)
    return Index


def _answer_in_memory(workspace: Workspace, question: Callable[[Index], T], *, overtaken: bool = False) -> T:
    try:
        return _answer(workspace, question, None, overtaken=overtaken)
    except sqlite3.DatabaseError as error:
        raise UnavailableError(
            f"the index in {workspace.derived} fails ({error})", "free some disk space, then `mem index --rebuild`"
        ) from None


def _rows(cursor: sqlite3.Cursor) -> list[dict[str, Any]]:
    names = [column[0] for column in cursor.description]
    rows = [dict(zip(names, row, strict=True)) for row in cursor]
    every = json.loads(f"[{','.join([row['tags'] or '[]' for row in rows])}]")  # at once: each alone takes far longer
    for row, tags in zip(rows, every, strict=True):
        row["tags"] = tags
    for name in set(names) & _READERS.keys():
        read = _READERS[name]
        for row in rows:
            row[name] = read(row[name])
    return rows
