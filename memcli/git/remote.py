"""Fetch from a remote and push to it: one branch, by the user's own ssh and credential helpers, within a time.

A history that somebody changed on the remote since the last time is told, and left to a person.
"""

import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import BusyError, MemError, RefusedError, UsageError
from ..results import number_of
from ..store import atomic_files, file_steps
from ..store.access_log import note_disputed, replace_text, text_of
from ..store.lock import BRINGING
from ..store.workspace import Workspace
from .commit import OwnIndex, PathChange, commit_of, differences, settle
from .repository import Repository, repository_of
from .run import Done, attempt, blobs, change, joined, refused, split, unreachable, without_passwords
from .tree_merge import TreeMerge

_FETCHED = "refs/worktree/mem-fetched"
_SYNCED = "synced"
"""Holds remotes, branches and the last commit both sides had: they tell a history that was rewritten, nothing else."""
_MOST = 20  # other branches of remotes that are remembered
_FASTER = ("fetch first", "non-fast-forward", "cannot lock ref", "failed to update ref", "incorrect old value")
_UNREACHED = ("Could not read from remote repository", "unable to access", "Authentication failed")


def fetched(repository: Repository, remote: str, local: str, branch: str, seconds: float) -> str:
    """Fetch a branch and return its last commit; empty if the remote has no branch at all.

    Raise UnavailableError if it cannot be reached, RefusedError if it has only other branches.
    """
    top = repository.top
    words = ("fetch", "--quiet", "--no-tags", "--no-prune", "--no-recurse-submodules", "--no-write-fetch-head")
    done = attempt(top, *words, "--", remote, f"+refs/heads/{branch}:{_FETCHED}", seconds=seconds)
    if not done.code:
        theirs = commit_of(repository, _FETCHED)
        attempt(top, "update-ref", "-d", _FETCHED)
        return theirs
    if "couldn't find remote ref" not in done.stderr:
        raise unreachable(done, remote)
    listed = attempt(top, "ls-remote", "--heads", "--", remote, seconds=seconds)
    names = [line.partition("refs/heads/")[2] for line in listed.out.decode("utf-8", "replace").splitlines()]
    if names:
        fix = f"`git switch {names[0]}`, or push this branch once: `git push -u {remote} {local}:{branch}`"
        raise RefusedError(f"{without_passwords(remote)} has no branch {branch}, but {', '.join(names)}", fix)
    return ""


def push(repository: Repository, remote: str, local: str, branch: str, head: str, seconds: float) -> bool:
    """Push a commit to a branch; return False if another machine was faster.

    A branch that follows none follows this one from then on. Raise UnavailableError or RefusedError, saying why, where
    trying again does not help.
    """
    words = ("push", "--porcelain", "--no-signed", "--no-recurse-submodules", "--no-follow-tags")
    done = attempt(repository.top, *words, "--", remote, f"{head}:refs/heads/{branch}", seconds=seconds)
    if done.code:
        return _was_faster(done, without_passwords(remote), branch)
    if remote in repository.remotes and local not in repository.tracked:
        attempt(repository.top, "branch", "--quiet", f"--set-upstream-to={remote}/{branch}", local)
    return True


def _was_faster(done: Done, remote: str, branch: str) -> bool:
    """Return False where a push was late; raise what keeps it from ever going through."""
    rows = [line.split("\t") for line in done.out.decode("utf-8", "replace").splitlines() if line.startswith("!")]
    reason = rows[0][2].strip() if rows and len(rows[0]) > 2 else ""
    output = f"{reason} {done.stderr}"
    if any(word in output for word in _FASTER):
        return False
    if "branch is currently checked out" in output:
        fix = "push to one made with `git init --bare`"
        raise RefusedError(f"{remote} is no bare repository: its branch {branch} is checked out", fix)
    if reason:
        message = next((line.removeprefix("remote: ") for line in done.lines if line.startswith("remote: ")), "")
        why = f"{reason} ({message})" if message else reason
        raise RefusedError(f"{remote} refuses the push: {why}", "memory is committed here; ask who keeps the remote")
    if any(word in done.stderr for word in _UNREACHED):
        raise unreachable(done, remote)
    why = f" ({done.lines[0]})" if done.lines else ""
    raise RefusedError(f"the push to {remote} was stopped{why}", "see `git push` there; memory is committed here")


