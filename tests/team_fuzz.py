"""Look for leaks between owners: what one asks must be answered alike whatever the others keep.

For each owner there are two databases, equal in what this owner sees, and in how much there is of all else, but with
other texts, words, hashes and vectors in what the owner does not see. Random queries, filters, crafted SQL, plans and
attempts to be somebody else are put to both, with guesses from either. Where rows, plans, errors or notices differ,
something leaked.
"""

import hashlib
import json
import random
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from psycopg import Connection, Error, connect

from tests.team_server import TeamDatabase, TeamServer, copied

OWNERS = ("ann", "bea", "cid", "dan", "eve")
SHARED = {"pair": ("ann", "bea"), "three": ("bea", "cid", "dan")}
WORKSPACES = (*OWNERS, *SHARED)
"""Names of the workspaces, numbered from 1: one an owner, and those shared."""
DIMENSION = 8
GRAPH_OF = 1
"""The workspace that has a graph of its vectors."""
SAME, FIRST, SECOND = "s", "a", "b"
"""What the words of a text begin with: in what an owner sees, and in all else, in either database."""
_VOCABULARY = 40


@dataclass(frozen=True)
class Text:
    """A text of a workspace, as one of both databases has it."""

    number: int
    path: str
    title: str
    words: tuple[str, ...]
    text: str
    hash: bytes
    vector: str


def text_of(workspace: int, number: int, salt: str) -> Text:
    """Return a text; two salts give texts of one length and one order of words, with no word in common."""
    draw = random.Random(f"{workspace} {number}")
    numbers = draw.sample(range(_VOCABULARY), 6)
    words = tuple(f"{salt}{word:03}" for word in [*sorted(numbers), 900 + number % 50])
    text = f"{salt}{workspace:02}{number:05} " + " ".join(words)
    near = random.Random(f"{workspace} {number} {salt}")
    vector = "[" + ",".join(f"{near.uniform(-1, 1):.3f}" for _ in range(DIMENSION)) + "]"
    hash_ = hashlib.blake2b(text.encode(), digest_size=16).digest()
    # Every second path is the same in all workspaces: two owners may have the same ids.
    path = f"entries/{number}.md" if number % 2 else f"entries/{salt}{workspace}-{number}.md"
    return Text(number, path, f"{salt} title {number % 7}", words, text, hash_, vector)


def sees(owner: str, workspace: int) -> bool:
    """Return whether an owner sees a workspace."""
    name = WORKSPACES[workspace - 1]
    return name == owner or owner in SHARED.get(name, ())


def fill(database: TeamDatabase, owner: str, salt: str, size: int) -> None:
    """Fill a database; what the owner does not see is of a salt of its own."""
    database.add_owners(*OWNERS)
    with connect(database.dsn("postgres"), autocommit=True) as connection:
        connection.execute("alter table mem.files disable trigger note_push")  # the moment would differ
        for number, name in enumerate(WORKSPACES, 1):
            members = SHARED.get(name, ())
            connection.execute(
                "insert into mem.workspaces(id, name, owner) select %s, %s, max(owner) from mem.owners where role = %s",
                (f"00000000-0000-0000-0000-{number:012}", name, None if members else name),
            )
            connection.execute(
                "insert into mem.members(owner, workspace) select owner, %s from mem.owners where role = any(%s)",
                (number, list(members)),
            )
            own = SAME if sees(owner, number) else salt
            _fill_workspace(connection, number, [text_of(number, text, own) for text in range(size)])
        connection.execute(
            f"create index nearest_of_{GRAPH_OF} on mem.embeddings using hnsw"
            f" ((vector::halfvec({DIMENSION})) halfvec_cosine_ops) where workspace = {GRAPH_OF} and model = 'm'"
        )
        connection.execute("alter table mem.files enable trigger note_push")
        connection.execute("reindex schema mem")
        connection.execute("vacuum analyze")


