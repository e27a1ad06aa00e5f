"""What a machine and the server have in common: which files are on it, and pushing those that changed here.

The database `team.db` beside the index notes what the server has, and for each path the text of it that this machine
and the server had last in common. A file is pushed only where it is no longer that text, so that a clone that lies
behind overwrites nothing; it is taken from the server only where this machine put it there, or archived it.
"""

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ... import data
from ...formats.entry_fields import WORDING
from ...formats.text_lines import normalized
from ...store.access_log import CONFIRMED, counts
from ...store.layouts import IS_ITEM
from ...store.redaction import Redactor, redactor, secret_in_name
from ...store.settings import set_in_file
from ...store.trust import has_purged, purged_on
from ...store.workspace import MARKER, Workspace
from .connection import BRIEFLY, PATIENTLY, PUSH_SECONDS, HalfVector, PostgresServer, ServerError, server_of
from .pushed_files import TEXTS, PushedFiles

if TYPE_CHECKING:
    from psycopg import Connection

    from ..index import Index

FILE = "team.db"
BATCH, AT_ONCE = 1_000, 100  # chunks a round trip, and while somebody waits for an answer
_COLUMNS = dict.fromkeys(TEXTS, "text") | dict.fromkeys(("line", "stop"), "integer")
_COLUMNS |= {"file": "bigint", "is_whole": "boolean", "words": "text[]", "counts": "smallint[]"}
_SHARED = f"kept and kind <> 'session' and status <> 'archived' and not {IS_ITEM}"
"""Which files may leave this machine: no conversations, nothing that is only read here, nothing of the archive."""
_PUSHED = f"{_SHARED} and digest <> ''"
_WAITING = (
    f"select 1 from (select path, digest from files where {_PUSHED}) as files left join team.common using(path)"
    " where common.digest is not files.digest limit 1"
)
_LISTING = (
    "select path, file, digest, pieces, pushed_at::text from files"
    " where workspace = %s and pushed_at >= %s::timestamptz order by files.pushed_at"
)
_SLOW, _SILENT_SECONDS = 1.0, 30
"""Seconds from which waiting for a server in vain is not done by each command, and for which none asks it then."""
_NEVER = "-infinity"
_NOW = (
    "greatest(clock_timestamp(),"
    " (select max(pushed_at) from mem.files where workspace = %s) + interval '1 microsecond')"
)
"""When a push is: later than those before it, whatever became of the server's clock."""


def share(workspace: Workspace) -> None:
    """Make a workspace one that this role owns on the server, and note in its `mem.yaml` which; again, do nothing.

    Raise ServerError where the server cannot be had, or the role is no owner.
    """
    server = server_of(workspace.settings)
    if server.run("select mem.me()") == [(None,)]:
        raise ServerError("your role is no owner on the server", "its administrator makes one: see docs/machines.md")
    marker = workspace.root / MARKER
    is_stated = workspace.settings.places["index.workspace"] == str(marker)
    identity = str(workspace.settings["index.workspace"]) if is_stated else str(uuid.uuid4())
    server.run(
        "insert into workspaces(id, name, owner) values(%s, %s, mem.me()) on conflict do nothing",
        (identity, workspace.root.name if workspace.scope == "project" else workspace.scope),
    )
    if not is_stated:
        set_in_file(marker, "index.workspace", identity)


