"""The lines that docs/agents.md gives for cron and git do what it says."""

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.scenes import git

ROOT = Path(__file__).parent.parent.parent
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", (ROOT / "docs/agents.md").read_text(encoding="utf-8"))
CRON = [line.split(" ", 5)[5] for kind, text in BLOCKS if kind == "crontab" for line in text.splitlines()]
HOOK = next(text for kind, text in BLOCKS if text.startswith("#!/bin/sh"))


@pytest.fixture
def shell(world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put `mem` on the path of a shell; give the home."""
    folder = world.parent / "bin"
    folder.mkdir()
    program = folder / "mem"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m memcli "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return Path(os.environ["HOME"])


@pytest.mark.parametrize("line", CRON)
def test_a_line_of_the_crontab_does_its_work_in_silence(mem: Mem, shell: Path, line: str) -> None:
    root = shell / "memory"
    assert mem("init", str(root)).code == 0
    messages = [("assistant", "Done: each tool number is installed now.")]
    messages += [("user", f"We use tool number {number} here") for number in range(60)]
    lines = "".join(json.dumps({"role": role, "content": text}) + "\n" for role, text in messages)
    assert mem("session", "append", "-", "--session", "s", "--workspace", str(root), stdin=lines).code == 0
    for _ in range(2):
        done = subprocess.run(["/bin/sh", "-c", line], cwd="/", capture_output=True, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    (history,) = root.glob("HISTORY-*.md")
    assert history.read_text().count("<!-- hist_") == 1


def test_the_hook_makes_memory_of_a_commit(mem: Mem, workspace: Path, shell: Path, world: Path) -> None:
    git(world, "init", "-q")
    git(world, "commit", "-q", "--allow-empty", "-m", "Begin")
    hook = world / ".git/hooks/post-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(HOOK)
    hook.chmod(0o755)
    git(world, "commit", "-q", "--allow-empty", "-m", "We always deploy with make release from now on")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if list(workspace.glob("HISTORY-*.md")) and mem("session", "ls", "--json").json["sessions"][0]["waiting"] == 0:
            break
        time.sleep(0.05)
    assert [one["id"] for one in mem("session", "ls", "--json").json["sessions"]] == ["git:work"]
    assert len(list(workspace.glob("HISTORY-*.md"))) == 1