def _fill_workspace(connection: Connection[Any], workspace: int, texts: Sequence[Text]) -> None:
    many = connection.cursor().executemany
    many(
        "insert into mem.files(workspace, file, path, kind, status, digest, entry, pushed_at, former)"
        " values (%s, %s, %s, 'entry', %s, %s, %s, '2026-01-01', %s)",
        [
            (
                *(workspace, text.number, text.path, "active" if text.number % 5 else "archived", text.hash.hex()),
                json.dumps({"id": f"mem_{text.number:016}", "tags": [text.words[0]], "summary": text.text}),
                [text.hash] * (text.number % 3),
            )
            for text in texts
        ],
    )
    many(
        "insert into mem.chunks(workspace, chunk, file, kind, status, anchor, line, stop, title, prefix, text,"
        " timestamp, hash, is_whole, words, counts)"
        " values (%s, %s, %s, 'entry', %s, '', 1, 9, %s, '', %s, %s, %s, true, %s, %s)",
        [
            (
                *(workspace, text.number, text.number, "active" if text.number % 5 else "archived"),
                *(text.title, text.text, f"2026-01-{1 + text.number % 28:02}", text.hash),
                *(list(text.words), [1 + text.number % 3] * len(text.words)),
            )
            for text in texts
        ],
    )
    many(
        "insert into mem.embeddings(workspace, model, hash, vector) values (%s, 'm', %s, %s)",
        [(workspace, text.hash, text.vector) for text in texts],
    )
    many(
        "insert into mem.usage(workspace, id, machine, count, last) values (%s, %s, 'x', %s, '2026-01-01')",
        [(workspace, f"mem_{text.number:016}", text.number) for text in texts[::7]],
    )


