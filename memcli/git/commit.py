"""Commit the files of a workspace through an index of our own: what others have staged stays staged, and as it is."""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shutil import copy2
from typing import NamedTuple

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..store import file_steps
from ..store.workspace import Workspace
from .repository import Repository, repository_of
from .run import Done, attempt, blobs, change, joined, refused

_MERGES = 5  # that are looked at


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
    where = ("--", below) if below else ()
    told = change(repository.top, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new, *where)
    words = os.fsdecode(told).split("\0")
    return [
        PathChange(path, *head.removeprefix(":").split(" ")[:4])
        for head, path in zip(words[::2], words[1::2], strict=False)
    ]


def differences_of(repository: Repository, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[PathChange]]:
    """Compare the trees of pairs of commits, below the workspace and at once: processes do not grow with the pairs."""
    pairs = [*pairs]
    names = list(dict.fromkeys(name for pair in pairs for name in pair))
    if not names:
        return {}
    trees = change(repository.top, "rev-parse", *(f"{name}^{{tree}}" for name in names)).decode().split()
    tree_of = dict(zip(names, trees, strict=True))
    given = "".join(f"{tree_of[old]} {tree_of[new]}\n" for old, new in pairs).encode()
    where = ("--", repository.prefix) if repository.prefix else ()
    words = ("diff-tree", "--stdin", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", *where)
    told = iter(os.fsdecode(change(repository.top, *words, given=given)).split("\0"))
    found = defaultdict[str, list[PathChange]](list)
    compared = ""
    for word in told:
        *heads, head = word.split("\n")  # the pair stands before its first file, and alone where there is none
        compared = heads[-1] if heads else compared
        if head:
            found[compared].append(PathChange(next(told), *head.removeprefix(":").split(" ")[:4]))
    return {(old, new): found[f"{tree_of[old]} {tree_of[new]}"] for old, new in pairs}


def before_merge(workspace: Workspace, path: str) -> list[bytes]:
    """Return the versions of a file that the last merge, done or under way, began with; none outside a repository."""
    try:
        repository = repository_of(workspace)
    except MemError:
        return []
    names = (f"{side}:{repository.prefix}{path}" for side in ("HEAD", "HEAD^1", "HEAD^2", "MERGE_HEAD"))
    found = [attempt(repository.top, "cat-file", "blob", name) for name in names]
    return [done.out for done in found if not done.code]


@dataclass(frozen=True)
class Merging:
    """The files of a workspace that a merge brought together: the blob of each by path, where there is one."""

    made: Mapping[str, str] | None  # None while it is under way
    sides: Sequence[Mapping[str, str]]
    read: Callable[[Collection[str]], Mapping[str, bytes]]


def last_merges(workspace: Workspace) -> list[Merging]:
    """Return the last merges, one that is under way among them; none without a repository that has all of them."""
    try:
        return _last_merges(repository_of(workspace))
    except MemError:
        return []


def _last_merges(repository: Repository) -> list[Merging]:

    def read(names: Collection[str]) -> Mapping[str, bytes]:
        return blobs(repository.top, [*names])

    told = attempt(repository.top, "rev-list", "--merges", "--parents", f"--max-count={_MERGES}", "HEAD").out
    made = [(commit, parents) for commit, *parents in map(str.split, told.decode().splitlines())]
    theirs = commit_of(repository, "MERGE_HEAD")
    under_way = [("HEAD", theirs)] if theirs else []
    found = differences_of(
        repository, [*under_way, *((parent, commit) for commit, several in made for parent in several)]
    )
    changes = {pair: {repository.relative(one.path): one for one in files} for pair, files in found.items()}
    merges = []
    for files in (changes[pair] for pair in under_way):
        sides = [{path: one.old for path, one in files.items()}, {path: one.new for path, one in files.items()}]
        merges.append(Merging(None, [*map(_blobs, sides)], read))
    for commit, parents in made:
        since = [changes[parent, commit] for parent in parents]
        whole = {path: one.new for files in since for path, one in files.items()}
        sides = [whole | {path: one.old for path, one in files.items()} for files in since]
        merges.append(Merging(_blobs(whole), [*map(_blobs, sides)], read))
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
    told = iter(os.fsdecode(change(repository.top, "log", *words, *more, span)).split("\0"))
    found = []
    commit, parents = "", ""
    for word in told:
        head = word.removeprefix("\n")
        if not head.startswith(":"):
            commit, _, parents = head.partition(" ") if head else (commit, "", parents)
            continue
        count = len(head) - len(head.lstrip(":"))  # of parents
        about = head[count:].split(" ")
        *old, new = ("" if not name.strip("0") else name for name in about[count + 1 : 2 * count + 2])
        blobs = tuple(filter(None, old))
        found.append(CommittedFile(commit, parents, next(told), about[count], blobs, new))
    return found


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
        made = commit_of(self.repository, "HEAD")
        changed = differences(self.repository, tree, made)
        if commit_of(self.repository, f"{made}^") != self.head:  # a hook made more commits, which are its own
            return made, ()
        if changed and (paths := unwanted(changed)):
            change(top, "update-ref", *(("HEAD", self.head, made) if self.head else ("-d", "HEAD", made)))
            more = f" and {len(paths) - 1:,} more" if len(paths) > 1 else ""
            fix = "let it pass where MEM_INSIDE_HOOK is set, or add only what is staged; then run `mem sync` again"
            raise RefusedError(f"{_hook(self.repository)} put {paths[0]}{more} into the commit of memory", fix)
        return made, tuple(one.path for one in changed)

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
    said = f" ({done.lines[-1]})" if done.lines else ""
    fix = "mend what it stops at, or commit with `git commit --no-verify`; then run `mem sync` again"
    return RefusedError(f"a hook of {repository.top} stopped the commit of {what}{said}", fix)


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
    wanted = dict.fromkeys(paths)
    if not wanted:
        return
    found = {}
    told = change(
        repository.top, "ls-tree", "-r", "-z", "--full-tree", head, *([repository.prefix] * bool(repository.prefix))
    )
    for line in os.fsdecode(told).split("\0"):
        about, _, path = line.partition("\t")
        if path in wanted:
            mode, _, blob = about.split(" ")
            found[path] = (mode, blob)
    _put(repository, {path: found.get(path, ("", "")) for path in wanted}, {})
    attempt(repository.top, "update-index", "-q", "--refresh")


def _put(repository: Repository, files: Mapping[str, tuple[str, str]], environ: Mapping[str, str]) -> None:
    """Set mode and blob of paths in an index, and remove those whose blob has no name."""
    gone = joined([path for path, (_, blob) in files.items() if not blob])
    if gone:
        change(repository.top, "update-index", "--force-remove", "-z", "--stdin", given=gone, environ=environ)
    lines = [f"{mode} {blob}\t".encode() + os.fsencode(path) + b"\0" for path, (mode, blob) in files.items() if blob]
    if lines:
        change(repository.top, "update-index", "-z", "--index-info", given=b"".join(lines), environ=environ)
