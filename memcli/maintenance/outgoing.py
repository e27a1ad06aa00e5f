"""What of memory is fit to be handed on: in what is about to be committed, and in the commits that are to be sent.

Not fit are secrets, in a text or in a name, conflict markers and what a crash left empty; nor is the deletion of a
memory that lies in a file which git does not get: other machines would lose it.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache
from shlex import quote

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.frontmatter import document
from ..formats.text_lines import FileProblem, conflict_marker, leftover_marker
from ..git.commit import (
    CommittedFile,
    OwnIndex,
    PathChange,
    differences,
    empty_tree,
    files_of_commits,
    not_committed,
    settle,
)
from ..git.repository import (
    ChangedFile,
    FileVersions,
    Repository,
    conflicting,
    is_our_merge,
    left_behind,
    require_identity,
    require_shared,
    status,
)
from ..git.resolution import Read, identifier_of, text
from ..git.run import attempt, blobs, change, joined, split
from ..results import number_of
from ..store.archive import KEEP
from ..store.atomic_files import read
from ..store.privacy import IGNORE
from ..store.workspace import MARKER, Workspace
from .access_counters import fold, waiting
from .checks import credentials
from .memory_diff import MemoryChange, headline, memory_changes

UPKEEP = "upkeep"
"""What changed where no memory did."""
_ROOT_FILES = (MARKER, IGNORE, ".gitignore", ".gitattributes")
_SHORT = 12  # characters of a commit that is named


def is_memory(workspace: Workspace, repository: Repository, changed: ChangedFile) -> bool:
    """Return whether a changed file is mem's; of conversations only those that a person has put into git."""
    path = repository.relative(changed.path)
    layout = workspace.layout
    if not changed.path.startswith(repository.prefix):
        return False
    if path in _ROOT_FILES or path.rpartition("/")[2] == KEEP:
        return True
    kind = layout.kind_of(path)
    if kind == "session":
        return changed.is_tracked
    if kind != "entry" or layout.manages(path):
        return kind is not None and layout.manages(path)
    file, data = workspace.root / path, b""  # in a vault a note anywhere is a memory if it states an id of mem's
    if file.is_file() and not file.is_symlink():
        data = read(file)
    elif changed.is_tracked:  # deleted: as it was committed
        data = attempt(repository.top, "cat-file", "blob", f"HEAD:{changed.path}").out
    return layout.manages(path, identifier_of(text(data)))


def ignored(workspace: Workspace, repository: Repository) -> tuple[str, ...]:
    """Return the memories that git is told to ignore; conversations are left out, which stay here anyway."""
    words = ("--others", "--ignored", "--exclude-standard", "--full-name", "-z", "--", repository.prefix or ".")
    files = [ChangedFile(name, is_tracked=False) for name in split(change(repository.top, "ls-files", *words))]
    return tuple(repository.relative(file.path) for file in files if is_memory(workspace, repository, file))


def repositories_in(
    workspace: Workspace, repository: Repository, changed: Iterable[ChangedFile]
) -> tuple[FileProblem, ...]:
    """Return the folders of memory that are git repositories of their own, whose files no exchange takes along."""
    folders = [file.path for file in changed if file.path.endswith("/")]  # git names no file in them
    reason = "is a git repository of its own, whose files do not travel: move its .git away, or the folder"
    return tuple(
        FileProblem(repository.relative(folder).rstrip("/"), 1, f"{reason}; named in .gitignore it is not told of")
        for folder in folders
        if is_memory(workspace, repository, ChangedFile(f"{folder}x.md", is_tracked=False))
    )


def unfit(workspace: Workspace, repository: Repository, changes: Sequence[PathChange]) -> dict[str, FileProblem]:
    """Return the files that are not fit to be handed on, by path from the top, each with the first reason.

    A secret that the earlier tree has in any of the files is no reason: it is in git already, and may move.
    """
    names = {
        name for file in changes for name in (file.old, file.new) if name.strip("0") and file.mode.startswith("100")
    }
    names |= {file.old for file in changes if file.is_gone}
    data = blobs(repository.top, list(names))

    @cache
    def committed_secrets() -> Collection[str]:
        texts = [(repository.relative(file.path), text(data[file.old])) for file in changes if file.old in data]
        return {credential for _, credential in credentials(workspace, texts)}

    problems = {}
    for file in changes:
        path = repository.relative(file.path)
        if file.mode == _LINK and not file.is_new and file.old_mode != _LINK:
            problems[file.path] = FileProblem(path, 1, "is a link now, which is no memory: put the file back")
        if file.is_gone or file.new not in data:
            continue
        before = text(data.get(file.old, b""))
        if problem := _unfit_text(workspace, path, text(data[file.new]), before, committed_secrets):
            problems[file.path] = problem
    return problems


