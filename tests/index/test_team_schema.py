"""The tables on a team's server: how they come to be, who may make them, and whom they show what."""

import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from memcli.errors import UnavailableError, UsageError
from memcli.index.postgres import schema
from tests.team_server import TeamDatabase, TeamServer

CHUNK = (
    "insert into mem.chunks(workspace, file, kind, status, anchor, line, stop, title, prefix, text, timestamp, hash,"
    " is_whole, words, counts) values (%s, %s, 'entry', 'active', '', 1, 2, '', '', %s, '', %s, true, %s, %s)"
    " returning chunk"
)
FILE = (
    "insert into mem.files(workspace, path, kind, status, digest)"
    " values (%s, %s, 'entry', 'active', 'd') returning file"
)
VECTOR = "insert into mem.embeddings values (%s, 'm', %s, '[1,0,0]') on conflict do nothing"


def add_text(team: TeamDatabase, role: str, workspace: int, text: str, path: str = "a.md") -> int:
    """Return the number of a new file with one chunk, its words and its vector."""
    ((file,),) = team.run(FILE, role, (workspace, path))
    words = text.split()
    team.run(CHUNK, role, (workspace, file, text, text.encode(), words, [1] * len(words)))
    team.run(VECTOR, role, (workspace, text.encode()))
    return int(file)


@pytest.fixture
def bare(team_server: TeamServer, team: TeamDatabase) -> TeamDatabase:
    """Give a database without mem's tables."""
    team.run("drop schema mem cascade")
    return team


@pytest.fixture
def migrated() -> Callable[..., list[str]]:
    """Give a function that migrates a database as a role."""

    def migrate(team: TeamDatabase, role: str = "administrator") -> list[str]:
        with psycopg.connect(team.dsn(role), autocommit=True) as connection:
            return schema.migrate(connection)

    return migrate


Migrate = Callable[..., list[str]]


def test_tables_are_made_once(bare: TeamDatabase, migrated: Migrate) -> None:
    assert migrated(bare) == ["made the tables of version 6"]
    assert migrated(bare) == []
    assert bare.run("select number from mem.version") == [(1,), (2,), (3,), (4,), (5,), (6,)]


def test_two_administrators_may_migrate_at_once(bare: TeamDatabase) -> None:
    with psycopg.connect(bare.dsn("administrator")) as first:
        first.execute("select pg_advisory_xact_lock(hashtext('mem.version'))")
        with psycopg.connect(bare.dsn("administrator"), autocommit=True) as second:
            second.execute("set lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                schema.migrate(second)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("insert into mem.version(number) values (99)", "the server's tables are of version 99, and this mem knows "),
        ("drop schema mem cascade; create schema mem", "the database has a schema `mem` that is not mem's"),
        ("drop table mem.version", "administrator is no owner on the server"),
    ],
)
def test_what_is_not_this_mem_s_is_left_alone(team: TeamDatabase, migrated: Migrate, change: str, message: str) -> None:
    team.run(change)
    with pytest.raises(UnavailableError, match=message):
        migrated(team)


