"""Files that killed writers left are told from those being written, and nothing else is ever removed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli.store import file_steps
from memcli.store.file_steps import PREFIX, is_abandoned, is_temporary, remove_abandoned, sweep, temporary_name

OLD_STYLE = f"{PREFIX}0123456789abcdef"


def aged(path: Path, seconds: float) -> Path:
    path.touch()
    os.utime(path, (time.time() - seconds,) * 2)
    return path


def dead_name() -> str:
    """Give the name that a process which has ended would have written to."""
    code = "from memcli.store.file_steps import temporary_name; print(temporary_name())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_a_file_of_a_process_that_is_gone_is_removed_at_once(tmp_path: Path) -> None:
    path = aged(tmp_path / dead_name(), 0)
    assert is_abandoned(path, time.time())
    assert remove_abandoned(path, time.time())
    assert not path.exists()


def test_a_file_of_a_running_process_stays_for_an_hour(tmp_path: Path) -> None:
    path = aged(tmp_path / temporary_name(), 3500)
    assert sweep(tmp_path, time.time()) == 0
    aged(path, 3700)
    assert sweep(tmp_path, time.time()) == 1


def test_a_file_of_another_machine_or_an_older_release_stays_for_an_hour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    young = [aged(tmp_path / OLD_STYLE, 3500), aged(tmp_path / dead_name(), 3500)]
    monkeypatch.setattr(file_steps, "_machine", lambda: "another1")
    assert [is_abandoned(path, time.time()) for path in young] == [False, False]
    for path in young:
        aged(path, 3700)
    assert sweep(tmp_path, time.time()) == 2


@pytest.mark.parametrize(
    "name", [".mem-tmp-notes.md", ".mem-tmp-", "mem-tmp-0123456789abcdef", ".mem-tmp-0123456789abcdef.bak", "page.md"]
)
def test_a_file_of_any_other_name_is_never_removed(tmp_path: Path, name: str) -> None:
    path = aged(tmp_path / name, 10**7)
    assert (sweep(tmp_path, time.time()), remove_abandoned(path, time.time()), path.exists()) == (0, False, True)


def test_folders_and_links_are_never_removed(tmp_path: Path) -> None:
    folder, link = tmp_path / OLD_STYLE, tmp_path / f"{PREFIX}{7:016x}"
    folder.mkdir()
    os.utime(folder, (0, 0))
    link.symlink_to(aged(tmp_path / "page.md", 10**7))
    assert sweep(tmp_path, time.time()) == 0
    assert (folder.is_dir(), link.is_symlink()) == (True, True)


def test_sweeping_what_is_not_there_finds_nothing(tmp_path: Path) -> None:
    assert sweep(tmp_path / "none", time.time()) == 0


def test_temporary_names_are_told_from_others() -> None:
    assert is_temporary(temporary_name())
    assert is_temporary(OLD_STYLE)
    assert not is_temporary("mem-tmp-notes.md")
