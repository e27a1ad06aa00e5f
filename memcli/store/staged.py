"""What git is about to commit of a workspace: the versions in its index, not those on disk.

Reads only. Works where the workspace is a folder of a larger repository, in linked worktrees, before the first commit,
and inside a hook, where git's own variables name another index than the usual one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import GitError, UsageError
from . import git
from .workspace import Workspace

_LINK, _MODULE = "120000", "160000"
_SECONDS = 30.0


@dataclass(frozen=True)
class Staged:
    """One file as it will be committed."""

    path: str  # within the workspace
    data: bytes
    is_link: bool  # a symbolic link: the data is where it leads


def staged(workspace: Workspace, environ: Mapping[str, str], folder: Path) -> list[Staged]:
    """List the added and changed files of the workspace in git's index, by path.

    `folder` is where the command runs, which for a hook is the top of its worktree. Raises UsageError where there is
    no repository or no git.
    """
    top, prefix = _top(workspace.root, environ, folder)
    told = _git(
        top, environ, "diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames",
        "--diff-filter=AMT", "--", prefix or ".",
    ).split(b"\0")  # fmt: skip
    found: list[tuple[str, str, str]] = []
    for head, name in zip(told[::2], told[1::2], strict=False):
        _, mode, _, blob, _ = head.decode().split(" ")
        path = os.fsdecode(name)
        if mode != _MODULE:
            found.append((path.removeprefix(f"{prefix}/") if prefix else path, mode, blob))
    blobs = _blobs(top, environ, [blob for _, _, blob in found])
    return sorted(
        (Staged(path, blobs[blob], mode == _LINK) for path, mode, blob in found if blob in blobs),
        key=lambda one: one.path,
    )


def in_repository(workspace: Workspace, environ: Mapping[str, str], folder: Path) -> bool:
    """Tell whether a workspace lies in a git repository."""
    try:
        _top(workspace.root, environ, folder)
    except UsageError:
        return False
    return True


def _top(root: Path, environ: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """Give the top of the worktree and the workspace's path below it."""
    # With GIT_DIR set, git takes the folder it stands in for the top: only where the hook stands is that true.
    place = folder if "GIT_DIR" in environ else root
    top = Path(os.fsdecode(_git(place, environ, "rev-parse", "--show-toplevel").rstrip(b"\n"))).resolve()
    if not root.resolve().is_relative_to(top):
        raise UsageError(f"{root} is not in the git repository {top}", "name a workspace inside it")
    prefix = root.resolve().relative_to(top).as_posix()
    return top, "" if prefix == "." else prefix


def _blobs(top: Path, environ: Mapping[str, str], names: list[str]) -> dict[str, bytes]:
    """Read blobs in one go."""
    if not names:
        return {}
    answer = _git(top, environ, "cat-file", "--batch", given="".join(f"{name}\n" for name in names).encode())
    found: dict[str, bytes] = {}
    at = 0
    for name in names:
        end = answer.index(b"\n", at)
        kind = answer[at:end].split(b" ")
        if len(kind) < 3:  # a blob that is missing, as in a partial clone
            at = end + 1
            continue
        size = int(kind[2])
        found[name] = answer[end + 1 : end + 1 + size]
        at = end + size + 2
    return found


def _git(place: Path, environ: Mapping[str, str], *words: str, given: bytes = b"") -> bytes:
    try:
        return git.run(place, *words, seconds=_SECONDS, hook=environ, given=given)
    except GitError as error:
        fix = "check without --staged"
        if error.fix:
            raise UsageError(error.message, f"{error.fix}, or {fix}") from None
        raise UsageError(f"{place}: {error.message}", fix) from None
