"""The connection to a team's server: one a thread, bound by row-level security, its errors told in a line."""

import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import UnavailableError
from ...store.settings import Settings
from .schema import NEWEST, PGVECTOR_SCHEMA, installed_version, migrate

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from psycopg import Connection

T = TypeVar("T")
CONNECT_SECONDS = 3
STATEMENT_SECONDS = 5
PUSH_SECONDS = 120
"""Seconds that a statement of a push may take, which also waits for other pushes to a workspace."""
BRIEFLY = (0.05,)
PATIENTLY = (0.1, 0.5, 1.0, 2.0, 4.0)
"""Seconds between attempts where nobody waits for an answer: a server that is started again is back by then."""
_OPENING = (
    # An operator that anybody put into `public`, where pgvector may be, is called if its types fit better.
    "set search_path = mem, pg_temp;"
    f"set statement_timeout = '{STATEMENT_SECONDS}s'; set datestyle = 'ISO';"  # a machine notes a time as text
    " set hnsw.ef_search = 100; set hnsw.iterative_scan = strict_order;"
    # The planner, from which row security hides how many rows there are, expects one; a list that it sees it hashes.
    " set enable_nestloop = off; set enable_sort = off; set plan_cache_mode = force_custom_plan;"
    f" select rolname, rolsuper or rolbypassrls, (select max(number) from mem.version), ({PGVECTOR_SCHEMA})"
    " from pg_roles where rolname = current_user"
)
_MIGRATE = "let its owner run `mem index --migrate`"
_held = threading.local()
_pgvector = dict[str, str]()  # its schema on a server, quoted, by connection string


class ServerError(UnavailableError):
    """The server cannot be had, or it refuses: what is on this machine answers alone."""


class PostgresServer:
    """A server that is connected to when it is first asked, and again when the connection broke."""

    def __init__(self, dsn: str, *, allow_superuser: bool = False) -> None:
        """Belong to a connection string; `server_of` makes one of the settings."""
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError:
            raise ServerError("psycopg is not installed", 'install "memcli[postgres]"') from None
        self._errors = psycopg.errors
        self._dsn = dsn
        self._allows_superuser = allow_superuser
        try:
            stated = conninfo_to_dict(dsn)
            if "@" in str(stated.get("host") or "")[1:]:  # of a password, whose end every message would repeat
                raise psycopg.ProgrammingError
        except psycopg.Error:  # whose text would repeat the string
            raise ServerError(
                "index.dsn is no connection string", "write service=NAME or postgresql://USER@HOST/NAME, and %40 for @"
            ) from None
        self._secrets = [str(word) for word in (stated.get("password"), os.environ.get("PGPASSWORD")) if word]

    def pgvector(self, name: str) -> str:
        """Return the whole name of a type, function or operator of pgvector, on a server that was asked something."""
        return f"{_pgvector[self._dsn]}.{name}"

    def run(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""

        def work(connection: "Connection[Any]") -> list[tuple[Any, ...]]:
            cursor = connection.execute(query, [storable(value) for value in values] or None, binary=True)
            return cursor.fetchall() if cursor.description else []

        return self.attempt(work)

    def attempt(self, work: "Callable[[Connection[Any]], T]", pauses: Sequence[float] = BRIEFLY) -> T:
        """Return what is done with the connection, which is opened again where it breaks; raise ServerError.

        The work may be done more than once.
        """
        seconds = STATEMENT_SECONDS if pauses is BRIEFLY else PUSH_SECONDS
        for pause in (*pauses, None):
            watch = threading.Timer(seconds + 1, _break, [vars(_held)])  # a server that hangs does not end by itself
            began = time.monotonic()
            watch.start()
            try:
                return work(self._opened())
            except self._errors.OperationalError as error:
                close_connection()
                if isinstance(error, self._errors.QueryCanceled) or time.monotonic() - began > seconds:
                    raise ServerError(f"the server took longer than {seconds} seconds", "try again") from None
                watch.cancel()
                if pause is None or (pauses is BRIEFLY and isinstance(error, self._errors.ConnectionTimeout)):
                    raise self._failure(error) from None
                time.sleep(pause)
            except (self._errors.UndefinedTable, self._errors.UndefinedColumn, self._errors.UndefinedFunction):
                raise ServerError("the server has no tables of this mem", _MIGRATE) from None
            except self._errors.Error as error:
                raise self._failure(error) from None
            finally:
                watch.cancel()
        raise AssertionError

    def migrate(self) -> list[str]:
        """Bring the tables up to date as their administrator, and return what was done; raise UnavailableError."""
        try:
            with self._connected() as connection:
                return migrate(connection)
        except self._errors.Error as error:
            raise self._failure(error) from None

    def _connected(self) -> "Connection[Any]":
        from psycopg import connect

        about: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, "application_name": "mem"}
        return connect(self._dsn, autocommit=True, client_encoding="utf-8", **about)

    def _opened(self) -> "Connection[Any]":
        key, held = (self._dsn, os.getpid()), getattr(_held, "connection", None)
        if held is not None and held[0] == key and not held[1].closed:
            connection: Connection[Any] = held[1]
            return connection
        close_connection()
        connection = self._connected()
        _held.connection = key, connection
        try:
            self._open(connection)
        except BaseException:
            close_connection()
            raise
        return connection

    def _open(self, connection: "Connection[Any]") -> None:
        """Make a connection ready; raise ServerError where it is not one of an owner to tables of this version."""
        from psycopg.adapt import Dumper
        from psycopg.pq import Format

        try:
            cursor = connection.execute(_OPENING)
        except (self._errors.UndefinedTable, self._errors.InvalidSchemaName, self._errors.InsufficientPrivilege):
            try:
                installed_version(connection)
            except UnavailableError as error:  # who is no owner does not see the tables
                raise ServerError(error.message, error.fix) from None
            raise
        while cursor.nextset():
            pass
        role, is_unbound, version, _pgvector[self._dsn] = cursor.fetchone() or ("", True, 0, "")
        if is_unbound and not self._allows_superuser:
            raise ServerError(f"no row-level security binds {role}", "connect as an owner, or index.allow_superuser")
        if version != NEWEST:
            fix = "install a newer one, as README says" if (version or 0) > NEWEST else _MIGRATE
            raise ServerError(f"the server's tables have version {version or 0}, this mem's {NEWEST}", fix)
        dumper = type("HalfDumper", (Dumper,), {"format": Format.BINARY, "dump": lambda _, half: half.data})
        connection.adapters.register_dumper(HalfVector, dumper)

    def _failure(self, error: Exception) -> ServerError:
        """Return an error of one line without the password."""
        text = " ".join((str(error).strip() or type(error).__name__).splitlines()[:1])
        for secret in self._secrets:
            text = text.replace(secret, "…")
        return ServerError(text, "see docs/machines.md")


