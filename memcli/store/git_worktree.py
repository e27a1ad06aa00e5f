"""Bring merged commits into the worktree, and take back what a git that failed or was killed left of one.

git replaces a file by removing it first, and its branch follows last: a memory that is missing or cut off then is no
decision of a person's, and must never be committed as one. So the tree that is brought is noted before, and whoever
takes the workspace's lock next takes back what is noted before it changes anything.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import BusyError, MemError, RefusedError, UsageError
from . import atomic_files, file_steps
from .git import blobs
from .git_changes import attempt, change, joined, refused, split
from .git_commit import OwnIndex, PathChange, commit_of, differences, settle
from .git_merge import TreeMerge
from .local_log import note_disputed, text_of
from .lock import BRINGING
from .repository import Repository, repository_of
from .workspace import Workspace

_NAME = re.compile(r"[0-9a-f]{40,64}")


def move_to(workspace: Workspace, repository: Repository, commit: str) -> tuple[str, ...]:
    """Bring the branch and the worktree to a commit that follows the last one; return the files that are in the way.

    Nothing is changed where there are any.
    """
    words = ("merge", "--ff-only", "--quiet", "--no-stat", "--no-autostash", "--no-overwrite-ignore", commit)
    with _noted(workspace, repository, commit):
        done = attempt(repository.top, *words)
        if not done.code or commit_of(repository, "HEAD") == commit:  # a hook that ran after it may have failed
            return ()
        if names := _named(done.said):
            return names
        raise refused(done, f"git cannot bring {repository.top} to the merged state", "run `mem sync` again")


def leave_to_person(workspace: Workspace, repository: Repository, merge: TreeMerge, theirs: str, message: str) -> None:
    """Begin the merge in the worktree with all settled but the clashes, whose files have conflict markers.

    Raise RefusedError, with nothing begun, where changed files are in the way. What makes git commit a merge comes
    last: killed before that, all is taken back.
    """
    new = [one.path for one in differences(repository, "HEAD", merge.tree) if one.is_new]
    if there := [path for path in new if os.path.lexists(repository.top / path)]:  # git overwrites what it ignores
        raise in_the_way(repository, there)
    with _noted(workspace, repository, merge.tree):
        done = attempt(repository.top, "read-tree", "-m", "-u", "HEAD", merge.tree)
        names = _named(done.said) or tuple(line.split("'")[1] for line in done.lines if line.count("'") == 2)
        if not done.code:
            _begin_merge(repository, merge, theirs, message)
            note_disputed(workspace, merge.settled.disputed)
        elif not names:
            raise refused(done, "git cannot merge", "run `mem sync` again")
    if done.code:
        raise in_the_way(repository, names)


def _begin_merge(repository: Repository, merge: TreeMerge, theirs: str, message: str) -> None:
    """Tell git of a merge that is under way in the worktree, and of its conflicts."""
    lines = [
        f"{mode} {blob} {stage}\t".encode() + os.fsencode(path) + b"\0"
        for path in merge.clashes
        for stage, (mode, blob) in sorted(merge.conflicts.get(path, {}).items())
    ]
    clashing = joined([path for path in merge.clashes if path in merge.conflicts])
    change(repository.top, "update-index", "--force-remove", "-z", "--stdin", given=clashing)
    change(repository.top, "update-index", "-z", "--index-info", given=b"".join(lines))
    for name, told in (("MERGE_MODE", ""), ("MERGE_MSG", message), ("MERGE_HEAD", f"{theirs}\n")):
        with file_steps.naming("write", repository.folder / name):
            (repository.folder / name).write_text(told, encoding="utf-8")


@contextmanager
def _noted(workspace: Workspace, repository: Repository, tree: str) -> Iterator[None]:
    """Note what is brought as long as that is not done; where it fails, what git began is taken back at once.

    Later it could not be told from what a person did since. Only where that fails too the note stays.
    """
    note = workspace.derived / BRINGING
    _forget(note)
    atomic_files.create(note, f"{commit_of(repository, 'HEAD')}\t{tree}\n".encode())
    try:
        yield
    except (MemError, KeyboardInterrupt):
        with suppress(MemError):
            _taken_back(workspace, repository)
        raise
    _forget(note)


def _forget(note: Path) -> None:
    with file_steps.naming("write", note):
        note.unlink(missing_ok=True)


def take_back(workspace: Workspace) -> None:
    """Let the worktree be as it was before a git that was killed brought a tree; the caller holds the workspace's lock.

    What anybody changed since stays, also what they moved.
    """
    try:
        repository = repository_of(workspace)
    except UsageError:  # there is no repository any more
        _forget(workspace.derived / BRINGING)
    else:
        _taken_back(workspace, repository)


def _taken_back(workspace: Workspace, repository: Repository) -> None:
    note = workspace.derived / BRINGING
    old, _, tree = text_of(workspace, BRINGING).strip().partition("\t")
    if (
        _NAME.fullmatch(tree)
        and commit_of(repository, "HEAD") == old
        and not (repository.folder / "MERGE_HEAD").exists()
    ):
        changes = differences(repository, old, tree)
        came = blobs(repository.top, [one.new for one in changes if not one.is_gone])
        with file_steps.naming("write", repository.top):
            left = [one for one in changes if _is_left(repository.top / one.path, came.get(one.new))]
            for one in left:
                if one.is_new:
                    (repository.top / one.path).unlink(missing_ok=True)
        _bring_back(workspace, repository, old, [one for one in left if not one.is_new])
        with suppress(BusyError):  # its lock is left by the git that was killed: then it did not get to its index
            settle(repository, [one.path for one in changes], old)
    _forget(note)


def _bring_back(workspace: Workspace, repository: Repository, old: str, left: Sequence[PathChange]) -> None:
    """Bring files back as a commit has them, but for those that somebody moved."""
    gone = {one.old for one in left if not os.path.lexists(repository.top / one.path)}
    others = change(repository.top, "ls-files", "--others", "--exclude-standard", "-z") if gone else b""
    names = "".join(f"{name}\n" for name in split(others) if "\n" not in name)
    moved = gone & set(
        change(repository.top, "hash-object", "--stdin-paths", given=os.fsencode(names)).decode().split()
    )
    index = OwnIndex(repository, workspace.derived / f"{BRINGING}.index", old)
    try:
        paths = [one.path for one in left if one.old not in moved]
        index.run("checkout-index", "--force", "-z", "--stdin", given=joined(paths))
    finally:
        index.discard()


def _is_left(path: Path, came: bytes | None) -> bool:
    """Return whether a file is as git left it: gone, or so much of what came as was written."""
    if not os.path.lexists(path):
        return True
    if path.parent.resolve() != path.parent or path.is_symlink() or not path.is_file():
        return False
    return came is not None and came.startswith(path.read_bytes().replace(b"\r\n", b"\n"))


def in_the_way(repository: Repository, names: Collection[str]) -> RefusedError:
    """Return the error of files that were changed and not committed where others changed them too."""
    first, *others = names
    more = f" and {len(others):,} more" if others else ""
    fix = "commit them, `git stash` them or move them away, then run `mem sync` again"
    return RefusedError(f"{repository.top / first}{more} changed here and on the remote, and is not committed", fix)


def _named(said: str) -> tuple[str, ...]:
    """Return the files that git names as changed where it would change them."""
    return tuple(line.strip() for line in said.splitlines() if line.startswith("\t"))
