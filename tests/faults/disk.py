"""A disk that fails on purpose for whole processes: the shim, built when it is first asked for, and what it is told."""

import errno
import os
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path

CALLS = ("create", "write", "fsync", "truncate", "rename", "link", "unlink", "mkdir", "rmdir", "open", "read")
"""The calls that the shim knows, in the order of its bits."""
CHANGES = CALLS[:9]
SOURCE = Path(__file__).with_name("shim.c")


@dataclass(frozen=True)
class Fault:
    """What happens at the n-th of some calls below a folder: a kill, or an error number."""

    name: str = "kill"
    at: int = 0  # from 1; 0 counts only
    error: int = 0  # 0 kills the process, a write after half of its bytes
    calls: tuple[str, ...] = CHANGES
    lasting: bool = False  # whether all later ones fail too
    alone: bool = False  # whether git is killed, and the command that runs it goes on

    def hitting(self, at: int) -> "Fault":
        """Return the fault at another call."""
        return replace(self, at=at)


KILL = Fault()
GIT_KILLED = Fault("git killed, the command not", alone=True)
FAULTS = {
    fault.name: fault
    for fault in (
        KILL,
        GIT_KILLED,
        Fault("full disk, for a moment", 0, errno.ENOSPC, ("create", "write", "fsync", "rename", "link", "mkdir")),
        Fault("full disk", 0, errno.ENOSPC, ("create", "write", "fsync", "rename", "link", "mkdir"), lasting=True),
        Fault("write error", 0, errno.EIO),
        Fault("disk gone", 0, errno.EIO, (*CHANGES, "read"), lasting=True),
        Fault("read error", 0, errno.EIO, ("read",)),
        Fault("no permission", 0, errno.EACCES, ("create", "rename", "link", "unlink", "mkdir"), lasting=True),
        Fault("too many open files", 0, errno.EMFILE, ("create", "open"), lasting=True),
        Fault("read-only, from then on", 0, errno.EROFS, tuple(set(CHANGES) - {"fsync"}), lasting=True),
    )
}
"""Every fault there is, by the name it has in the tables."""


@cache
def compiler() -> str:
    """Return the C compiler of this machine; empty where the shim cannot be built or preloaded."""
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), "")
    return found if sys.platform == "linux" else ""


@cache
def shim() -> Path:
    """Return the built shim; it is kept in `build/` by the hash of its source."""
    name = f"faults-{sha256(SOURCE.read_bytes()).hexdigest()[:12]}.so"
    folder = Path(__file__).parents[2] / "build"
    built = folder / name
    if not built.exists():
        folder.mkdir(parents=True, exist_ok=True)
        making = folder / f"{name}.{os.getpid()}"
        command = [compiler(), "-O2", "-shared", "-fPIC", "-pthread", "-o", str(making), str(SOURCE)]
        subprocess.run(command, check=True, capture_output=True)
        making.replace(built)
    return built


def environment(fault: Fault, folder: Path, counter: Path, log: Path | None = None) -> dict[str, str]:
    """Return what the shim reads from the environment."""
    return {
        "FAULT_FOLDER": str(folder),
        "FAULT_COUNT": str(counter),
        "FAULT_AT": str(fault.at),
        "FAULT_OPS": str(sum(1 << CALLS.index(call) for call in fault.calls)),
        "FAULT_ERRNO": str(fault.error),
        "FAULT_LASTING": str(int(fault.lasting)),
        "FAULT_LOG": str(log or ""),
    }


@dataclass(frozen=True)
class Counted:
    """What the shim saw."""

    calls: int
    hit: str  # the call that was hit; empty if none was


def counted(counter: Path) -> Counted:
    """Read what the shim counted, and forget it."""
    try:
        calls, hit = struct.unpack("=qq", counter.read_bytes())
        counter.unlink()
    except FileNotFoundError:
        return Counted(0, "")
    return Counted(calls, CALLS[hit - 1] if hit else "")