class Queries:
    """Random SQL of somebody who knows the tables, and guesses at what others keep."""

    def __init__(self, owner: str, size: int, seed: str) -> None:
        """Take the owner who asks, the texts in a workspace, and what the drawing begins with."""
        self._draw = random.Random(seed)
        self._owner = owner
        self._others = [name for name in (*OWNERS, "administrator", "postgres", "pg_read_all_data") if name != owner]
        self._size = size

    def __iter__(self) -> Iterator[list[str]]:
        """Yield statements that are run one after another in a transaction, which is then taken back."""
        shapes = (
            (self._select, 30),
            (self._nearest, 12),
            (self._settings, 8),
            (self._writing, 14),
            (self._crafted, 16),
            (self._being_somebody, 6),
            (self._catalogue, 8),
        )
        while True:
            (shape,) = self._draw.choices([shape for shape, _ in shapes], [weight for _, weight in shapes])
            statements = shape()
            if self._draw.random() < 0.35 and statements[-1].startswith(("select", "insert", "update", "delete")):
                analyze = self._draw.choice(("costs on", "analyze, timing off, summary off, buffers off"))
                statements = [*statements[:-1], f"explain ({analyze}) {statements[-1]}"]
            yield statements

    def _pick(self, *options: str) -> str:
        return self._draw.choice(options)

    def _text(self) -> Text:
        """Return a text to guess at: of any workspace, of either database."""
        workspace, number = self._draw.randint(1, len(WORKSPACES)), self._draw.randrange(self._size)
        return text_of(workspace, number, self._pick(SAME, FIRST, SECOND))

    def _number(self) -> str:
        return str(self._draw.randint(1, len(WORKSPACES)))

    def _condition(self, table: str) -> str:
        guess = self._text()
        by_table = {
            "chunks": (
                f"text = '{guess.text}'",
                f"text like '%{guess.text[:8]}%'",
                f"hash = '\\x{guess.hash.hex()}'",
                f"hash in ('\\x{guess.hash.hex()}', '\\x{self._text().hash.hex()}')",
                f"'{guess.words[0]}' = any(words)",
                f"words && array['{guess.words[0]}', '{guess.words[1]}']",
                f"to_tsvector('simple', text) @@ to_tsquery('simple', '{guess.words[0]}')",
                f"title = '{guess.title}'",
                f"chunk = {guess.number}",
                f"file between {guess.number} and {guess.number + 5}",
                f"timestamp >= '2026-01-{1 + guess.number % 28:02}'",
                f"1 / (length(text) - {len(guess.text)}) > 0",
                f"text::int > {guess.number}",
                f"ctid = '({guess.number % 9},{1 + guess.number % 11})'",
            ),
            "files": (
                f"path = '{guess.path}'",
                f"path ~ '{guess.path[:12]}'",
                f"digest = '{guess.hash.hex()}'",
                f"'\\x{guess.hash.hex()}' = any(former)",
                f"""entry @> '{{"tags": ["{guess.words[0]}"]}}'""",
                f"entry ->> 'summary' = '{guess.text}'",
                f"entry ->> 'id' = 'mem_{guess.number:016}'",
                f"file = {guess.number}",
                f"(entry ->> 'summary')::int = {guess.number}",
            ),
            "words": (
                f"term = '{guess.words[0]}'",
                f"term in ('{guess.words[0]}', '{guess.words[1]}')",
                f"term >= '{guess.words[0][:2]}' and term < '{guess.words[1]}'",
                f"term like '{guess.words[0][:2]}%'",
                f"block = {guess.number % 2}",
                f"length(postings) > {self._draw.randint(0, 6)}",
            ),
            "embeddings": (
                f"hash = '\\x{guess.hash.hex()}'",
                f"hash = any(array['\\x{guess.hash.hex()}'::bytea, '\\x{self._text().hash.hex()}'])",
                f"vector = '{guess.vector}'",
                f"vector <=> '{guess.vector}' < {self._draw.random():.2f}",
                "vector <=> '[1,2]' < 1",
                f"model = '{self._pick('m', 'n')}'",
            ),
            "usage": (f"id = 'mem_{guess.number:016}'", f"count = {guess.number}"),
            "workspaces": (f"name = '{self._pick(*WORKSPACES)}'", f"owner = {self._number()}", "size >= 0"),
            "members": (f"owner = {self._number()}",),
            "owners": (f"role = '{self._pick(*OWNERS)}'", f"owner = {self._number()}"),
        }
        own = [self._pick(*by_table[table]) for _ in range(self._draw.randint(0, 2))]
        if table != "owners" and self._draw.random() < 0.5:
            own.append(f"workspace = {self._number()}")
        joiner = self._pick(" and ", " and ", " or ")
        return joiner.join(own) or "true"

    def _select(self) -> list[str]:
        table = self._pick("chunks", "chunks", "files", "words", "words", "embeddings", "usage", *_SMALL)
        columns = self._pick("*", "count(*)", f"{table}::text", "min(ctid), max(ctid), count(*)", *_COLUMNS[table])
        order = " order by 1" if columns in (*_COLUMNS[table], f"{table}::text") else ""
        end = f"{order} limit {self._draw.randint(1, 30)}" if self._draw.random() < 0.6 else order
        sample = self._pick("", "", "", " tablesample system (50) repeatable (7)")
        source = f"mem.{table}{sample}"
        query = f"select {columns} from {source} where {self._condition(table)}{end}"
        shape = self._draw.random()
        if shape < 0.1:
            query = f"select exists ({query})"
        elif shape < 0.2:
            query = (
                "select path, c.text from mem.files f join mem.chunks c using(workspace, file)"
                f" where f.path = '{self._text().path}' or c.hash = '\\x{self._text().hash.hex()}' order by 1, 2"
            )
        elif shape < 0.22:
            query = (
                "select w.term, c.text from mem.words w join mem.chunks c using(workspace)"
                f" where block = chunk >> 10 and w.term = '{self._text().words[0]}' order by 1, 2"
            )
        elif shape < 0.25:
            query = f"select kind, status, count(*) from mem.chunks where {self._condition('chunks')} group by 1, 2"
        elif shape < 0.3:
            query = (
                "select distinct on (hash) hash, vector from mem.embeddings where model = 'm' and"
                f" hash = any(array['\\x{self._text().hash.hex()}', '\\x{self._text().hash.hex()}']::bytea[])"
            )
        return [query]

    def _nearest(self) -> list[str]:
        guess = self._text()
        # What an owner's own graph finds is not quite the same twice: it is built with chance in it.
        graphs = [
            number for number in range(1, len(WORKSPACES) + 1) if number != GRAPH_OF or self._owner != WORKSPACES[0]
        ]
        number = self._draw.choice(graphs)
        which = self._pick("", f"workspace = {number} and ", f"workspace = {number} and ")
        distance = f"vector::halfvec({DIMENSION}) <=> '{guess.vector}'::halfvec({DIMENSION})"
        columns = self._pick("hash", f"hash, {distance}", "workspace, hash, vector")
        end = f"order by {distance} limit {self._draw.randint(1, 20)}"
        query = f"select {columns} from mem.embeddings where {which}model = 'm' {end}"
        if self._draw.random() < 0.2:
            query = f"select count(*), max(hash::text) from ({query}) as nearest"
        return [*self._scan_settings(), query]

    def _scan_settings(self) -> list[str]:
        return [
            f"set local hnsw.ef_search = {self._pick('1', '40', '1000')}",
            f"set local hnsw.iterative_scan = {self._pick('off', 'strict_order', 'relaxed_order')}",
            f"set local enable_sort = {self._pick('on', 'off')}",
        ]

    def _settings(self) -> list[str]:
        names = self._draw.sample(_PLANS, 3)
        return [*(f"set local {name} = off" for name in names), *self._select()]

    def _writing(self) -> list[str]:
        guess, number = self._text(), self._number()
        file = self._draw.randrange(2 * self._size)
        values = f"{number}, {file}, 'entry', 'active', '', 1, 9, '', '', 'x', '', '\\x00', true, '{{x}}', '{{1}}'"
        chunk = (
            "insert into mem.chunks(workspace, file, kind, status, anchor, line, stop, title, prefix, text, timestamp,"
            f" hash, is_whole, words, counts) values ({values})"
        )
        new_file = (
            "insert into mem.files(workspace, path, kind, status, digest)"
            f" values ({number}, '{guess.path}', 'entry', 'active', 'd')"
        )
        statement = self._pick(
            chunk,
            f"{chunk} returning text",
            f"{new_file} on conflict do nothing returning path",
            f"{new_file} on conflict (workspace, path) do update set digest = 'e' returning path, digest",
            f"insert into mem.embeddings values ({number}, 'm', '\\x{guess.hash.hex()}', '{guess.vector}')",
            f"insert into mem.words values ({number}, 0, '{guess.words[0]}', '\\x0001')",
            f"insert into mem.words values ({number}, 0, '{guess.words[0]}', '\\x0001')"
            " on conflict (workspace, term, block) do update set postings = '' returning *",
            f"update mem.words set postings = '' where {self._condition('words')} returning term",
            f"insert into mem.members values ({self._number()}, {number})",
            f"insert into mem.owners(role) values ('{self._pick(*OWNERS)}x')",
            "insert into mem.workspaces(id, name, owner)"
            f" values ('00000000-0000-0000-0001-000000000001', 'w', {number})",
            f"update mem.files set status = 'x' where {self._condition('files')} returning path",
            f"update mem.files set digest = '' where {self._condition('files')} returning path, former",
            f"update mem.files set workspace = {number} where {self._condition('files')}",
            f"update mem.chunks set status = 'x' where {self._condition('chunks')} returning text",
            f"update mem.workspaces set name = 'x' where workspace = {number} returning name",
            f"update mem.workspaces set owner = {number}",
            f"delete from mem.files where {self._condition('files')} returning path",
            f"delete from mem.chunks where {self._condition('chunks')} returning text",
            f"delete from mem.embeddings where {self._condition('embeddings')} returning hash",
            f"delete from mem.workspaces where workspace = {number} returning name",
            f"delete from mem.words where {self._condition('words')} returning term",
            f"merge into mem.files using (values ('{guess.path}')) as v(p) on path = v.p"
            " when matched then update set status = 'y'",
            "truncate mem.chunks",
            f"select * from mem.files where {self._condition('files')} for update",
        )
        after = self._pick(
            "select count(*) from mem.words",
            "select count(*), count(distinct hash) from mem.chunks",
            "select count(*) from mem.embeddings",
            "select name, size from mem.workspaces order by 1",
        )
        return [statement, after]

    def _crafted(self) -> list[str]:
        guess, condition = self._text(), self._condition("chunks")
        look = (
            "create function pg_temp.look(text) returns boolean language plpgsql cost 0.0000001 as"
            " $$ begin raise notice '%', $1; return true; end $$"
        )
        equal = (
            "create function pg_temp.same(integer, integer) returns boolean language sql as 'select true'",
            "create operator pg_temp.= (function = pg_temp.same, leftarg = integer, rightarg = integer)",
            "set local search_path = pg_temp, mem, pg_catalog",
        )
        scripts = (
            [look, f"select count(*) from mem.chunks where pg_temp.look(text) and {condition}"],
            [look, f"select count(*) from mem.words where pg_temp.look(term) and term = '{guess.words[0]}'"],
            [look.replace("cost", "leakproof cost"), "select count(*) from mem.chunks where pg_temp.look(text)"],
            [look.replace("cost", "security definer cost"), "select count(*) from mem.files where pg_temp.look(path)"],
            [*equal, "select count(*) from chunks"],
            [*equal, "select * from workspaces order by 1"],
            ["create temp view v as select * from mem.chunks", f"select count(*), max(text) from v where {condition}"],
            [
                "create temp view v with (security_invoker) as select * from mem.chunks",
                f"select count(*), max(text) from v where {condition}",
            ],
            ["create temp table t as select * from mem.words", "analyze t", "select count(*) from t"],
            ["create temp table t (like mem.chunks including all) inherits (mem.chunks)", "select 1"],
            ["create temp table t(file bigint, workspace integer references mem.workspaces)", "select 1"],
            [f"prepare q as select count(*) from mem.chunks where {condition}", "execute q"],
            [f"declare c cursor for select text from mem.chunks where {condition} order by chunk", "fetch all from c"],
            [
                "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3)"
                f" select n, count(*) from r, mem.chunks where {condition} group by n"
            ],
            ["select word, ndoc from ts_stat('select to_tsvector(''simple'', text) from mem.chunks') order by 1"],
            [
                "select query_to_xml("
                f"'select text from mem.chunks where workspace = {self._number()}', true, true, '')::text"
            ],
            ["select table_to_xml('mem.files', true, true, '')::text"],
            ["select schema_to_xml('mem', true, true, '')::text"],
            [f"select string_agg(text, ',' order by chunk), sum(hashtext(text)) from mem.chunks where {condition}"],
            [f"select avg(vector)::text, count(*) from mem.embeddings where {self._condition('embeddings')}"],
            [f"select row_number() over (order by text), text from mem.chunks where {condition}"],
            [f"select sum(case when text = '{guess.text}' then 1 / 0 else 1 end) from mem.chunks"],
            [f"select (select text from mem.chunks where {condition} and workspace = {self._number()})"],
            ["select mem.me(), array(select mem.visible() order by 1)"],
            [
                "select * from mem.chunks c, lateral (select * from mem.embeddings e where e.hash = c.hash) e"
                " order by chunk, e.workspace"
            ],
            [
                f"do $$ begin perform 1 from mem.chunks where {condition}; if found then raise 'found'; end if; end $$",
                "select 1",
            ],
            ["create trigger t after insert on mem.chunks execute function mem.add_words()"],
            [
                "create temp table t(owner integer, workspace integer)",
                "create trigger t after insert on t referencing new table as added"
                " for each statement execute function mem.add_maker()",
                f"insert into t values (mem.me(), {self._number()})",
                f"select count(*), max(text) from mem.chunks where {condition}",
            ],
            ["create policy p on mem.chunks using (true)"],
            ["alter table mem.chunks disable row level security"],
            ["alter table mem.chunks no force row level security"],
            ["drop policy visible on mem.chunks"],
            ["create rule r as on insert to mem.chunks do also notify x"],
            ["select mem.add_words()"],
            ["create or replace function mem.me() returns integer language sql as 'select 1'"],
            ["create index on mem.chunks(hash)"],
            ["create statistics s on text, title from mem.chunks"],
            ["analyze mem.chunks", f"explain select * from mem.chunks where {condition}"],
            ["lock table mem.chunks in access share mode", "select count(*) from mem.chunks"],
        )
        return self._draw.choice(scripts)

    def _being_somebody(self) -> list[str]:
        other = self._pick(*self._others)
        ask = self._pick("select count(*), max(text) from mem.chunks", "select * from mem.workspaces order by 1")
        statement = self._pick(
            f"set local role {other}",
            f"set session authorization {other}",
            f"select set_config('role', '{other}', true)",
            f"select set_config('session_authorization', '{other}', true)",
            "set local row_security = off",
            "select set_config('row_security', 'off', true)",
            f"grant {other} to {self._owner}",
            f"alter role {self._owner} bypassrls",
            f"alter role {self._owner} set role = {other}",
            f"alter table mem.chunks owner to {self._owner}",
            f"reassign owned by {other} to {self._owner}",
            f"create function pg_temp.f() returns text language sql set role = {other}"
            " as 'select max(text) from mem.chunks'",
            "set local session_replication_role = replica",
            "set local allow_system_table_mods = on",
            f"select set_config('mem.owner', '{self._number()}', true)",
            "reset role",
            "create role mallory superuser",
        )
        return ["savepoint s", statement, "select current_user::text", ask]

    def _catalogue(self) -> list[str]:
        return [
            self._pick(
                "select attname, most_common_vals::text, histogram_bounds::text from pg_stats where schemaname = 'mem'",
                "select * from pg_statistic limit 1",
                "select * from pg_statistic_ext_data",
                "select relname, relpages, reltuples from pg_class where relnamespace = 'mem'::regnamespace order by 1",
                "select pg_get_indexdef(indexrelid) from pg_index where indrelid = 'mem.embeddings'::regclass",
                "select relname, pg_relation_size(oid) from pg_class where relnamespace = 'mem'::regnamespace",
                "select last_value from mem.chunks_chunk_seq",
                "select pg_read_file('pg_hba.conf')",
                "select pg_ls_dir('base')",
                "select lo_import('/etc/passwd')",
                "copy mem.chunks to stdout",
                "copy (select text from mem.chunks) to '/tmp/leak'",
                "copy (select text from mem.chunks) to program 'cat'",
                "create extension dblink",
                "create extension pageinspect",
                "select * from get_raw_page('mem.chunks', 0)",
                "select query from pg_stat_activity where usename <> current_user"
                " and query not in ('', '<insufficient privilege>')",
                "select rolpassword from pg_authid",
                "select polname, pg_get_expr(polqual, polrelid) from pg_policy order by 1, 2",
                "select * from mem.nearest_of_1",
                "select prosrc from pg_proc where pronamespace = 'mem'::regnamespace order by 1",
                "select pg_get_constraintdef(oid) from pg_constraint where connamespace = 'mem'::regnamespace",
            )
        ]


