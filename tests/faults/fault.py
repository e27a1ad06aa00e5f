"""A disk that fails on purpose: runs `mem` with a fault at one of its file-system calls."""

import errno
import io
import os
import random
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path

from memcli.cli.main import run
from memcli.context import Context
from tests.helpers import CACHE, PROJECT

# The calls that the shim knows, in the order of its bits.
CALLS = ("create", "write", "fsync", "truncate", "rename", "link", "unlink", "mkdir", "rmdir")
SOURCE = Path(__file__).with_name("shim.c")


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th call below a folder: a kill, or an error."""

    name: str
    error: int = 0  # 0: the process is killed, a write after half of its bytes
    is_lasting: bool = False  # all later calls fail too
    spares_mem: bool = False  # only the git that makes the call is killed
    at: int = 0  # from 1; 0 only counts

    def hitting(self, at: int) -> "Fault":
        return replace(self, at=at)


KILL = Fault("kill")
FAULTS = (
    KILL,
    Fault("full disk for a moment", errno.ENOSPC),
    Fault("full disk", errno.ENOSPC, is_lasting=True),
    Fault("read-only from then on", errno.EROFS, is_lasting=True),
)


@dataclass
class Run:
    """The outcome of a process."""

    code: int
    stdout: str
    stderr: str
    calls: int = 0
    was_hit: bool = False


@cache
def find_compiler() -> str:
    compilers = [name for name in ("cc", "gcc", "clang") if shutil.which(name)]
    return compilers[0] if compilers and sys.platform == "linux" else ""


@cache
def build_shim() -> Path:
    folder = PROJECT / "build"
    target = folder / f"faults-{sha256(SOURCE.read_bytes()).hexdigest()[:12]}.so"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = folder / f"{target.name}.{os.getpid()}"
        command = [
            find_compiler(),
            "-O2",
            "-shared",
            "-fPIC",
            "-pthread",
            "-o",
            str(making),
            str(SOURCE),
        ]
        subprocess.run(command, check=True, capture_output=True)
        making.replace(target)
    return target


NOW = "2026-11-28T10:00:00Z"


def run_mem(
    world: Path,
    *arguments: str,
    fault: Fault | None = None,
    stdin: str = "",
    now: str = NOW,
) -> Run:
    """Run `mem` in `world/project` with the home `world/home`, and a fault below `world`."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(world / "home"),
        "XDG_CACHE_HOME": str(CACHE),
        "PYTHONPATH": str(PROJECT),
        "MEM_NOW": now,
        "MEM_SEED": "7",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    counter = world.with_suffix(".count")
    if fault is not None:
        environment |= {
            "LD_PRELOAD": str(build_shim()),
            "FAULT_FOLDER": str(world),
            "FAULT_COUNT": str(counter),
            "FAULT_AT": str(fault.at),
            "FAULT_OPS": str((1 << len(CALLS)) - 1),
            "FAULT_ERRNO": str(fault.error),
            "FAULT_LASTING": str(int(fault.is_lasting)),
        }
    command = [sys.executable, "-m", "memcli", *arguments]
    if fault is not None and not fault.spares_mem:
        # A git that mem runs has a process group of its own. The shell becomes mem.
        command = ["/bin/sh", "-c", 'FAULT_GROUP=$$ exec "$@"', "sh", *command]
    done = subprocess.run(
        command,
        cwd=world / "project",
        env=environment,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        # The shim kills the whole process group.
        start_new_session=True,
    )
    outcome = Run(done.returncode, done.stdout, done.stderr)
    if fault is not None and counter.exists():
        outcome.calls, hit = struct.unpack("=qq", counter.read_bytes())
        outcome.was_hit = bool(hit)
        counter.unlink()
    return outcome


def run_in_process(world: Path, *arguments: str, now: str = NOW) -> Run:
    """Run `mem` as `run_mem` does, without a fault, and in this process, which is faster."""
    context = Context(
        environment={"PATH": os.environ["PATH"], "HOME": str(world / "home")},
        folder=world / "project",
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: datetime.fromisoformat(now),
        noise=random.Random(7),
    )
    code = run(context, arguments)
    return Run(code, context.stdout.getvalue(), context.stderr.getvalue())  # type: ignore[attr-defined]


def read_files(world: Path) -> dict[str, str]:
    """Return the files of all workspaces, without `.mem` and temporary files."""
    files = {}
    for root in (world / "project" / "memory", world / "home" / ".local/share/mem"):
        for path in sorted(root.rglob("*")):
            inner = path.relative_to(world).as_posix()
            if path.is_file() and "/.mem/" not in inner and not path.name.startswith(".mem-tmp-"):
                files[inner] = path.read_text("utf-8", "surrogateescape")
    return files
