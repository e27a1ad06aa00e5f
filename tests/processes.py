"""Real processes for tests: some that start at the same moment, and one that is killed."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


@contextmanager
def running(script: str, *args: object) -> Iterator[subprocess.Popen[str]]:
    """Run a Python script with its standard streams at hand; it is killed if it outlives the block."""
    command = [sys.executable, "-c", script, *map(str, args)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def run(script: str, *args: object) -> Ended:
    """Run a Python script to its end."""
    with running(script, *args) as process:
        out, err = process.communicate(timeout=600)
        return Ended(process.returncode, out, err)


def race(script: str, count: int, *args: object) -> list[Ended]:
    """Run a script many times at once, all waiting at the start line first; `sys.argv[1]` is its number."""
    gate = "import sys\nprint('ready', flush=True)\nsys.stdin.read()\n"
    with ExitStack() as stack:
        processes = [stack.enter_context(running(gate + script, number, *args)) for number in range(count)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
            process.stdin = None  # communicate() would close it once more
        ended = []
        for process in processes:
            out, err = process.communicate(timeout=600)
            ended.append(Ended(process.returncode, out, err))
        return ended
