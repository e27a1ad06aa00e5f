"""What a machine and the server have in common: which files are on it, and pushing those that changed here.

The database `team.db` beside the index notes what the server has and had, and for each path the text of it that this
machine and the server had last in common. A file is pushed only where it is no longer that text, nor one that the
server had before and this machine goes back to by a branch or by half a pull; it is taken from the server only where
this machine put it there, or archived it.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, TypeVar

from ... import data
from ...errors import GitError
from ...formats.entry_fields import WORDING
from ...formats.text_lines import normalized
from ...git import run
from ...git.place import commit_mark
from ...store.access_log import CONFIRMED, counts
from ...store.layouts import IS_ITEM
from ...store.redaction import Redactor, redactor, secret_in_name
from ...store.settings import set_in_file
from ...store.trust import has_purged, purged_on
from ...store.workspace import MARKER, Workspace
from .connection import BRIEFLY, PATIENTLY, PUSH_SECONDS, HalfVector, PostgresServer, ServerError, server_of
from .pushed_files import PushedFiles

if TYPE_CHECKING:
    from psycopg import Connection

    from ..index import Index

T = TypeVar("T")
FILE = "team.db"
BATCH, AT_ONCE = 1_000, 100  # chunks a round trip, and while somebody waits for an answer
_SHARED = f"managed and kind <> 'session' and status <> 'archived' and not {IS_ITEM}"
"""Which files may leave this machine: no conversations, nothing that is only read here, nothing of the archive."""
_PUSHED = f"{_SHARED} and digest <> ''"
_WAITING = (
    f"select 1 from (select path, digest from files where {_PUSHED}) as files left join team.common using(path)"
    " where common.digest is not files.digest limit 1"
)
_LISTING = (
    "select path, file, digest, pieces, former, pushed_at::text from files"
    " where workspace = %s and pushed_at >= %s::timestamptz order by files.pushed_at"
)
_SLOW, _SILENT_SECONDS = 1.0, 30
"""Seconds from which waiting for a server in vain is not done by each command, and for which none asks it then."""
_NEVER = "-infinity"


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
        index.connection.create_function("former_hash", 2, _former_hash, deterministic=True)
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
                "select workspace, (select extract(epoch from min(at)) || ' ' || 'files'::regclass::oid from version)"
                " from workspaces where id = %s",
                (named,),
            )
        except ServerError:
            if time.monotonic() - began >= _SLOW:
                self._set_note("silent until", str(time.time() + _SILENT_SECONDS))
            raise
        if not rows:
            raise ServerError("the workspace is not on the server, or not yours to see", "see docs/machines.md")
        server = f"{identity} {rows[0][0]} {rows[0][1]}"  # tables made anew, or of a backup, are another place
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
        with self.index.connection:
            self.run("begin")
            self.index.connection.executemany(f"insert or replace into team.{table} values({marks})", rows)

    def _forget(self) -> None:
        """Know nothing of the server: it is another one, or was set back."""
        for table in ("listed", "common", "former", "usage"):
            self.run(f"delete from team.{table}")
        self.run("delete from team.notes where key not in ('machine', 'place')")  # whose counts would come twice

    def catch_up(self) -> None:
        """Learn what others pushed or took away since the last time, and how often they used what."""
        seen = self._note("seen") or _NEVER
        rows = self.server.run(_LISTING, (self.workspace, seen))
        if not rows and seen != _NEVER:  # what was seen last is not there any more
            self._forget()
            rows = self.server.run(_LISTING, (self.workspace, _NEVER))
        if rows and rows[-1][-1] != seen:
            self._keep("listed", [row[:4] for row in rows if row[2]])
            self._unlist([row[1] for row in rows if not row[2]])
            self._keep("former", [(earlier,) for *_, former, _ in rows for earlier in former])
            self._set_note("seen", rows[-1][-1])
        self._exchange_usage()

    def _unlist(self, files: Sequence[int]) -> None:
        self.run("delete from team.listed where file in (select value from json_each(?))", (json.dumps(files),))

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

        What this machine had and gave up is not among the first, such as a memory that was forgotten here, which goes.
        """
        state = self._state()
        if self._note("compared") == state:
            theirs, ours = json.loads(self._note("others"))
            return theirs, ours
        self._note_common()
        self._remove()
        rows = self.run(
            "select listed.file, files.digest is not listed.digest and common.digest is not listed.digest"
            " from team.listed left join files using(path) left join team.common using(path)"
        ).fetchall()
        lists = [file for file, elsewhere in rows if elsewhere], [file for file, elsewhere in rows if not elsewhere]
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
        return self.run("select substr(id, ?), count, last from team.usage", (len(CONFIRMED) + 1,)).fetchall()

    def count(self, files: Sequence[int]) -> int:
        """Return how many chunks files of the server have."""
        total = "select coalesce(sum(chunks), 0) from team.listed where file in (select value from json_each(?))"
        return int(self.run(total, (json.dumps(list(files)),)).fetchone()[0])

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
        settled = f"{self._state()} {commit_mark(self.index.workspace.root)} {model}"
        if self._note("settled") == settled and not judges_anew:
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
            self._set_note("settled", settled)
        return done

    def _push_other_vectors(self, model: str) -> None:
        """Push the vectors of what is on the server already when they are of another model than at the last time."""
        former, matrix = self._note("model"), self.index.embedding.table.matrix()
        if former not in ("", model) and matrix is not None:
            rows = self.run(
                "select hash, max(vector) from chunks join files using(file) join team.listed using(path)"
                " where vector is not null and listed.digest = files.digest group by hash"
            ).fetchall()
            query = (
                "insert into embeddings(workspace, model, hash, vector) select %s, %s, %s,"
                f" %b::{self.server.pgvector('halfvec')} where exists"
                " (select from chunks where workspace = %s and hash = %s) on conflict do nothing"
            )
            for start in range(0, len(rows), BATCH):
                batch = rows[start : start + BATCH]
                own = [
                    (self.workspace, model, hash_, HalfVector(vector), self.workspace, hash_)
                    for (hash_, _), vector in zip(batch, matrix.take([row for _, row in batch]), strict=True)
                ]
                self._in_turn(lambda connection, own=own: connection.cursor().executemany(query, own))  # type: ignore
            if rows:
                self._tell_size()
        self._set_note("model", model)

    def _tell_size(self) -> None:
        """Tell the server how many vectors there are, by which its owner makes a graph of them."""
        table = self.index.embedding.table
        matrix = table.matrix()
        query = (
            "update workspaces set size = (select count(*) from embeddings where workspace = %s and model = %s),"
            " model = %s, dimension = %s where workspace = %s"
        )
        values = (self.workspace, table.model, table.model, matrix.dimension if matrix else 0, self.workspace)
        self._in_turn(lambda connection: connection.execute(query, values))

    def behind(self) -> int:
        """Return how many files are here in another text than the server's, which stays there."""
        query = "select count(*) from files join team.common using(path, digest) join team.listed using(path)"
        return int(self.run(f"{query} where listed.digest <> files.digest").fetchone()[0])

    def _note_common(self) -> None:
        """Note which texts are the server's, at which paths this clone lies behind, and what is not here.

        It lies behind where it never pushed and has another text, and where it has a text that the server had before:
        unless the server's newer one was here and git did not go to another branch, when somebody went back to it.
        """
        head, has_moved = self._commit()
        self.run(
            "insert or replace into team.common select path, files.digest, coalesce(common.is_ours, 0) from files"
            " left join team.listed using(path) left join team.common using(path)"
            " where files.digest <> '' and common.digest is not files.digest and (files.digest = listed.digest"
            " or common.path is null and listed.path is not null"
            " or (? or common.digest is not coalesce(listed.digest, ''))"
            " and former_hash(path, files.digest) in (select hash from team.former))",
            (has_moved,),
        )
        # What another branch does not have stays on the server, and is this machine's again when it is here again.
        is_here = "exists (select 1 from files where files.path = common.path)"
        goes = f"is_ours = 2 and {is_here} or ? and is_ours = 1 and not {is_here}"
        self.run(f"update team.common set is_ours = 3 - is_ours where {goes}", (has_moved,))
        # Where the text is neither there nor here, one that comes from now on is a change of this machine.
        archive = self.index.workspace.layout.archive
        self.run(
            "insert or replace into team.common select path, '', 0 from (select path from team.common"
            " union select substr(path, ?) from files where path > ? and path < ?)"
            " where path not in (select path from files) and path not in (select path from team.listed)"
            " and path not in (select path from team.common where digest = '')",
            (len(archive) + 1, archive, archive + "\U0010ffff"),
        )
        self._set_note("commit", head)

    def _commit(self) -> tuple[str, bool]:
        """Return the commit that is checked out, and whether it does not follow that of the last time."""
        root, former = self.index.workspace.root, self._note("commit")
        try:
            head = run.text(root, "rev-parse", "--verify", "HEAD").strip() if commit_mark(root) else ""
            if head and former not in ("", head):
                return head, bool(run.text(root, "rev-list", "-1", former, "^HEAD", "--"))
        except GitError:  # no commit yet, or that one is gone
            return "", bool(former)
        return head, False

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
            "select path, listed.file, digest, is_ours <> 1"
            " and not exists (select 1 from files where files.path = common.path or files.path = ? || common.path)"
            " from team.common join team.listed using(path, digest)"
            f" where not exists (select 1 from files where files.path = common.path and {_SHARED})",
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
        query = (
            "with gone as (update files set digest = '', pieces = 0, entry = null"
            " where workspace = %s and file = any(%s) and digest = any(%s) returning workspace, file)"
            " delete from chunks using gone where (chunks.workspace, chunks.file) = (gone.workspace, gone.file)"
        )
        values = (self.workspace, files, [digest for *_, digest in rows])
        self._in_turn(lambda connection: connection.execute(query, values))
        self._unlist(files)
        # Empty: if the file comes back, it is a change of this machine.
        self._keep("common", [(path, "", 1) for path, *_ in rows])

    def _in_turn(self, work: "Callable[[Connection[Any]], T]") -> T:
        """Do work in a transaction, after other machines: none waits for another's row, and none is overlooked."""

        def done(connection: "Connection[Any]") -> T:
            with connection.transaction():
                if self._pauses is PATIENTLY:
                    connection.execute(f"set local statement_timeout = '{PUSH_SECONDS}s'")
                connection.execute("select from workspaces where workspace = %s for no key update", (self.workspace,))
                return work(connection)

        return self.server.attempt(done, self._pauses)

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
                " where path in (select value from json_each(?))",
                (json.dumps(held),),
            ).fetchall()
        )
        statement = "select path, digest from team.listed where path in (select value from json_each(?))"
        listed = dict(self.run(statement, (json.dumps([path for _, path, _ in sound]),)).fetchall())
        pushed = self._in_turn(lambda connection: rows.write(connection, self.workspace, sound, listed))
        self._keep("listed", [(path, number, digest, len(rows.chunks[file])) for file, path, digest, number in pushed])
        # What another machine changed meanwhile is looked at again.
        ours = {path for _, path, *_ in pushed}
        self._keep("common", [(path, digest, path in ours) for _, path, digest in batch if path in {*ours, *held}])
        return sum(len(rows.chunks[file]) for file, *_ in pushed)


def _former_hash(path: str, digest: str) -> bytes:
    """Return what the server notes of a text that a document had before."""
    return sha256(f"{path}\n{digest}".encode("utf-8", "replace")).digest()[:16]
