"""The index of one workspace: opened once per command, always in step with the files."""

import json
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import MemError, UnavailableError, UsageError
from ..formats import HIDDEN_MARK, Problem, Progress, find_record_project
from ..store import Workspace, is_ignored, recover
from .database import (
    BUSY_ERRORS,
    EXTERNAL_ERRORS,
    MATRIX_FILE,
    Database,
    delete_database,
    has_code,
    open_database,
)
from .refresh import refresh
from .settled import RACY_NANOSECONDS, is_same_file

if TYPE_CHECKING:
    import numpy as np

    from .model import Embedder, Matrix
    from .reader import ForgottenTexts

KINDS: tuple[str, ...] = ("entry", "memory", "history", "note", "session", "document")


class IndexedEntry(NamedTuple):
    """An entry as the index knows it. Its texts have passed the gate."""

    path: str
    id: str
    type: str
    title: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    key: str
    project: str
    owner: str
    source: str
    trust: float
    confidence: float | None
    strength: int
    pinned: bool
    status: str
    superseded_by: str
    conflicts_with: tuple[str, ...]
    created_at: str
    updated_at: str
    expires_at: str
    forgotten_at: str
    reason: str
    files: tuple[str, ...]
    summary: str

    @property
    def is_hidden(self) -> bool:
        """Return whether the summary repeats a forgotten memory."""
        return HIDDEN_MARK in self.summary


COLUMNS = ", ".join(IndexedEntry._fields)
LISTS = (4, 5, 16, 22)  # columns with JSON lists
PINNED = 13


