"""Commit what is mem's of a workspace, and nothing else, with a message that says what happened to memory.

Left out and named: files with conflict markers, with a secret, and those a crash left empty. Refused as a whole: a
commit that deletes a large part of memory, which is rather a mistake than a decision.
"""

from collections.abc import Callable, Collection, Iterator, Sequence

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.text_lines import FileProblem, conflict_marker, leftover_marker
from ..store.archive import KEEP, records_folder
from ..store.atomic_files import read
from ..store.git import blobs
from ..store.git_changes import attempt, change, joined, split
from ..store.git_commit import OwnIndex, PathChange, differences, empty_tree, not_committed, settle
from ..store.merge_resolution import Read, identifier_of, text
from ..store.privacy import IGNORE
from ..store.repository import (
    ChangedFile,
    Repository,
    conflicting,
    is_our_merge,
    require_identity,
    require_shared,
    status,
)
from ..store.revisions import FileVersions
from ..store.workspace import MARKER, Workspace
from .checks import leaks
from .entry_changes import MemoryChange
from .memory_changes import in_words, memory_changes

_ROOT_FILES = (MARKER, IGNORE, ".gitignore", ".gitattributes")
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


def commit_memory(
    workspace: Workspace, repository: Repository, before: Callable[[], object], *, dry_run: bool = False
) -> Commit:
    """Commit what changed of memory; `before` is called once something has, and may change more.

    With `dry_run` the commit is made and nothing refers to it. Raise RefusedError where a conflict of git's is left, a
    hook stops the commit or too much would be deleted; UsageError where git does not know the author.
    """
    head, branch, changed = status(repository, workspace)
    if not any(is_memory(workspace, repository, one) for one in changed):
        if not head or not _has_marker(repository):
            require_shared(repository, workspace)
        return Commit(head, branch)
    before()
    head, branch, changed = status(repository, workspace)
    paths = [one.path for one in changed if is_memory(workspace, repository, one)]
    if unmerged := [one.path for one in changed if one.is_unmerged]:
        fix = "settle it and `git add` it, then run `mem sync` again"
        raise RefusedError(f"{repository.top / unmerged[0]} has a conflict of git's that is not settled", fix)
    return _committed(workspace, repository, Commit(head, branch), paths, dry_run=dry_run)


def _committed(
    workspace: Workspace, repository: Repository, before: Commit, paths: Sequence[str], *, dry_run: bool
) -> Commit:
    old = before.head or empty_tree(repository)
    index = OwnIndex(repository, workspace.derived / "sync.index", before.head)
    try:
        tree = index.take(paths)
        found = differences(repository, old, tree, repository.prefix)
        problems = tuple(_unfit(workspace, repository, found))
        problems += tuple(_moved_unseen(workspace, repository, found, {one.path for one in problems}))
        if problems:
            out = {f"{repository.prefix}{one.path}" for one in problems}
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
            return Commit(made.decode().strip(), before.branch, what, problems)
        head, by_hooks = index.commit(message, tree, lambda found: _unwanted(workspace, repository, found))
    finally:
        index.discard()
    settle(repository, [*paths, *by_hooks], head)
    return Commit(head, before.branch, what, problems)


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


def paths_changed(repository: Repository, old: str, new: str) -> list[str]:
    """Return the files of the workspace that are new or other in the later of two commits."""
    found = differences(repository, old, new, repository.prefix)
    return [repository.relative(one.path) for one in found if not one.is_gone]


def is_memory(workspace: Workspace, repository: Repository, changed: ChangedFile) -> bool:
    """Return whether a changed file is mem's; of conversations only those that a person has put into git."""
    path = repository.relative(changed.path)
    layout = workspace.layout
    if not changed.path.startswith(repository.prefix):
        return False
    if path in _ROOT_FILES or path.startswith(f"{records_folder(layout)}/") or path.rpartition("/")[2] == KEEP:
        return True
    kind = layout.kind_of(path)
    if kind == "session":
        return changed.is_tracked
    return kind is not None and layout.owns(path)


def _unfit(workspace: Workspace, repository: Repository, found: Sequence[PathChange]) -> Iterator[FileProblem]:
    """Yield the files that are not fit to be handed on, each with the first reason."""
    names = {name for one in found for name in (one.old, one.new) if name.strip("0") and one.mode.startswith("100")}
    data = blobs(repository.top, list(names))
    for one in found:
        if one.mode == _LINK and not one.is_new and one.old_mode != _LINK:
            yield FileProblem(repository.relative(one.path), 1, "is a link now, which is no memory: put the file back")
        if one.is_gone or one.new not in data:
            continue
        before = text(data.get(one.old, b""))
        if problem := _unfit_text(workspace, repository.relative(one.path), text(data[one.new]), before):
            yield problem


