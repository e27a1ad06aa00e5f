"""Completion in the shells people use: commands, ids, tags, settings."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran
from tests.tables import cases


@pytest.fixture
def shell(world: Path, workspace: Path, mem: Mem, tmp_path: Path) -> dict[str, str]:
    """Give an environment with `mem` on the path, standing in a workspace with one indexed entry."""
    binary = tmp_path / "bin"
    binary.mkdir()
    (binary / "mem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    (binary / "mem").chmod(0o755)
    assert mem("write", "Uses zsh.", "--tag", "terminal").code == 0
    assert mem("ls").code == 0
    return {**os.environ, "PATH": f"{binary}:{os.environ['PATH']}"}


def completed(shell: dict[str, str], *words: str) -> list[str]:
    """Ask bash what may stand in the place of the last word."""
    script = (
        'source <(mem completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mem_completion mem;'
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], env=shell, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_bash_completes_commands_ids_tags_and_settings(shell: dict[str, str], mem: Mem) -> None:
    identifier = mem("ls").rows[0][0]
    assert "search" in completed(shell, "mem", "se")
    assert completed(shell, "mem", "read", identifier[:9]) == [identifier]
    assert completed(shell, "mem", "search", "--tag", "ter") == ["terminal"]
    assert completed(shell, "mem", "config", "get", "search.li") == ["search.limit"]


def test_completion_where_there_is_no_workspace_offers_nothing(shell: dict[str, str], tmp_path: Path) -> None:
    assert completed({**shell, "MEM_WORKSPACE": str(tmp_path / "nowhere")}, "mem", "read", "mem_") == []


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish_completes_an_id(shell: dict[str, str], mem: Mem, tmp_path: Path) -> None:
    identifier = mem("ls").rows[0][0]
    script = f"mem completion fish | source; complete -C 'mem read {identifier[:9]}'"
    done = subprocess.run(["fish", "-c", script], env=shell, capture_output=True, text=True, check=False)
    assert done.stdout.split()[0] == identifier, done.stderr


def test_an_unknown_shell_is_told(mem: Mem) -> None:
    ran: Ran = mem("completion", "tcsh")
    assert (ran.code, ran.out) == (2, "")
    assert "bash, zsh, fish" in ran.err


def test_completion_loads_nothing_heavy(shell: dict[str, str]) -> None:
    code = (
        "import os, sys; os.environ.update(COMP_WORDS='mem read mem_', COMP_CWORD='2', _MEM_COMPLETE='complete_bash');"
        "from memcli.cli.app import run\n"
        "try:\n    run([])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'onnxruntime', 'tokenizers', 'yaml', 'ruamel', 'litellm', 'filelock'}\n"
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=shell, capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


@cases("words", "values")
def test_bash_completes_the_values_an_option_takes(
    shell: dict[str, str], words: tuple[str, ...], values: list[str]
) -> None:
    assert completed(shell, "mem", *words) == values