def test_a_failed_migration_leaves_nothing(
    bare: TeamDatabase, migrated: Migrate, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    broken = tmp_path / "001.sql"
    broken.write_text("create schema mem; comment on schema mem is 'the index of mem'; select 1/0")
    monkeypatch.setattr(schema, "MIGRATIONS", {1: broken})
    with pytest.raises(psycopg.errors.DivisionByZero):
        migrated(bare)
    assert bare.run("select 1 from pg_namespace where nspname = 'mem'") == []


def test_who_may_make_no_tables_is_told_so(bare: TeamDatabase, migrated: Migrate) -> None:
    bare.run(
        "create role guest login" if not bare.run("select 1 from pg_roles where rolname = 'guest'") else "select 1"
    )
    with pytest.raises(UnavailableError, match="guest may not make mem's tables here"):
        migrated(bare, "guest")


class _Server:
    """A connection to a server that answers as an old one, or one that lacks pgvector."""

    def __init__(self, version: int, row: tuple[str | None, str] | None) -> None:
        self.info = self
        self.server_version = version
        self.user = "ann"
        self._row = row

    def parameter_status(self, name: str) -> str:
        return "UTF8"

    def execute(self, query: str, values: object = ()) -> "_Server":
        return self

    def fetchone(self) -> object:
        return self._row

    def transaction(self) -> "_Server":
        return self

    def __enter__(self) -> "_Server":
        return self

    def __exit__(self, *error: object) -> None:
        pass


@pytest.mark.parametrize(
    ("version", "row", "message"),
    [
        (140009, None, "the server is PostgreSQL 14, too old for mem: use 15 or newer"),
        (150004, None, "the server has no pgvector: install pgvector 0.8 or newer on it"),
        (150004, (None, "0.4.4"), "the server's pgvector 0.4.4 is too old: install pgvector 0.8 or newer on it"),
        (150004, ("0.7.0", "0.8.1"), "the server's pgvector 0.7.0 is too old: run `alter extension vector update`"),
    ],
)
def test_an_old_server_is_refused(version: int, row: tuple[str | None, str] | None, message: str) -> None:
    with pytest.raises(UnavailableError) as refused:
        schema.migrate(_Server(version, row))  # type: ignore[arg-type]
    assert str(refused.value) == message


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_a_database_that_cannot_keep_all_texts_is_refused(
    team_server: TeamServer, migrated: Migrate, encoding: str
) -> None:
    name = f"texts {encoding}"
    team_server.run(f"create database \"{name}\" encoding '{encoding}' template template0 owner administrator")
    with pytest.raises(UnavailableError, match=f"the database keeps texts as {encoding}: make one with encoding UTF8"):
        migrated(TeamDatabase(team_server, name))


@pytest.mark.parametrize("name", ["ann", 'a"b', "o'neil", "Ann", "back\\slash", "select", "ä" * 31])
def test_owners_of_any_name(team: TeamDatabase, name: str) -> None:
    team.add_owners(name)
    team.add_owners(name)
    assert team.run("select role::text from mem.owners", name) == [(name,)]


@pytest.mark.parametrize("name", ["", "a$$b", "a\nb", "ä" * 32])
def test_a_name_that_the_server_would_cut_or_run_is_refused(name: str) -> None:
    for printed in (schema.owner_sql, schema.proxy_sql, lambda name: schema.members_sql("x", name, ["ann"])):
        with pytest.raises(UsageError, match="can be no role or name"):
            printed(name)


def test_an_owner_sees_its_own_and_what_it_is_a_member_of(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea", "cid")
    own, other = team.add_workspace("ann", str(_uuid(1))), team.add_workspace("bea", str(_uuid(2)))
    team.run(schema.members_sql(str(_uuid(3)), "team", ["ann", "bea"]))
    ((shared,),) = team.run("select workspace from mem.workspaces where name = 'team'")
    add_text(team, "ann", own, "quagga tea")
    add_text(team, "bea", other, "heron tea")
    add_text(team, "bea", shared, "bittern tea")
    seen = {
        name: team.run("select text from mem.chunks join mem.words using(workspace) where term = 'tea'", name)
        for name in ("ann", "bea", "cid", "administrator")
    }
    assert {name: sorted(text for (text,) in rows) for name, rows in seen.items()} == {
        "ann": ["bittern tea", "quagga tea"],
        "bea": ["bittern tea", "heron tea"],
        "cid": [],
        "administrator": [],  # row security is forced: who owns the tables reads no memory
    }
    assert team.run("select count(*) from mem.workspaces", "cid") == [(0,)]


def _uuid(number: int) -> str:
    return f"00000000-0000-0000-0000-{number:012}"


def test_members_are_owners(team: TeamDatabase) -> None:
    team.add_owners("ann")
    with pytest.raises(psycopg.errors.RaiseException, match="not all of them are owners"):
        team.run(schema.members_sql(_uuid(1), "team", ["ann", "nobody"]))


@pytest.mark.parametrize("name", ["n" * 100, "😀" * 40, "a$$b", "new\nline", "it's"])
def test_a_workspace_in_a_folder_of_any_name_gets_members(team: TeamDatabase, name: str) -> None:
    team.add_owners("ann", "bea")
    number = team.add_workspace("ann", _uuid(1), name)
    team.run(schema.administration_sql("members:ann,bea", _uuid(1), name))
    assert team.run("select workspace from mem.workspaces", "bea") == [(number,)]


def test_nobody_is_a_member_besides_those_that_are_named(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea", "cid")
    team.add_workspace("cid", _uuid(1))  # who took its number first
    team.run(schema.members_sql(_uuid(1), "team", ["ann", "bea", "cid"]))
    team.run(schema.members_sql(_uuid(1), "team", ["ann", "bea"]))
    roles = "select role from mem.members join mem.owners using(owner) order by role"
    assert team.run(roles) == [("ann",), ("bea",)]
    team.run("delete from mem.workspaces", "cid")
    assert team.run("select count(*) from mem.workspaces", "ann") == [(1,)]


def test_a_workspace_whose_vectors_fit_no_graph_keeps_none_from_the_others(
    team: TeamDatabase, migrated: Migrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "GRAPH_FROM", 1)
    team.add_owners("ann", "eve")
    for name, dimension in (("eve", 3), ("ann", 2)):
        number = team.add_workspace(name, _uuid(dimension), name)
        team.run("insert into mem.embeddings values (%s, 'm', 'x', '[1, 2]')", name, (number,))
        team.run("update mem.workspaces set size = 9, model = 'm', dimension = %s", name, (dimension,))
    lines = migrated(team)
    assert [line.split(":")[0] for line in lines] == ["made no graph of eve", "made a graph of the 9 vectors of ann"]


def test_nobody_writes_into_what_is_another_s(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea")
    own, other = team.add_workspace("ann", _uuid(1)), team.add_workspace("bea", _uuid(2))
    file = add_text(team, "bea", other, "heron")
    denied = (psycopg.errors.InsufficientPrivilege, "row-level security|permission denied")
    for query, values in [
        (FILE, (other, "b.md")),
        (CHUNK, (other, file, "x", b"x", [], [])),
        (VECTOR, (other, b"x")),
        ("insert into mem.members select owner, %s from mem.owners", (other,)),
        ("update mem.files set workspace = %s", (own,)),
        ("update mem.workspaces set owner = null where workspace = %s", (own,)),
        ("truncate mem.chunks, mem.files", ()),
    ]:
        with pytest.raises(denied[0], match=denied[1]):
            team.run(query, "ann", values)
    # A file of another is not there to hang a chunk on, nor is it taken away with one's own.
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        team.run(CHUNK, "ann", (own, file, "x", b"x", [], []))
    team.run("delete from mem.files", "ann")
    assert team.run("select text from mem.chunks", "bea") == [("heron",)]


@pytest.mark.parametrize("guarded_by", ["right", "function"])
def test_nobody_becomes_a_member_by_a_trigger_of_his_own(team: TeamDatabase, guarded_by: str) -> None:
    team.add_owners("ann", "eve")
    own = team.add_workspace("ann", _uuid(1))
    if guarded_by == "function":  # a trigger that was made while everybody had the right
        team.run("grant execute on function mem.add_maker() to public")
    with psycopg.connect(team.dsn("eve"), autocommit=True) as eve:
        eve.execute("create temp table own(owner integer, workspace integer)")
        trigger = (
            "create trigger mine after insert on own referencing new table as added"
            " for each statement execute function mem.add_maker()"
        )
        if guarded_by == "right":
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                eve.execute(trigger)
        else:
            eve.execute(trigger)
        eve.execute("insert into own values (mem.me(), %s)", (own,))
        assert eve.execute("select * from mem.workspaces").fetchall() == []


def test_what_somebody_put_into_public_is_no_part_of_the_tables(bare: TeamDatabase, migrated: Migrate) -> None:
    bare.run(
        "create function public.elem_contained_by_multirange(integer, int4multirange) returns boolean language sql"
        " immutable as 'select true'; create function public.lower(text) returns text language sql as 'select $1'",
        "postgres",
    )
    migrated(bare)
    bare.add_owners("ann", "eve")
    add_text(bare, "ann", bare.add_workspace("ann", _uuid(1)), "quagga")
    assert bare.run("select name from mem.workspaces", "eve") == []
    assert bare.run("select mem.folded('A')", "eve") == [("a",)]


def test_who_took_the_number_of_a_workspace_first_puts_nothing_into_it(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea", "eve")
    add_text(team, "eve", team.add_workspace("eve", _uuid(1)), "poison")
    team.run(schema.administration_sql("members:ann,bea", _uuid(1), "team"))
    assert team.run("select name from mem.workspaces", "ann") == [("team",)]
    assert team.run("select count(*) from mem.chunks", "ann") == [(0,)]
    # Who hands it on to others leaves them what is in it.
    add_text(team, "ann", team.run("select workspace from mem.workspaces", "ann")[0][0], "quagga")
    team.run(schema.administration_sql("members:bea", _uuid(1), "team"))
    assert team.run("select text from mem.chunks", "bea") == [("quagga",)]


def test_sql_of_which_a_part_fails_changes_nothing(team: TeamDatabase, team_server: TeamServer) -> None:
    team.add_owners("ann", "bea")
    team.run(schema.members_sql(_uuid(1), "team", ["ann", "bea"]))
    programs = team_server._programs
    typed = schema.administration_sql("members:ann,baa", _uuid(1), "team")
    subprocess.run(
        [programs / "psql", "-X", "-q", "-d", team.dsn("administrator")], input=typed, text=True, capture_output=True
    )
    assert team.run("select count(*) from mem.workspaces", "bea") == [(1,)]


@pytest.mark.parametrize(
    "change",
    [
        "update mem.files set pushed_at = 'infinity'",
        "insert into mem.files(workspace, path, kind, status, digest, pushed_at)"
        " select workspace, 'b.md', 'entry', 'active', 'd', '294276-12-31 23:59:59.999999+00' from mem.workspaces",
        "insert into mem.files(workspace, file, path, kind, status, digest)"
        " select workspace, file, 'f' || file, 'entry', 'active', 'd' from mem.workspaces, generate_series(2, 99) file",
        "insert into mem.chunks select workspace, 1::bigint << 62, file, kind, status, anchor, line, stop, title,"
        " prefix, text, timestamp, hash, is_whole, words, counts from mem.chunks",
    ],
)
def test_no_member_keeps_the_others_from_pushing(team: TeamDatabase, change: str) -> None:
    team.add_owners("ann", "eve")
    team.run(schema.members_sql(_uuid(1), "team", ["ann", "eve"]))
    ((number,),) = team.run("select workspace from mem.workspaces", "eve")
    add_text(team, "eve", number, "heron")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        team.run(change, "eve")
    add_text(team, "ann", number, "quagga", "ann.md")
    ((is_later,),) = team.run("select max(pushed_at) <= clock_timestamp() from mem.files", "ann")
    assert is_later


@pytest.mark.parametrize(
    "change",
    [
        "insert into mem.files(workspace, path, kind, status, digest) values ({0}, 'late.md', 'entry', 'active', 'd')",
        "update mem.files set kind = 'late'",
        "delete from mem.files",
        "delete from mem.chunks",
        "update mem.chunks set kind = 'late'",
    ],
)
def test_who_is_no_member_any_more_changes_nothing(team: TeamDatabase, change: str) -> None:
    team.add_owners("ann", "eve")
    share = "members:{}".format
    team.run(schema.administration_sql(share("ann,eve"), _uuid(1), "team"))
    ((number,),) = team.run("select workspace from mem.workspaces", "eve")
    add_text(team, "ann", number, "quagga")
    waits = "insert into mem.files(workspace, path, kind, status, digest)"
    waits += f" select {number}, 'w' || pg_sleep(2), 'entry', 'active', 'd'"
    with psycopg.connect(team.dsn("eve")) as eve, psycopg.connect(team.dsn("eve")) as other:
        eve.execute("set transaction isolation level repeatable read")
        eve.execute("select 1")
        with ThreadPoolExecutor() as pool:
            waiting = pool.submit(other.execute, waits)
            while team.run("select count(*) from pg_stat_activity where wait_event = 'PgSleep'", "postgres") == [(0,)]:
                time.sleep(0.01)
            team.run(schema.administration_sql(share("ann"), _uuid(1), "team"))
            with pytest.raises((psycopg.errors.SerializationFailure, psycopg.errors.InsufficientPrivilege)):
                eve.execute(change.format(number))
            with pytest.raises(psycopg.errors.InsufficientPrivilege, match="no member of the workspace any more"):
                waiting.result()
        eve.rollback()
        other.rollback()
    assert team.run("select path, files.kind, chunks.kind from mem.files join mem.chunks using(file)", "ann") == [
        ("a.md", "entry", "entry")
    ]


def test_nobody_uses_up_the_numbers_of_others(team: TeamDatabase) -> None:
    team.add_owners("eve")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        team.run("select nextval('mem.workspaces_workspace_seq')", "eve")
    add_text(team, "eve", team.add_workspace("eve", _uuid(1)), "quagga")


def test_two_owners_may_have_the_same_paths_and_texts(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea")
    for number, name in enumerate(("ann", "bea"), 1):
        add_text(team, name, team.add_workspace(name, _uuid(number)), "quagga tea")
    team.run("delete from mem.files", "ann")
    assert team.run("select path, text from mem.files join mem.chunks using(file)", "bea") == [("a.md", "quagga tea")]


def test_nothing_is_left_of_what_is_removed(team: TeamDatabase) -> None:
    team.add_owners("ann")
    own = team.add_workspace("ann", _uuid(1))
    file = add_text(team, "ann", own, "quagga tea")
    add_text(team, "ann", own, "quagga tea", "copy.md")
    team.run("delete from mem.files where file = %s", "ann", (file,))
    assert team.run("select term from mem.words order by 1", "ann") == [("quagga",), ("tea",)]
    assert team.run("select count(*) from mem.embeddings", "ann") == [(1,)]  # the copy's
    team.run("delete from mem.files", "ann")
    for table in ("chunks", "words", "embeddings"):
        assert team.run(f"select count(*) from mem.{table}", "postgres") == [(0,)], table


def test_a_file_of_many_words_is_removed_in_time(team: TeamDatabase) -> None:
    team.add_owners("ann")
    own = team.add_workspace("ann", _uuid(1))
    ((file,),) = team.run(FILE, "ann", (own, "large.md"))
    team.run(
        "insert into mem.embeddings select %s, 'm', int4send(n), '[1,0,0]' from generate_series(1, 800) n",
        "ann",
        (own,),
    )
    team.run(
        "insert into mem.chunks(workspace, file, kind, status, anchor, line, stop, title, prefix, text, timestamp,"
        " hash, is_whole, words, counts) select %s, %s, 'entry', 'active', '', 1, 2, '', '', '', '', int4send(n),"
        " false, array(select 'w' || (n * 50 + word) from generate_series(1, 50) word), array_fill(1, array[50])"
        " from generate_series(1, 800) n",
        "ann",
        (own, file),
    )
    team.run("vacuum analyze", "postgres")
    team.run("set statement_timeout = '10s'; delete from mem.chunks", "ann")
    assert team.run("select count(*) from mem.words union all select count(*) from mem.embeddings", "ann") == [
        (0,),
        (0,),
    ]


@pytest.mark.parametrize(
    ("role", "removal"),
    [("ann", "delete from mem.workspaces"), ("administrator", "delete from mem.owners where role = 'ann'")],
)
def test_a_workspace_goes_with_all_that_is_in_it(team: TeamDatabase, role: str, removal: str) -> None:
    team.add_owners("ann")
    add_text(team, "ann", team.add_workspace("ann", _uuid(1)), "quagga tea")
    team.run(removal, role)
    for table in ("files", "chunks", "words", "embeddings", "usage"):
        assert team.run(f"select count(*) from mem.{table}", "postgres") == [(0,)], table


def test_a_proxy_acts_for_owners_and_is_none_itself(team: TeamDatabase) -> None:
    team.add_owners("ann", "bea")
    for number, name in enumerate(("ann", "bea"), 1):
        add_text(team, name, team.add_workspace(name, _uuid(number)), name)
    team.run(schema.proxy_sql("gateway"), "postgres")
    with psycopg.connect(team.dsn("gateway"), autocommit=True) as proxy:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            proxy.execute("select text from mem.chunks")
        for name in ("ann", "bea"):
            proxy.execute(f"set role {name}")
            assert proxy.execute("select text from mem.chunks").fetchall() == [(name,)]
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            proxy.execute("set role administrator")


def test_words_are_found_by_their_index(team: TeamDatabase) -> None:
    team.add_owners("ann")
    number = team.add_workspace("ann", _uuid(1))
    team.run("insert into mem.words select %s, n, 'w' || n, '' from generate_series(1, 50000) n", "ann", (number,))
    team.run("vacuum analyze mem.words", "postgres")
    with psycopg.connect(team.dsn("ann")) as connection:
        plan = connection.execute("explain (costs off) select * from mem.words where term = any('{w1,w2}')").fetchall()
    condition = next(line for (line,) in plan if "Index Cond" in line)
    assert "workspace = ANY" in condition
    assert "term = ANY" in condition


def posted(team: TeamDatabase) -> dict[str, list[tuple[int, int]]]:
    """Return in which chunks each word stands, and how often."""
    held: dict[str, list[tuple[int, int]]] = {}
    for term, block, data in team.run("select term, block, postings from mem.words order by block", "ann"):
        pairs = [int.from_bytes(data[at : at + 2], "big") for at in range(0, len(data), 2)]
        held.setdefault(term, []).extend((block * 1024 + (pair >> 6), pair & 63) for pair in pairs)
    return held


def test_words_are_kept_in_blocks_as_chunks_come_and_go(team: TeamDatabase) -> None:
    team.add_owners("ann")
    own = team.add_workspace("ann", _uuid(1))
    file = add_text(team, "ann", own, "x")
    team.run("delete from mem.chunks", "ann")
    team.run("grant insert on mem.chunks to ann")
    many = (
        "insert into mem.chunks select %s, n, %s, 'entry', 'active', '', 1, 2, '', '', '', '', 'x', true,"
        " array['tea', 'w' || n], array[mod(n, 300), 1] from generate_series(%s, %s, 7) n"
    )
    expected: dict[int, int] = {}
    for first, last in ((0, 2000), (2500, 4000), (1 << 33, (1 << 33) + 30)):
        team.run(many, "ann", (own, file, first, last))
        expected |= {chunk: min(chunk % 300, 63) for chunk in range(first, last + 1, 7)}
        held = posted(team)
        assert dict(held["tea"]) == expected
        assert all(held[f"w{chunk}"] == [(chunk, 1)] for chunk in expected)
    for condition in ("chunk = 14", "chunk % 2 = 0", "chunk between 1000 and 2100", "chunk < 1 << 20"):
        team.run(f"delete from mem.chunks where {condition}", "ann")
        left = {chunk for (chunk,) in team.run("select chunk from mem.chunks", "ann")}
        held = posted(team)
        assert held.keys() - {"tea"} == {f"w{chunk}" for chunk in left}
        assert dict(held.get("tea", [])) == {chunk: expected[chunk] for chunk in left}
    assert len(left) > 0


def test_words_that_were_rows_become_blocks(
    bare: TeamDatabase, migrated: Migrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest = schema.NEWEST
    monkeypatch.setattr(schema, "NEWEST", 1)
    migrated(bare)
    bare.add_owners("ann")
    own = bare.add_workspace("ann", _uuid(1))
    for number in range(9):
        add_text(bare, "ann", own, f"quagga tea number{number}", f"{number}.md")
    monkeypatch.setattr(schema, "NEWEST", newest)
    migrated(bare)
    before = posted(bare)
    assert len(before["tea"]) == 9
    bare.run("grant insert on mem.chunks to ann")
    bare.run(
        "create temp table own as select * from mem.chunks; delete from mem.chunks;"
        " insert into mem.chunks select * from own",
        "ann",
    )
    assert posted(bare) == before
    assert bare.run("select count(*) from mem.chunks union all select count(*) from mem.words") == [(0,), (0,)]


def test_a_graph_of_a_large_workspace_is_made_and_used(
    team: TeamDatabase, migrated: Migrate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "GRAPH_FROM", 10)
    team.add_owners("ann", "bea")
    large, small = team.add_workspace("ann", _uuid(1), "large"), team.add_workspace("bea", _uuid(2))
    for name, number, count in (("ann", large, 50), ("bea", small, 5)):
        team.run(
            "insert into mem.embeddings select %s, 'm''x', n::text::bytea, array[cos(n), sin(n), 1]::halfvec"
            " from generate_series(1, %s) n",
            name,
            (number, count),
        )
        query = "update mem.workspaces set size = %s, model = 'm''x', dimension = 3 where workspace = %s"
        team.run(query, name, (count, number))
    assert migrated(team) == ["made a graph of the 50 vectors of large"]
    assert migrated(team) == []
    nearest = (
        f"select hash from mem.embeddings where workspace = {large} and model = 'm''x'"
        " order by vector::halfvec(3) <=> array[cos(44), sin(44), 1]::halfvec(3) limit 10"
    )
    with psycopg.connect(team.dsn("ann")) as connection:
        connection.execute("set local enable_sort = off")
        plan = "\n".join(line for (line,) in connection.execute(f"explain (costs off) {nearest}"))
        rows = connection.execute(nearest).fetchall()
    assert f"nearest_of_{large}" in plan
    assert (b"44",) in rows[:2]  # and 44 radians later it stands nearly the same
    assert len(rows) == 10


def test_what_values_there_are_is_not_gathered(team: TeamDatabase) -> None:
    team.add_owners("ann")
    add_text(team, "ann", team.add_workspace("ann", _uuid(1)), "quagga tea")
    team.run("vacuum analyze", "postgres")
    assert team.run("select * from pg_stats where schemaname = 'mem' and tablename <> 'version'", "postgres") == []
