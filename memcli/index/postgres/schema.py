"""The tables on a team's server, which numbered migrations make, and the SQL that says who there is.

Row security and not this program keeps owners apart: what is here runs once, as the administrator of the database.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import data
from ...errors import UnavailableError, UsageError

if TYPE_CHECKING:
    from psycopg import Connection

MIGRATIONS = {int(file.stem): file for file in sorted(data.path("postgres").glob("[0-9]*.sql"))}
NEWEST = max(MIGRATIONS)
"""The version of the tables that this mem reads and writes."""
GRAPH_FROM = 20_000
"""Vectors of a workspace from which a graph of them finds the nearest sooner than a look at all."""
_LEAST_POSTGRES, _LEAST_PGVECTOR = 15, (0, 8)
PGVECTOR_SCHEMA = (
    "select quote_ident(nspname) from pg_extension join pg_namespace on pg_namespace.oid = extnamespace"
    " where extname = 'vector'"
)
_MARK = "the index of mem"
_LONGEST_NAME = 63  # bytes, of a role


def migrate(connection: "Connection[Any]") -> list[str]:
    """Bring the tables up to date and add graphs where they pay; return what was done, a line each.

    The connection is in autocommit. Raise UnavailableError where the server is too old, has no fit pgvector, gives the
    role no right to make tables, has a schema `mem` of somebody else, or tables of a newer mem.
    """
    from psycopg import errors

    server = connection.info.server_version // 10_000
    if server < _LEAST_POSTGRES:
        raise UnavailableError(f"the server is PostgreSQL {server}, too old for mem", f"use {_LEAST_POSTGRES} or newer")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise UnavailableError(f"the database keeps texts as {encoding}", "make one with encoding UTF8")
    lines: list[str] = []
    connection.execute("set search_path = pg_catalog, pg_temp")  # what anybody put into `public` has no say
    try:
        with connection.transaction():
            connection.execute("select pg_advisory_xact_lock(hashtext('mem.version'))")
            _require_pgvector(connection)
            ((pgvector,),) = connection.execute(PGVECTOR_SCHEMA)
            for number in range(installed_version(connection) + 1, NEWEST + 1):
                statements = MIGRATIONS[number].read_text(encoding="utf-8")
                connection.execute(statements.replace(" halfvec ", f" {pgvector}.halfvec ").encode())
                connection.execute("insert into mem.version(number) values (%s)", (number,))
                lines = [f"made the tables of version {number}"]
        lines += add_graphs(connection, pgvector)
    except (errors.InsufficientPrivilege, errors.InvalidSchemaName) as error:
        raise UnavailableError(
            f"{connection.info.user} may not make mem's tables here ({error.diag.message_primary})",
            "migrate as the owner of the database",
        ) from None
    return lines


def installed_version(connection: "Connection[Any]") -> int:
    """Return the version of the server's tables, 0 where there are none; raise UnavailableError if they do not fit."""
    row = connection.execute(
        "select obj_description(oid, 'pg_namespace'), has_schema_privilege(oid, 'usage'),"
        " case when has_schema_privilege(oid, 'usage') then to_regclass('mem.version') end"
        " from pg_namespace where nspname = 'mem'"
    ).fetchone()
    if row is None:
        return 0
    mark, is_open, table = row
    if mark != _MARK:
        raise UnavailableError("the database has a schema `mem` that is not mem's", "give mem a database of its own")
    if not is_open or table is None:
        raise UnavailableError(
            f"{connection.info.user} is no owner on the server",
            "its administrator makes one by `mem index --sql owner:NAME`",
        )
    version = (connection.execute("select max(number) from mem.version").fetchone() or (0,))[0] or 0
    if version > NEWEST:
        raise UnavailableError(
            f"the server's tables are of version {version}, and this mem knows {NEWEST}", "install a newer mem"
        )
    return int(version)


def add_graphs(connection: "Connection[Any]", pgvector: str) -> list[str]:
    """Make the graphs of the vectors of large workspaces that lack one; return what was done, a line each.

    Each workspace has its own. A graph of all would tell by the gaps in its answers where the vectors of others lie.
    """
    rows = connection.execute(
        "select workspace, name, size, dimension, quote_literal(model) from mem.workspaces where size >= %s"
        " and dimension > 0 and not exists (select from pg_index where indexrelid ="
        " to_regclass('mem.nearest_of_' || workspace) and indisvalid) order by workspace",
        (GRAPH_FROM,),
    ).fetchall()
    from psycopg import Error

    lines = []
    for number, name, size, dimension, model in rows:
        printable = "".join(letter if letter.isprintable() else "?" for letter in name)
        connection.execute(f"drop index concurrently if exists mem.nearest_of_{number}")  # of a run that was killed
        try:
            connection.execute(
                f"create index concurrently nearest_of_{number} on mem.embeddings using hnsw"
                f" ((vector::{pgvector}.halfvec({dimension})) {pgvector}.halfvec_cosine_ops)"
                f" where workspace = {number} and model = {model}"
            )
            lines.append(f"made a graph of the {size:,} vectors of {printable}")
        except Error as error:  # what its members pushed does not fit together: no reason to leave the others without
            connection.execute(f"drop index concurrently if exists mem.nearest_of_{number}")
            lines.append(f"made no graph of {printable}: {error.diag.message_primary}")
    return lines


