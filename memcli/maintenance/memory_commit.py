"""Commit what is mem's of a workspace, and nothing else, with a message that says what happened to memory.

Left out and named: files with conflict markers, with a secret, and those a crash left empty. Refused as a whole: a
commit that deletes a large part of memory, which is rather a mistake than a decision.
"""

from collections.abc import Sequence

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.text_lines import FileProblem, leftover_marker, underlines
from ..store.atomic_files import read
from ..store.git import blobs
from ..store.git_changes import attempt, change, joined, split
from ..store.git_commit import OwnIndex, PathChange, differences, empty_tree, not_committed, settle
from ..store.merge_resolution import Read, text
from ..store.repository import (
    ChangedFile,
    Repository,
    conflicting,
    is_our_merge,
    require_identity,
    require_shared,
    status,
)
from ..store.revisions import FileVersions, left_behind
from ..store.workspace import MARKER, Workspace
from .access_counters import fold, waiting
from .entry_changes import MemoryChange
from .memory_changes import in_words, memory_changes
from .outgoing_files import is_memory, moved_unseen, repositories_in, unfit, unfit_merge

_LINK, _MODULE = "120000", {"160000"}
_FEW = 5  # memories that may be deleted at once, however many there are
_FRACTION = 0.25  # of all memories that may be deleted at once


@dataclass(frozen=True)
class Commit:
    """The last commit of the branch, and what of memory went into it."""

    head: str  # empty where there is no commit yet
    branch: str
    what: str = ""  # in the words of memory; empty where nothing was committed
    problems: tuple[FileProblem, ...] = ()  # files that were left out
    before: str = ""  # the commit that the one of memory follows


def commit_memory(workspace: Workspace, repository: Repository, *, dry_run: bool = False) -> Commit:
    """Commit what changed of memory, the counters that are kept beside the files included.

    With `dry_run` the commit is made and nothing refers to it. Raise RefusedError where a conflict of git's is left, a
    hook stops the commit or too much would be deleted; UsageError where git does not know the author.
    """
    is_counted = not (dry_run or workspace.layout.is_vault)
    _, is_confirmed = waiting(workspace)
    if is_confirmed and is_counted:  # worth a commit of its own, which an access is not
        fold(workspace, "mem sync")
    head, branch, changed = status(repository, workspace)
    inner = repositories_in(workspace, repository, changed)
    if not any(is_memory(workspace, repository, one) for one in changed):
        if not head or not _has_marker(repository):
            require_shared(repository, workspace)
        return Commit(head, branch, problems=inner)
    if is_counted and any(waiting(workspace)):
        fold(workspace, "mem sync")
    head, branch, changed = status(repository, workspace)
    paths = [one.path for one in changed if is_memory(workspace, repository, one)]
    if unmerged := [one.path for one in changed if one.is_unmerged]:
        fix = "settle it and `git add` it, then run `mem sync` again"
        raise RefusedError(f"{repository.top / unmerged[0]} has a conflict of git's that is not settled", fix)
    return _committed(workspace, repository, Commit(head, branch, problems=inner), paths, dry_run=dry_run)


def _committed(
    workspace: Workspace, repository: Repository, before: Commit, paths: Sequence[str], *, dry_run: bool
) -> Commit:
    old = before.head or empty_tree(repository)
    index = OwnIndex(repository, workspace.derived / "sync.index", before.head)
    try:
        tree = index.take(paths)
        found = differences(repository, old, tree, repository.prefix)
        out = unfit(workspace, repository, found)
        unseen = {repository.relative(path) for path in out} | {one.path for one in before.problems}
        out |= moved_unseen(workspace, repository, found, unseen)
        problems = (*before.problems, *out.values())
        if out:
            tree = index.put(
                {one.path: (one.old_mode, "" if one.is_new else one.old) for one in found if one.path in out}
            )
            paths = [path for path in paths if path not in out]
        happened = changes_between(repository, workspace, old, tree)
        if tree == _tree_of(repository, old):
            settle(repository, paths, before.head) if before.head else None
            return Commit(before.head, before.branch, problems=problems)
        _require_few_deleted(repository, workspace, old, [one.path for one in happened if one.kind == "purged"])
        require_identity(repository)
        what = in_words(happened)
        message = f"memory: {what}\n"
        if dry_run:
            parents = ("-p", before.head) if before.head else ()
            made = change(repository.top, "commit-tree", "--no-gpg-sign", tree, *parents, given=message.encode())
            return Commit(made.decode().strip(), before.branch, what, problems, before.head)
        head, by_hooks = index.commit(message, tree, lambda found: _unwanted(workspace, repository, found))
    finally:
        index.discard()
    settle(repository, [*paths, *by_hooks], head)
    return Commit(head, before.branch, what, problems, before.head)