def _unfit_text(
    workspace: Workspace,
    path: str,
    text_now: str,
    before: str = "",
    committed_secrets: Callable[[], Collection[str]] = tuple,
) -> FileProblem | None:
    """Return why a text is not fit to be handed on, which an earlier one was; None if it is."""
    if line := conflict_marker(text_now):
        return FileProblem(path, line, "a git conflict marker: settle the conflict")
    if before and not text_now.strip():
        return FileProblem(path, 1, "is empty, as after a crash: `git restore` brings its text back")
    for fault, credential in credentials(workspace, [(path, text_now)]):
        if credential not in committed_secrets():
            return FileProblem(fault.path, fault.line, fault.reason)
    return None


class _Texts:
    """The texts of files, by their paths: asked for the one that has what a memory said."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self.ids: dict[str, str] = {}
        self.lines = defaultdict[str, list[tuple[str, set[str]]]](list)
        self.names: dict[str, str] = {}
        for path, content in texts:
            identifier, lines = identifier_of(content), _lines(content)
            if identifier:
                self.ids[identifier] = path
            self.names[path] = identifier
            for line in lines:
                self.lines[line].append((path, lines))

    def holder(self, content: str, names: Collection[str] = ()) -> str:
        """Return the path of a file with the id of a memory or all its lines, or one of `names`; empty if none is.

        A file with another id is another memory.
        """
        identifier, lines = identifier_of(content), _lines(content)
        by_id = self.ids.get(identifier, "")
        rarest = min((self.lines.get(line, []) for line in lines), key=len, default=[])
        others = [*(path for path, all_lines in rarest if lines <= all_lines), *names]
        return by_id or next((path for path in others if not (identifier and self.names[path])), "")


def _lines(content: str) -> set[str]:
    return {line.strip() for line in document.parse(content).body.splitlines()} - {""}


def moved_unseen(
    workspace: Workspace, repository: Repository, changes: Sequence[PathChange], left_out: Collection[str]
) -> dict[str, FileProblem]:
    """Return the memories that would be gone in git, though a file that is not committed has them now, by their path.

    That file is left out for what stands in it, lies in a repository of its own, or git is told to ignore it. It has
    the memory if it has its id or, where one of them has none, all its lines, or is new and has its name, as the one in
    the archive. Other machines would see a deletion.
    """
    layout = workspace.layout
    deleted = [file for file in changes if file.is_gone and layout.kind_of(repository.relative(file.path)) == "entry"]
    if not deleted:
        return {}
    new = [file for file in changes if not file.is_gone and repository.relative(file.path) not in left_out]
    data = blobs(
        repository.top, [name for file in (*deleted, *new) for name in (file.old, file.new) if name.strip("0")]
    )
    arrived = _Texts((repository.relative(file.path), text(data[file.new])) for file in new if file.new in data)
    files = {*ignored(workspace, repository), *_files_in(workspace, left_out)}
    holders = _Texts((path, text(read(workspace.root / path))) for path in sorted(files) if _is_entry(workspace, path))
    old_paths = {repository.relative(file.path) for file in changes if not file.is_new}
    names = defaultdict[str, list[str]](list)
    for path in holders.names:
        if path not in old_paths:
            names[os.path.basename(path)].append(path)
    problems = {}
    for file in deleted:
        content, path = text(data.get(file.old, b"")), repository.relative(file.path)
        if not arrived.holder(content) and (holder := holders.holder(content, names.get(os.path.basename(path), ()))):
            shown = next((fault.path for fault, _ in credentials(workspace, [(holder, "")])), holder)
            reason = f"stays in git: what was there is in {shown} now, which is not committed"
            problems[file.path] = FileProblem(path, 1, reason)
    return problems


def _files_in(workspace: Workspace, paths: Iterable[str]) -> Iterable[str]:
    for path in paths:
        yield path
        for below, _, names in os.walk(workspace.root / path):
            yield from (os.path.relpath(os.path.join(below, name), workspace.root) for name in names)


def _is_entry(workspace: Workspace, path: str) -> bool:
    file = workspace.root / path
    return workspace.layout.kind_of(path) == "entry" and file.is_file() and not file.is_symlink()


def unfit_merge(workspace: Workspace, repository: Repository, tree: str, sides: Sequence[str]) -> list[FileProblem]:
    """Return the files of a merge's tree that are not fit to be handed on, each as none of the sides has it.

    A memory that both sides have and the tree has not is one where the file that has it now is not fit.
    """
    words = ("--others", "--exclude-standard", "--full-name", "-z", "--", repository.prefix or ".")
    new = [repository.relative(name) for name in split(change(repository.top, "ls-files", *words))]
    entries = [name for name in new if _is_entry(workspace, name)]
    unseen = [name for name in entries if _unfit_text(workspace, name, text(read(workspace.root / name)))]
    problems: list[dict[str, FileProblem]] = []
    for side in sides:
        changes = differences(repository, side, tree, repository.prefix)
        problems.append(
            {**unfit(workspace, repository, changes), **moved_unseen(workspace, repository, changes, unseen)}
        )
    return [problem for path, problem in problems[0].items() if all(path in other for other in problems)]


def beside_memory(
    workspace: Workspace, repository: Repository, ours: str, theirs: str, looked: Collection[tuple[str, str]]
) -> list[str]:
    """Return the files that are not memory which the commits touch that the remote's last one lacks.

    Raise RefusedError where a text of memory in any of these commits has a secret, or a name, that the remote has not:
    a later commit without it would be sent with its history. Commits that were `looked` at when they were made are
    named with the one before.
    """
    committed = files_of_commits(repository, f"{theirs}..{ours}" if theirs else ours)
    paths = dict.fromkeys(file.path for file in committed)
    memories = {path for path in paths if is_memory(workspace, repository, ChangedFile(path, is_tracked=True))}
    memories |= _committed_memories(workspace, repository, [file for file in committed if file.path not in memories])
    new = [file for file in committed if file.path in memories and (file.commit, file.parents) not in looked]
    _require_no_secret(workspace, repository, [file for file in new if file.mode != _LINK])
    return [path for path in paths if path not in memories]


def _committed_memories(workspace: Workspace, repository: Repository, files: Sequence[CommittedFile]) -> set[str]:
    """Return those of some files that were memories in one of their commits: in a vault their id alone says so."""
    layout = workspace.layout
    notes = [file for file in files if layout.is_vault and layout.kind_of(repository.relative(file.path)) == "entry"]
    data = blobs(repository.top, list({name for file in notes for name in (file.new, *file.old)} - {""}))
    return {
        file.path
        for file in notes
        for name in (file.new, *file.old)
        if name in data and layout.manages(repository.relative(file.path), identifier_of(text(data[name])))
    }


def _require_no_secret(workspace: Workspace, repository: Repository, files: Sequence[CommittedFile]) -> None:
    blobs_sent = {file.new for file in files}
    data = blobs(repository.top, list({*blobs_sent, *(name for file in files for name in file.old)} - {""}))

    def credentials_of(path: str, blob: str) -> list[tuple[FileProblem, str]]:
        return [*credentials(workspace, [(repository.relative(path), text(data[blob]))])] if blob in data else []

    credentials_found = [(file, *pair) for file in files for pair in credentials_of(file.path, file.new)]
    if not credentials_found:
        return
    before = {
        (file.path, name) for file in files for name in file.old if name not in blobs_sent
    }  # so the remote has these
    remote_secrets = {credential for path, blob in before for _, credential in credentials_of(path, blob)}
    left = [(file, fault) for file, fault, credential in credentials_found if credential not in remote_secrets]
    if not left:
        return
    first, fault = left[0]
    commit = first.commit[:_SHORT]
    others = len({file.path for file, _ in left}) - 1
    more = f" (and {number_of(others, 'more file')})" if others else ""
    what = f"{fault.path}:{fault.line} {fault.reason.partition(':')[0]} in commit {commit}{more}"
    undo = f"git reset {commit}^" if first.parents else "git update-ref -d HEAD"
    fix = f"`{undo}` undoes it and what follows, and keeps the files: take it out of them and run `mem sync`"
    raise RefusedError(f"{what}, which is not sent yet", f"{fix}; or name the file in the setting secrets.allow")


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
    _, is_confirmed = waiting(workspace)
    if is_confirmed and not dry_run:  # worth a commit of its own, which an access is not
        fold(workspace, "mem sync")
    head, branch, changed = status(repository, workspace)
    inner = repositories_in(workspace, repository, changed)
    if not any(is_memory(workspace, repository, file) for file in changed):
        if not head or not (bool(attempt(repository.top, "ls-files", "--", f"{repository.prefix}{MARKER}").out)):
            require_shared(repository, workspace)
        return Commit(head, branch, problems=inner)
    if not dry_run and any(waiting(workspace)):
        fold(workspace, "mem sync")
    head, branch, changed = status(repository, workspace)
    paths = [file.path for file in changed if is_memory(workspace, repository, file)]
    if unmerged := [file.path for file in changed if file.is_unmerged]:
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
        changes = differences(repository, old, tree, repository.prefix)
        out = unfit(workspace, repository, changes)
        unseen = {repository.relative(path) for path in out} | {problem.path for problem in before.problems}
        out |= moved_unseen(workspace, repository, changes, unseen)
        problems = (*before.problems, *out.values())
        if out:
            tree = index.put(
                {file.path: (file.old_mode, "" if file.is_new else file.old) for file in changes if file.path in out}
            )
            paths = [path for path in paths if path not in out]
        happened = changes_between(repository, workspace, old, tree)
        if tree == (change(repository.top, "rev-parse", f"{old}^{{tree}}").decode().strip()):
            settle(repository, paths, before.head) if before.head else None
            return Commit(before.head, before.branch, problems=problems)
        _require_few_deleted(
            repository,
            workspace,
            old,
            [memory_change.path for memory_change in happened if memory_change.kind == "purged"],
        )
        require_identity(repository)
        what = headline(happened) or UPKEEP
        message = f"memory: {what}\n"
        if dry_run:
            parents = ("-p", before.head) if before.head else ()
            commit = change(repository.top, "commit-tree", "--no-gpg-sign", tree, *parents, given=message.encode())
            return Commit(commit.decode().strip(), before.branch, what, problems, before.head)
        head, by_hooks = index.commit(message, tree, lambda changes: _unwanted(workspace, repository, changes))
    finally:
        index.discard()
    settle(repository, [*paths, *by_hooks], head)
    return Commit(head, before.branch, what, problems, before.head)


def changes_between(
    repository: Repository, workspace: Workspace, old: str, new: str, reader: Read | None = None
) -> list[MemoryChange]:
    """Return what became of memories between two commits or trees; `reader` may know their blobs already."""
    changes = [
        file
        for file in differences(repository, old, new, repository.prefix)
        if not _MODULE & {file.old_mode, file.mode}
    ]
    names = [name for file in changes for name in (file.old, file.new) if name.strip("0")]
    data = reader(names) if reader else blobs(repository.top, names)
    files = [
        FileVersions(repository.relative(file.path), data.get(file.old), data.get(file.new), file.mode == _LINK)
        for file in changes
    ]
    return memory_changes(workspace.layout, files, dict)


def name_left_behind(workspace: Workspace) -> tuple[str, ...]:
    """Say in one line which memories lie where the settings said before, if any do."""
    left = left_behind(workspace)
    more = f"; `mem check` names {len(left) - 1:,} more" if len(left) > 1 else ""
    return tuple(f"{path} {reason}{more}" for path, reason in list(left.items())[:1])


def paths_changed(repository: Repository, old: str, new: str) -> list[str]:
    """Return the files of the workspace that are new, other or gone in the later of two commits."""
    return [repository.relative(file.path) for file in differences(repository, old, new, repository.prefix)]


def _unwanted(workspace: Workspace, repository: Repository, changes: Sequence[PathChange]) -> list[str]:
    """Return the paths that a hook must not change in a commit of memory: others' files, and what is not fit."""
    memories = [
        file
        for file in changes
        if not file.is_gone and is_memory(workspace, repository, ChangedFile(file.path, is_tracked=not file.is_new))
    ]
    wrong = unfit(workspace, repository, memories)
    others = [file.path for file in changes if file not in memories]
    return [*others, *(f"{repository.prefix}{problem.path}" for problem in wrong.values())]


