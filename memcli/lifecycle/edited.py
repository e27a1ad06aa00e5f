"""When memories were edited by hand, as the index noticed it and git corrects it.

The time of a file says little: git sets it at every checkout, clones and syncs do, and so do our own marks and
counters. So the index notes that a text became another one without its frontmatter saying so, and when. What git wrote
is no edit of that day: a file that is as it was committed was changed when that was.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha1, sha256
from pathlib import Path
from typing import Any

from ..errors import GitError, MemError
from ..store import access, files, git
from ..store.access import Access
from ..store.workspace import Workspace
from ..text.times import stamp

TOGETHER = 200
"""Paths that git is asked about at once."""


def with_edits(
    workspace: Workspace, rows: Iterable[Mapping[str, Any]], accesses: Mapping[str, Access]
) -> dict[str, Access]:
    """Give the accesses with the notes of edits as git corrects them; without git they stay as they were noted."""
    noted = {row["path"]: key for row in rows if (key := access.EDITED + row["id"]) in accesses}
    found = dict(accesses)
    every = list(noted)
    for start in range(0, len(every), TOGETHER):
        for path, moment in _committed(workspace, every[start : start + TOGETHER]).items():
            found[noted[path]] = Access(1, moment)
    return found


def _committed(workspace: Workspace, paths: Iterable[str]) -> dict[str, str]:
    """Give, of those files that are as the last commit has them, when they were last changed by one."""
    try:
        prefix = git.text(workspace.root, "rev-parse", "--show-prefix").strip()
        blobs = _blobs(workspace.root, paths)
        clean = [path for path, blob in blobs.items() if _is_blob(workspace, path, blob)]
        if not clean:
            return {}
        told = git.text(workspace.root, "log", "--format=%x01%at", "--name-only", "-z", "HEAD", "--", *clean)
    except GitError:
        return {}
    wanted = {prefix + path: path for path in clean}
    found: dict[str, str] = {}
    for commit in told.split("\x01")[1:]:
        seconds, _, names = commit.partition("\0")
        for name in names.lstrip("\n").split("\0"):
            if name in wanted:
                found.setdefault(wanted[name], stamp(datetime.fromtimestamp(int(seconds.strip()), UTC)))
    return found


def _blobs(folder: Path, paths: Iterable[str]) -> dict[str, str]:
    """Give the hashes that the last commit has for files, by path."""
    lines = git.text(folder, "ls-tree", "-z", "HEAD", "--", *paths).split("\0")
    return {path: about.split()[2] for about, _, path in (line.partition("\t") for line in lines) if path}


def _is_blob(workspace: Workspace, path: str, blob: str) -> bool:
    try:
        data = files.read(workspace.path(path))
    except MemError:
        return False
    digest = sha1 if len(blob) == 40 else sha256
    return digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == blob