def changes_between(
    repository: Repository, workspace: Workspace, old: str, new: str, reader: Read | None = None
) -> list[MemoryChange]:
    """Return what became of memories between two commits or trees; `reader` may know their blobs already."""
    found = [
        one for one in differences(repository, old, new, repository.prefix) if not _MODULE & {one.old_mode, one.mode}
    ]
    names = [name for one in found for name in (one.old, one.new) if name.strip("0")]
    data = reader(names) if reader else blobs(repository.top, names)
    files = [
        FileVersions(repository.relative(one.path), data.get(one.old), data.get(one.new), one.mode == _LINK)
        for one in found
    ]
    return memory_changes(workspace.layout, files, dict)


def told_between(repository: Repository, workspace: Workspace, old: str, new: str, reader: Read | None) -> str:
    """Say in one line what became of memories between two commits."""
    return in_words(changes_between(repository, workspace, old, new, reader))


def name_left_behind(workspace: Workspace) -> tuple[str, ...]:
    """Say in one line which memories lie where the settings said before, if any do."""
    found = left_behind(workspace)
    more = f"; `mem check` names {len(found) - 1:,} more" if len(found) > 1 else ""
    return tuple(f"{path} {reason}{more}" for path, reason in list(found.items())[:1])


def paths_changed(repository: Repository, old: str, new: str) -> list[str]:
    """Return the files of the workspace that are new, other or gone in the later of two commits."""
    return [repository.relative(one.path) for one in differences(repository, old, new, repository.prefix)]


def _unwanted(workspace: Workspace, repository: Repository, found: Sequence[PathChange]) -> list[str]:
    """Return the paths that a hook must not change in a commit of memory: others' files, and what is not fit."""
    kept = [
        one
        for one in found
        if not one.is_gone and is_memory(workspace, repository, ChangedFile(one.path, is_tracked=not one.is_new))
    ]
    wrong = unfit(workspace, repository, kept)
    others = [one.path for one in found if one not in kept]
    return [*others, *(f"{repository.prefix}{one.path}" for one in wrong.values())]


def _require_few_deleted(repository: Repository, workspace: Workspace, old: str, deleted: Sequence[str]) -> None:
    """Raise RefusedError where a large part of memory is gone, and not in the archive either."""
    if len(deleted) <= _FEW:
        return
    told = change(repository.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", old)
    names = (repository.relative(name) for name in split(told) if name.startswith(repository.prefix))
    count = sum(workspace.layout.kind_of(name) == "entry" for name in names)
    if len(deleted) > _FRACTION * count:
        fix = f"`git restore {repository.prefix or '.'}` brings them back; commit it yourself if they are to go"
        what = f"{len(deleted):,} of {count:,} memories are gone, and not in the archive"
        raise RefusedError(f"{what} ({deleted[0]})", fix)


def _tree_of(repository: Repository, name: str) -> str:
    return change(repository.top, "rev-parse", f"{name}^{{tree}}").decode().strip()


def _has_marker(repository: Repository) -> bool:
    return bool(attempt(repository.top, "ls-files", "--", f"{repository.prefix}{MARKER}").out)


def conclude_merge(workspace: Workspace, repository: Repository) -> tuple[FileProblem, ...]:
    """Commit the merge that was left to a person, once it is settled; return the conflicts that are left.

    A file of memory without any conflict marker counts as settled; any other has to be added by hand.
    """
    if not is_our_merge(repository):
        return ()
    left, settled = [], []
    for name, (is_left, sides) in conflicting(repository).items():
        target = repository.top / name
        is_ours = is_memory(workspace, repository, ChangedFile(name, is_tracked=True))
        said = text(read(target)) if is_ours and target.is_file() else ""
        line = leftover_marker(said, underlines(*map(text, sides)))
        if line or (is_left and not is_ours):
            left.append(FileProblem(repository.relative(name), line or 1, "both sides changed this"))
        elif is_ours and (is_left or said):
            settled.append(name)
    if settled:
        change(repository.top, "add", "--all", "--", *settled)
    if left:
        return tuple(left)
    words = ("diff-index", "--cached", "--name-only", "--no-renames", "-z")
    ours, theirs = (split(change(repository.top, *words, side)) for side in ("HEAD", "MERGE_HEAD"))
    staged = sorted({*ours}.intersection(theirs))  # as neither side has them
    memories = [name for name in staged if is_memory(workspace, repository, ChangedFile(name, is_tracked=True))]
    change(
        repository.top, "update-index", "--add", "--remove", "-z", "--stdin", given=joined(memories)
    )  # as they are now
    tree = change(repository.top, "write-tree").decode().strip()
    if wrong := unfit_merge(workspace, repository, tree, ("HEAD", "MERGE_HEAD")):
        return tuple(wrong)
    if staged := [name for name in staged if name not in memories]:
        fix = f"`git restore --staged {staged[0]}` leaves it out, `git commit` takes it in; then run `mem sync` again"
        raise RefusedError(f"{repository.top / staged[0]} is staged, and was not merged", fix)
    require_identity(repository)
    done = attempt(repository.top, "commit", "--quiet", "--no-edit", "--no-gpg-sign")
    if done.code:
        raise not_committed(repository, done, "the merge")
    return ()
