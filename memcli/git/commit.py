"""Commit the files of a workspace through an index of our own: what others have staged stays staged, and as it is."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import copy2
from typing import NamedTuple

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..store import file_steps
from ..store.workspace import Workspace
from .repository import Repository, repository_of
from .run import Done, attempt, change, joined, listing_rows, raw_changes, refused

_MERGES = 5  # that are looked at
_RAW = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev")


class PathChange(NamedTuple):
    """A path that two trees have differently; a mode of zeros where it is missing."""

    path: str
    old_mode: str
    mode: str
    old: str  # names of the blobs
    new: str

    @property
    def is_new(self) -> bool:
        """Return whether only the later tree has it."""
        return not self.old.strip("0")

    @property
    def is_gone(self) -> bool:
        """Return whether only the earlier tree has it."""
        return not self.new.strip("0")


def differences(repository: Repository, old: str, new: str, below: str = "") -> list[PathChange]:
    """Compare two trees or commits, renames not followed; with `below` only what lies in a folder."""
    words = ("diff-tree", *_RAW, old, new, *(("--", below) if below else ()))
    return [_path_change(path, fields) for path, fields, _ in raw_changes(change(repository.top, *words))]


def differences_of(repository: Repository, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[PathChange]]:
    """Compare the trees of pairs of commits, below the workspace and at once: processes do not grow with the pairs."""
    pairs = [*pairs]
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    if not names:
        return {}
    trees = change(repository.top, "rev-parse", *(f"{name}^{{tree}}" for name in names)).decode().split()
    tree_of = dict(zip(names, trees, strict=True))
    given = "".join(f"{tree_of[old]} {tree_of[new]}\n" for old, new in pairs).encode()
    words = ("diff-tree", "--stdin", *_RAW, *(("--", repository.prefix) if repository.prefix else ()))
    changes = defaultdict[str, list[PathChange]](list)
    for path, fields, compared in raw_changes(change(repository.top, *words, given=given)):
        changes[compared].append(_path_change(path, fields))
    return {(old, new): changes[f"{tree_of[old]} {tree_of[new]}"] for old, new in pairs}


def _path_change(path: str, fields: str) -> PathChange:
    return PathChange(path, *fields.removeprefix(":").split(" ")[:4])


@dataclass(frozen=True)
class Merging:
    """The files of a workspace that a merge brought together: the blob of each by path, where there is one."""

    result: Mapping[str, str] | None  # None while it is under way
    sides: Sequence[Mapping[str, str]]
    top: Path  # of the repository that has the blobs


def last_merges(workspace: Workspace) -> list[Merging]:
    """Return the last merges, one that is under way among them; none without a repository that has all of them."""
    try:
        return _last_merges(repository_of(workspace))
    except MemError:
        return []


def _last_merges(repository: Repository) -> list[Merging]:
    words = ("rev-list", "--merges", "--parents", f"--max-count={_MERGES}", "HEAD")
    rows = map(str.split, attempt(repository.top, *words).out.decode().splitlines())
    commits = [(commit, parents) for commit, *parents in rows]
    theirs = commit_of(repository, "MERGE_HEAD")
    under_way = [("HEAD", theirs)] if theirs else []
    pairs = [*under_way, *((parent, commit) for commit, parents in commits for parent in parents)]
    changes = {
        pair: {repository.relative(file.path): file for file in files}
        for pair, files in differences_of(repository, pairs).items()
    }
    merges = []
    for files in (changes[pair] for pair in under_way):
        sides = [{path: file.old for path, file in files.items()}, {path: file.new for path, file in files.items()}]
        merges.append(Merging(None, [*map(_blobs, sides)], repository.top))
    for commit, parents in commits:
        since = [changes[parent, commit] for parent in parents]
        whole = {path: file.new for files in since for path, file in files.items()}
        sides = [whole | {path: file.old for path, file in files.items()} for files in since]
        merges.append(Merging(_blobs(whole), [*map(_blobs, sides)], repository.top))
    return merges


def _blobs(files: Mapping[str, str]) -> dict[str, str]:
    return {path: blob for path, blob in files.items() if blob.strip("0")}


class CommittedFile(NamedTuple):
    """A file that a commit changed; a merge, where none of its sides has it so."""

    commit: str
    parents: str  # with a blank between; empty for the first one
    path: str
    mode: str
    old: tuple[str, ...]  # names of the blobs that its parents have, without those that lack the file
    new: str  # empty where the commit has no such file


def files_of_commits(repository: Repository, span: str) -> list[CommittedFile]:
    """Return what each commit of a span changed, the oldest first."""
    words = ("--reverse", "--topo-order", "--root", "--no-show-signature", "--diff-merges=combined", "--no-renames")
    more = ("--ignore-submodules=none", "--raw", "--no-abbrev", "--format=%H %P", "-z")
    files = []
    for path, fields, line in raw_changes(change(repository.top, "log", *words, *more, span)):
        commit, _, parents = line.partition(" ")
        modes_and_blobs = fields.lstrip(":")
        count = len(fields) - len(modes_and_blobs)  # of parents
        values = modes_and_blobs.split(" ")
        *old, new = (name if name.strip("0") else "" for name in values[count + 1 : 2 * count + 2])
        files.append(CommittedFile(commit, parents, path, values[count], tuple(filter(None, old)), new))
    return files


class OwnIndex:
    """An index beside git's own, which begins as the last commit."""

    def __init__(self, repository: Repository, file: Path, head: str) -> None:
        """Make it of git's, so that files which have not changed need not be read."""
        self.repository = repository
        self.file = file
        self.head = head
        self._environ = {"GIT_INDEX_FILE": str(file)}
        self.discard()  # what a git that was killed left: whoever makes it holds the lock of `mem sync`
        with file_steps.naming("write", file), suppress(FileNotFoundError):
            copy2(repository.folder / "index", file)  # its time says which files may have changed in the same second
        self.run("read-tree", *(("--reset", head) if head else ("--empty",)))

    def run(self, *words: str, given: bytes = b"") -> bytes:
        """Run git with this index."""
        return change(self.repository.top, *words, given=given, environ=self._environ)

    def take(self, paths: Sequence[str]) -> str:
        """Take files in as they are on disk, those that are gone too; return the tree."""
        self.run("update-index", "--add", "--remove", "--replace", "-z", "--stdin", given=joined(paths))
        return self.tree()

    def put(self, files: Mapping[str, tuple[str, str]]) -> str:
        """Set mode and blob of paths, and remove those whose blob has no name; return the tree."""
        _put(self.repository, files, self._environ)
        return self.tree()

    def tree(self) -> str:
        """Write the tree and return its name."""
        return self.run("write-tree").decode().strip()

    def commit(
        self, message: str, tree: str, unwanted: Callable[[Sequence[PathChange]], Sequence[str]]
    ) -> tuple[str, tuple[str, ...]]:
        """Commit the tree as the hooks of the repository let it; return the commit, and the paths they changed in it.

        Raise RefusedError, with the branch as it was, if a hook stops it or changes paths that are `unwanted`.
        """
        top = self.repository.top
        words = ("commit", "--quiet", "--no-gpg-sign", "--cleanup=whitespace", "--file=-")
        done = attempt(top, *words, given=message.encode(), environ=self._environ)
        if done.code:
            raise not_committed(self.repository, done, "memory")
        commit = commit_of(self.repository, "HEAD")
        changed = differences(self.repository, tree, commit)
        if commit_of(self.repository, f"{commit}^") != self.head:  # a hook made more commits, which are its own
            return commit, ()
        if changed and (paths := unwanted(changed)):
            change(top, "update-ref", *(("HEAD", self.head, commit) if self.head else ("-d", "HEAD", commit)))
            more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
            fix = "let it pass where MEM_INSIDE_HOOK is set, or add only what is staged; then run `mem sync` again"
            raise RefusedError(f"{_hook(self.repository)} put {paths[0]}{more} into the commit of memory", fix)
        return commit, tuple(file.path for file in changed)

    def discard(self) -> None:
        """Remove it."""
        for name in (self.file, self.file.with_name(f"{self.file.name}.lock")):
            with suppress(OSError):
                name.unlink()


