"""What members and strangers try on the server, and that nothing of it works."""

from typing import Any

import psycopg
import pytest

from tests.team import fuzz
from tests.team.server import Database, Server, add_role, copy_database

DENIED = psycopg.errors.InsufficientPrivilege
FILE = "insert into mem.files(space, machine, path, id, digest, body) values (%s, 'm', %s, %s, 'd', %s)"
CHUNK = (
    "insert into mem.chunks(space, machine, path, number, at, labels, words, hash, vector)"
    " values (%s, 'm', %s, 0, '', '{}', to_tsvector('simple', %s), %s, array_fill(0.1, array[384])::mem.halfvec)"
)


def add_text(database: Database, role: str, space: int, text: str, path: str = "a.md") -> None:
    database.run(FILE, role, (space, path, f"mem_{path}", text))
    database.run(CHUNK, role, (space, path, text, text.encode()))


@pytest.fixture
def spaces(database: Database) -> tuple[Database, int, int]:
    """Give a space of Ana and Bea, and another one of Eve, each with a text."""
    shared, other = database.add_members("shop", "ana", "bea"), database.add_members("lair", "eve")
    add_text(database, "ana", shared, "the heron drinks tea")
    add_text(database, "eve", other, "the quagga drinks tea")
    return database, shared, other


def test_members_read_their_spaces_and_nothing_else(spaces: tuple[Database, int, int]) -> None:
    database, _, _ = spaces
    database.add_members("shop", "ana", "bea")
    add_role(database.server, "stranger")
    for role, seen in {"ana": ["ana"], "bea": ["ana"], "eve": ["eve"], "administrator": []}.items():
        for table in ("files", "chunks"):
            assert database.run(f"select owner::text from mem.{table}", role) == [
                (name,) for name in seen
            ]
    with pytest.raises(DENIED):
        database.run("select * from mem.files", "stranger")


def test_nobody_writes_in_the_name_or_space_of_another(spaces: tuple[Database, int, int]) -> None:
    database, shared, other = spaces
    attacks: list[tuple[str, Any]] = [
        (FILE, (shared, "b.md", "i", "x")),
        (CHUNK, (shared, "a.md", "x", b"x")),
        ("insert into mem.purged(space, id) values (%s, 'mem_a.md')", (shared,)),
        ("insert into mem.members values ('eve', %s)", (shared,)),
        (
            "insert into mem.files(space, owner, machine, path, id, digest, body) values (%s, 'ana', 'm', 'b', 'i', 'd', 'x')",
            (other,),
        ),
        ("update mem.files set owner = 'ana' where space = %s", (other,)),
        ("update mem.files set space = %s", (shared,)),
        ("insert into mem.spaces(name) values (%s)", ("mine",)),
        ("update mem.spaces set name = %s", ("mine",)),
        ("select mem.add_member('shop', %s)", ("eve",)),
        ("truncate mem.chunks, mem.files", None),
        ("alter table mem.files disable row level security", None),
        ("create policy p on mem.files using (true)", None),
        ("drop policy read on mem.files", None),
        (
            "create or replace function mem.my_spaces() returns setof integer language sql as 'select 1'",
            None,
        ),
        ("create function mem.f() returns integer language sql as 'select 1'", None),
        (
            "create trigger t after insert on mem.files execute function suppress_redundant_updates_trigger()",
            None,
        ),
        ("set role administrator", None),
        ("set session authorization ana", None),
        ("grant ana to eve", None),
        ("alter role eve bypassrls", None),
    ]
    for statement, values in attacks:
        with pytest.raises((DENIED, psycopg.errors.InvalidParameterValue)):
            database.run(statement, "eve", values)
    # Bea reads what Ana pushed, and cannot change it.
    for statement in (
        "update mem.files set body = 'x'",
        "delete from mem.files",
        "delete from mem.chunks",
    ):
        database.run(statement, "bea")
    assert database.run("select body from mem.files", "ana") == [("the heron drinks tea",)]
    assert database.run("select count(*) from mem.chunks", "ana") == [(1,)]


def test_row_level_security_cannot_be_set_aside(spaces: tuple[Database, int, int]) -> None:
    database, _, _ = spaces
    with pytest.raises(DENIED, match="row-level security"):
        database.run("set row_security = off; select * from mem.files", "eve")
    for setting in ("row_security", "session_replication_role", "allow_system_table_mods"):
        try:
            database.run(f"set {setting} = 'off'; select 1", "eve")
        except psycopg.Error:
            continue
    shadow = (
        "create function pg_temp.elem_contained_by_multirange(integer, int4multirange) returns boolean"
        " language sql as 'select true'; create function pg_temp.my_spaces() returns setof integer"
        " language sql as 'select 1'; create temp table members as select 'eve'::name as role, 1 as space;"
        " set search_path = pg_temp, mem, pg_catalog; select owner::text from mem.files"
    )
    assert database.run(shadow, "eve") == [("eve",)]
    leaky = (
        "create function pg_temp.look(text) returns boolean language plpgsql cost 0.0000001 as"
        " $$ begin if $1 like '%heron%' then raise 'found'; end if; return true; end $$;"
        " select count(*) from mem.files where pg_temp.look(body)"
    )
    assert database.run(leaky, "eve") == [(1,)]
    with pytest.raises(DENIED):
        database.run(
            "create function pg_temp.f(text) returns boolean language sql leakproof as 'select true'",
            "eve",
        )


