"""Start a command of mem that outlives the hook it is started from, and not many of them."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from ..store.workspace import Workspace

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


def _is_due(mark: Path, rest: float) -> bool:
    """Tell whether a mark is older than so many seconds, and renew it."""
    with suppress(OSError):
        if 0 <= time.time() - mark.stat().st_mtime < rest:
            return False
    with suppress(OSError):
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    return True