class Exchange:
    """The part of a workspace that is on the server, as far as this machine knows it."""

    def __init__(self, index: "Index", server: PostgresServer) -> None:
        """Belong to an open index."""
        self.index = index
        self.server = server
        self.run = index.connection.execute
        self._pauses: Sequence[float] = BRIEFLY
        self.withheld: list[str] = []  # paths of what holds a secret and was not pushed
        folder = index.matrix_folder
        self.run("attach ? as team", (str(folder / FILE) if folder else ":memory:",))
        self.run("pragma team.synchronous = normal")
        for statement in data.path("team.sql").read_text(encoding="utf-8").split(";\n"):
            self.run(statement)
        self.workspace = self._number(str(index.workspace.settings["index.workspace"]))

    def _number(self, identity: str) -> int:
        """Return the number of the workspace; raise ServerError where this role does not see it."""
        try:
            named = uuid.UUID(identity)
        except ValueError:
            raise ServerError(
                f"index.workspace {identity!r} is no number of a workspace", "`mem index --share`"
            ) from None
        if 0 < float(self._note("silent until") or 0) - time.time() <= _SILENT_SECONDS:
            raise ServerError(
                "the server did not answer a moment ago", f"it is asked again in {_SILENT_SECONDS} seconds"
            )
        began = time.monotonic()
        try:
            rows = self.server.run(
                "select workspace, (select extract(epoch from max(at))::text from version) from workspaces"
                " where id = %s",
                (named,),
            )
        except ServerError:
            if time.monotonic() - began >= _SLOW:
                self._set_note("silent until", str(time.time() + _SILENT_SECONDS))
            raise
        if not rows:
            raise ServerError("the workspace is not on the server, or not yours to see", "see docs/machines.md")
        server = f"{identity} {rows[0][0]} {rows[0][1]}"  # tables that were made anew are another place
        if self._note("place") not in ("", server):
            self._forget()
        self._set_note("place", server)
        return int(rows[0][0])

    def _note(self, key: str) -> str:
        row = self.run("select value from team.notes where key = ?", (key,)).fetchone()
        return str(row[0]) if row else ""

    def _set_note(self, key: str, value: str) -> None:
        if self._note(key) != value:
            self.run("insert or replace into team.notes values(?, ?)", (key, value))

    def _keep(self, table: str, rows: Iterable[Sequence[Any]]) -> None:
        """Put rows of one of this machine's notes in the place of those of the same key, at once."""
        rows = list(rows)
        if not rows:
            return
        marks = ", ".join("?" * len(rows[0]))
        self.run("begin")
        try:
            self.index.connection.executemany(f"insert or replace into team.{table} values({marks})", rows)
            self.run("commit")
        except BaseException:
            self.run("rollback")
            raise

    def _forget(self) -> None:
        """Know nothing of the server: it is another one, or was set back."""
        for table in ("listed", "common", "usage"):
            self.run(f"delete from team.{table}")
        self.run("delete from team.notes where key not in ('machine', 'place')")  # whose counts would come twice

    def catch_up(self) -> None:
        """Learn what others pushed or took away since the last time, and how often they used what."""
        seen = self._note("seen") or _NEVER
        rows = self.server.run(_LISTING, (self.workspace, seen))
        if not rows and seen != _NEVER:  # what was seen last is not there any more
            self._forget()
            rows = self.server.run(_LISTING, (self.workspace, _NEVER))
        if rows and rows[-1][4] != seen:
            self._keep("listed", [row[:4] for row in rows])
            self._set_note("seen", rows[-1][4])
        self._exchange_usage()

    def _exchange_usage(self) -> None:
        """Put this machine's confirmations beside those of others; each machine's row is its own, so they add up."""
        machine = self._note("machine") or uuid.uuid4().hex
        self._set_note("machine", machine)
        own = {name: noted for name, noted in counts(self.index.workspace).items() if name.startswith(CONFIRMED)}
        confirmed = json.dumps(sorted((name, noted.count) for name, noted in own.items()))
        if self._note("used") != confirmed and (own or self._note("used")):
            self.server.run(
                "with gone as (delete from usage where workspace = %s and machine = %s and not id = any(%s))"
                " insert into usage(workspace, id, machine, count, last)"
                " select %s, id, %s, count, last"
                " from unnest(%s::text[], %s::bigint[], %s::text[]) as own(id, count, last)"
                " on conflict (workspace, id, machine) do update set count = excluded.count, last = excluded.last",
                (
                    *(self.workspace, machine, list(own), self.workspace, machine, list(own)),
                    *([noted.count for noted in own.values()], [noted.last for noted in own.values()]),
                ),
            )
            self._set_note("used", confirmed)
        rows = self.server.run(
            "select id, sum(count)::bigint, max(last) from usage where workspace = %s and machine <> %s group by id",
            (self.workspace, machine),
        )
        if rows != self.run("select id, count, last from team.usage").fetchall():
            self.run("delete from team.usage")
            self._keep("usage", rows)

    def others(self) -> tuple[list[int], list[int]]:
        """Return the files that only others have, or have in another text, and the other files of the server.

        What this machine had and gave up is not among the first, such as a memory that was forgotten here.
        """
        state = self._state()
        if self._note("compared") == state:
            theirs, ours = json.loads(self._note("others"))
            return theirs, ours
        rows = self.run(
            "select listed.file, files.digest is not listed.digest and common.digest is not listed.digest"
            " from team.listed left join files using(path) left join team.common using(path) where listed.digest <> ''"
        )
        lists: tuple[list[int], list[int]] = [], []
        for file, is_elsewhere in rows:
            lists[not is_elsewhere].append(file)
        self._set_note("others", json.dumps(lists))
        self._set_note("compared", state)
        return lists

    def _state(self) -> str:
        """Return what tells the files here and on the server, as they were last seen, from those of another moment."""
        snapshot = self.index.refresh().snapshot
        assert snapshot  # only of an index on this machine is it guessed that nothing changed
        return f"{snapshot.listing.hash.hex()} {self._note('seen')} {self.index.meta('terms')}"

    def confirmed(self) -> list[tuple[str, int, str]]:
        """Return id, number and last moment of what other machines confirmed and have not brought into the files."""
        rows = self.run("select substr(id, ?), count, last from team.usage", (len(CONFIRMED) + 1,))
        return rows.fetchall()

    def count(self, files: Sequence[int]) -> int:
        """Return how many chunks files of the server have."""
        numbers = json.dumps(list(files))
        total = "select coalesce(sum(chunks), 0) from team.listed where file in (select value from json_each(?))"
        return int(self.run(total, (numbers,)).fetchone()[0])

    def push(self, seconds: float | None) -> int:
        """Push what changed here and is embedded, within a time; return how many chunks went to the server."""
        started = time.monotonic()
        self._pauses = PATIENTLY if seconds is None else BRIEFLY
        self.catch_up()
        guard, settings = redactor(self.index.workspace, "what is pushed"), self.index.workspace.settings
        rules = (sorted(guard.values), settings["secrets.personal"], settings["secrets.personal_rules"])
        rules_hash = blake2b(repr(rules).encode("utf-8", "replace"), digest_size=16).hexdigest()
        # Other rules find other secrets: `mem index` looks through all again.
        judges_anew = seconds is None and self._note("rules") not in ("", rules_hash)
        model = self.index.embedding.table.model
        if self._note("settled") == f"{self._state()} {model}" and not judges_anew:
            return 0
        self._note_common()
        self._remove()
        if seconds is None:
            self._push_other_vectors(model)
        done, batch, size = 0, list[tuple[int, str, str]](), 0
        for file, path, digest, chunks in self._changed(judges_anew):
            batch.append((file, path, digest))
            size += chunks
            if size >= (BATCH if seconds is None else AT_ONCE):
                done += self._push(batch, guard)
                batch, size = [], 0
                if seconds is not None and time.monotonic() - started >= seconds:
                    break
        done += self._push(batch, guard) if batch else 0
        if seconds is None or not self._note("rules"):
            self._set_note("rules", rules_hash)
        if done:
            self._tell_size()
        elif not self.run(_WAITING).fetchone() and self._note("model") == model:
            self._set_note("settled", f"{self._state()} {model}")
        return done

    def _push_other_vectors(self, model: str) -> None:
        """Push the vectors of what is on the server already when they are of another model than at the last time."""
        former, matrix = self._note("model"), self.index.embedding.table.matrix()
        if former not in ("", model) and matrix is not None:
            rows = self.run(
                "select hash, max(vector) from chunks join files using(file) join team.listed using(path)"
                " where vector is not null and listed.digest = files.digest group by hash"
            ).fetchall()
            for start in range(0, len(rows), BATCH):
                batch = rows[start : start + BATCH]
                vectors = zip(batch, matrix.take([row for _, row in batch]), strict=True)
                own = [
                    (self.workspace, model, hash_, HalfVector(vector), self.workspace, hash_)
                    for (hash_, _), vector in vectors
                ]

                def work(connection: "Connection[Any]", own: Sequence[Sequence[Any]] = own) -> None:
                    with connection.transaction():
                        self._lock(connection)
                        connection.cursor().executemany(
                            "insert into embeddings(workspace, model, hash, vector) select %s, %s, %s, %b::halfvec"
                            " where exists (select from chunks where workspace = %s and hash = %s)"
                            " on conflict do nothing",
                            own,
                        )

                self.server.attempt(work, self._pauses)
            if rows:
                self._tell_size()
        self._set_note("model", model)

    def _tell_size(self) -> None:
        """Tell the server how many vectors there are, by which its owner makes a graph of them."""
        table = self.index.embedding.table
        matrix = table.matrix()
        self.server.run(
            "update workspaces set size = (select count(*) from embeddings where workspace = %s and model = %s),"
            " model = %s, dimension = %s where workspace = %s",
            (self.workspace, table.model, table.model, matrix.dimension if matrix else 0, self.workspace),
        )

    def _note_common(self) -> None:
        """Note which texts are the server's, and which clone lies behind at a path that it never pushed."""
        self.run(
            "insert or replace into team.common select path, files.digest, coalesce(common.is_ours, 0) from files"
            " join team.listed using(path) left join team.common using(path) where files.digest <> '' and"
            " (files.digest = listed.digest and common.digest is not files.digest or common.path is null)"
        )
        # Where the text is neither there nor here, one that comes from now on is a change of this machine.
        self.run(
            "insert or replace into team.common select path, '', 0 from team.listed where digest = ''"
            " and not exists (select 1 from files where files.path = listed.path)"
            " and not exists (select 1 from team.common where common.path = listed.path and common.digest = '')"
        )

    def _changed(self, also_common: bool) -> list[tuple[int, str, str, int]]:
        """Return number, path, digest and number of chunks of the files to push: those of which each has a vector.

        With `also_common` those too that the server has as they are here.
        """
        return self.run(
            f"select file, path, digest, count(chunk) from (select * from files where {_PUSHED}) as files"
            " left join (select path, digest as shared from team.common) using(path)"
            " left join (select file, chunk, vector from chunks) using(file)"
            " left join (select path, digest as theirs from team.listed) using(path)"
            " where shared is not digest or ? and theirs is digest"
            " group by file having sum(chunk is not null and vector is null) = 0",
            (also_common,),
        ).fetchall()

    def _remove(self) -> None:
        """Take from the server what is not to be there: what went away here, if this machine pushed, archived or purged
        it, and what is here and may not leave this machine any more.
        """
        rows = self.run(
            "select path, listed.file, digest, not is_ours"
            " and not exists (select 1 from files where files.path = common.path or files.path = ? || common.path)"
            " from team.common join team.listed using(path, digest) where digest <> ''"
            f" and not exists (select 1 from files where files.path = common.path and {_SHARED})",
            (self.index.workspace.layout.archive,),
        ).fetchall()
        purged = self._purged([file for _, file, _, is_missing in rows if is_missing])
        self._take_away([row[:3] for row in rows if not row[3] or row[1] in purged])

    def _purged(self, files: Sequence[int]) -> set[int]:
        """Return those of some files of the server whose text was deleted for good on this machine."""
        workspace = self.index.workspace
        if not (files and workspace.state and has_purged(workspace.state, workspace.root)):
            return set()
        texts = self.server.run(
            "select file, string_agg(text, E'\n\n' order by chunk) from chunks"
            " where workspace = %s and file = any(%s) and anchor <> %s group by file",
            (self.workspace, files, WORDING),
        )
        plain = {file: normalized(text) for file, text in texts}
        purged = purged_on(workspace.state, workspace.root, {*plain.values()})
        return {file for file, text in plain.items() if text in purged}

    def _take_away(self, rows: Sequence[tuple[str, int, str]]) -> None:
        """Take files from the server, given as path, number and digest, where it still has that text."""
        if not rows:
            return
        files = [file for _, file, _ in rows]

        def work(connection: "Connection[Any]") -> None:
            with connection.transaction():
                self._lock(connection)
                gone = connection.execute(
                    f"update files set digest = '', pieces = 0, entry = null, pushed_at = {_NOW}"
                    " where workspace = %s and file = any(%s) and digest = any(%s) returning file",
                    (self.workspace, self.workspace, files, [digest for *_, digest in rows]),
                ).fetchall()
                connection.execute(
                    "delete from chunks where workspace = %s and file = any(%s)",
                    (self.workspace, [file for (file,) in gone]),
                )

        self.server.attempt(work, self._pauses)
        # Empty: if the file comes back, it is a change of this machine.
        self._keep("common", [(path, "", 1) for path, *_ in rows])

    def _lock(self, connection: "Connection[Any]") -> None:
        """Let one machine after the other push to a workspace: none waits for another's row, and none is overlooked."""
        connection.execute(f"set local statement_timeout = '{PUSH_SECONDS}s'")
        connection.execute("select pg_advisory_xact_lock(1835365985, %s)", (self.workspace,))

    def _push(self, batch: Sequence[tuple[int, str, str]], guard: Redactor) -> int:
        """Push files with their chunks in one transaction; return how many chunks went.

        What holds a secret stays here, and the text without it, which this machine and the server had, goes.
        """
        rows = PushedFiles(self.index, [file for file, *_ in batch])
        sound, held = [], list[str]()
        for file, path, digest in batch:
            secrets_before = len(guard.found)
            for text in rows.texts[file]:
                guard.text(text)
            if len(guard.found) == secrets_before and not secret_in_name(guard, path):
                sound.append((file, path, digest))
            else:
                held.append(path)
        self.withheld += held
        self._take_away(
            self.run(
                "select path, file, digest from team.common join team.listed using(path, digest)"
                " where digest <> '' and path in (select value from json_each(?))",
                (json.dumps(held),),
            ).fetchall()
        )
        marks = ", ".join("?" * len(sound))
        known = self.run(
            f"select path, digest from team.listed where path in ({marks})", [path for _, path, _ in sound]
        )
        listed = dict(known.fetchall())
        pushed = self.server.attempt(lambda connection: self._write(connection, sound, rows, listed), self._pauses)
        self._keep("listed", [(path, number, digest, len(rows.chunks[file])) for file, path, digest, number in pushed])
        # What another machine changed meanwhile is looked at again.
        ours = {path for _, path, *_ in pushed}
        self._keep("common", [(path, digest, path in ours) for _, path, digest in batch if path in {*ours, *held}])
        return sum(len(rows.chunks[file]) for file, *_ in pushed)

    def _write(
        self,
        connection: "Connection[Any]",
        sound: Sequence[tuple[int, str, str]],
        rows: "PushedFiles",
        listed: dict[str, str],
    ) -> list[tuple[int, str, str, int]]:
        with connection.transaction():
            self._lock(connection)
            theirs = dict(
                connection.execute(
                    "select path, digest from files where workspace = %s and path = any(%s)",
                    (self.workspace, [path for _, path, _ in sound]),
                ).fetchall()
            )
            free = [row for row in sound if theirs.get(row[1], "") in (listed.get(row[1], ""), row[2])]
            if not free:
                return []
            about = [(*rows.files[file], len(rows.chunks[file])) for file, *_ in free]
            numbers = dict(
                connection.execute(
                    "insert into files(workspace, path, kind, status, digest, entry, pieces, pushed_at)"
                    f" select %s, path, kind, status, digest, entry, pieces, {_NOW}"
                    " from unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[], %s::integer[])"
                    " as own(path, kind, status, digest, entry, pieces)"
                    " on conflict (workspace, path) do update set kind = excluded.kind, status = excluded.status,"
                    " digest = excluded.digest, entry = excluded.entry, pieces = excluded.pieces,"
                    " pushed_at = excluded.pushed_at"
                    " returning path, file",
                    (self.workspace, self.workspace, *map(list, zip(*about, strict=True))),
                ).fetchall()
            )
            files = list(numbers.values())
            (before,) = connection.execute(
                "select coalesce(array_agg(chunk), '{}') from chunks where workspace = %s and file = any(%s)",
                (self.workspace, files),
            ).fetchone() or ([],)
            chunks = [{**chunk, "file": numbers[path]} for file, path, _ in free for chunk in rows.chunks[file]]
            hashes = dict.fromkeys(bytes.fromhex(chunk["hash"]) for chunk in chunks)
            connection.cursor().executemany(
                "insert into embeddings(workspace, model, hash, vector) values(%s, %s, %s, %b) on conflict do nothing",
                [
                    (self.workspace, rows.model, hash_, HalfVector(rows.vectors[hash_]))
                    for hash_ in hashes
                    if hash_ in rows.vectors
                ],
            )
            connection.execute(
                f"insert into chunks(workspace, hash, {', '.join(_COLUMNS)})"
                f" select %s, decode(hash, 'hex'), {', '.join(_COLUMNS)} from json_to_recordset(%s::json)"
                f" as own(hash text, {', '.join(f'{name} {kind}' for name, kind in _COLUMNS.items())})",
                (self.workspace, json.dumps(chunks)),
            )
            # After the new ones: a text that stays keeps its vector.
            connection.execute(
                "delete from chunks where workspace = %s and chunk = any(%s)", (self.workspace, list(before))
            )
        return [(file, path, digest, numbers[path]) for file, path, digest in free]
