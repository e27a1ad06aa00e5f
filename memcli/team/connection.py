"""Connect to the team's server, and turn every failure into an error of one line.

A server can refuse, freeze, fill up or die at any moment. In each case a command waits for a
limited time and continues with the files of this machine.
"""

import os
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from threading import Timer
from typing import TYPE_CHECKING, Any

from ..errors import UnavailableError
from ..formats import format_time
from ..index import Index, get_index
from ..store import Workspace

if TYPE_CHECKING:
    import psycopg

SCHEMA_VERSION = 1  # of data/team.sql
CONNECT_SECONDS = 3
SEARCH_SECONDS = 5
PUSH_SECONDS = 60  # for each batch
# After a timeout, no search waits for the server during this time.
PAUSE_SECONDS = 60
PAUSE = "team pause"  # the key in the index
MAKE_SCHEMA = "its administrator runs: mem index --sql | psql DATABASE"
OPENING = (
    # Nobody else can create objects in these schemas: mem belongs to the administrator, and
    # pg_temp to this connection.
    "set search_path = mem, pg_temp; set statement_timeout = '{seconds}s';"
    # Row-level security hides the number of rows from the planner. Without these settings,
    # pgvector stops before it has found enough rows that pass the other conditions.
    " set hnsw.ef_search = 100; set hnsw.iterative_scan = strict_order"
)


class Team:
    """An open connection to the space of one workspace."""

    def __init__(self, connection: "psycopg.Connection[Any]", name: str, seconds: float) -> None:
        self.connection = connection
        self.name = name  # of the space
        self.space = 0
        self.role = ""
        self.seconds = seconds
        self.is_late = False
        self.timer: Timer | None = None
        self.restart_clock()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        cursor = self.connection.execute(statement, values or None, binary=True)
        return cursor.fetchall() if cursor.description else []

    def restart_clock(self) -> None:
        """Give the next statements the full time limit again."""
        self.stop_clock()
        # statement_timeout ends slow statements. Only this timer ends the wait for a frozen server.
        self.timer = Timer(self.seconds + 1, self.break_connection)
        self.timer.daemon = True
        self.timer.start()

    def stop_clock(self) -> None:
        if self.timer is not None:
            self.timer.cancel()

    def break_connection(self) -> None:
        """End the wait of the thread that uses the connection."""
        self.is_late = True
        # The other thread may close the connection at this moment.
        with suppress(Exception):
            # A copy of the descriptor, because libpq closes its own.
            duplicate = socket.socket(fileno=os.dup(self.connection.fileno()))
            duplicate.shutdown(socket.SHUT_RDWR)
            duplicate.close()


def find_space(workspace: Workspace) -> str:
    """Return the name of the space that shares a workspace, or an empty string.

    Only the workspace's own settings can name it: a setting for all workspaces would also share
    private ones. They must be trusted, because they decide who can read the memories.
    """
    settings = workspace.settings
    is_named = settings.sources.get("team.space") == "workspace"
    is_linked = is_named and bool(settings["team.dsn"]) and workspace.is_trusted
    return str(settings["team.space"]) if is_linked else ""


@contextmanager
def open_team(workspace: Workspace, seconds: float) -> Iterator[Team]:
    """Connect to the server, and turn every failure within the block into UnavailableError."""
    index = get_index(workspace)
    check_pause(workspace, index)
    try:
        import psycopg
    except ImportError:
        raise UnavailableError(
            "psycopg is not installed",
            "in the repository of mem: pipx install --force '.[postgres]'"
            " (or: uv tool install, pip install)",
        ) from None
    dsn = str(workspace.settings["team.dsn"])
    password = find_password(dsn)
    team = None
    try:
        connection = psycopg.connect(
            dsn,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="mem",
            client_encoding="utf-8",
        )
        team = Team(connection, find_space(workspace), seconds)
        enter_space(team)
        yield team
    except psycopg.Error as error:
        is_late = isinstance(
            error, psycopg.errors.QueryCanceled | psycopg.errors.ConnectionTimeout
        ) or bool(team and team.is_late)
        if is_late:
            until = workspace.now + timedelta(seconds=PAUSE_SECONDS)
            index.database.try_set_meta(PAUSE, format_time(until))
        message, hint = describe_error(error, is_late, seconds if team else CONNECT_SECONDS)
        raise UnavailableError(
            message.replace(password, "…") if password else message, hint
        ) from None
    finally:
        if team is not None:
            team.stop_clock()
            team.connection.close()


def find_password(dsn: str) -> str:
    """Return the password in a connection string. Raises UnavailableError if it is malformed."""
    from psycopg import Error
    from psycopg.conninfo import conninfo_to_dict

    try:
        parts = conninfo_to_dict(dsn)
    except Error:
        # Its message repeats the password, so it must not be the cause of ours.
        parts = {"host": "?@?"}
    # A password with an @ that is not escaped ends in the host, which messages repeat.
    if "@" in str(parts.get("host") or "")[1:]:
        raise UnavailableError(
            "team.dsn cannot be read", "write service=NAME or postgresql://USER@HOST/DATABASE"
        )
    return str(parts.get("password") or "")


def enter_space(team: Team) -> None:
    """Prepare a connection. Raises UnavailableError if the user is not a member of the space."""
    # psycopg sends several statements only without parameters and in the text format.
    team.connection.execute(OPENING.format(seconds=int(team.seconds)).encode())
    role, is_unbound, version = team.run(
        "select rolname, rolsuper or rolbypassrls, mem.version() from pg_roles"
        " where rolname = current_user"
    )[0]
    # A superuser would see the memories of every team.
    if is_unbound:
        raise UnavailableError(
            f"row-level security does not bind the role {role}", "connect as a member of the team"
        )
    if version != SCHEMA_VERSION:
        newer = "install a newer mem" if version > SCHEMA_VERSION else MAKE_SCHEMA
        raise UnavailableError(
            f"its tables have version {version}, and this mem uses {SCHEMA_VERSION}", newer
        )
    rows = team.run("select space from spaces where name = %s", [team.name])
    if not rows:
        raise UnavailableError(
            f"{role} is not a member of {team.name!r}",
            "its administrator adds members with mem.add_member (docs/team.md)",
        )
    team.role, team.space = role, rows[0][0]


def check_pause(workspace: Workspace, index: Index) -> None:
    """Raise UnavailableError if the server did not answer a moment ago."""
    until = str(index.database.get_meta(PAUSE) or "")
    soon = format_time(workspace.now + timedelta(seconds=PAUSE_SECONDS))
    # A later end was noted by a clock that was wrong.
    if format_time(workspace.now) < until <= soon:
        raise UnavailableError("it did not answer a moment ago", "try again in a minute")


def describe_error(error: "psycopg.Error", is_late: bool, seconds: float) -> tuple[str, str]:
    """Return the message and the hint for an error of the server."""
    from psycopg import errors

    if is_late:
        return f"it did not answer within {seconds:g} seconds", "try again later"
    if isinstance(error, errors.DiskFull):
        return "its disk is full", "tell its administrator"
    if isinstance(
        error, errors.UndefinedTable | errors.UndefinedFunction | errors.InvalidSchemaName
    ):
        return "it has no tables of mem", MAKE_SCHEMA
    if isinstance(error, errors.InsufficientPrivilege):
        return "your role is not a member of any space", "its administrator adds you (docs/team.md)"
    lines = str(error).strip().splitlines() or [type(error).__name__]
    hint = "start the server, or check team.dsn: mem config get team.dsn"
    return lines[0].removeprefix("connection failed: "), hint
