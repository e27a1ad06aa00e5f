"""One server for the tests of a process, and a database for each test."""

from collections.abc import Iterator
from itertools import count

import pytest

from tests.team.server import NO_SERVER, Database, Server, copy_database, find_programs, run_server

COUNTER = count()


@pytest.fixture(scope="session")
def team_server() -> Iterator[Server]:
    if find_programs() is None:
        pytest.skip(NO_SERVER)
    with run_server() as server:
        yield server


@pytest.fixture
def database(team_server: Server) -> Iterator[Database]:
    database = copy_database(team_server, f"team-{next(COUNTER)}")
    yield database
    # Each has 8 MB, which a loaded disk need not write.
    team_server.run(f'drop database "{database.name}" with (force)')
