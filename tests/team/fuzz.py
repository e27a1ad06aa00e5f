"""Look for leaks: an answer to one role must not depend on what it cannot see.

For each role there are two databases. They agree in what the role sees and in the amount of
everything else, and differ in the texts, words, hashes and vectors of everything else. Random
scripts of somebody who knows the tables run on both, with guesses from either. If rows, plans,
errors or notices differ, something leaked.
"""

import hashlib
import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from itertools import count
from typing import Any, NamedTuple

from psycopg import Connection, Error, connect

from tests.team.server import Database, Server, copy_database

ROLES = ("ana", "bea", "cid", "dan", "eve")
MEMBERS = {
    **{role: (role,) for role in ROLES},
    "pair": ("ana", "bea"),
    "three": ("bea", "cid", "dan"),
}
SPACES = tuple(MEMBERS)  # numbered from 1
SAME, FIRST, SECOND = "s", "a", "b"
"""The first letter of what a role sees, and of everything else in both databases."""
DIMENSIONS = 384
COUNTER = count()
TABLES = ("files", "chunks", "purged", "spaces", "members")
COLUMNS = {
    "files": ("path", "body", "id, owner, digest", "space, machine"),
    "chunks": ("words", "hash", "labels, at", "vector::text", "space, owner, path"),
    "purged": ("id", "space, owner"),
    "spaces": ("name", "space"),
    "members": ("role", "space"),
}
PLANS = (
    *(
        f"enable_{name} = off"
        for name in (
            "seqscan indexscan bitmapscan indexonlyscan sort hashjoin mergejoin nestloop memoize"
            " hashagg material tidscan partition_pruning"
        ).split()
    ),
    "plan_cache_mode = force_generic_plan",
    "jit = off",
)


class Text(NamedTuple):
    """A text of a space, as one of both databases has it."""

    owner: str
    path: str
    id: str
    body: str
    words: tuple[str, ...]
    hash: bytes
    vector: str


def build_text(space: int, number: int, salt: str) -> Text:
    """Build a text. Two salts give texts of one length that have no word in common."""
    draw = random.Random(f"{space} {number}")
    words = tuple(f"{salt}{word:03}" for word in sorted(draw.sample(range(40), 6)))
    body = f"{salt}{space:02}{number:05} {' '.join(words)}"
    near = random.Random(body)
    vector = "[" + ",".join(f"{near.uniform(-1, 1):.2f}" for _ in range(DIMENSIONS)) + "]"
    # Every second path and id is the same everywhere: two members may have the same ones.
    name = str(number) if number % 2 else f"{salt}{space}-{number}"
    members = MEMBERS[SPACES[space - 1]]
    digest = hashlib.blake2b(body.encode(), digest_size=16).digest()
    return Text(
        members[number % len(members)],
        f"entries/{name}.md",
        f"mem_{name}",
        body,
        words,
        digest,
        vector,
    )


def fill(database: Database, role: str, salt: str, size: int) -> None:
    """Fill a database. What the role does not see has a salt of its own."""
    for space, members in MEMBERS.items():
        database.add_members(space, *members)
    with connect(database.build_dsn("postgres"), autocommit=True) as connection:
        for space, name in enumerate(SPACES, 1):
            texts = [
                build_text(space, number, SAME if role in MEMBERS[name] else salt)
                for number in range(size)
            ]
            many = connection.cursor().executemany
            many(
                "insert into mem.files values (%s, %s, 'm', %s, %s, %s, %s)",
                [
                    (space, text.owner, text.path, text.id, text.hash.hex(), text.body)
                    for text in texts
                ],
            )
            many(
                "insert into mem.chunks values (%s, %s, 'm', %s, 0, '2026-01-01', %s, to_tsvector('simple', %s), %s, %s::mem.halfvec)",
                [
                    (
                        space,
                        text.owner,
                        text.path,
                        [f"tag:{text.words[0]}"],
                        text.body,
                        text.hash,
                        text.vector,
                    )
                    for text in texts
                ],
            )
            many(
                "insert into mem.purged values (%s, %s, %s)",
                [(space, text.owner, f"gone-{text.id}") for text in texts[::7]],
            )
        connection.execute(
            "create index on mem.chunks using hnsw (vector mem.halfvec_cosine_ops) where space = 1"
        )
        connection.execute("reindex schema mem")
        connection.execute("vacuum analyze")


