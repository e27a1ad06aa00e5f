"""The git repository a workspace lies in, as `mem sync` finds it: where, on which branch, and what is in the way."""

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..dataclass import dataclass
from ..errors import GitError, RefusedError, UsageError
from .git import blobs, locked
from .git_changes import attempt, change, split, without_passwords
from .workspace import MARKER, Workspace

_PATIENCE = 3.0  # seconds in which another git gives up its lock
_UNDER_WAY = {
    "rebase-merge": ("a rebase", "rebase"),
    "rebase-apply": ("a rebase", "rebase"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "cherry-pick"),
    "REVERT_HEAD": ("a revert", "revert"),
    "MERGE_HEAD": ("a merge", "merge"),
}
_OF_OURS = "memory: "
"""How the message of every commit begins that `mem sync` makes."""


@dataclass(frozen=True)
class ChangedFile:
    """A file of the workspace that is not as the last commit and git's index have it."""

    path: str  # from the top of the repository
    is_tracked: bool
    is_unmerged: bool = False


@dataclass(frozen=True)
class Repository:
    """A git repository, and the workspace in it."""

    top: Path
    prefix: str  # of the workspace's files, from the top: empty or with a slash at its end
    folder: Path  # what `.git` is or leads to
    common: Path  # the same for all linked worktrees
    is_shallow: bool
    remotes: tuple[str, ...]
    tracked: dict[str, tuple[str, str]]  # remote and branch that each local branch follows
    pushed_to: dict[str, str]  # remote that each local branch is pushed to, where it is another; "" for all others
    has_driver: bool  # plain merges of git's go through `mem merge-driver`

    def remote_of(self, branch: str, asked: str = "") -> tuple[str, str]:
        """Return the remote to exchange with and the branch there; empty texts where there is none.

        `asked` is the name or the address of one. Raise UsageError for a name that is none.
        """
        known, upstream = self.tracked.get(branch, ("", ""))
        known = "" if known == "." else known
        away = self.pushed_to.get(branch) or self.pushed_to.get("", "")
        chosen = asked or away or known or (self.remotes[0] if len(self.remotes) == 1 else "")
        if not chosen and "origin" in self.remotes:
            chosen = "origin"
        if not chosen and self.remotes:
            raise UsageError(f"{len(self.remotes)} remotes, and none is chosen", "name one: `mem sync --remote NAME`")
        if asked and asked not in self.remotes and not ("/" in asked or ":" in asked or os.path.isdir(asked)):
            names = f"use one of {', '.join(self.remotes)}" if self.remotes else f"`git remote add {asked} ADDRESS`"
            raise UsageError(f"no remote {without_passwords(asked)!r}", names)
        return chosen, upstream if upstream and chosen == known else branch

    def relative(self, path: str) -> str:
        """Return a path from the top as one within the workspace."""
        return path.removeprefix(self.prefix)


def repository_of(workspace: Workspace) -> Repository:
    """Find the repository of a workspace; raise UsageError where there is none."""
    words = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--is-shallow-repository", "--show-prefix")
    done = attempt(workspace.root, "rev-parse", *words)
    if done.code:
        why = next(iter(done.lines), "no reason given")
        if "not a git repository" in why:
            fix = f"run `git init {workspace.root}` and add a remote, or clone one"
            raise UsageError(f"{workspace.root} is in no git repository", fix)
        raise GitError(f"{workspace.root}: {why}", "see `git status` there")
    top, folder, common, shallow, prefix = os.fsdecode(done.out).split("\n")[:5]
    told = attempt(workspace.root, "config", "--null", "--get-regexp", r"^(remote|branch|merge\.mem)\.")
    remotes: dict[str, None] = {}
    tracked: dict[str, dict[str, str]] = {}
    pushed_to = {}
    has_driver = False
    for pair in os.fsdecode(told.out).split("\0"):
        name, _, value = pair.partition("\n")
        kind, _, rest = name.partition(".")
        owner, _, key = rest.rpartition(".")
        if kind == "remote" and key == "url":
            remotes[owner] = None
        elif kind == "branch" and key in ("remote", "merge"):
            tracked.setdefault(owner, {})[key] = value.removeprefix("refs/heads/")
        elif name == "merge.mem.driver":
            has_driver = True
        elif key.casefold() in ("pushremote", "pushdefault"):
            pushed_to[owner if kind == "branch" else ""] = value
    return Repository(
        Path(top),
        prefix,
        Path(folder),
        (workspace.root / common).resolve(),
        shallow == "true",
        tuple(remotes),
        {name: (one.get("remote", ""), one.get("merge", "")) for name, one in tracked.items()},
        pushed_to,
        has_driver,
    )


