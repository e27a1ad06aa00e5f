"""The open index: its connection, its notes about itself, its write lock, its size, and the texts it keeps.

A text is checked by its hash when it is read back, since SQLite does not check what it reads.
"""

import os
import sqlite3
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, TypeVar

from .. import data
from ..dataclass import dataclass
from ..formats.ids import blake2b
from ..store.layouts import IS_ITEM
from ..store.privacy import make_derived, narrowed
from ..store.workspace import Workspace

T = TypeVar("T")
FILE = "index.db"
TOKENIZE = "porter unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc'"
"""Marks count as letters, or Thai and Hindi fall apart."""
NO_PLACE = ("the index cannot be kept here", "give write access or free disk space")
_MOST_ANSWERS = 16  # answers, of a megabyte each at 10,000 memories
LOCK_WAIT = 0.25  # seconds; whoever cannot write by then answers from a copy in memory

_SCHEMA = data.path("index.sql").read_text(encoding="utf-8").replace("@tokenize", TOKENIZE)
_CIRCUMSTANCES = (
    *(sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN),
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM),
)
_READING = 8  # to be raised when files are read or cut differently
_OURS = 0x6D656D31  # application_id: a database of somebody else is not emptied but put aside
VERSION = int.from_bytes(blake2b(f"{_READING}{_SCHEMA}".encode(), digest_size=4).digest()) >> 1
"""The schema's fingerprint: an index of another one is dropped and made anew, never migrated."""
_COSTLY = ("meta", "vectors", "arrivals")
"""Tables kept if they are as they should be: a new release must not embed everything again, nor call it new."""


def folder_of(derived: Path, cache: Path) -> Path | None:
    """Return the folder for derived data: the workspace's own, else one in the user's cache, else None.

    A link in the place of the workspace's own is not followed: it may come from a clone and lead anywhere.
    """
    for folder in (derived, cache / blake2b(os.fsencode(derived), digest_size=8).hexdigest()):
        try:
            if folder == derived and folder.is_symlink():
                continue
            make_derived(folder)
            if not os.access(folder, os.W_OK):
                continue
            mark = folder / ".gitignore"
            if not mark.exists():
                mark.write_text("*\n", encoding="utf-8")
        except OSError:
            continue
        return folder
    return None


def connect(folder: Path | None) -> tuple[sqlite3.Connection, Path | None, bool]:
    """Open the index in a folder, making it anew where it is absent, damaged, foreign or of another schema.

    Gives the folder too, and whether another process kept it locked. Without a folder, or where nothing can be kept in
    it, the index is in memory, lasts as long as the command, and the folder given is None.
    """
    busy = False
    for _ in range(3 if folder else 0):
        assert folder is not None
        try:
            return _opened(folder), folder, False
        except sqlite3.OperationalError as error:
            busy = is_busy(error)
            if "locked" not in str(error) and not _is_unfit(folder / FILE):
                break
        except sqlite3.DatabaseError:
            discard(folder)
    return _made(_connection(":memory:")), None, busy