def administration_sql(whom: str, identity: str, name: str) -> str:
    """Return the SQL for `owner:NAME`, `proxy:NAME`, or `members:NAME,NAME` of the workspace that is named besides.

    Raise UsageError for anything else.
    """
    kind, _, names = whom.partition(":")
    if not names or kind not in ("owner", "proxy", "members"):
        raise UsageError(f"{whom!r} names nobody to make SQL for", "say owner:NAME, proxy:NAME or members:NAME,NAME")
    if kind == "members" and not identity:
        raise UsageError("the workspace is not on a server", "run `mem index --share` first")
    printable = "".join(letter if letter.isprintable() and letter != "$" else "?" for letter in name)[:15]
    of_role = {"owner": owner_sql, "proxy": proxy_sql}.get(kind)
    statements = of_role(names) if of_role else members_sql(identity, printable, names.split(","))
    # All or nothing, and without a function that somebody put into `public`.
    return f"set search_path = pg_catalog, pg_temp; begin;\n{statements}" + "\ncommit;" * (kind != "members")


def owner_sql(name: str) -> str:
    """Return the SQL by which an administrator makes somebody an owner; raise UsageError for a name that cannot be."""
    return "\n".join(
        [
            *_role_lines(name, "login"),
            f"-- then a password: \\password {_identifier(name)}",
            f"grant usage on schema mem to {_identifier(name)};",
            "do $$ declare home name; begin",
            "  select nspname into home from pg_extension join pg_namespace on pg_namespace.oid = extnamespace",
            f"  where extname = 'vector' and not has_schema_privilege({_literal(name)}, pg_namespace.oid, 'usage');",
            f"  if home is not null then execute format('grant usage on schema %I to %I', home, {_literal(name)});",
            "  end if; end $$;",
            f"insert into mem.owners(role) values ({_literal(name)}) on conflict do nothing;",
        ]
    )


def proxy_sql(name: str) -> str:
    """Return the SQL by which an administrator makes a role that acts for owners, and by itself sees nothing."""
    return "\n".join(
        [
            *_role_lines(name, "login noinherit"),
            f"-- then a password: \\password {_identifier(name)}; and once more after new owners",
            "do $$ declare owner name; begin",
            "  for owner in select role from mem.owners loop",
            f"    execute format('grant %I to %I', owner, {_literal(name)});",
            "  end loop;",
            "end $$;",
        ]
    )


def members_sql(identity: str, name: str, owners: Sequence[str]) -> str:
    """Return the SQL by which an administrator lets owners share a workspace, and nobody besides those named here."""
    names = ", ".join(map(_literal, owners))
    return "\n".join(
        [
            f"do $$ begin if (select count(*) from mem.owners where role in ({names})) < {len(set(owners))} then",
            "  raise 'not all of them are owners'; end if; end $$;",
            f"delete from mem.workspaces where id = {_literal(identity)} and not exists (  -- a stranger's of this id",
            "  select from mem.members join mem.owners using(owner)",
            f"  where members.workspace = workspaces.workspace and role in ({names}));",
            "insert into mem.workspaces(id, name)",
            f"  values ({_literal(identity)}, {_literal(name)}) on conflict (id) do nothing;",
            "update mem.workspaces set owner = null",
            f"  where id = {_literal(identity)}",
            f"  and owner not in (select owner from mem.owners where role in ({names}));",
            "delete from mem.members using mem.workspaces",
            f"  where members.workspace = workspaces.workspace and id = {_literal(identity)}",
            f"  and members.owner not in (select owner from mem.owners where role in ({names}));",
            "insert into mem.members(owner, workspace)",
            "  select owners.owner, workspace from mem.owners, mem.workspaces",
            f"  where id = {_literal(identity)} and role in ({names}) on conflict do nothing; commit;",
            f"update mem.workspaces set name = name where id = {_literal(identity)};",  # see 006.sql
        ]
    )


def _role_lines(name: str, attributes: str) -> list[str]:
    return [
        f"do $$ begin if not exists (select from pg_roles where rolname = {_literal(name)}) then",
        f"  create role {_identifier(name)} {attributes}; end if; end $$;",
    ]


def _identifier(name: str) -> str:
    return '"' + _checked(name).replace('"', '""') + '"'


def _literal(text: str) -> str:
    quoted = "'" + _checked(text).replace("'", "''") + "'"
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def _checked(name: str) -> str:
    """Return a name that may stand within `$$`; raise UsageError if PostgreSQL would cut it or it ends the quotes."""
    if not 0 < len(name.encode("utf-8", "replace")) <= _LONGEST_NAME or "$$" in name or not name.isprintable():
        raise UsageError(f"{name!r} can be no role or name on the server", "1 to 63 printable bytes, without $$")
    return name


def _require_pgvector(connection: "Connection[Any]") -> None:
    """Install the extension where it is not; raise UnavailableError where there is none, or only an old one."""
    from psycopg import errors

    fix = f"install pgvector {'.'.join(map(str, _LEAST_PGVECTOR))} or newer on it"
    row = connection.execute(
        "select installed_version, default_version from pg_available_extensions where name = 'vector'"
    ).fetchone()
    if row is None:
        raise UnavailableError("the server has no pgvector", fix)
    version = row[0] or row[1]
    if tuple(map(int, version.split(".")[:2])) < _LEAST_PGVECTOR:
        fix = "run `alter extension vector update`" if row[0] and row[0] != row[1] else fix
        raise UnavailableError(f"the server's pgvector {version} is too old", fix)
    if row[0] is None:
        try:
            connection.execute("create extension vector schema public")
        except errors.InsufficientPrivilege:
            raise UnavailableError(
                f"{connection.info.user} may not install pgvector", "a superuser runs `create extension vector` there"
            ) from None
