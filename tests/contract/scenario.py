"""Runs the commands of scenario.txt, which print, store and report everything that is promised."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.helpers import get_process_environment, run_mem

FOLDER = Path(__file__).parent
# Built here, because servers refuse files that contain a token.
SECRET = "ghp_" + "q7Zt2LwVx94RbKe1NfYs8UhDm3JcPo6GaTi5"
MASKS = (
    (r"\b(mem|hist)_[0-9a-z]{16}\b", r"\1_ID"),
    (r"\bevt_[0-9a-f]{12}\b", "evt_ID"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
    (r"\d{4}-\d\d-\d\d \d\d:\d\d", "LOCAL-TIME"),
    (r"\d{4}-\d\d-\d\d", "DAY"),
    (r"\d{4}-\d\d", "MONTH"),
    (r"\[\d\d:\d\d\]", "[HH:MM]"),
    (r"-[0-9a-z]{6}\.md", "-ID.md"),
    (r'"(tokenCount|size|consolidatedSize)": \d+', r'"\1": NUMBER'),
)


def mask(text: str) -> str:
    """Return a text without what differs from run to run."""
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text)
    return text


def play_scenario(folder: Path, *options: str) -> Iterator[tuple[str, int, str]]:
    """Run the commands of scenario.txt. Yield each one of mem with its exit code and output."""
    (folder / "work").mkdir(parents=True)
    (folder / "bin").mkdir()
    # Nothing else, because mem lists the agents that it finds.
    (folder / "bin/git").symlink_to(shutil.which("git") or "git")
    environment = {**get_process_environment(folder / "home"), "PATH": str(folder / "bin")}
    for line in (FOLDER / "scenario.txt").read_text("utf-8").splitlines():
        if line.startswith("! "):
            script = ["/bin/sh", "-c", line[2:]]
            subprocess.run(script, cwd=folder / "work", env=environment, check=True)
            continue
        command, _, stdin = line.partition(" < ")
        if "QUESTION" in command:
            (question,) = json.loads(run_mem(folder / "work", "review", "--json")[1])["questions"]
            command = command.replace("QUESTION", question["id"])
        name, *words = shlex.split(command.replace("SECRET", SECRET))
        words = [name, *words, *options]
        code, output, _ = run_mem(folder / "work", *words, stdin=stdin, **environment)
        yield line, code, output.replace(str(folder), "FOLDER")