def require_free(repository: Repository) -> None:
    """Raise RefusedError where a person is in the middle of something, BusyError where another git is."""
    for name, (what, command) in _UNDER_WAY.items():
        if (repository.folder / name).exists() and not (name == "MERGE_HEAD" and is_our_merge(repository)):
            fix = f"finish it, or leave it with `git {command} --abort`, then run `mem sync` again"
            raise RefusedError(f"{what} is under way in {repository.top}", fix)
    lock = repository.folder / "index.lock"
    deadline = time.monotonic() + _PATIENCE
    while lock.exists():
        if time.monotonic() > deadline:
            raise locked(str(lock))
        time.sleep(0.1)


def is_our_merge(repository: Repository) -> bool:
    """Return whether a merge is under way that `mem sync` left for a person to settle."""
    try:
        message = (repository.folder / "MERGE_MSG").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return (repository.folder / "MERGE_HEAD").exists() and message.startswith(_OF_OURS)


def conflicting(repository: Repository) -> dict[str, tuple[bool, list[bytes]]]:
    """Return the files that the merge under way could not merge, with what each side has of them.

    The first value says that git still waits for the file: what was added since is known as it was before.
    """
    found: dict[str, tuple[bool, list[str]]] = {}
    for words in ("--resolve-undo", "--unmerged"):
        for line in split(change(repository.top, "ls-files", words, "--full-name", "-z")):
            about, _, path = line.partition("\t")
            names = found[path][1] if path in found else []
            found[path] = words == "--unmerged", [*names, about.split(" ")[1]]
    data = blobs(repository.top, list({name for _, names in found.values() for name in names}))
    return {path: (is_left, [data.get(name, b"") for name in names]) for path, (is_left, names) in found.items()}


def status(repository: Repository, workspace: Workspace) -> tuple[str, str, list[ChangedFile]]:
    """Return the last commit, empty where there is none, the branch, and what has changed below the workspace.

    Raise RefusedError where no branch is checked out.
    """
    words = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all")
    told = change(repository.top, "status", *words, "--", repository.prefix or ".", environ={"GIT_OPTIONAL_LOCKS": "0"})
    head = branch = ""
    changes = []
    for line in os.fsdecode(told).split("\0"):
        kind, _, rest = line.partition(" ")
        if kind == "#":
            name, _, value = rest.partition(" ")
            head = value if name == "branch.oid" and value != "(initial)" else head
            branch = value if name == "branch.head" else branch
        elif kind == "1":
            changes.append(ChangedFile(rest.split(" ", 7)[7], is_tracked=True))
        elif kind == "u":
            changes.append(ChangedFile(rest.split(" ", 9)[9], is_tracked=True, is_unmerged=True))
        elif kind == "?":
            changes.append(ChangedFile(rest, is_tracked=False))
    if branch == "(detached)":
        fix = "go back with `git switch BRANCH`, or make a branch of it with `git switch -c NAME`"
        raise RefusedError(f"no branch is checked out in {repository.top}", fix)
    return head, branch, changes


def branch_of(repository: Repository) -> str:
    """Return the branch that is checked out; empty if none is."""
    return attempt(repository.top, "symbolic-ref", "--quiet", "--short", "HEAD").out.decode().strip()


def require_identity(repository: Repository) -> None:
    """Raise UsageError where git does not know in whose name to commit."""
    if (
        attempt(repository.top, "var", "GIT_COMMITTER_IDENT").code
        or attempt(repository.top, "var", "GIT_AUTHOR_IDENT").code
    ):
        fix = "run `git config --global user.name NAME` and `git config --global user.email ADDRESS`"
        raise UsageError("git does not know who you are", fix)


def require_shared(repository: Repository, workspace: Workspace) -> None:
    """Raise RefusedError where git is told to ignore the workspace."""
    names_alone = {"GIT_LITERAL_PATHSPECS": "0"}  # it takes nothing else, and no word that says so
    words = ("check-ignore", "--verbose", "--no-index", f"{repository.prefix}{MARKER}")
    told = attempt(repository.top, *words, environ=names_alone)
    if not told.code:
        rule = os.fsdecode(told.out).partition("\t")[0].rpartition(":")[0]
        fix = "take that line out, or keep the memory in a repository of its own"
        raise RefusedError(f"git ignores {workspace.root} ({rule})", fix)


def colliding(repository: Repository, paths: Callable[[], Sequence[str]]) -> tuple[str, str] | None:
    """Return two paths that this file system takes for one; None where it tells all apart, and then none is listed."""
    told = attempt(repository.top, "config", "--type=bool", "--get", "core.ignoreCase")
    if told.out.strip() != b"true":
        return None
    seen: dict[str, str] = {}
    for path in paths():
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            return other, path
    return None
