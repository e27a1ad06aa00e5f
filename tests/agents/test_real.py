"""The real agent programs, each against a scripted model. See real/lab.py and real/install.sh.

By default a few sections of each run, in about a minute; with MEM_LONG=1 all of them.
"""

import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from .real.lab import CHECKOUT, find_program

# Each module has PACKAGE, PROGRAM, and FAST, the names of its sections that run by default.
FOLDER = Path(__file__).parent / "real"
SHARED = ("__init__", "lab", "measure", "scripted_model", "terminal")
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem not in SHARED)


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_uses_its_memory(name: str, tmp_path: Path) -> None:
    module = import_module(f"tests.agents.real.{name}")
    for program in ("node", "tmux", "git", "unshare"):
        if not shutil.which(program):
            pytest.skip(f"needs {program}")
    if module.PROGRAM and not find_program(module.PACKAGE, module.PROGRAM):
        pytest.skip(f"{module.PROGRAM} is not installed: tests/agents/real/install.sh")
    sections = () if os.environ.get("MEM_LONG") else module.FAST
    done = subprocess.run(
        [sys.executable, "-m", f"tests.agents.real.{name}", *sections],
        cwd=CHECKOUT,
        env={**os.environ, "LAB": str(tmp_path / "lab")},
        capture_output=True,
        text=True,
        timeout=3600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