def discard(folder: Path) -> None:
    """Remove the index, as far as it can be removed; the next command makes it anew."""
    # The database goes last: from then on another process may make a new one, whose log must stay.
    for name in (f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal", FILE):
        with suppress(OSError):
            path = folder / name
            if path.is_dir() and not path.is_symlink():
                path.rename(folder / f"{name}.{os.getpid()}.not-ours")
            else:
                path.unlink()


def renew(folder: Path) -> None:
    """Make the index anew; of the old one stays when each entry arrived, as far as that can be read."""
    arrivals: list[tuple[str, str]] = []
    with suppress(sqlite3.Error), closing(_opened(folder)) as old:
        arrivals = old.execute("select id, at from arrivals").fetchall()
    discard(folder)
    with suppress(sqlite3.Error), closing(_opened(folder)) as new:
        new.executemany("insert or replace into arrivals values(?, ?)", arrivals)


def is_busy(error: BaseException) -> bool:
    """Return whether another process held the lock, rather than that nothing can be written."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_circumstance(error: BaseException) -> bool:
    """Return whether the index itself is sound: it is locked, cannot be written, or no space is left."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in _CIRCUMSTANCES


def is_damage(error: BaseException) -> bool:
    """Return whether the file is malformed, or no database at all; subclasses of the error mean other things."""
    return type(error) is sqlite3.DatabaseError


def copied(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Copy an index into memory, for an answer while another process writes it."""
    copy = _connection(":memory:")
    with closing(connection):
        connection.backup(copy)
    return copy


def _opened(folder: Path) -> sqlite3.Connection:
    path = folder / FILE
    if _is_unfit(path):
        discard(folder)
    with suppress(OSError):  # SQLite would make it as open as the umask lets it
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, narrowed(0o666, folder)))
    connection = _connection(path)
    try:
        return _checked(connection)
    except sqlite3.Error:
        connection.close()
        raise


def _connection(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=LOCK_WAIT, isolation_level=None)
    # SQLite's own lower() knows A to Z only.
    connection.create_function("folded", 1, lambda text: str(text).casefold(), deterministic=True)
    return connection


def _is_unfit(path: Path) -> bool:
    """Return whether something that can be no index of ours has its name; a link may lead to somebody's database."""
    return path.is_symlink() or (path.exists() and not (path.is_file() and os.access(path, os.R_OK)))


def _checked(connection: sqlite3.Connection) -> sqlite3.Connection:
    run = connection.execute
    version = run("pragma user_version").fetchone()[0]
    owner = run("pragma application_id").fetchone()[0]
    if owner != _OURS and run("select count(*) from sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError("the database of another program")
    if version == VERSION:
        run("select count(*) from meta").fetchone()
        run("pragma synchronous = normal")
        return connection
    run("pragma journal_mode = wal")
    run("pragma synchronous = normal")
    return _made(connection)


def _made(connection: sqlite3.Connection) -> sqlite3.Connection:
    run = connection.execute
    run("begin immediate")
    if run("pragma user_version").fetchone()[0] != VERSION:
        wanted = {_name(statement): statement.strip() for statement in _SCHEMA.split(";\n") if statement.strip()}
        for kind, name, statement in run("select type, name, sql from sqlite_master").fetchall():
            if name in _COSTLY and statement == wanted[name].replace("create table", "CREATE TABLE", 1):
                del wanted[name]
            elif kind == "table" and not name.startswith("sqlite_"):
                run(f'drop table if exists "{name}"')
        for statement in wanted.values():
            run(statement)
        run("delete from meta where key in ('seen', 'seen talk')")
        run("insert or replace into meta values('made', hex(randomblob(8)))")  # tells this index from any other
        run(f"pragma application_id = {_OURS}")
        run(f"pragma user_version = {VERSION}")
    run("commit")
    return connection


def _name(statement: str) -> str:
    return statement.split("(")[0].replace(" using fts5", "").split(" on ")[0].split()[-1]


class MovedError(Exception):
    """Another process took in changes in the middle of a question: what was found first is not there any more."""


@dataclass(frozen=True)
class Health:
    """The index in numbers."""

    kinds: Mapping[str, int]  # files by kind, without the archive's
    entries: int  # with the archive's
    chunks: Annotated[int, "texts in the index"]
    not_embedded: Annotated[int, "texts known only by their words so far"]
    vectors: Annotated[int, "vectors kept"]
    embedded: int  # texts embedded since the index was made
    bytes: Annotated[int, "size"]  # on disk


class Database:
    """The SQLite database of one workspace's index, open for one command."""

    def __init__(
        self, workspace: Workspace, connection: sqlite3.Connection, folder: Path | None, is_overtaken: bool = False
    ) -> None:
        """Take an open connection; `index.ask` opens one."""
        self.workspace = workspace
        self.connection = connection
        self.folder = folder  # None when the index lives in memory and cannot keep anything
        self.matrix_folder = folder  # where vectors are read from, also for a copy in memory
        self.is_overtaken = is_overtaken  # another process was writing, so that this one keeps nothing
        self.answers: dict[Any, Any] | None = None  # of earlier questions of this process, until somebody writes

    def detach(self) -> None:
        """Continue in a copy in memory, which no other process changes and which is not kept."""
        self.connection = copied(self.connection)
        self.folder = None

    def answered_once(self, name: Hashable, answer: Callable[[], T]) -> T:
        """Return an answer; where letters come, the one given before under its name if nobody wrote since."""
        if self.answers is None:
            return answer()
        if name not in self.answers:
            if len(self.answers) >= _MOST_ANSWERS:
                self.answers.clear()
            self.answers[name] = answer()
        return self.answers[name]  # type: ignore[no-any-return]

    def meta(self, key: str) -> Any:
        """Return a note of the index about itself, such as its model; None if there is none."""
        row = self.connection.execute("select value from meta where key = ?", (key,)).fetchone()
        return row[0] if row else None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Run a write transaction: commit it at the end, roll it back if an exception leaves it."""
        self.connection.execute("begin immediate")
        try:
            yield
            self.connection.execute("commit")
        except BaseException:
            if self.connection.in_transaction:  # a full disk may have ended it
                self.connection.execute("rollback")
            raise

    def set_meta(self, key: str, value: Any) -> None:
        """Write a note of the index about itself."""
        self.connection.execute("insert or replace into meta values(?, ?)", (key, value))

    def try_meta(self, notes: Mapping[str, Any]) -> None:
        """Write notes of the index about itself, together, unless another process writes it or the disk is full."""
        with suppress(sqlite3.OperationalError), self.writing():
            for key, value in notes.items():
                self.set_meta(key, value)

    def wipe_deleted(self) -> None:
        """Leave nothing of deleted texts in the file, where SQLite only marks their pages as free."""
        self.connection.execute("delete from arrivals where id <> '' and id not in (select id from entries)")
        self.connection.execute("insert into words(words) values('optimize')")
        self.connection.execute("vacuum")
        self.connection.execute("pragma wal_checkpoint(truncate)")

    def health(self) -> Health:
        """Return the index in numbers."""
        run = self.connection.execute
        kinds = run("select kind, count(*) from files where status <> 'archived' group by kind").fetchall()
        chunks, missing = run("select count(*), coalesce(sum(vector is null), 0) from chunks").fetchone()
        folder = self.folder
        return Health(
            kinds=dict(kinds),
            entries=run("select count(*) from entries").fetchone()[0],
            chunks=chunks,
            not_embedded=missing,
            vectors=run("select count(*) from vectors").fetchone()[0],
            embedded=int(self.meta("embedded") or 0),
            bytes=sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) if folder else 0,
        )

    def chunk_count(self) -> int:
        """Return the number of chunks."""
        count: int = self.connection.execute("select count(*) from chunks").fetchone()[0]
        return count

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


@dataclass(frozen=True)
class StoredText:
    """The text of a chunk; what is embedded is `prefix + text`, and `hash` is its key."""

    chunk: int
    prefix: str
    text: str
    hash: bytes


def text_hash(text: str) -> bytes:
    """Return the 16-byte key of an embedded text and of its vector."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def checked(text: str, hash_: bytes) -> str:
    """Return a text read from the index; raise sqlite3.DatabaseError if its hash differs."""
    if text_hash(text) != hash_:
        raise sqlite3.DatabaseError("a text is not as it was kept")
    return text


def texts_of(connection: sqlite3.Connection, chunks: Collection[int]) -> Iterator[StoredText]:
    """Yield the texts of chunks that exist, by file; raise sqlite3.DatabaseError if one has another hash.

    A file's text is read once: for `substr` in the query, SQLite would read the whole of it for each of its chunks.
    """
    rows = connection.execute(
        "select chunk, prefix, hash, start, stop, turns.text, nth,"
        " case nth when 1 then (select text from texts where texts.file = named.file) end from"
        " (select *, row_number() over (partition by file order by chunk) as nth from chunks"
        f" where chunk in ({', '.join(map(str, chunks))})) as named left join turns using(chunk) order by file, nth"
    )
    whole: str | None = None  # of the file at hand; a turn of a conversation is no stretch of its file
    for chunk, prefix, hash_, start, stop, turn, nth, text in rows:
        whole = text if nth == 1 else whole
        body = turn if turn is not None or whole is None else whole[start:stop]
        if body is None:
            raise sqlite3.DatabaseError("a text is not there")
        checked(prefix + body, hash_)
        yield StoredText(chunk, prefix, body, hash_)


def verify(index: Database) -> None:
    """Read the whole index; raise sqlite3.DatabaseError if a text or its words differ from what was written."""
    run = index.connection.execute
    (answer,) = run("pragma quick_check(1)").fetchone()
    if answer != "ok":
        raise sqlite3.DatabaseError(answer)
    run("insert into words(words) values('integrity-check')")
    # A file at a time: SQLite would read the whole of a file's text for each of its chunks.
    file, text = None, ""
    for of, start, stop, prefix, turn, hash_ in run(
        "select chunks.file, start, stop, prefix, turns.text, hash from chunks left join turns using(chunk)"
        " order by chunks.file"
    ):
        if turn is None and of != file:
            file, text = of, (run("select text from texts where file = ?", (of,)).fetchone() or ("",))[0]
        checked(prefix + (text[start:stop] if turn is None else turn), hash_)


def out_of_step(index: Database, digests: Mapping[str, str]) -> list[str]:
    """Return the paths whose digest in the index differs from the one given, or that only one of both has.

    A file that the index could not read is left out. Raise sqlite3.DatabaseError if a text or its words are damaged.
    """
    verify(index)
    indexed = dict(
        index.connection.execute(
            f"select path, digest from files where kind <> 'session' and digest <> '' and not {IS_ITEM}"
        ).fetchall()
    )
    return sorted(path for path in indexed.keys() | digests.keys() if indexed.get(path) != digests.get(path))