class Index:
    """An open index."""

    def __init__(self, workspace: Workspace, database: Database) -> None:
        self.workspace = workspace
        self.database = database
        self.messages: list[str] = []
        # If this is a part of a larger index: its other texts, and how many texts have each word.
        self.texts_elsewhere = 0
        self.frequencies: Mapping[str, int] = {}
        self._matrix: Matrix | None = None
        self._embedder: Embedder | None = None

    def run(self, statement: str, values: Any = ()) -> sqlite3.Cursor:
        try:
            return self.database.run(statement, values)
        except UnicodeEncodeError:
            raise UsageError("a text is not valid Unicode") from None

    def refresh(self, progress: Progress | None = None, *, with_sessions: bool = True) -> bool:
        """Read what changed on disk. If the index cannot be written, continue in memory."""
        for _ in range(2):
            try:
                return refresh(self.database, self.workspace, progress, with_sessions=with_sessions)
            except sqlite3.OperationalError as error:
                if not has_code(error, EXTERNAL_ERRORS):
                    raise
                if not has_code(error, BUSY_ERRORS):
                    self.messages.append("the index cannot be saved here, so this takes longer")
                self.database.copy_to_memory()
                self._matrix = None
            except sqlite3.DatabaseError:
                self.rebuild()
        raise UnavailableError("the index cannot be used", "rebuild it: mem index --rebuild")

    def rebuild(self) -> None:
        """Delete the index and start an empty one. The file of vectors is replaced too."""
        folder = self.database.folder
        self.database.connection.close()
        if folder is not None:
            delete_database(folder)
            # Another process may still read the old matrix, so it gets a file of its own.
            (folder / MATRIX_FILE).unlink(missing_ok=True)
        self.database = open_database(folder)
        self._matrix = None

    @property
    def matrix(self) -> "Matrix":
        if self._matrix is None:
            from .model import Matrix

            self._matrix = Matrix(self.database)
        return self._matrix

    def get_embedder(self, *, is_bulk: bool = False) -> "Embedder":
        """Return the open model. Raises UnavailableError."""
        shared, context = self.workspace.resources, self.workspace.context
        embedder = self._embedder or shared.get("embedder") or context.embedder
        if embedder is None or (is_bulk and embedder.workers == 1):
            from .model import open_embedder

            embedder = open_embedder(context.cache_folder, is_bulk=is_bulk)
        self._embedder = shared["embedder"] = embedder
        return embedder

    def embed_missing(
        self,
        seconds: float | None,
        first: Sequence[int] = (),
        progress: Progress | None = None,
        *,
        with_sessions: bool = True,
    ) -> int:
        """Embed texts that have no vector yet. Return how many are left."""
        missing = "vector is null" if with_sessions else "vector is null and kind <> 'session'"
        pending = self.run(f"select count(*) from chunks where {missing}").fetchone()[0]
        if not pending:
            return 0
        from .model import embed_missing

        # Opening the model for bulk work takes 200 ms more, which a few texts do not repay.
        embedder = self.get_embedder(is_bulk=seconds is None or pending > 200)
        try:
            return embed_missing(
                self.database, self.matrix, embedder, seconds, first, progress, where=missing
            )
        except OSError:
            return int(pending)  # a full disk
        except sqlite3.OperationalError as error:
            if not has_code(error, EXTERNAL_ERRORS):
                raise
            return int(pending)

    def load_rows(self) -> "np.ndarray":
        """Return (n, 5) int64: chunk, file, row of the vector or -1, kind, whether it is active.

        Reading the table takes 1 ms per 1,000 chunks, so the array is saved in the index.
        """
        import numpy as np

        blob = self.database.get_derived("rows", self.read_rows)
        return np.frombuffer(blob, np.int64).reshape(-1, 5)

    def read_rows(self) -> bytes:
        import numpy as np

        kinds = " ".join(f"when '{kind}' then {number}" for number, kind in enumerate(KINDS))
        rows = self.run(
            f"select chunk, file, coalesce(vector, -1), case kind {kinds} end, active"
            " from chunks order by chunk"
        ).fetchall()
        return np.array(rows, np.int64).tobytes()

    def list_entries(self, where: str = "1", values: Sequence[Any] = ()) -> list[IndexedEntry]:
        """Return the entries that match an SQL condition, the latest first."""
        rows = self.run(
            f"select {COLUMNS} from entries join files using(file) where {where}"
            " order by updated_at desc, id desc",
            values,
        )
        return [build_entry(row) for row in rows]

    def list_managed_entries(self) -> list[IndexedEntry]:
        """Return the active memories that mem may change: no notes of a vault, none unreadable."""
        entries = self.list_entries(
            "status = 'active' and not (entries.id = files.path"
            " and exists (select 1 from problems where problems.file = files.file))"
        )
        return [entry for entry in entries if self.workspace.is_managed(entry.path)]

    def find_by_id(self, entry_id: str) -> IndexedEntry | None:
        return next(iter(self.list_entries("id = ?", (entry_id,))), None)

    def shorten_id(self, entry_id: str) -> str:
        """Return the shortest end of an id, at least 6 characters, that no other entry shares."""
        if not entry_id.startswith("mem_"):
            return entry_id
        rows = self.run("select id from entries where substr(id, -6) = ?", (entry_id[-6:],))
        others = {row[0] for row in rows} - {entry_id}
        length = 6
        while any(other[-length:] == entry_id[-length:] for other in others) and length < len(
            entry_id
        ):
            length += 1
        return entry_id[-length:]

    def read_text(self, path: str) -> str | None:
        """Return the masked text of a file, or None if the index does not have it."""
        row = self.run(
            "select text from files join texts using(file) where path = ?", (path,)
        ).fetchone()
        return row[0] if row else None

    def find_other_project(self, path: str, kind: str, line: int = 0, project: str = "") -> str:
        """Return the other project to which a text in the user's own workspace belongs, or nothing.

        `project` is that of an entry. Records and conversations have theirs on disk.
        """
        if not self.workspace.is_own:
            return ""
        if kind == "session":
            from ..store import load_session

            project = load_session(self.workspace, path.split("/")[-2]).project
        elif kind == "history":
            project = find_record_project(self.read_text(path) or "", line)
        return project if self.workspace.is_foreign(project) else ""

    def read_fields(self, path: str) -> dict[str, Any]:
        """Return the frontmatter of an entry, with its secrets masked."""
        row = self.run(
            "select fields from entries join files using(file) where path = ?", (path,)
        ).fetchone()
        return dict(json.loads(row[0])) if row else {}

    def load_forgotten(self) -> "ForgottenTexts":
        """Return the texts that must not be shown."""
        from .reader import load_forgotten

        return load_forgotten(self.database, self.workspace)

    def has_forgotten(self) -> bool:
        rows = self.run("select 1 from entries where status = 'forgotten' limit 1")
        return rows.fetchone() is not None

    def find_last_forgotten(self) -> str:
        """Return when something was last forgotten or purged; empty if never."""
        rows = self.run("select max(forgotten_at) from entries where status = 'forgotten'")
        return max(rows.fetchone()[0] or "", self.workspace.find_last_purge())

    def is_current(self, path: str) -> bool:
        """Return whether a file still has the stat that the index noted, and is not excluded.

        A file that came into a folder, as with git and mem, may forget what this one says.
        """
        root = f"{self.workspace.root}/"
        folders = json.loads(self.database.get_meta("folders") or "{}")
        if not folders or is_ignored(self.workspace.settings["index.exclude"], path):
            return False
        row = self.run(
            "select noted, mtime, ctime, size, inode from files where path = ?", (path,)
        ).fetchone()
        try:
            if any(os.stat(root + name).st_mtime_ns != moment for name, moment in folders.items()):
                return False
        except OSError:
            return False
        return row is not None and is_same_file(root + path, row)

    def count_tags(self) -> dict[str, int]:
        """Return how many active entries have each tag."""
        rows = self.run(
            "select value, count(*) from entries, json_each(tags) where status = 'active'"
            " group by value"
        )
        return dict(rows)

    def list_problems(self, where: str = "1") -> list[tuple[str, Problem]]:
        rows = self.run(
            f"select path, line, reason, code from problems where {where} order by path, line"
        )
        return [(path, Problem(*problem)) for path, *problem in rows]

    def list_unread(self) -> list[tuple[str, Problem]]:
        """Return the files that searches and lists leave out."""
        return self.list_problems("code in ('unread', 'conflict')")

    def describe_unread(self) -> list[str]:
        """Return a message that names the files which could not be read."""
        unread = [f"{path} ({problem.reason})" for path, problem in self.list_unread()]
        more = " and more" if len(unread) > 3 else ""
        return [f"not searched: {', '.join(unread[:3])}{more}"] if unread else []

    def list_links_to(self, names: Sequence[str]) -> list[str]:
        """Return the paths of the files that link to one of the names."""
        marks = ", ".join("?" * len(names))
        rows = self.run(
            "select distinct path from links join files using(file)"
            f" where target in ({marks}) order by path",
            tuple(names),
        )
        return [row[0] for row in rows]