class Attacker:
    """Draws scripts of a role that knows the tables and guesses what others have."""

    def __init__(self, role: str, size: int, seed: str) -> None:
        self.draw = random.Random(seed)
        self.role = role
        self.size = size

    def __iter__(self) -> Iterator[list[str]]:
        shapes = (
            (self.select, 34),
            (self.find_nearest, 10),
            (self.write, 16),
            (self.craft, 18),
            (self.become, 8),
            (self.ask_catalog, 10),
        )
        while True:
            (shape,) = self.draw.choices(
                [shape for shape, _ in shapes], [weight for _, weight in shapes]
            )
            script = shape()
            if self.draw.random() < 0.35 and script[-1].startswith(
                ("select", "insert", "update", "delete")
            ):
                options = self.pick("costs on", "analyze, timing off, summary off, buffers off")
                script[-1] = f"explain ({options}) {script[-1]}"
            settings = self.draw.sample(PLANS, 3) if self.draw.random() < 0.25 else []
            yield [*(f"set local {setting}" for setting in settings), *script]

    def pick(self, *options: str) -> str:
        return self.draw.choice(options)

    def guess(self) -> Text:
        return build_text(
            int(self.number()), self.draw.randrange(self.size), self.pick(SAME, FIRST, SECOND)
        )

    def number(self) -> str:
        return str(self.draw.randint(1, len(SPACES)))

    def condition(self, table: str) -> str:
        text = self.guess()
        by_table = {
            "files": (
                f"path = '{text.path}'",
                f"path ~ '{text.path[:11]}'",
                f"id = '{text.id}'",
                f"body = '{text.body}'",
                f"body like '%{text.body[:6]}%'",
                f"digest = '{text.hash.hex()}'",
                f"owner = '{text.owner}'",
                f"id >= '{text.id}'",
                f"1 / (length(body) - {len(text.body)}) > 0",
                "body::int > 0",
                f"right(id, 6) = '{text.id[-6:]}'",
            ),
            "chunks": (
                f"hash = '\\x{text.hash.hex()}'",
                f"words @@ '{text.words[0]}'",
                f"words @@ '{text.words[0]} & {text.words[1]}'",
                f"labels && array['tag:{text.words[0]}']",
                f"labels = array['tag:{text.words[0]}']",
                f"vector = '{text.vector}'",
                f"path = '{text.path}'",
                "at > '2025'",
                f"(vector <=> '{text.vector}') < 0.1",
                f"owner = '{text.owner}'",
                f"ctid = '({self.draw.randrange(4)},1)'",
            ),
            "purged": (
                f"id = 'gone-{text.id}'",
                f"id like 'gone-{text.id[:6]}%'",
                f"owner = '{text.owner}'",
            ),
            "spaces": (
                f"name = '{self.pick(*SPACES)}'",
                "name like 'p%'",
                f"name > '{self.pick(*SPACES)}'",
            ),
            "members": (f"role = '{self.pick(*ROLES)}'", f"role::text like '{self.pick(*ROLES)}'"),
        }
        conditions = [self.pick(*by_table[table]) for _ in range(self.draw.randint(0, 2))]
        if self.draw.random() < 0.5:
            conditions.append(f"space = {self.number()}")
        return self.pick(" and ", " and ", " or ").join(conditions) or "true"

    def select(self) -> list[str]:
        table = self.pick("files", "files", "chunks", "chunks", *TABLES)
        columns = self.pick(
            "*", "count(*)", f"{table}::text", "min(ctid), max(ctid), count(*)", *COLUMNS[table]
        )
        order = " order by 1" if columns in (*COLUMNS[table], f"{table}::text") else ""
        sample = (
            self.pick("", "", "", " tablesample system (50) repeatable (7)")
            if table != "spaces"
            else ""
        )
        end = f"{order} limit {self.draw.randint(1, 30)}" if self.draw.random() < 0.5 else order
        query = f"select {columns} from mem.{table}{sample} where {self.condition(table)}{end}"
        shape = self.draw.random()
        if shape < 0.1:
            query = f"select exists ({query})"
        elif shape < 0.2:
            query = (
                "select f.path, c.hash from mem.files f join mem.chunks c using(space, owner, machine, path)"
                f" where f.id = '{self.guess().id}' or c.hash = '\\x{self.guess().hash.hex()}' order by 1, 2"
            )
        elif shape < 0.25:
            query = f"select owner, count(*) from mem.files where {self.condition('files')} group by 1 order by 1"
        elif shape < 0.3:
            query = f"select * from mem.files where {self.condition('files')} for {self.pick('update', 'share')}"
        return [query]

    def find_nearest(self) -> list[str]:
        where = self.pick("true", f"space = {self.number()}", self.condition("chunks"))
        query = f"select path, owner from mem.chunks where {where} order by vector <=> '{self.guess().vector}' limit {self.draw.randint(1, 12)}"
        # The graph of the space that Ana sees is built with chance in it, so it is not compared.
        return [
            "set local enable_indexscan = off"
            if self.role == "ana" or self.draw.random() < 0.5
            else f"set local hnsw.ef_search = {self.pick('40', '1000')}",
            f"select count(*) from ({query}) as nearest" if self.draw.random() < 0.3 else query,
        ]

    def write(self) -> list[str]:
        text, number = self.guess(), self.number()
        file = f"insert into mem.files(space, machine, path, id, digest, body) values ({number}, 'm', '{text.path}', '{text.id}', 'd', 'x')"
        chunk = (
            "insert into mem.chunks(space, machine, path, number, at, labels, words, hash)"
            f" values ({number}, 'm', '{text.path}', {self.pick('0', '1')}, '', '{{}}', 'x', '\\x00')"
        )
        key = "(space, owner, machine, path)"
        statement = self.pick(
            file,
            f"{file} returning path",
            f"{file} on conflict do nothing returning path",
            chunk,
            f"{chunk} returning hash",
            f"{file} on conflict {key} do update set body = 'y' returning body",
            f"insert into mem.files values ({number}, '{text.owner}', 'm', '{text.path}', 'i', 'd', 'x')",
            f"insert into mem.purged(space, id) values ({number}, 'gone-{text.id}')",
            f"insert into mem.members values ('{self.role}', {number})",
            "insert into mem.spaces(name) values ('pair')",
            f"update mem.files set body = 'x' where {self.condition('files')} returning path",
            f"update mem.files set path = 'x' where {self.condition('files')}",
            f"update mem.chunks set words = 'x' where {self.condition('chunks')}",
            f"delete from mem.files where {self.condition('files')} returning path",
            f"delete from mem.chunks where {self.condition('chunks')} returning hash",
            f"delete from mem.purged where {self.condition('purged')}",
            f"delete from mem.members where space = {number}",
            f"merge into mem.files using (values ('{text.path}')) as v(p) on path = v.p when matched then update set body = 'y'",
            "truncate mem.chunks",
            f"lock table mem.{self.pick(*TABLES)} in {self.pick('access share', 'access exclusive')} mode",
        )
        return [
            statement,
            self.pick(
                "select count(*) from mem.files",
                "select count(*) from mem.chunks",
                "select count(*) from mem.purged",
            ),
        ]

    def craft(self) -> list[str]:
        text, table = self.guess(), self.pick("files", "chunks")
        condition, column = self.condition(table), {"files": "body", "chunks": "hash::text"}[table]
        look = "create function pg_temp.look(text) returns boolean language plpgsql {} cost 0.0000001 as $$ begin raise notice '%', $1; return true; end $$"
        equal = [
            "create function pg_temp.same(integer, integer) returns boolean language sql as 'select true'",
            "create operator pg_temp.= (function = pg_temp.same, leftarg = integer, rightarg = integer)",
            "set local search_path = pg_temp, mem, pg_catalog",
        ]
        scripts = (
            [
                look.format(""),
                f"select count(*) from mem.{table} where pg_temp.look({column}) and {condition}",
            ],
            [
                look.format("leakproof"),
                f"select count(*) from mem.{table} where pg_temp.look({column})",
            ],
            [
                look.format("security definer"),
                f"select count(*) from mem.{table} where pg_temp.look({column})",
            ],
            [*equal, f"select count(*) from {table}"],
            [*equal, "select * from spaces order by 1"],
            [
                f"create temp view v as select * from mem.{table}",
                f"select count(*) from v where {condition}",
            ],
            [
                f"create temp view v with (security_barrier = off) as select * from mem.{table}",
                f"select count(*) from v where {condition}",
            ],
            [
                "create temp table t as select * from mem.files",
                "analyze t",
                "select count(*), max(body) from t",
            ],
            ["create temp table t (like mem.files including all) inherits (mem.files)", "select 1"],
            ["create temp table t(space integer references mem.spaces)", "select 1"],
            [
                f"prepare q as select count(*) from mem.{table} where {condition}",
                "execute q",
                "explain execute q",
            ],
            [
                f"declare c cursor for select * from mem.{table} where {condition} order by path",
                "fetch all from c",
            ],
            [
                f"select query_to_xml('select count(*) from mem.{table} where space = {self.number()}', true, true, '')::text"
            ],
            [f"select table_to_xml('mem.{table}', true, true, '')::text"],
            ["select word, ndoc from ts_stat('select words from mem.chunks') order by 1"],
            [f"select sum(case when body = '{text.body}' then 1 / 0 else 1 end) from mem.files"],
            [f"select (select body from mem.files where {self.condition('files')})"],
            [
                f"do $$ begin perform 1 from mem.{table} where {condition}; if found then raise 'found'; end if; end $$",
                "select 1",
            ],
            ["select array(select mem.my_spaces() order by 1), mem.my_space_set()"],
            [f"select mem.add_member('{self.pick(*SPACES)}', '{self.role}')"],
            [f"select mem.remove_member('{self.pick(*SPACES)}', '{self.pick(*ROLES)}')"],
            ["create policy p on mem.files using (true)"],
            ["alter table mem.files no force row level security"],
            ["create rule r as on insert to mem.files do also notify x"],
            [
                "create trigger t before insert on mem.files for each row execute function suppress_redundant_updates_trigger()"
            ],
            ["create index on mem.files(body)"],
            ["create statistics s on body, path from mem.files"],
            ["analyze mem.files", f"explain select * from mem.{table} where {condition}"],
            [
                "select pg_advisory_xact_lock(1)",
                f"select count(*) from mem.{table} where {condition}",
            ],
        )
        return list(self.draw.choice(scripts))

    def become(self) -> list[str]:
        other = self.pick(
            *(
                name
                for name in (*ROLES, "administrator", "postgres", "pg_read_all_data")
                if name != self.role
            )
        )
        statement = self.pick(
            f"set local role {other}",
            f"set session authorization {other}",
            f"select set_config('role', '{other}', true)",
            "set local row_security = off",
            f"grant {other} to {self.role}",
            f"alter role {self.role} bypassrls",
            f"alter role {self.role} set role = {other}",
            f"alter table mem.files owner to {self.role}",
            f"reassign owned by {other} to {self.role}",
            f"create function pg_temp.f() returns text language sql set role = {other} as 'select max(body) from mem.files'",
            "set local session_replication_role = replica",
            "set local allow_system_table_mods = on",
            f"select set_config('mem.role', '{other}', true)",
            "create role mallory superuser",
            "reset role",
        )
        return [
            "savepoint s",
            statement,
            "select current_user::text",
            "select count(*), max(body) from mem.files",
        ]

    def ask_catalog(self) -> list[str]:
        return [
            self.pick(
                "select attname, most_common_vals::text, histogram_bounds::text from pg_stats where schemaname = 'mem'",
                "select * from pg_statistic limit 1",
                "select * from pg_statistic_ext_data",
                # What it says of the graph is estimated from a random sample.
                "select relname, relpages, reltuples from pg_class where relnamespace = 'mem'::regnamespace"
                " and relname not like '%vector%' order by 1",
                "select relname, pg_relation_size(oid) from pg_class where relnamespace = 'mem'::regnamespace and relkind = 'r' order by 1",
                "select last_value from mem.spaces_space_seq",
                "select nextval('mem.spaces_space_seq')",
                "select pg_read_file('pg_hba.conf')",
                "select pg_ls_dir('base')",
                "select lo_import('/etc/passwd')",
                "copy mem.files to stdout",
                "copy mem.chunks from stdin",
                "copy (select body from mem.files order by 1) to stdout",
                "copy (select body from mem.files) to program 'cat'",
                "create extension dblink",
                "create extension pageinspect",
                "select rolpassword from pg_authid",
                "select query from pg_stat_activity where usename <> current_user and query not in ('', '<insufficient privilege>')",
                "select polname, pg_get_expr(polqual, polrelid) from pg_policy order by 1, 2",
                "select prosrc from pg_proc join pg_language l on l.oid = prolang where pronamespace = 'mem'::regnamespace and lanname <> 'c' order by 1",
                "select pg_get_constraintdef(oid) from pg_constraint where connamespace = 'mem'::regnamespace order by 1",
            )
        ]


