"""Run `mem` many times, each in a process of its own that is forked from one that has imported everything.

A command costs 50 ms so, not 300, and nothing of an earlier one is left: the first process never runs a command.
"""

import gc
import json
import os
import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.faults.disk import Counted, Fault, counted, environment, shim
from tests.processes import ROOT

NOT_IMPORTED = ("memcli.__main__", "memcli.index.hnsw", "memcli.index.embedding_model")
LIBRARIES = ("filelock", "frontmatter", "ruamel.yaml", "regex", "sqlite3", "typer", "json", "difflib", "asyncio")


@dataclass(frozen=True)
class Ended:
    """How a command ended; a killed one has a negative code."""

    code: int
    out: str
    err: str
    seen: Counted

    @property
    def is_broken(self) -> bool:
        """Return whether it showed a user what only its authors understand."""
        return "Traceback" in self.err or (self.code == 1 and "Error" in self.err and "mem: " not in self.err)


class Warm:
    """The process that waits for commands."""

    def __init__(self, process: subprocess.Popen[str], scratch: Path) -> None:
        self.process, self.scratch = process, scratch

    def run(
        self,
        *arguments: str,
        folder: Path,
        environ: Mapping[str, str],
        stdin: str = "",
        fault: Fault | None = None,
        below: Path | None = None,
        log: Path | None = None,
    ) -> Ended:
        """Run `mem` in a folder; a fault counts the calls below another, `below`."""
        counter = self.scratch / "count"
        told = dict(environ)
        if fault is not None:
            told |= environment(fault, below or folder, counter, log)
            told |= {} if fault.alone else {"FAULT_GROUP": "its own"}
        told["LD_PRELOAD"] = str(shim())  # for git, and what else is started
        asked = {"arguments": arguments, "folder": str(folder), "environ": told, "stdin": stdin}
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, "the warm process has ended"
        return Ended(**json.loads(answer), seen=counted(counter))


@contextmanager
def warm() -> Iterator[Warm]:
    """Start it; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="mem-faults-") as scratch:
        environ = {**os.environ, "LD_PRELOAD": str(shim()), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "tests.faults.warm", scratch]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, cwd=ROOT, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
            try:
                yield Warm(process, Path(scratch))
            finally:
                process.kill()


def _import_all() -> None:
    import memcli

    for name in LIBRARIES:
        import_module(name)
    for module in pkgutil.walk_packages(memcli.__path__, "memcli."):
        if module.name not in NOT_IMPORTED:
            import_module(module.name)


def _child(asked: Mapping[str, Any], scratch: Path) -> None:
    """Become the command."""
    import ctypes

    os.setsid()  # a kill is for the whole group
    files = [os.open(scratch / "in", os.O_RDONLY)]
    files += [os.open(scratch / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600) for name in ("out", "err")]
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environ"])
    if "FAULT_GROUP" in os.environ:
        os.environ["FAULT_GROUP"] = str(os.getpid())
    sys.argv = ["mem", *asked["arguments"]]
    for stream, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        setattr(sys, stream, os.fdopen(number, "r" if number == 0 else "w", encoding="utf-8", closefd=False))
    ctypes.CDLL(None).fault_arm()
    from memcli.__main__ import main

    main()


def _all_ended(child: int) -> int:
    """Wait for a command and all that it left running, and return how the command itself ended."""
    status = 0
    with suppress(ChildProcessError):
        while True:
            ended, how = os.wait()
            status = how if ended == child else status
    return os.waitstatus_to_exitcode(status)


def _serve(scratch: Path) -> None:
    """Answer one command a line, until the input ends."""
    import ctypes

    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # what a command leaves running becomes our child (PR_SET_CHILD_SUBREAPER)
    _import_all()
    gc.collect()
    gc.freeze()  # a fork that collects would copy all of it
    for line in sys.stdin:
        asked = json.loads(line)
        (scratch / "in").write_text(asked["stdin"])
        child = os.fork()
        if child == 0:
            code = 70
            try:
                _child(asked, scratch)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
            except BaseException:
                import traceback

                traceback.print_exc()
            finally:
                for stream in (sys.stdout, sys.stderr):
                    stream.flush()
                os._exit(code)
        status = _all_ended(child)
        out, err = ((scratch / name).read_text("utf-8", "replace") for name in ("out", "err"))
        print(json.dumps({"code": status, "out": out, "err": err}), flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