def _require_few_deleted(repository: Repository, workspace: Workspace, old: str, deleted: Sequence[str]) -> None:
    """Raise RefusedError where a large part of memory is gone, and not in the archive either."""
    if len(deleted) <= _FEW:
        return
    listed = change(repository.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", old)
    names = (repository.relative(name) for name in split(listed) if name.startswith(repository.prefix))
    count = sum(workspace.layout.kind_of(name) == "entry" for name in names)
    if len(deleted) > _FRACTION * count:
        fix = f"`git restore {quote(repository.prefix or '.')}` brings them back; commit it yourself if they are to go"
        what = f"{len(deleted):,} of {number_of(count, 'memory')} gone, and not in the archive"
        raise RefusedError(f"{what} ({deleted[0]})", fix)


def conclude_merge(workspace: Workspace, repository: Repository) -> tuple[FileProblem, ...]:
    """Commit the merge that was left to a person, once it is settled; return the conflicts that are left.

    A file of memory without any conflict marker counts as settled; any other has to be added by hand.
    """
    if not is_our_merge(repository):
        return ()
    left, settled = [], []
    for name, is_left in conflicting(repository).items():
        target = repository.top / name
        is_ours = is_memory(workspace, repository, ChangedFile(name, is_tracked=True))
        content = text(read(target)) if is_ours and target.is_file() else ""
        line = leftover_marker(content)
        if line or (is_left and not is_ours):
            left.append(FileProblem(repository.relative(name), line or 1, "both sides changed this"))
        elif is_ours and (is_left or content):
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
        fix = (
            f"`git restore --staged {quote(staged[0])}` leaves it out, `git commit` takes it in; then `mem sync` again"
        )
        raise RefusedError(f"{repository.top / staged[0]} is staged, and was not merged", fix)
    require_identity(repository)
    done = attempt(repository.top, "commit", "--quiet", "--no-edit", "--no-gpg-sign")
    if done.code:
        raise not_committed(repository, done, "the merge")
    return ()
