"""What `mem sync` prints, its JSON, and how it ends for cron."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.json_scenes import Answer, Ask
from tests.conftest import Mem
from tests.machines import first_machine, git, new_hub, other_machine, write_config


def json_scenes(ask: Ask) -> Iterator[Answer]:
    """Sync a workspace: with a remote, with a file that is left out, and with a clash."""
    home, here = Path(os.environ["HOME"]), Path.cwd()
    write_config(home)
    assert ask("init", "init", "shared")[0]
    shared = here / "shared"
    git(shared, "init", "-q")
    path = ask("write", "write", "The shop runs on Fly.", "--workspace", "shared", "--no-dedup")[1]["path"]
    (shared / "entries" / "marked.md").write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n")
    yield ask("sync", "sync", "--workspace", "shared", codes=(3,))
    git(here, "init", "-q", "--bare", "shared.git")
    git(shared, "remote", "add", "origin", str(here / "shared.git"))
    yield ask("sync", "sync", "--workspace", "shared", codes=(3,))
    (shared / "entries" / "marked.md").unlink()
    git(here, "clone", "-q", "shared.git", "second")
    ask("trust", "trust", "second")
    for name, place in (("second", "Hetzner"), ("shared", "a Pi")):
        ask("edit", "edit", path, "--replace", "Fly", place, "--workspace", name)
        yield ask("sync", "sync", "--workspace", name, codes=(0, 5))


@pytest.fixture(autouse=True)
def quick(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_EMBEDDING_MODEL", "/nowhere")
    write_config(world.parent / "home")


def test_a_person_reads_what_was_exchanged(mem: Mem, world: Path) -> None:
    hub = new_hub(world)
    laptop = first_machine(mem, world / "laptop", hub)
    desktop = other_machine(mem, world / "desktop", hub) if laptop.sync() else laptop
    laptop.write("Kai is in Lisbon.")
    laptop.mem("note", "Fed the cat.")
    assert laptop.sync().out == "committed\t1 new, 1 in notes\nsent\t1 commit to origin/main\n"
    desktop.mem("note", "Watered the plants.")
    assert desktop.sync("--dry-run").out.splitlines() == [
        "commit\t1 in notes",
        "receive\t1 new, 1 in notes (merged)",
        "send\t2 commits to origin/main",
    ]
    assert desktop.sync().out.splitlines() == [
        "committed\t1 in notes",
        "received\t1 new, 1 in notes (merged)",
        "sent\t2 commits to origin/main",
    ]
    assert laptop.sync().out == "received\t1 in notes\n"
    again = laptop.sync()
    assert (again.out, again.err) == ("", "mem: nothing to exchange with origin/main\n")


def test_cron_hears_of_what_is_wrong_and_of_nothing_else(mem: Mem, world: Path) -> None:
    hub = new_hub(world)
    laptop = first_machine(mem, world / "laptop", hub)
    for _ in range(2):
        laptop.write("Kai is in Lisbon.")
        quiet = laptop.sync("--quiet")
        assert (quiet.out, quiet.err) == ("", "")
    hub.rename(world / "away")
    loud = laptop.sync("-q", code=6)
    assert (loud.out, len(loud.err.splitlines())) == ("", 1)


def test_memory_that_is_switched_off_is_left_alone(mem: Mem, world: Path) -> None:
    laptop = first_machine(mem, world / "laptop", new_hub(world))
    laptop.mem("config", "set", "memory.enabled", "false")
    assert "switched off" in laptop.sync().err
    assert laptop.sync("-q").err == ""
    assert laptop.git("rev-list", "--all") == ""
