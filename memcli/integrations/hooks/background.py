"""Work that outlives the hook it is begun in: the rest of an event, or a command of mem, and not many of those."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ...formats.times import stamp
from ...store.privacy import make_derived, opener
from ...store.workspace import Workspace

SECONDS = 60.0
"""How long the same work is not begun again."""


def detach(workspace: Workspace, environ: Mapping[str, str], words: Sequence[str], rest: float = SECONDS) -> bool:
    """Run `mem` with the words in a process of its own, unless the same kind of work began a moment ago.

    It holds none of our pipes, or the agent would wait for it; git's variables would make it work on another
    repository than the one it is in.
    """
    import subprocess

    if not _is_due(workspace.derived / "begun" / f"{'-'.join(words[:2])}", rest):
        return False
    ours = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    command = [sys.executable, "-P", "-m", "memcli", *words, "--workspace", str(workspace.root)]
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=nothing, env=ours, cwd=workspace.root, start_new_session=True
        )
    return True


def behind(work: Callable[[], None]) -> None:
    """Do the rest of an event in a copy of this process, for which the agent does not wait.

    For a process of one thread that has read its input, said all it has to say, and ends soon.
    """
    try:
        is_agents = os.fork() > 0
    except OSError:
        work()  # no room for another process
        return
    if is_agents:
        return
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)  # an agent reads until nobody holds its pipes any more
        os.closerange(3, 256)
        work()
    finally:
        os._exit(0)


def _is_due(mark: Path, rest: float) -> bool:
    """Tell whether a mark is older than so many seconds, and renew it."""
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < rest:
            return False
    with suppress(OSError):
        make_derived(mark.parent)
        mark.touch()
    return True


NAME = "log"
LARGEST = 64 << 10
_LONGEST_LINE = 400


def log(workspace: Workspace, what: str) -> None:
    """Add a line; one that cannot be written is dropped, since a memory that fails must not stop an agent."""
    path = workspace.derived / NAME
    line = f"{stamp(workspace.now)} {' '.join(what.split())}"[:_LONGEST_LINE]
    with suppress(OSError):
        if workspace.derived.is_symlink() or path.is_symlink():
            return  # a folder that came with a clone may lead anywhere
        if path.exists() and path.stat().st_size > LARGEST:
            os.replace(path, path.with_name(f"{NAME}.old"))
        make_derived(path.parent)
        with open(path, "a", encoding="utf-8", errors="replace", opener=opener) as file:
            file.write(f"{line}\n")
