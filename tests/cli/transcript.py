"""Run the commands of a transcript: a Markdown page with `console` blocks.

A line that starts with `$ ` is a command, and the lines below it are its output. `exit N` at the
end of the output is the exit code. `$ mem …` runs in process, as on a terminal of 80 columns; other
commands run in a shell. The clock starts at 2026-11-28 12:00 UTC and each command takes a minute.
"""

import io
import os
import pty
import random
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memcli.cli.main import run
from memcli.context import Context
from tests.helpers import get_process_environment

BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")
START = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
PROJECT = Path(__file__).parents[2]


class Player:
    """Runs the commands of one transcript in a folder of its own."""

    def __init__(self, folder: Path, *, in_process: bool = True) -> None:
        self.folder = folder
        self.in_process = in_process
        self.commands = 0
        self.started = time.time() - 1
        self.environment = {
            **get_process_environment(folder / "home"),
            "TZ": "UTC",
            "EDITOR": "",
            "MEM_TIMEZONE": "UTC",
        }
        (folder / "home").mkdir()
        (folder / "work").mkdir()
        self.place = folder / "work"

    def play(self, page: str) -> str:
        """Return the page with the output that its commands have now."""
        return BLOCK.sub(lambda match: f"```console\n{self.play_block(match[1])}```", page)

    def play_block(self, block: str) -> str:
        lines = []
        commands = [line for line in block.splitlines() if line.startswith(("$ ", "> "))]
        number = 0
        while number < len(commands):
            line = commands[number][2:]
            shown = [commands[number]]
            while number + 1 < len(commands) and commands[number + 1].startswith("> "):
                number += 1
                line += "\n" + commands[number][2:]
                shown.append(commands[number])
            lines += [*shown, *self.run_line(line).splitlines()]
            number += 1
        return "".join(f"{line}\n" for line in lines)

    def run_line(self, line: str) -> str:
        """Run a command and return its output, then its exit code if it is not 0."""
        self.commands += 1
        assignments, words = split_assignments(line)
        if words[:1] == ["cd"]:
            self.place = (self.place / words[1]).resolve()
            return ""
        if words[:1] == ["mem"]:
            run_mem = self.run_in_process if self.in_process else self.run_as_process
            output, code = run_mem(words[1:], {**self.environment, **assignments})
        else:
            done = subprocess.run(
                ["sh", "-c", line],
                cwd=self.place,
                env=self.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            output, code = done.stdout, done.returncode
            self.date_files()
        output = output.replace(str(self.folder), "/tmp")
        return output + (f"exit {code}\n" if code else "")

    def date_files(self) -> None:
        """Give the files that a shell command wrote the time of the test, not of the machine."""
        for path in self.folder.rglob("*"):
            if path.is_file() and ".mem" not in path.parts and ".git" not in path.parts:
                if path.stat().st_mtime > self.started:
                    os.utime(path, (self.now.timestamp(), self.now.timestamp()))

    @property
    def now(self) -> datetime:
        return START + timedelta(minutes=self.commands)

    def run_in_process(self, words: list[str], environment: Mapping[str, str]) -> tuple[str, int]:
        output = io.StringIO()
        context = Context(
            environment=environment,
            folder=self.place,
            stdin=io.StringIO(environment.get("STDIN", "")),
            stdout=output,
            stderr=output,
            read_clock=lambda: self.now,
            noise=random.Random(str(self.commands)),
            width=80,
            is_terminal=True,
        )
        code = run(context, words)
        return output.getvalue(), code

    def run_as_process(self, words: list[str], environment: Mapping[str, str]) -> tuple[str, int]:
        """Run a command as a process of its own, with a terminal of 80 columns for its output."""
        variables = {
            "MEM_NOW": self.now.isoformat(),
            "MEM_SEED": str(self.commands),
            "COLUMNS": "80",
            "TERM": "dumb",
        }
        return run_on_terminal(words, self.place, {**environment, **variables})


def run_on_terminal(
    words: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> tuple[str, int]:
    """Run mem as a process with a terminal for its output. STDIN is the text of its input."""
    terminal, other_end = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "memcli", *words],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=other_end,
        stderr=other_end,
    )
    os.close(other_end)
    assert process.stdin is not None
    process.stdin.write(environment.get("STDIN", "").encode())
    process.stdin.close()
    output = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:  # how Linux says that the other end is closed
            break
        if not piece:
            break
        output += piece
    os.close(terminal)
    return output.decode().replace("\r\n", "\n"), process.wait()


def split_assignments(line: str) -> tuple[dict[str, str], list[str]]:
    """Return the variables before a command, and its words."""
    try:
        words = shlex.split(line)
    except ValueError:
        return {}, []
    assignments = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        assignments[name] = value
    return assignments, words
