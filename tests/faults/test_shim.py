"""The failing disk fails where it was told to, in whole processes, and notes what it must to replay a power cut."""

import errno
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.disk import FAULTS, KILL, Counted, Fault, compiler, counted, environment, shim
from tests.faults.power_cut import Tree, left_by, noted, put, tree_of

pytestmark = pytest.mark.skipif(not compiler(), reason="the failing disk needs Linux and a C compiler")
SCRIPT = """
import os
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
os.write(fd, b"12345678")
os.fsync(fd)
os.close(fd)
os.rename("a", "b")
os.link("b", "c")
os.mkdir("d")
os.unlink("c")
"""
CALLS = ["create", "write", "fsync", "rename", "link", "mkdir", "unlink"]


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    """Give the folder that is watched."""
    folder = tmp_path / "disk"
    folder.mkdir()
    return folder


def run(disk: Path, fault: Fault, script: str = SCRIPT) -> tuple[int, str, Counted]:
    """Run a script on the failing disk; return its exit code, its errors and what was counted."""
    told = environment(fault, disk, disk.parent / "count", disk.parent / "log")
    command = [sys.executable, "-S", "-c", script]
    done = subprocess.run(
        command,
        cwd=disk,
        env={**os.environ, **told, "LD_PRELOAD": str(shim())},
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    return done.returncode, done.stderr, counted(disk.parent / "count")


def test_calls_below_the_folder_are_counted_and_others_pass(disk: Path) -> None:
    elsewhere = f"open({str(disk.parent / 'other')!r}, 'w').write('x')"
    assert run(disk, KILL, SCRIPT + elsewhere) == (0, "", Counted(len(CALLS), ""))
    assert sorted(os.listdir(disk)) == ["b", "d"]


@pytest.mark.parametrize("at", range(1, len(CALLS) + 1))
def test_the_nth_call_kills_the_process_before_it_is_made(disk: Path, at: int) -> None:
    assert run(disk, KILL.hitting(at)) == (-signal.SIGKILL, "", Counted(at, CALLS[at - 1]))
    there = [[], ["a"], ["a"], ["a"], ["b"], ["b", "c"], ["b", "c", "d"]][at - 1]
    assert sorted(os.listdir(disk)) == there
    if at == 2:
        assert (disk / "a").read_bytes() == b"1234", "a write is cut off in the middle"


@pytest.mark.parametrize("name", [name for name, fault in FAULTS.items() if fault.error])
def test_the_nth_call_fails_with_its_error_and_a_lasting_one_goes_on_to(disk: Path, name: str) -> None:
    fault = FAULTS[name]
    (disk / "a").write_text("old")
    script = """
import os
codes = []
for number in range(5):
    try:
        fd = os.open(f"new{number}", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"12"); os.write(fd, b"34"); os.read(os.open("a", os.O_RDONLY), 1)
        codes.append(0)
    except OSError as error:
        codes.append(error.errno)
print(*codes, file=__import__("sys").stderr)
"""
    code, told, seen = run(disk, fault.hitting(2), script)
    codes = [int(one) for one in told.split()]
    assert code == 0, told
    assert seen.hit
    assert fault.error in codes
    assert codes[-1] == (fault.error if fault.lasting else 0)


def test_a_write_on_a_full_disk_is_cut_short_and_the_rest_is_refused(disk: Path) -> None:
    full = Fault("full", 1, errno.ENOSPC, ("write",))
    script = """
import os
fd = os.open("a", os.O_WRONLY | os.O_CREAT)
assert os.write(fd, b"12345678") == 4
try:
    os.write(fd, b"5678")
except OSError as error:
    assert error.errno == 28
    os.write(fd, b"later")
"""
    assert run(disk, full, script)[0] == 0
    assert (disk / "a").read_bytes() == b"1234later"


def cut(disk: Path, script: str, upto: int | None = None, luck: random.Random | None = None) -> dict[str, bytes | None]:
    """Run a script, cut the power after some calls and return what is left, by name."""
    tree, inodes = tree_of(disk)
    code, told, _ = run(disk, KILL, script)
    assert code == 0, told
    left: Tree = left_by(noted(disk.parent / "log")[:upto], tree, inodes, luck)
    put(disk, left)
    (disk.parent / "log").unlink()
    assert tree_of(disk)[0] == left
    return {os.path.relpath(path, disk): data for path, data in left.items() if path != str(disk)}


FOLDER = "fd = os.open('.', os.O_RDONLY); os.fsync(fd); os.close(fd)\n"


def test_a_file_whose_folder_was_not_synced_is_gone_and_one_that_was_not_synced_is_empty(disk: Path) -> None:
    begin = "import os\nfd = os.open('a', os.O_WRONLY | os.O_CREAT); os.write(fd, b'text')\n"
    assert cut(disk, begin) == {}
    assert cut(disk, begin + "os.fsync(fd)\n") == {}
    assert cut(disk, begin + FOLDER) == {"a": b""}
    (disk / "a").unlink()
    assert cut(disk, begin + "os.fsync(fd)\n" + FOLDER) == {"a": b"text"}


def test_a_rename_that_was_not_synced_leaves_the_old_text(disk: Path) -> None:
    (disk / "a").write_text("old")
    replace = "import os\nfd = os.open('b', os.O_WRONLY | os.O_CREAT); os.write(fd, b'new')\nos.rename('b', 'a')\n"
    assert cut(disk, replace) == {"a": b"old"}
    assert cut(disk, replace + FOLDER) == {"a": b""}, "renamed before it was synced: the classic loss"


def test_a_name_that_was_taken_comes_back_and_one_given_in_a_lost_folder_is_lost(disk: Path) -> None:
    (disk / "a").write_text("old")
    assert cut(disk, "import os\nos.unlink('a')\n") == {"a": b"old"}
    assert cut(disk, "import os\nos.mkdir('d'); os.rename('a', 'd/a')\n" + FOLDER) == {"d": None, "d/a": b"old"}


def test_luck_leaves_more_than_what_is_safe_and_never_more_than_all(disk: Path) -> None:
    script = "import os\nfd = os.open('a', os.O_WRONLY | os.O_CREAT); os.write(fd, b'12345678')\n"
    left = set()
    for seed in range(40):
        left.add(cut(disk, script, luck=random.Random(seed)).get("a"))
        if (disk / "a").exists():
            (disk / "a").unlink()
    assert left == {None, b"", b"1234", b"12345678"}
