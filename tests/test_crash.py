"""The failing disk of the tests fails when it was told to, and not before."""

import errno
import os
from pathlib import Path

import pytest

from tests.crash import POWER_CUT, FailingOS, RefusingOS
from tests.processes import race, run


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Give a folder with nothing in it."""
    folder = tmp_path / "bare"
    folder.mkdir()
    return folder


def test_the_nth_step_fails_as_a_full_disk_and_the_next_goes_through(bare: Path) -> None:
    fake = FailingOS(2)
    (bare / "a").touch()
    fake.link(bare / "a", bare / "b")
    with pytest.raises(OSError, match="No space left"):
        fake.rename(bare / "a", bare / "c")
    fake.unlink(bare / "a")
    assert fake.steps == ["link", "rename", "unlink"]
    assert os.listdir(bare) == ["b"]


def test_a_lasting_failure_stays(bare: Path) -> None:
    fake = FailingOS(1, lasting=True)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            fake.unlink(bare / "a")


def test_a_failing_write_leaves_half_of_its_bytes(bare: Path) -> None:
    fd = os.open(bare / "a", os.O_WRONLY | os.O_CREAT)
    with pytest.raises(OSError, match="No space left"):
        FailingOS(1).write(fd, b"12345678")
    os.close(fd)
    assert (bare / "a").read_bytes() == b"1234"


def test_what_is_no_step_is_passed_on() -> None:
    fake = FailingOS(1)
    assert fake.path is os.path
    assert fake.getpid() == os.getpid()
    assert fake.steps == []


def test_a_power_cut_ends_the_process_without_cleaning_up(bare: Path) -> None:
    script = """
import sys
from tests.crash import FailingOS, power_cut
try:
    FailingOS(1, power_cut).unlink(sys.argv[1])
finally:
    print("cleaned up", flush=True)
"""
    (bare / "a").touch()
    assert run(script, bare / "a") == (POWER_CUT, "", "")
    assert (bare / "a").exists()


def test_a_refusing_system_refuses_only_what_it_was_told_to(bare: Path) -> None:
    fake = RefusingOS({"link": errno.EPERM})
    with pytest.raises(PermissionError):
        fake.link(bare / "a", bare / "b")
    fake.mkdir(bare / "a")
    assert os.listdir(bare) == ["a"]


def test_racing_processes_are_all_at_the_start_before_one_goes(bare: Path) -> None:
    script = """
import os
from pathlib import Path
(Path(sys.argv[2]) / sys.argv[1]).touch()
"""
    assert [code for code, _, _ in race(script, 3, bare)] == [0, 0, 0]
    assert sorted(os.listdir(bare)) == ["0", "1", "2"]
