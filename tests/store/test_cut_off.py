"""Whatever step of a change fails, the file is old or new and whole, and the change can be made again."""

import os
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from memcli.errors import RefusedError
from memcli.store.file_steps import is_temporary
from tests.crash import FailingOS, wire
from tests.processes import run
from tests.store.scenes import NEW, OLD, SCENES, Scene, found, prepare

STEPS = {
    "create": ["fsync", "fsync", "write", "fsync", "link", "unlink", "fsync"],  # two new folders first
    "replace": ["write", "fsync", "rename", "fsync"],
    "append": ["write", "fsync"],
    "first append": ["write", "fsync", "link", "unlink", "fsync"],
    "move": ["fsync", "link", "fsync", "unlink", "fsync"],
}


@pytest.fixture(autouse=True)
def _real_disk_afterwards() -> Iterator[None]:
    yield
    wire(os)


def is_whole(scene: Scene, now: dict[str, bytes]) -> bool:
    return now in (scene.before, scene.after, *scene.between)


def changed_on(disk: FailingOS, scene: Scene, folder: Path) -> RefusedError | None:
    """Make the change on a failing disk and give what it said."""
    wire(disk)
    try:
        scene.change(folder)
    except RefusedError as error:
        return error
    finally:
        wire(os)
    return None


@pytest.mark.parametrize("name", SCENES)
def test_bytes_are_on_disk_before_they_have_a_name_and_a_name_before_the_old_one_goes(name: str, bare: Path) -> None:
    disk = FailingOS(0)
    prepare(SCENES[name], bare / "here")
    assert changed_on(disk, SCENES[name], bare / "here") is None
    assert disk.steps == STEPS[name]


@pytest.mark.parametrize("name", SCENES)
def test_a_disk_full_at_any_step_leaves_old_or_new_and_a_second_try_succeeds(name: str, bare: Path) -> None:
    scene = SCENES[name]
    for at in count(1):
        folder = bare / str(at)
        prepare(scene, folder)
        disk = FailingOS(at)
        error = changed_on(disk, scene, folder)
        if len(disk.steps) < at:
            break
        assert is_whole(scene, found(folder)), disk.steps
        if error is None:
            assert found(folder) == scene.after, disk.steps
        else:
            assert "no space left on device: free some space and run it again" in str(error)
            assert error.exit_code == 5
            assert not any(is_temporary(path.name) for path in folder.rglob("*"))
        scene.change(folder)
        assert found(folder) == scene.after, disk.steps
    assert at == len(STEPS[name]) + 1


@pytest.mark.parametrize("name", ["create", "append", "first append"])
def test_what_was_said_to_have_failed_did_not_happen(name: str, bare: Path) -> None:
    scene = SCENES[name]
    failures = 0
    for at in count(1):
        folder = bare / str(at)
        prepare(scene, folder)
        disk = FailingOS(at)
        error = changed_on(disk, scene, folder)
        if len(disk.steps) < at:
            break
        assert found(folder) == (scene.after if error is None else scene.before), disk.steps
        failures += error is not None
    assert failures >= 2


@pytest.mark.parametrize("name", ["replace", "move"])
def test_a_disk_that_stays_full_leaves_old_or_new(name: str, bare: Path) -> None:
    scene = SCENES[name]
    for at in count(1):
        folder = bare / str(at)
        prepare(scene, folder)
        disk = FailingOS(at, lasting=True)
        changed_on(disk, scene, folder)
        if len(disk.steps) < at:
            break
        assert is_whole(scene, found(folder)), disk.steps
        scene.change(folder)
        assert found(folder) == scene.after, disk.steps
    assert at == len(STEPS[name]) + 1


def cut_everywhere(name: str, folder: Path) -> list[Path]:
    """Make the change in processes whose power is cut, each at another step, and give their folders."""
    script = """
import sys
from pathlib import Path
from tests.store.scenes import cut_everywhere
print(cut_everywhere(sys.argv[1], Path(sys.argv[2])))
"""
    ended = run(script, name, folder)
    assert ended.code == 0, ended.err
    assert int(ended.out) == len(STEPS[name])
    return [folder / str(at + 1) for at in range(int(ended.out))]


@pytest.mark.parametrize("name", ["create", "replace", "first append", "move"])
def test_a_power_cut_at_any_step_leaves_old_or_new_and_a_second_try_succeeds(name: str, bare: Path) -> None:
    for folder in cut_everywhere(name, bare):
        assert is_whole(SCENES[name], found(folder)), folder
        SCENES[name].change(folder)
        assert found(folder) == SCENES[name].after, folder


def test_a_power_cut_while_appending_costs_at_most_the_record_being_written(bare: Path) -> None:
    torn = 0
    for folder in cut_everywhere("append", bare):
        left = found(folder)["log.md"]
        assert (OLD + NEW).startswith(left)
        assert left.startswith(OLD)
        torn += not left.endswith(b"\n")
        SCENES["append"].change(folder)
        now = found(folder)["log.md"]
        assert now.startswith(left)
        assert now.endswith(b"\n" + NEW)
    assert torn
