"""Run work in the background, past the end of a hook: the rest of an event, or a command of mem."""

import os
import sys
from collections.abc import Callable, Sequence

from ...api.agents import Workspace, is_due

SECONDS = 60.0
"""Seconds in which the same work is not begun again."""


def detach(workspace: Workspace, words: Sequence[str], seconds: float = SECONDS) -> bool:
    """Run `mem` with the words in a process of its own; return False if the same kind of work began a moment ago.

    It holds none of our pipes, or the agent would wait for it; git's variables would make it work on another
    repository than the one it is in.
    """
    import subprocess

    if not is_due(workspace, "-".join(words[:2]), seconds):
        return False
    ours = {name: value for name, value in workspace.environ.items() if not name.startswith("GIT_")}
    command = [sys.executable, "-P", "-m", "memcli", *words, "--workspace", str(workspace.root)]
    with open(os.devnull, "r+b") as nothing:
        subprocess.Popen(
            command, stdin=nothing, stdout=nothing, stderr=nothing, env=ours, cwd=workspace.root, start_new_session=True
        )
    return True


def behind(work: Callable[[], None]) -> None:
    """Do the rest of an event in a fork of this process, for which the agent does not wait.

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
