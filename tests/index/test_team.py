"""Two machines and three owners against one server, by the command line: each finds what it should and nothing else."""

import shutil
import subprocess
from pathlib import Path

import pytest

from memcli.index.postgres import connection
from tests.conftest import Mem
from tests.index.machines import Machine
from tests.machines import write_config
from tests.team_server import TeamDatabase

pytestmark = pytest.mark.usefixtures("embedder")


def summaries(machine: Machine, query: str) -> set[tuple[str, bool]]:
    """Return what a search finds by words: each memory's line, and whether it is on this machine."""
    ran = machine.run("search", "--json", "--mode", "keyword", query)
    assert (ran.code, ran.err) == (0, "")
    return {(hit["summary"], not hit.get("elsewhere")) for hit in ran.json["hits"]}


def git(*arguments: str | Path, home: Path) -> None:
    """Run git as the user of a home."""
    subprocess.run(
        ["git", *arguments], check=True, capture_output=True, env={"HOME": str(home), "PATH": "/usr/bin:/bin"}
    )


@pytest.fixture
def bare(team: TeamDatabase) -> TeamDatabase:
    """Give a database without mem's tables."""
    team.run("drop schema mem cascade")
    return team


def test_two_machines_and_three_owners_find_what_they_should_and_nothing_else(
    bare: TeamDatabase, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def machine(name: str, role: str) -> Machine:
        made = Machine(name, bare.dsn(role), mem, world, monkeypatch)
        write_config(made.home)
        return made

    administrator = machine("office", "administrator")
    assert administrator.run("index", "--migrate").out == "made the tables of version 6\n"
    assert administrator.run("index", "--migrate").out == "the server's tables are up to date\n"
    for name in ("ann", "bea", "cid"):
        bare.run(administrator.run("index", "--sql", f"owner:{name}").out)

    # Ann's laptop: a repository that is shared on the server, and with git. Bea's desktop: a clone of it.
    laptop, desktop = machine("laptop", "ann"), machine("desktop", "bea")
    hub = world / "hub.git"
    git("init", "-q", "--bare", hub, home=laptop.home)
    git("init", "-q", laptop.folder, home=laptop.home)
    git("-C", laptop.folder, "remote", "add", "origin", hub, home=laptop.home)
    assert laptop.run("index", "--share").code == 0
    assert laptop.run("write", "The staging database is called stork.", "--no-dedup").code == 0
    assert laptop.run("sync").code == 0
    shutil.rmtree(desktop.folder)
    git("clone", "-q", hub, desktop.folder, home=desktop.home)
    assert desktop.run("trust").code == 0
    ran = desktop.run(
        "search", "stork"
    )  # what git brought is found, and a line says that the server does not let her in
    assert (ran.code, len(ran.err.splitlines())) == (0, 1)
    bare.run(laptop.run("index", "--sql", "members:ann,bea").out)
    assert desktop.run("index").code == 0

    # What either pushes, the other finds before git brings it.
    assert laptop.run("write", "Deploys happen on Tuesdays, says the stork.", "--no-dedup").code == 0
    assert laptop.run("index").code == 0
    assert desktop.run("write", "Kai feeds the stork.", "--no-dedup").code == 0
    assert desktop.run("index").code == 0
    both = {("The staging database is called stork.", True)}
    assert summaries(desktop, "stork") == both | {
        ("Deploys happen on Tuesdays, says the stork.", False),
        ("Kai feeds the stork.", True),
    }
    assert summaries(laptop, "stork") == both | {
        ("Deploys happen on Tuesdays, says the stork.", True),
        ("Kai feeds the stork.", False),
    }

    # Cid keeps a workspace of his own on the same server, and is no member of theirs, whatever his mem.yaml says.
    other = machine("tower", "cid")
    assert other.run("index", "--share").code == 0
    assert other.run("write", "The stork of Cid is secret.", "--no-dedup").code == 0
    assert other.run("index").code == 0
    assert summaries(other, "stork") == {("The stork of Cid is secret.", True)}
    assert not any("Cid" in line for each in (laptop, desktop) for line, _ in summaries(each, "stork"))
    thief = machine("thief", "cid")
    (thief.root / "mem.yaml").write_bytes((laptop.root / "mem.yaml").read_bytes())
    assert thief.run("trust").code == 0
    ran = thief.run("search", "--json", "stork")
    assert ran.json["hits"] == []
    assert len(ran.err.splitlines()) == 1

    # The desktop pulls, and what came is on this machine from then on.
    assert laptop.run("sync").code == 0
    assert desktop.run("sync").code == 0
    assert ("Deploys happen on Tuesdays, says the stork.", True) in summaries(desktop, "stork")
    connection.close_connection()


@pytest.mark.parametrize("whom", ["", "owner:", "ann", "king:ann", "members:ann"])
def test_sql_for_nobody_is_refused(mem: Mem, workspace: Path, whom: str) -> None:
    ran = mem("index", "--sql", whom or "owner")
    assert ran.code == 2
    assert ran.out == ""
    assert "''" not in ran.err, "no name of nothing"


def test_the_administrator_needs_no_workspace_to_make_an_owner(mem: Mem, world: Path) -> None:
    ran = mem("index", "--sql", "owner:ann")
    assert ran.code == 0, ran.err
    assert "create role" in ran.out


def test_the_administrator_needs_no_workspace_to_make_the_tables(
    bare: TeamDatabase, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = mem("index", "--migrate")
    assert (ran.code, ran.err) == (6, "mem: index.dsn names no server: `mem config set index.dsn service=NAME`\n")
    monkeypatch.setenv("MEM_INDEX_DSN", bare.dsn("administrator"))
    assert mem("index", "--migrate").out == "made the tables of version 6\n"


def test_the_index_does_one_thing_at_a_time(mem: Mem, workspace: Path) -> None:
    ran = mem("index", "--status", "--migrate", "--sql", "owner:ann")
    assert ran.code == 2
    assert "--status and --migrate and --sql" in ran.err