def require_not_taken_back(
    workspace: Workspace, repository: Repository, remote: str, branch: str, ours: str, theirs: str, push: str
) -> None:
    """Raise RefusedError where what we have would bring commits back that a branch of a remote had and has no more.

    What it had is what both sides had after an exchange, and what git's own log of the branch remembers here. A merge
    that a person made of a history that was rewritten goes through; `push` is the command that puts commits back.
    """
    seen = {*_synced(workspace).get((without_passwords(remote), branch), ()), *_logged(repository, remote, branch)}
    span = change(repository.top, "rev-list", "--topo-order", ours, *([f"^{theirs}"] if theirs else []))
    lost = next((commit for commit in span.decode().split() if commit in seen), "")
    if not lost:
        return
    name = f"{without_passwords(remote)}/{branch}"
    if not theirs:
        raise RefusedError(f"{name} is no longer there, and was when it was last seen here", f"`{push}` makes it again")
    reset = f"`git reset --hard {theirs[:12]}` takes what is there"
    if _follows(repository, lost, theirs):
        count = int(change(repository.top, "rev-list", "--count", f"{theirs}..{lost}"))
        what = f"{name} was put back by {number_of(count, 'commit')} since it was last seen here"
        raise RefusedError(what, f"{reset}, `{push}` puts them there again")
    is_cut_off = repository.is_shallow and attempt(repository.top, "merge-base", ours, theirs).code  # nobody can tell
    if not _follows(repository, ours, theirs) and not is_cut_off:
        fix = f"`git merge {theirs[:12]}` keeps both, {reset}"
        raise RefusedError(f"the history of {name} was rewritten since it was last seen here", fix)


def _follows(repository: Repository, commit: str, other: str) -> bool:
    return not attempt(repository.top, "merge-base", "--is-ancestor", other, commit).code


def _logged(repository: Repository, remote: str, branch: str) -> set[str]:
    """Return the commits that git fetched of a branch or pushed to it, as long as it remembers them.

    It is its file that is read: of the first one only that tells what a clone brought.
    """
    if remote not in repository.remotes:
        return set()
    try:
        log = (repository.common / "logs/refs/remotes" / remote / branch).read_bytes()
    except OSError:
        return set()
    return {name for line in log.decode("utf-8", "replace").splitlines() for name in line.split(" ", 2)[:2]}


def _synced(workspace: Workspace) -> dict[tuple[str, str], list[str]]:
    """Return the last commit that was exchanged with each branch of a remote."""
    rows = (line.split("\t") for line in text_of(workspace, _SYNCED).splitlines())
    return {(row[0], row[1]): row[2:] for row in rows if len(row) == 3}


def note_commit(workspace: Workspace, remote: str, branch: str, commit: str) -> None:
    """Note that both sides have a commit; where that cannot be written, git's log alone tells of it."""
    commits = _synced(workspace)
    key = (without_passwords(remote), branch)
    if commits.pop(key, []) != [commit]:
        rows = [*list(commits.items())[-_MOST:], (key, [commit])]
        with suppress(OSError):
            replace_text(
                workspace, _SYNCED, "".join("\t".join((*where, *exchanged)) + "\n" for where, exchanged in rows)
            )


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
        if names := _named(done.stderr):
            return names
        raise refused(done, f"git cannot bring {repository.top} to the merged state", "run `mem sync` again")


def leave_to_person(workspace: Workspace, repository: Repository, merge: TreeMerge, theirs: str, message: str) -> None:
    """Begin the merge in the worktree with all settled but the clashes, whose files have conflict markers.

    Raise RefusedError, with nothing begun, where changed files are in the way. What makes git commit a merge comes
    last: killed before that, all is taken back.
    """
    new = [file.path for file in differences(repository, "HEAD", merge.tree) if file.is_new]
    if there := [path for path in new if os.path.lexists(repository.top / path)]:  # git overwrites what it ignores
        raise in_the_way(repository, there)
    with _noted(workspace, repository, merge.tree):
        done = attempt(repository.top, "read-tree", "-m", "-u", "HEAD", merge.tree)
        names = _named(done.stderr) or tuple(line.split("'")[1] for line in done.lines if line.count("'") == 2)
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
    for name, content in (("MERGE_MODE", ""), ("MERGE_MSG", message), ("MERGE_HEAD", f"{theirs}\n")):
        with file_steps.naming("write", repository.folder / name):
            (repository.folder / name).write_text(content, encoding="utf-8")


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
        received = blobs(repository.top, [file.new for file in changes if not file.is_gone])
        with file_steps.naming("write", repository.top):
            unchanged = [file for file in changes if _is_left(repository.top / file.path, received.get(file.new))]
            for file in unchanged:
                if file.is_new:
                    (repository.top / file.path).unlink(missing_ok=True)
        _bring_back(workspace, repository, old, [file for file in unchanged if not file.is_new])
        with suppress(BusyError):  # its lock is left by the git that was killed: then it did not get to its index
            settle(repository, [file.path for file in changes], old)
    _forget(note)


def _bring_back(workspace: Workspace, repository: Repository, old: str, left: Sequence[PathChange]) -> None:
    """Bring files back as a commit has them, but for those that somebody moved."""
    deleted = {file.old for file in left if not os.path.lexists(repository.top / file.path)}
    others = change(repository.top, "ls-files", "--others", "--exclude-standard", "-z") if deleted else b""
    names = "".join(f"{name}\n" for name in split(others) if "\n" not in name)
    moved = deleted & set(
        change(repository.top, "hash-object", "--stdin-paths", given=os.fsencode(names)).decode().split()
    )
    index = OwnIndex(repository, workspace.derived / f"{BRINGING}.index", old)
    try:
        paths = [file.path for file in left if file.old not in moved]
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


def _named(stderr: str) -> tuple[str, ...]:
    """Return the files that git names as changed where it would change them."""
    return tuple(line.strip() for line in stderr.splitlines() if line.startswith("\t"))
