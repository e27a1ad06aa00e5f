"""What killed writers left among the memories is named, hidden from git, and removed; living writers keep theirs."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli.store.file_steps import PREFIX, temporary_name
from tests.conftest import Mem

KILLED = """
import os, signal, sys
from pathlib import Path
from memcli.store import file_steps as disk
Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
disk.write_temporary(Path(sys.argv[1]), b"half a memory")
os.kill(os.getpid(), signal.SIGKILL)
"""
PLACES = ["entries/2026-11", "entries", "notes", "archive/entries", "."]


@pytest.fixture(params=PLACES)
def left(workspace: Path, request: pytest.FixtureRequest) -> str:
    """Kill a writer in a folder of the workspace, and give the path of what it left."""
    place = workspace / request.param
    done = subprocess.run([sys.executable, "-c", KILLED, str(place)], check=False)
    assert done.returncode == -signal.SIGKILL
    (path,) = place.glob(f"{PREFIX}*")
    return path.relative_to(workspace).as_posix()


def test_check_names_what_a_killed_write_left_and_fix_removes_it(mem: Mem, workspace: Path, left: str) -> None:
    ran = mem("check")
    assert (ran.code, ran.out.count("\n")) == (1, 1)
    assert ran.out.startswith(f"memory/{left}:1: left by a write that was killed")
    assert mem("check", "--fix", "--dry-run").code == 1
    assert (workspace / left).exists()
    fixed = mem("check", "--fix")
    assert (fixed.code, fixed.out, fixed.err) == (0, "", f"mem: mended {left}: removed\n")
    assert not (workspace / left).exists()
    assert mem("check").code == 0


def test_tend_removes_it_and_says_so_once(mem: Mem, workspace: Path, left: str) -> None:
    assert ["check", "removed 1 unfinished file of killed writes"] in mem("tend").rows
    assert not (workspace / left).exists()
    assert "removed" not in mem("tend").out


@pytest.mark.parametrize("command", [("check", "--fix"), ("tend",)])
def test_what_a_running_process_writes_and_what_a_person_named_so_stays(
    mem: Mem, workspace: Path, command: tuple[str, ...]
) -> None:
    folder = workspace / "entries"
    folder.mkdir()
    for name in (temporary_name(), ".mem-tmp-mine.md"):
        (folder / name).write_text("words of mine\n")
    os.utime(folder / ".mem-tmp-mine.md", (0, 0))
    assert mem("check").code == 0
    mem(*command)
    assert len(list(folder.iterdir())) == 2


def test_one_of_another_release_is_removed_after_an_hour(mem: Mem, workspace: Path) -> None:
    (workspace / "entries").mkdir()
    path = workspace / "entries" / f"{PREFIX}0123456789abcdef"
    path.write_text("half")
    os.utime(path, (time.time() - 3500,) * 2)
    assert mem("check").code == 0
    os.utime(path, (time.time() - 3700,) * 2)
    assert mem("check", "--fix").code == 0
    assert not path.exists()


def test_git_passes_over_what_a_killed_write_left(mem: Mem, workspace: Path, left: str) -> None:
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    told = subprocess.run(
        ["git", "-C", str(workspace), "status", "--porcelain", "-uall"], capture_output=True, text=True, check=True
    )
    assert "MEMORY.md" in told.stdout
    assert PREFIX not in told.stdout