def not_committed(repository: Repository, done: Done, what: str) -> MemError:
    """Return the error of a commit that failed: stopped by a hook, which ends it with 1, or by git."""
    if done.code != 1:
        fix = "put that right (`git fsck` tells more), then run `mem sync` again"
        return refused(done, f"git cannot commit in {repository.top}", fix)
    reason = f" ({done.lines[-1]})" if done.lines else ""
    fix = "mend what it stops at, or commit with `git commit --no-verify`; then run `mem sync` again"
    return RefusedError(f"a hook of {repository.top} stopped the commit of {what}{reason}", fix)


def _hook(repository: Repository) -> str:
    """Return the first hook of a repository that may change a commit."""
    folder = os.fsdecode(change(repository.top, "rev-parse", "--git-path", "hooks").rstrip(b"\n"))
    hooks = [repository.top / folder / name for name in ("pre-commit", "post-commit")]
    return str(next((hook for hook in hooks if os.access(hook, os.X_OK)), "a hook"))


def commit_of(repository: Repository, name: str) -> str:
    """Return the commit that a name stands for; empty where there is none."""
    done = attempt(repository.top, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    return done.out.decode().strip()


def empty_tree(repository: Repository) -> str:
    """Return the name of the tree that holds nothing."""
    return change(repository.top, "hash-object", "-w", "-t", "tree", "--stdin").decode().strip()


def settle(repository: Repository, paths: Iterable[str], head: str) -> None:
    """Let git's own index have these paths as the last commit has them."""
    files = dict.fromkeys(paths, ("", ""))
    if not files:
        return
    below = [repository.prefix] * bool(repository.prefix)
    for (mode, _, blob), path in listing_rows(
        change(repository.top, "ls-tree", "-r", "-z", "--full-tree", head, *below)
    ):
        if path in files:
            files[path] = mode, blob
    _put(repository, files, {})
    attempt(repository.top, "update-index", "-q", "--refresh")


def _put(repository: Repository, files: Mapping[str, tuple[str, str]], environ: Mapping[str, str]) -> None:
    """Set mode and blob of paths in an index, and remove those whose blob has no name."""
    if deleted := joined([path for path, (_, blob) in files.items() if not blob]):
        change(repository.top, "update-index", "--force-remove", "-z", "--stdin", given=deleted, environ=environ)
    lines = [f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, blob) in files.items() if blob]
    if lines:
        change(repository.top, "update-index", "-z", "--index-info", given=b"".join(lines), environ=environ)