def _unfit_text(workspace: Workspace, path: str, said: str, before: str) -> FileProblem | None:
    """Return why a text is not fit to be handed on, which an earlier one was; None if it is."""
    if line := conflict_marker(said):
        return FileProblem(path, line, "a git conflict marker: settle the conflict")
    if before and not said.strip():
        return FileProblem(path, 1, "is empty, as after a crash: `git restore` brings its text back")
    known = [fault.reason for fault in leaks(workspace, [(path, before)])] if before else []
    for fault in leaks(workspace, [(path, said)]):
        if fault.reason not in known:
            return FileProblem(path, fault.line, fault.reason)
        known.remove(fault.reason)
    return None


def _unwanted(workspace: Workspace, repository: Repository, found: Sequence[PathChange]) -> list[str]:
    """Return the paths that a hook must not change in a commit of memory: others' files, and what is not fit."""
    kept = [
        one
        for one in found
        if not one.is_gone and is_memory(workspace, repository, ChangedFile(one.path, is_tracked=not one.is_new))
    ]
    wrong = {f"{repository.prefix}{one.path}" for one in _unfit(workspace, repository, kept)}
    return [one.path for one in found if one not in kept or one.path in wrong]


def _moved_unseen(
    workspace: Workspace, repository: Repository, found: Sequence[PathChange], left_out: Collection[str]
) -> Iterator[FileProblem]:
    """Yield the memories that would be gone in git, though a file that is not committed has them now.

    That file is left out for what stands in it, or git is told to ignore it. Other machines would see a deletion.
    """
    layout = workspace.layout
    gone = [one for one in found if one.is_gone and layout.kind_of(repository.relative(one.path)) == "entry"]
    if not gone:
        return
    new = [one for one in found if not one.is_gone and repository.relative(one.path) not in left_out]
    data = blobs(repository.top, [name for one in (*gone, *new) for name in (one.old, one.new) if name.strip("0")])
    arrived = {identifier_of(text(data[one.new])) for one in new if one.new in data}
    unseen = [name for name in sorted({*ignored(workspace, repository), *left_out}) if layout.kind_of(name) == "entry"]
    holders = {identifier_of(text(read(workspace.root / name))): name for name in unseen if _is_file(workspace, name)}
    for one in gone:
        identifier = identifier_of(text(data.get(one.old, b"")))
        if identifier and identifier not in arrived and identifier in holders:
            reason = f"stays in git: what was there is in {holders[identifier]} now, which is not committed"
            yield FileProblem(repository.relative(one.path), 1, reason)


def ignored(workspace: Workspace, repository: Repository) -> tuple[str, ...]:
    """Return the memories that git is told to ignore; conversations are left out, which stay here anyway."""
    words = ("--others", "--ignored", "--exclude-standard", "--full-name", "-z", "--", repository.prefix or ".")
    files = [ChangedFile(name, is_tracked=False) for name in split(change(repository.top, "ls-files", *words))]
    return tuple(repository.relative(one.path) for one in files if is_memory(workspace, repository, one))


def _is_file(workspace: Workspace, name: str) -> bool:
    path = workspace.root / name
    return path.is_file() and not path.is_symlink()


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
        line = leftover_marker(said, map(text, sides))
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
    if unfit := _unfit_merge(workspace, repository, tree, ("HEAD", "MERGE_HEAD")):
        return tuple(unfit)
    if staged := [name for name in staged if name not in memories]:
        fix = f"`git restore --staged {staged[0]}` leaves it out, `git commit` takes it in; then run `mem sync` again"
        raise RefusedError(f"{repository.top / staged[0]} is staged, and was not merged", fix)
    require_identity(repository)
    done = attempt(repository.top, "commit", "--quiet", "--no-edit", "--no-gpg-sign")
    if done.code:
        raise not_committed(repository, done, "the merge")
    return ()


def _unfit_merge(workspace: Workspace, repository: Repository, tree: str, sides: Sequence[str]) -> list[FileProblem]:
    """Return the files of a merge's tree that are not fit to be handed on, each as none of the sides has it.

    A memory that both sides have and the tree has not is one where the file that has it now is not fit.
    """
    words = ("--others", "--exclude-standard", "--full-name", "-z", "--", repository.prefix or ".")
    new = [repository.relative(name) for name in split(change(repository.top, "ls-files", *words))]
    entries = [name for name in new if workspace.layout.kind_of(name) == "entry" and _is_file(workspace, name)]
    unseen = [name for name in entries if _unfit_text(workspace, name, text(read(workspace.root / name)), "")]
    found: list[dict[str, FileProblem]] = []
    for side in sides:
        changes = differences(repository, side, tree, repository.prefix)
        problems = [*_unfit(workspace, repository, changes), *_moved_unseen(workspace, repository, changes, unseen)]
        found.append({one.path: one for one in problems})
    return [one for path, one in found[0].items() if all(path in other for other in found)]