def test_a_removed_member_changes_nothing_in_a_transaction_begun_before(
    spaces: tuple[Database, int, int],
) -> None:
    database, shared, _ = spaces
    for statement in (
        "insert into mem.files(space, machine, path, id, digest, body) values ({}, 'm', 'late', 'i', 'd', 'x')",
        "update mem.files set body = 'late' where space = {} and owner = current_user",
        "insert into mem.purged(space, id) values ({}, 'x')",
    ):
        database.add_members("shop", "eve")
        add_text(database, "eve", shared, "poison")
        with psycopg.connect(database.build_dsn("eve")) as eve:
            eve.execute("set transaction isolation level repeatable read")
            eve.execute("select count(*) from mem.files")
            database.run("select mem.remove_member('shop', 'eve')")
            with pytest.raises(psycopg.Error):
                eve.execute(statement.format(shared))
            eve.rollback()
        assert database.run("select owner::text from mem.files", "ana") == [("ana",)]
        assert database.run("select count(*) from mem.purged", "ana") == [(0,)]


def test_equal_paths_and_texts_of_others_are_no_conflict(spaces: tuple[Database, int, int]) -> None:
    database, shared, _ = spaces
    add_text(database, "bea", shared, "the heron drinks tea")
    assert database.run("delete from mem.files returning owner::text", "bea") == [("bea",)]
    assert database.run("select owner::text from mem.chunks", "ana") == [("ana",)]


def test_a_purge_of_one_member_hides_nothing_of_another(spaces: tuple[Database, int, int]) -> None:
    database, shared, _ = spaces
    database.run("insert into mem.purged(space, id) values (%s, 'mem_a.md')", "bea", (shared,))
    assert database.run("select owner::text from mem.files", "ana") == [("ana",)]


@pytest.mark.parametrize(
    "role", ["o'neil", 'a"b', "Ana Maria", "back\\slash", "select", "ä" * 31, "%s", "$$"]
)
def test_roles_of_any_name(database: Database, role: str) -> None:
    space = database.add_members("shop; drop schema mem", role)
    add_text(database, role, space, "tea")
    assert database.run("select owner::text from mem.files", role) == [(role,)]


def test_no_superuser_becomes_a_member(database: Database) -> None:
    with pytest.raises(
        psycopg.errors.RaiseException, match="no role that row-level security binds"
    ):
        database.run("select mem.add_member('shop', 'postgres')")


def test_everything_in_the_schema_is_guarded(database: Database) -> None:
    database.add_members("shop", "ana")
    functions = database.run(
        "select proname, prosecdef, prosqlbody is not null, coalesce(proconfig::text, ''),"
        " has_function_privilege('public', pg_proc.oid, 'execute') from pg_proc"
        " left join pg_depend on objid = pg_proc.oid and deptype = 'e'"
        " where pronamespace = 'mem'::regnamespace and objid is null"
    )
    assert len(functions) == 5
    for name, is_definer, is_parsed, settings, is_open in functions:
        assert not is_definer, name
        assert is_parsed or "search_path=pg_catalog, pg_temp" in settings, name
        assert is_open == (name in ("version", "my_spaces", "my_space_set")), name
    tables = database.run(
        "select relname, relrowsecurity and relforcerowsecurity,"
        " has_table_privilege('public', oid, 'select, insert, update, delete'),"
        " has_table_privilege('public', oid, 'truncate, references, trigger, insert, update') from pg_class"
        " where relnamespace = 'mem'::regnamespace and relkind in ('r', 'v')"
    )
    assert len(tables) == 5
    for name, is_forced, is_open, is_dangerous in tables:
        assert is_open and is_forced, name
        assert not is_dangerous, name
    add_text(database, "ana", 1, "tea")
    database.run("analyze", "postgres")
    assert database.run("select * from pg_stats where schemaname = 'mem'", "postgres") == []
    every_index = "select pg_get_indexdef(indexrelid) from pg_index join pg_class on oid = indrelid where relnamespace = 'mem'::regnamespace"
    for (definition,) in database.run(every_index):
        assert "(space" in definition or "(role" in definition


@pytest.mark.parametrize("settings", ["", "set enable_seqscan = off", "set enable_indexscan = off"])
def test_a_plan_does_not_show_whether_a_guess_is_right(team_server: Server, settings: str) -> None:
    database = copy_database(team_server, f"guess {settings}")
    fuzz.fill(database, "eve", fuzz.FIRST, 20)
    text = fuzz.build_text(2, 4, fuzz.FIRST)
    guesses = {
        "files": ("path", text.path),
        "chunks": ("hash", f"\\x{text.hash.hex()}"),
        "spaces": ("name", "bea"),
        "members": ("role", "bea"),
        "purged": ("id", text.id),
    }
    with psycopg.connect(database.build_dsn("eve"), autocommit=True) as connection:
        connection.execute(settings)
        for table, (column, guess) in guesses.items():
            plans = []
            for value in (guess, guess[:-1] + "0"):
                query = f"explain (analyze, timing off, summary off, buffers off) select 1 from mem.{table} where {column} = '{value}'"
                rows = connection.execute(query).fetchall()
                plans.append("\n".join(line for (line,) in rows).replace(value, ""))
            assert plans[0] == plans[1], table


def test_nothing_leaks(team_server: Server) -> None:
    leaks = list(fuzz.find_leaks(team_server, 300, size=40, seed="suite"))
    assert not leaks, "\n\n".join(
        f"{leak.role}: {leak.statements}\n{str(leak.answers)[:3000]}" for leak in leaks[:3]
    )


@pytest.mark.parametrize(
    "change",
    [
        "alter table mem.chunks disable row level security",
        # Without the first condition, comparisons of the caller may run before the policy.
        "alter policy read on mem.files using (space = any(array(select mem.my_spaces())))",
    ],
)
def test_a_gap_would_be_found(team_server: Server, change: str) -> None:
    leaks = fuzz.find_leaks(team_server, 3000, size=40, seed="gap", change=change, roles=("bea",))
    assert next(leaks, None) is not None
    leaks.close()
