"""Whether a mem that kept no records of trust has worked in a folder on this machine: its index says so.

The index notes inode and time of change of each file. A clone or an archive may bring an index, but cannot know what
its files will get where they are put.
"""

import os
from contextlib import closing, suppress
from pathlib import Path

from ..store import trust
from ..store.workspace import Workspace

_MOST = 50  # files looked at


def settle_trust(workspace: Workspace) -> None:
    """Record a workspace that this user's mem sees for the first time, as trusted where an older mem worked in it."""
    if workspace.state and not workspace.is_own:
        trust.settle(workspace.state, workspace.root, lambda: was_here(workspace))


def was_here(workspace: Workspace) -> bool:
    """Tell whether the index in a workspace's own folder was made here, of the files that stand there."""
    import sqlite3  # rarely: once for each workspace

    from .database import FILE

    path = workspace.derived / FILE
    if path.is_symlink() or not path.is_file():
        return False
    with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        noted = connection.execute(f"select path, inode, ctime from files limit {_MOST}").fetchall()
        return any(_stands(workspace.root / str(name), inode, ctime) for name, inode, ctime in noted)
    return False


def _stands(path: Path, inode: object, ctime: object) -> bool:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    return (status.st_ino, status.st_ctime_ns) == (inode, ctime)
