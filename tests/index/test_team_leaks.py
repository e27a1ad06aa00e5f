"""No owner can tell what others keep, whatever is asked; the whole search is `python -m bench team --leaks 20000`."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from memcli.index.postgres import schema
from tests import team_fuzz
from tests.conftest import Mem
from tests.index.machines import Machine
from tests.team_server import TeamDatabase, TeamServer, copied


def test_nothing_leaks(team_server: TeamServer) -> None:
    leaks = list(team_fuzz.leaks(team_server, 200, size=40, seed="suite"))
    assert not leaks, "\n\n".join(f"{leak.owner}: {leak.statements}\n{leak.answers}" for leak in leaks[:3])


@pytest.mark.parametrize(
    "change",
    [
        "alter table mem.chunks disable row level security",
        "create index on mem.embeddings using hnsw ((vector::halfvec(8)) halfvec_cosine_ops) where model = 'm'",
    ],
)
def test_a_gap_would_be_found(team_server: TeamServer, change: str) -> None:
    leaks = team_fuzz.leaks(team_server, 2000, size=40, seed="gap", change=change, owners=("bea",))
    with closing(leaks):
        assert next(leaks, None) is not None


HARMLESS = {
    "me": "tells who asks, and acts as that",
    "visible": "what who asks is a member of; row security of mem.members says so",
    "visible_set": "as visible",
    "iif": "computes",
    "folded": "computes",
    "json_each": "computes",
    "glob": "computes",
}
"""Functions that everybody may call, or hang on a table of his own, and why."""
OPEN_TABLES = {"version": "the number of the tables, which nobody but who migrates writes"}


def test_whatever_is_in_the_schema_is_guarded(team: TeamDatabase) -> None:
    functions = team.run(
        "select proname, prosecdef, prorettype = 'trigger'::regtype, prosqlbody is not null,"
        " coalesce(proconfig::text, ''), has_function_privilege('public', oid, 'execute')"
        " from pg_proc where pronamespace = 'mem'::regnamespace"
    )
    for name, is_definer, is_trigger, is_parsed, settings, is_open in functions:
        # Names are looked up when it is made, or in a path that nobody chooses.
        assert is_parsed or "search_path=pg_catalog, pg_temp" in settings, name
        assert is_open == (name in HARMLESS), name
        assert not (is_open and (is_definer or is_trigger)), name
    tables = team.run(
        "select relname, relkind::text, relrowsecurity and relforcerowsecurity, coalesce(reloptions::text, ''),"
        " has_table_privilege('public', oid, 'truncate, references, trigger'),"
        " has_table_privilege('public', oid, 'insert, update, delete'),"
        " array(select polcmd::text from pg_policy where polrelid = pg_class.oid and 0 = any(polroles)),"
        " array(select lower(command) from unnest(array['select', 'insert', 'update', 'delete']) as command"
        "  where has_table_privilege('public', oid, command) or command in ('select', 'insert', 'update')"
        "  and has_any_column_privilege('public', oid, command))"
        " from pg_class where relnamespace = 'mem'::regnamespace and relkind not in ('i', 'S')"
    )
    commands = {"select": "r", "insert": "a", "update": "w", "delete": "d"}
    for name, kind, is_forced, options, owns, writes, policies, allowed in tables:
        assert not owns, name
        if kind == "v":
            assert "security_invoker=true" in options, name
        elif name in OPEN_TABLES:
            assert not writes, name
        else:
            assert is_forced, name
            assert "*" in policies or set(policies) >= {commands[command] for command in allowed}, name
    numbers = team.run(
        "select has_sequence_privilege('public', oid, 'usage, select, update') from pg_class"
        " where relnamespace = 'mem'::regnamespace and relkind = 'S'"
    )
    assert {*numbers} == {(False,)}
    others = team.run(
        "select unnest(polroles)::oid from pg_policy except select 0 except select oid from pg_roles"
        " where rolname = 'administrator'"
    )
    assert others == [], "a policy of somebody else"


TRAPS = """
create table caught(who name, what text);
grant insert, select on caught to public;
do $$
declare each record;
begin
    -- What fits what is asked better than the operators and functions that are meant, which take another type.
    for each in
        select name, left_type, right_type, case when name in ('||', '->>') then 'text'
            when name in ('-', '+', '*') then 'float8' else 'boolean' end as gives
        from unnest(array['=', '<>', '<', '>', '<=', '>=', '||', '-', '+', '*', '->>']) as name,
            unnest(array['int2', 'int4', 'int8', 'float8', 'text', 'name', 'oid', 'regclass', 'varchar']) as left_type,
            unnest(array['int2', 'int4', 'int8', 'float8', 'text', 'name', 'oid', 'regclass', 'varchar']) as right_type
        where to_regoperator(format('pg_catalog.%s(%s,%s)', name, left_type, right_type)) is null
    loop
        execute format('create function public.trap(%1$s, %2$s, out made %3$s) language plpgsql as $f$ begin'
            ' insert into public.caught values (current_user, %4$L); end $f$',
            each.left_type, each.right_type, each.gives, each.left_type || each.name || each.right_type);
        execute format('create operator public.%s (leftarg = %s, rightarg = %s, function = public.trap)',
            each.name, each.left_type, each.right_type);
        execute format('alter function public.trap(%s, %s) rename to trap_%s', each.left_type, each.right_type,
            md5(each.name));
    end loop;
    for each in
        select distinct on (types) proname, types, prorettype::regtype as gives from pg_proc,
            unnest(array[replace(pg_get_function_identity_arguments(oid), 'text', 'name'),
                replace(pg_get_function_identity_arguments(oid), 'name', 'text'),
                replace(pg_get_function_identity_arguments(oid), 'text', 'varchar')]) as types
        where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f' and pronargs between 1 and 3
            and provariadic = 0 and prorettype <> 'internal'::regtype and not proretset
            and proname in ('quote_ident', 'quote_literal', 'to_regclass', 'obj_description', 'has_schema_privilege',
                'hashtext', 'length', 'right', 'decode', 'format', 'lower', 'concat', 'set_config')
            and to_regprocedure(format('pg_catalog.%I(%s)', proname, types)) is null
        order by types, proname
    loop
        execute format('create or replace function public.%I(%s, out made %s) language plpgsql as $f$ begin'
            ' insert into public.caught values (current_user, %L); end $f$', each.proname, each.types, each.gives,
            each.proname);
    end loop;