def storable(value: Any) -> Any:
    """Return a value without what the server cannot take in a text: NUL, and halves of characters."""
    if isinstance(value, str):
        return value.replace("\x00", " ").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {storable(key): storable(part) for key, part in value.items()}
    has_texts = isinstance(value, list | tuple) and not (value and isinstance(value[0], int))
    return [*map(storable, value)] if has_texts else value


def close_connection() -> None:
    """Close this thread's connection, unless it is that of the process this one was forked from."""
    held = getattr(_held, "connection", None)
    _held.connection = None
    if held is not None and held[0][1] == os.getpid():
        held[1].close()


def _break(held: dict[str, Any]) -> None:
    """Let a thread wait no longer for what comes by its connection."""
    with suppress(Exception), socket.socket(fileno=os.dup(held["connection"][1].fileno())) as open_socket:
        open_socket.shutdown(socket.SHUT_RDWR)


class HalfVector:
    """A vector as the server takes it: numbers of two bytes."""

    def __init__(self, vector: "NDArray[Any] | Sequence[float]") -> None:
        """Take a vector of any length up to 4,000."""
        import numpy as np

        self.data = len(vector).to_bytes(2, "big") + bytes(2) + np.asarray(vector, ">f2").tobytes()


def unit_vector(data: bytes) -> "NDArray[Any]":
    """Return a vector of the server as a unit vector."""
    import numpy as np

    vector = np.frombuffer(data, ">f2", offset=4).astype(np.float32)
    return vector / max(float(np.linalg.norm(vector)), 1e-9)


def server_of(settings: Settings) -> PostgresServer:
    """Return the server that the user's settings name; raise ServerError where they name none."""
    if not settings["index.dsn"]:
        raise ServerError("index.dsn names no server", "`mem config set index.dsn service=NAME`")
    return PostgresServer(settings["index.dsn"], allow_superuser=settings["index.allow_superuser"])