class Leak(NamedTuple):
    """A script that is answered differently, with both answers."""

    role: str
    statements: Sequence[str]
    answers: Sequence[str]


def find_leaks(
    server: Server,
    scripts: int,
    *,
    size: int,
    seed: str,
    change: str = "",
    roles: Sequence[str] = ROLES,
) -> Generator[Leak, None, None]:
    """Yield the leaks that `scripts` scripts find, an equal share for each role.

    `change` is SQL that opens a gap first, to see that the search finds it.
    """
    for role in roles:
        databases = [copy_database(server, f"fuzz-{role}-{next(COUNTER)}") for _ in (FIRST, SECOND)]
        for database, salt in zip(databases, (FIRST, SECOND), strict=True):
            fill(database, role, salt, size)
            for statement in filter(None, change.split(";")):
                database.run(statement, "postgres")
        attacker = iter(Attacker(role, size, f"{seed} {role}"))
        with ExitStack() as stack:
            connections = [
                stack.enter_context(
                    connect(database.build_dsn(role), autocommit=True, prepare_threshold=None)
                )
                for database in databases
            ]
            for connection in connections:
                # Without it the operators of pgvector are not found.
                connection.execute("set search_path = mem, pg_temp")
            for _ in range(scripts // len(roles)):
                script = next(attacker)
                answers = [run_script(connection, script) for connection in connections]
                if answers[0] != answers[1]:
                    yield Leak(role, script, answers)
        for database in databases:
            server.run(f'drop database "{database.name}"')


def run_script(connection: Connection[Any], statements: Sequence[str]) -> str:
    """Return everything that a script shows its author: rows, errors and notices."""
    seen: list[object] = []
    notices: list[object] = []

    def hear(notice: Any) -> None:
        notices.append((notice.severity, notice.message_primary, notice.message_detail))

    connection.add_notice_handler(hear)
    connection.execute("begin")
    for statement in statements:
        try:
            seen.append(run_statement(connection, statement))
        except Error as error:
            diagnosis = error.diag
            seen.append(
                (
                    diagnosis.sqlstate,
                    diagnosis.message_primary,
                    diagnosis.message_detail,
                    diagnosis.context,
                )
            )
            if "savepoint s" not in statements:
                break
            connection.execute("rollback to s")
    connection.remove_notice_handler(hear)
    connection.execute("rollback")
    connection.execute("reset session authorization")
    connection.execute("deallocate all")
    return repr((seen, notices))


def run_statement(connection: Connection[Any], statement: str) -> object:
    if statement.startswith("copy") and "stdout" in statement:
        with connection.cursor().copy(statement) as copy:
            return [bytes(data) for data in copy]
    cursor = connection.execute(statement)
    return cursor.fetchall() if cursor.description else cursor.rowcount
