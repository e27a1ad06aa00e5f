"""What one clone forgets never takes along what another clone writes."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import NOW, Mem
from tests.scenes import git

Empty = Callable[[Mem, str, list[str]], None]
OLD = "2020-01-01T00:00:00Z"


@pytest.fixture
def clones(mem: Mem, world: Path) -> tuple[Path, Path]:
    """Give two clones of one workspace that holds nothing yet."""
    first, second = world / "first", world / "second"
    assert mem("init", str(first)).code == 0
    git(world, "init", "-q", "--bare", "-b", "main", "hub.git")
    git(first, "init", "-q", "-b", "main")
    git(first, "remote", "add", "origin", str(world / "hub.git"))
    save(first)
    git(first, "push", "-q", "-u", "origin", "main")
    git(world, "clone", "-q", str(world / "hub.git"), str(second))
    assert mem("trust", str(second)).code == 0
    return first, second


def save(clone: Path) -> None:
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "memories")


def pull(clone: Path) -> None:
    """Pull as those do who let git follow renamed folders; by default it ends in a conflict instead."""
    git(clone, "-c", "merge.directoryRenames=true", "pull", "-q", "--no-rebase", "--no-edit")


def put(clone: Path, path: str, identifier: str, text: str, made: str = OLD) -> None:
    file = clone / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"---\nid: {identifier}\ntype: observation\ncreated_at: {made}\nupdated_at: {made}\n---\n\n{text}\n"
    )


def one_by_one(mem: Mem, clone: str, paths: list[str]) -> None:
    for path in paths:
        assert mem("forget", path, "--workspace", clone).code == 0


def at_once(mem: Mem, clone: str, paths: list[str]) -> None:
    assert mem("forget", *paths, "--workspace", clone).code == 0


def faded(mem: Mem, clone: str, paths: list[str]) -> None:
    assert mem("decay", "--apply", "--max-fraction", "1", "--workspace", clone).code == 0


def half_purged(mem: Mem, clone: str, paths: list[str]) -> None:
    assert mem("forget", *paths[1:], "--workspace", clone).code == 0
    assert mem("forget", paths[0], "--purge", "--workspace", clone).code == 0


def by_a_model(mem: Mem, clone: str, paths: list[str]) -> None:
    call = {"command": "delete", "path": f"/memories/{Path(paths[0]).parent.relative_to('entries')}"}
    assert mem("memory-tool", "--workspace", clone, stdin=json.dumps(call)).code == 0


def file_by_file_by_a_model(mem: Mem, clone: str, paths: list[str]) -> None:
    for path in paths:
        call = {"command": "delete", "path": f"/memories/{Path(path).relative_to('entries')}"}
        assert mem("memory-tool", "--workspace", clone, stdin=json.dumps(call)).code == 0


WAYS = [one_by_one, at_once, faded, half_purged, by_a_model, file_by_file_by_a_model]
TOPICS = ["The staging port is 8081.", "Backups run at three.", "Lena prefers tabs.", "The queue is called ingest."]


@pytest.mark.parametrize("empty", WAYS)
def test_a_pull_leaves_a_new_memory_where_it_was_written(empty: Empty, clones: tuple[Path, Path], mem: Mem) -> None:
    """In rounds: one clone empties a folder, the other writes into it, and each pulls from the other."""
    for number, (one, other) in enumerate([clones, clones[::-1]] * 2):
        folder = f"entries/round{number}/deep"
        old = [f"{folder}/old-{at}.md" for at in range(3)]
        for at, path in enumerate(old):
            put(one, path, f"mem_{number}old{at}", f"Round {number} says {at}: {TOPICS[at]}")
        save(one)
        git(one, "push", "-q")
        pull(other)
        empty(mem, str(one), old)
        save(one)
        git(one, "push", "-q")
        new = f"{folder}/new.md"
        put(other, new, f"mem_{number}new", f"In round {number} the kettle is broken.", NOW)
        save(other)
        pull(other)
        assert (other / new).is_file(), git(other, "status")
        assert not list((other / "archive").rglob("new.md"))
        git(other, "push", "-q")
        pull(one)
        assert mem("check", "--workspace", str(one)).out == ""
    assert mem("search", "kettle", "--mode", "keyword", "--workspace", str(clones[0]), "--json").json["hits"]


def test_a_pull_leaves_a_memory_forgotten_while_another_clone_restores_its_neighbours(
    clones: tuple[Path, Path], mem: Mem
) -> None:
    one, other = clones
    for at in range(3):
        put(one, f"entries/a/{at}.md", f"mem_a{at}", TOPICS[at])
    put(one, "entries/a/late.md", "mem_late", TOPICS[3])
    assert mem("forget", "mem_a0", "mem_a1", "mem_a2", "--workspace", str(one)).code == 0
    save(one)
    git(one, "push", "-q")
    pull(other)
    assert mem("restore", "mem_a0", "mem_a1", "mem_a2", "--workspace", str(one)).code == 0
    save(one)
    git(one, "push", "-q")
    assert mem("forget", "mem_late", "--workspace", str(other)).code == 0
    save(other)
    pull(other)
    assert (other / "archive/entries/a/late.md").is_file()
    assert mem("check", "--workspace", str(other)).out == ""


def test_two_clones_that_forget_the_same_do_not_conflict(clones: tuple[Path, Path], mem: Mem) -> None:
    one, other = clones
    for at in range(3):
        put(one, f"entries/a/{at}.md", f"mem_a{at}", TOPICS[at])
    save(one)
    git(one, "push", "-q")
    pull(other)
    at_once(mem, str(one), ["mem_a0", "mem_a1"])
    at_once(mem, str(other), ["mem_a1", "mem_a2"])
    save(one)
    git(one, "push", "-q")
    save(other)
    pull(other)
    assert mem("check", "--workspace", str(other)).out == ""


def test_a_model_does_not_see_the_folder_it_deleted_and_may_use_its_name_again(workspace: Path, mem: Mem) -> None:
    put(workspace, "entries/d/a.md", "mem_a", TOPICS[0])
    put(workspace, "entries/e.md", "mem_e", TOPICS[1])

    def call(**told: object) -> str:
        return mem("memory-tool", stdin=json.dumps(told)).out

    assert "deleted" in call(command="delete", path="/memories/d")
    assert (workspace / "entries/d/.gitkeep").is_file()
    assert "/d" not in call(command="view", path="/memories")
    assert "does not exist" in call(command="view", path="/memories/d")
    assert "created" in call(command="create", path="/memories/f/x.md", file_text="X is new.")
    assert "renamed" in call(command="rename", old_path="/memories/f", new_path="/memories/d")
    assert (workspace / "entries/d/x.md").is_file()


@pytest.mark.parametrize("text", ["---\nid: [broken\n---\n\nText.\n", "---\n{id: mem_f}\n---\n\nText.\n", "\xff"])
def test_what_can_bear_no_mark_is_put_away_as_it_is(workspace: Path, mem: Mem, text: str) -> None:
    file = workspace / "entries/a.md"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text.encode("latin-1"))
    assert mem("forget", "entries/a.md").code == 0
    archived = workspace / "archive/entries/a.md"
    assert mem("restore", "archive/entries/a.md").code == 0
    assert file.read_bytes() == text.encode("latin-1")
    assert not archived.exists()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbf---\nid: mem_a\n---\n\nText.\n",
        b"\xef\xbb\xbfText.\n",
        b"Text.\r\nMore.\r\n",
        b"---\r\nid: mem_a\r\n---\r\n\r\nText.\r\n",
        b"---\n# my comment\n---\n\nText.\n",
        b"---\n---\nText.\n",
        b"---\n\n---\n\nText.\n",
        b"\nText.\n",
        b"\n",
    ],
)
def test_what_faded_and_is_restored_has_the_bytes_it_had(workspace: Path, mem: Mem, data: bytes) -> None:
    file = workspace / "entries/a.md"
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(data)
    os.utime(file, (1, 1))
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    archived = workspace / "archive/entries/a.md"
    assert archived.read_bytes() == data
    assert mem("restore", "archive/entries/a.md").code == 0
    assert file.read_bytes() == data


def test_a_change_that_came_with_a_clone_is_named(mem: Mem, workspace: Path) -> None:
    note = workspace / ".mem/journal/2026.json"
    note.parent.mkdir(parents=True, exist_ok=True)
    step = {"path": "MEMORY.md", "before": None, "after": "planted"}
    note.write_text(json.dumps({"steps": [step], "seal": "0" * 32}))
    ran = mem("check")
    assert ran.code == 1
    assert ".mem/journal/2026.json:1: " in ran.out
    assert "planted" not in (workspace / "MEMORY.md").read_text()