_SMALL = ("workspaces", "members", "owners")
_COLUMNS = {
    "chunks": ("text", "hash", "words", "title, text", "workspace, chunk"),
    "files": ("path", "entry", "workspace, file, digest", "former"),
    "words": ("term", "term, block, postings", "workspace, term"),
    "embeddings": ("hash", "vector::text", "model, hash"),
    "usage": ("id", "sum(count)"),
    "workspaces": ("id", "name", "workspace"),
    "members": ("owner",),
    "owners": ("role",),
}
_PLANS = (
    *("enable_seqscan", "enable_indexscan", "enable_bitmapscan", "enable_indexonlyscan", "enable_sort"),
    *("enable_hashjoin", "enable_mergejoin", "enable_nestloop", "enable_memoize", "enable_hashagg", "enable_material"),
    *("enable_tidscan", "jit", "plan_cache_mode = force_generic_plan --"),
)


@dataclass(frozen=True)
class Leak:
    """Statements that are answered differently, with both answers."""

    owner: str
    statements: tuple[str, ...]
    answers: tuple[str, str]


def leaks(
    server: TeamServer, count: int, *, size: int, seed: str, change: str = "", owners: Sequence[str] = OWNERS
) -> Generator[Leak, None, None]:
    """Yield what an owner can tell of what others keep by `count` scripts, an equal share of each of the owners.

    `change` is SQL that is run on every database first, to see that the search finds what it should.
    """
    for owner in owners:
        pair = [copied(server, f"{owner}-{salt}-{uuid4().hex}") for salt in (FIRST, SECOND)]
        for database, salt in zip(pair, (FIRST, SECOND), strict=True):
            fill(database, owner, salt, size)
            for statement in filter(None, change.split(";")):
                database.run(statement, "postgres")
        queries = iter(Queries(owner, size, f"{seed} {owner}"))
        with ExitStack() as stack:
            connections = [
                stack.enter_context(connect(database.dsn(owner), autocommit=True, prepare_threshold=None))
                for database in pair
            ]
            for _ in range(count // len(owners)):
                statements = next(queries)
                answers = [answer(connection, statements) for connection in connections]
                if answers[0] != answers[1]:
                    yield Leak(owner, tuple(statements), (answers[0], answers[1]))
        for database in pair:
            server.run(f'drop database "{database.name}"')


def answer(connection: Connection[Any], statements: Sequence[str]) -> str:
    """Return all that a script lets its author see: rows, errors and notices; take back what it changed."""
    seen: list[object] = []
    notices: list[object] = []

    def heard(notice: Any) -> None:
        notices.append((notice.severity, notice.message_primary, notice.message_detail))

    connection.add_notice_handler(heard)
    try:
        connection.execute("begin")
        for statement in statements:
            try:
                seen.append(_rows(connection, statement))
            except Error as error:
                diag = error.diag
                seen.append((diag.sqlstate, diag.message_primary, diag.message_detail, diag.message_hint, diag.context))
                if "savepoint s" not in statements:
                    break
                connection.execute("rollback to s")
    finally:
        connection.remove_notice_handler(heard)
        connection.execute("rollback")
        connection.execute("reset session authorization")
        connection.execute("deallocate all")
    return repr((seen, notices))


def _rows(connection: Connection[Any], statement: str) -> object:
    if statement.startswith("copy") and statement.endswith("stdout"):
        with connection.cursor().copy(statement) as copy:
            return [bytes(data) for data in copy]
    cursor = connection.execute(statement)
    return cursor.fetchall() if cursor.description else cursor.rowcount