def build_entry(row: Sequence[Any]) -> IndexedEntry:
    values = list(row)
    for column in LISTS:
        # Most lists are empty, and parsing four empty lists takes 60 ms for 10,000 entries.
        values[column] = tuple(json.loads(values[column])) if values[column] != "[]" else ()
    values[PINNED] = bool(values[PINNED])
    return IndexedEntry(*values)


def open_index(workspace: Workspace, *, with_sessions: bool = True) -> Index:
    """Return the index of a workspace, in step with the files."""
    workspace.ensure_machine()
    unfinished = recover(workspace)
    index = get_index(workspace)
    if unfinished:
        index.messages.append(unfinished)
    start_progress = workspace.context.start_progress
    progress = start_progress("reading") if start_progress else None
    index.refresh(progress, with_sessions=with_sessions)
    return index


def get_index(workspace: Workspace) -> Index:
    """Return the index of a workspace as it is."""
    workspace.ensure_machine()
    index: Index | None = workspace.resources.get("index")
    if index is None:
        folder = workspace.machine.folder
        if folder is not None and not folder.is_dir():
            try:
                folder.mkdir(parents=True, mode=0o700)
            except OSError:
                folder = None  # a sandbox, or a full disk: the index lives in memory
        # Of two threads that open it in the same moment, the first one goes on.
        index = workspace.resources.setdefault("index", Index(workspace, open_database(folder)))
        if workspace.context.cleanups is not None:
            workspace.context.cleanups.callback(close_index, workspace)
    try:
        index.database.connection.cursor()
    except sqlite3.ProgrammingError:
        # SQLite refuses a connection in any thread except the one that opened it.
        raise UsageError(
            "another thread uses this workspace", "open one in each thread: open_workspace()"
        ) from None
    return index


def close_index(workspace: Workspace) -> None:
    """Close the index, after it has read the rules that the command has changed."""
    index: Index | None = workspace.resources.pop("index", None)
    if index is None:
        return
    if workspace.resources.pop("has rule", False):
        # The action hook of agents reads the index as it is, and only files that are settled.
        time.sleep(RACY_NANOSECONDS / 1e9)
        with suppress(MemError, OSError, sqlite3.Error):
            index.refresh(with_sessions=False)
    index.database.connection.close()
