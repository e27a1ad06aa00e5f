"""The demo shows the main job in screens that a newcomer can read, and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mem

ROOT = Path(__file__).parent.parent
SCREEN = 24


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Run the demo into a pipe, in an empty home."""
    binary = tmp_path_factory.mktemp("bin")
    (binary / "mem").write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m memcli "$@"\n')
    (binary / "mem").chmod(0o755)
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path_factory.mktemp("home")), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["sh", str(ROOT / "fixtures" / "demo.sh"), str(binary)],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def test_the_demo_shows_a_search_an_edit_a_recall_a_consolidation_and_the_files(shown: str) -> None:
    parts = re.findall(r"(?m)^── \d of 5\. (\w+)", shown)
    assert parts == ["Search", "Edit", "Recall", "Consolidation", "The"]
    assert "User prefers dark mode and concise responses." in shown
    assert "listens on port 7654." in shown
    assert "<memory-context>" in shown
    assert "always test one restore a month" in shown.rpartition("$ mem search 'when do we")[2]
    assert "\nid: mem_" in shown


def test_the_demo_ends_with_the_command_of_the_page(shown: str, mem: Mem) -> None:
    (line,) = re.findall(r"(?m)^  (\S+/mem ui --demo)$", shown[-400:])
    assert Path(line.split()[0]).exists()
    assert "--demo " in mem("ui", "--help").out


def test_each_part_of_the_demo_is_one_screen(shown: str) -> None:
    for part in shown.split("\n── "):
        assert part.count("\n") <= SCREEN, part


def test_the_demo_shows_what_a_terminal_does_and_no_complaint(shown: str) -> None:
    assert "\x1b" not in shown
    assert not re.search(r"mem_\w+\t|\tmem_", shown)  # the columns a pipe gets
    assert "Traceback" not in shown
    assert not re.search(r"(?m)^mem: ", shown)
