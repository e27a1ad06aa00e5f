"""What git began in the worktree and could not finish is as before at once, so that what a person does next counts."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.machines import Machine, exchanged, program, refused


def hook(folder: Path) -> Path:
    """Let git refuse to move the branch, which it does after the files."""
    asked = '[ "$1" = prepared ] && grep -q refs/heads/main && exit 1'
    return program(folder / "hooks", "reference-transaction", asked, "exit 0")


def lock(folder: Path) -> Path:
    """Leave the branch to another git that has it locked."""
    path = folder / "refs/heads/main.lock"
    path.write_text("")
    return path


@pytest.mark.parametrize(("hinder", "code"), [(hook, 5), (lock, 75)])
def test_files_are_as_before_where_git_cannot_move_the_branch(
    hinder: Callable[[Path], Path], code: int, laptop: Machine, desktop: Machine
) -> None:
    path = laptop.write("The shop runs on Fly.")
    gone = laptop.write("The old shop ran on Heroku.")
    exchanged(laptop, desktop)
    desktop.mem("edit", path, "--replace", "Fly", "Hetzner")
    desktop.mem("forget", gone)
    desktop.write("Kai is in Lisbon.")
    desktop.sync()
    obstacle = hinder(laptop.top / ".git")
    for _ in range(2):
        refused(laptop, code)
        assert laptop.git("status", "--porcelain") == ""
    obstacle.unlink()
    exchanged(laptop, desktop)


def test_files_are_as_before_where_a_merge_cannot_be_left_to_a_person(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    for machine, place in ((desktop, "Hetzner"), (laptop, "a Pi")):
        machine.mem("edit", path, "--replace", "Fly", place)
        machine.write(f"Kai has {place}.")
    desktop.sync()
    obstacle = laptop.top / ".git/MERGE_MSG"
    obstacle.mkdir()
    refused(laptop, 5, "MERGE_MSG")
    assert laptop.git("status", "--porcelain") == ""
    obstacle.rmdir()
    assert path in laptop.sync(code=5).err
    assert b"<<<<<<< " in laptop.texts()[path]


def test_a_memory_deleted_after_a_sync_that_failed_stays_deleted(laptop: Machine, desktop: Machine) -> None:
    path = laptop.write("The shop runs on Fly.")
    exchanged(laptop, desktop)
    desktop.mem("edit", path, "--replace", "Fly", "Hetzner")
    desktop.sync()
    obstacle = hook(laptop.top / ".git")
    laptop.sync(code=5)
    obstacle.unlink()
    (laptop.root / path).unlink()
    assert "put away on one side and changed on the other" in laptop.sync().err
    assert not (laptop.root / path).exists()