end $$;
"""


@pytest.mark.usefixtures("embedder")
def test_what_somebody_put_into_public_runs_as_nobody_else(
    team: TeamDatabase, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "GRAPH_FROM", 1)
    team.add_owners("ann", "eve")
    team.run("grant create on schema public to public", "postgres")
    team.run(TRAPS, "eve")
    laptop = Machine("laptop", team.dsn("ann"), mem, world, monkeypatch)
    for name in ("owner:bea", "proxy:gateway"):
        team.run(laptop.run("index", "--sql", name).out, "postgres")
    assert laptop.run("index", "--share").code == 0
    laptop.put("a.md", "The quagga came for tea.")
    assert laptop.run("index", "--json").json["pushed"] == 1
    team.run(laptop.run("index", "--sql", "members:ann,bea").out)
    desktop = Machine("desktop", team.dsn("bea"), mem, world, monkeypatch, laptop)
    for command in (["search", "quagga"], ["search", "--mode", "vector", "tea"], ["recall", "what of the quagga?"]):
        ran = desktop.run(*command)
        assert ("The quagga came" in ran.out, ran.err) == (True, ""), command
    with psycopg.connect(team.dsn("administrator"), autocommit=True) as connection:
        assert schema.migrate(connection) == ["made a graph of the 1 vectors of memory"]
        connection.execute("drop schema mem cascade")
        assert schema.migrate(connection)
    assert team.run("select distinct who, what from caught where who <> 'eve'", "postgres") == []


@pytest.mark.parametrize("settings", ["", "set enable_seqscan = off", "set enable_indexscan = off"])
def test_a_plan_is_the_same_whether_somebody_has_what_is_guessed_or_nobody(
    team_server: TeamServer, settings: str
) -> None:
    database = copied(team_server, f"guess {settings}")
    team_fuzz.fill(database, "eve", team_fuzz.FIRST, 20)
    theirs = team_fuzz.text_of(2, 3, team_fuzz.FIRST)
    guesses = {
        "chunks": ("text", theirs.text),
        "files": ("path", team_fuzz.text_of(2, 4, team_fuzz.FIRST).path),
        "words": ("term", theirs.words[0]),
        "embeddings": ("hash", f"\\x{theirs.hash.hex()}"),
        "workspaces": ("name", "bea"),
    }
    with psycopg.connect(database.dsn("eve"), autocommit=True) as connection:
        connection.execute(settings)
        for table, (column, guess) in guesses.items():
            plans = []
            for value in (guess, guess[:-1] + "0"):
                query = f"select 1 from mem.{table} where {column} = '{value}'"
                rows = connection.execute(f"explain (analyze, timing off, summary off, buffers off) {query}").fetchall()
                plans.append("\n".join(line for (line,) in rows).replace(value, ""))
            assert plans[0] == plans[1], table
