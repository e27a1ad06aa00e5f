"""The git repository a workspace lies in, as `mem sync` finds it: where, on which branch, and what is in the way."""

import os
import shlex
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import new as new_hash
from pathlib import Path

from ..dataclass import dataclass
from ..errors import GitError, RefusedError, UsageError
from ..formats.text_lines import conflict_marker
from ..store import file_steps
from ..store.file_steps import is_temporary
from ..store.layouts import DERIVED, LAYOUTS, Layout, adjusted
from ..store.privacy import small_text
from ..store.settings import stated_settings
from ..store.workspace import MARKER, Workspace
from . import run
from .run import LINK, MODULE, attempt, blobs, change, listing_rows, locked, split, without_passwords

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
        followed, upstream = self.tracked.get(branch, ("", ""))
        followed = "" if followed == "." else followed
        pushed_to = self.pushed_to.get(branch) or self.pushed_to.get("", "")
        chosen = asked or pushed_to or followed or (self.remotes[0] if len(self.remotes) == 1 else "")
        if not chosen and "origin" in self.remotes:
            chosen = "origin"
        if not chosen and self.remotes:
            raise UsageError(f"{len(self.remotes)} remotes, and none is chosen", "name one: `mem sync --remote NAME`")
        if asked and asked not in self.remotes and not ("/" in asked or ":" in asked or os.path.isdir(asked)):
            names = f"use one of {', '.join(self.remotes)}" if self.remotes else f"`git remote add {asked} ADDRESS`"
            raise UsageError(f"no remote {without_passwords(asked)!r}", names)
        return chosen, upstream if upstream and chosen == followed else branch

    def relative(self, path: str) -> str:
        """Return a path from the top as one within the workspace."""
        return path.removeprefix(self.prefix)


def repository_of(workspace: Workspace) -> Repository:
    """Find the repository of a workspace; raise UsageError where there is none."""
    words = ("--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--is-shallow-repository", "--show-prefix")
    done = attempt(workspace.root, "rev-parse", *words)
    if done.code:
        reason = next(iter(done.lines), "no reason given")
        if "not a git repository" in reason:
            fix = f"run `git init {shlex.quote(str(workspace.root))}` and add a remote, or clone one"
            raise UsageError(f"{workspace.root} is in no git repository", fix)
        raise GitError(f"{workspace.root}: {reason}", "see `git status` there")
    top, folder, common, shallow, prefix = os.fsdecode(done.out).split("\n")[:5]
    settings = attempt(workspace.root, "config", "--null", "--get-regexp", r"^(remote|branch|merge\.mem)\.").out
    remotes: dict[str, None] = {}
    tracked: dict[str, dict[str, str]] = {}
    pushed_to = {}
    has_driver = False
    for setting in split(settings):
        name, _, value = setting.partition("\n")
        kind, _, subname = name.partition(".")
        owner, _, key = subname.rpartition(".")
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
        {name: (branch.get("remote", ""), branch.get("merge", "")) for name, branch in tracked.items()},
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


def conflicting(repository: Repository) -> dict[str, bool]:
    """Return the files that the merge under way could not merge, and whether git still waits for each."""
    files: dict[str, bool] = {}
    for word in ("--resolve-undo", "--unmerged"):  # what was added since is known as it was before
        rows = listing_rows(change(repository.top, "ls-files", word, "--full-name", "-z"))
        files.update((path, word == "--unmerged") for _, path in rows)
    return files


def status(repository: Repository, workspace: Workspace) -> tuple[str, str, list[ChangedFile]]:
    """Return the last commit, empty where there is none, the branch, and what has changed below the workspace.

    Raise RefusedError where no branch is checked out.
    """
    how = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all")
    words = ("status", *how, "--", repository.prefix or ".")
    output = change(repository.top, *words, environ={"GIT_OPTIONAL_LOCKS": "0"})
    head = branch = ""
    changes = []
    for line in split(output):
        kind, _, fields = line.partition(" ")
        if kind == "#":
            name, _, value = fields.partition(" ")
            head = value if name == "branch.oid" and value != "(initial)" else head
            branch = value if name == "branch.head" else branch
        elif kind == "1":
            changes.append(ChangedFile(fields.split(" ", 7)[7], is_tracked=True))
        elif kind == "u":
            changes.append(ChangedFile(fields.split(" ", 9)[9], is_tracked=True, is_unmerged=True))
        elif kind == "?":
            changes.append(ChangedFile(fields, is_tracked=False))
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
    words = ("check-ignore", "--verbose", "--no-index", f"{repository.prefix}{MARKER}")
    done = attempt(repository.top, *words)
    if not done.code:
        rule = os.fsdecode(done.out).partition("\t")[0].rpartition(":")[0]
        fix = "take that line out, or keep the memory in a repository of its own"
        raise RefusedError(f"git ignores {workspace.root} ({rule})", fix)


def colliding(repository: Repository, commit: str) -> tuple[str, str] | None:
    """Return two paths of the workspace in a commit that this file system takes for one; None if it tells all apart."""
    if attempt(repository.top, "config", "--type=bool", "--get", "core.ignoreCase").out.strip() != b"true":
        return None
    seen: dict[str, str] = {}
    words = ("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    for path in split(change(repository.top, *words, *[repository.prefix] * bool(repository.prefix))):
        other = seen.setdefault(path.casefold(), path)
        if other != path:
            return other, path
    return None


WORKTREE = "worktree"
"""Names the files as they are on disk."""
HEAD = "HEAD"
_SECONDS = 60.0
_SHORT = 10  # characters of a commit that is shown


Wanted = Callable[[str], bool]
"""Given a path, whether its file is wanted."""


@dataclass(frozen=True)
class Revision:
    """A moment of a workspace."""

    name: str  # as a person names it; of a merge base the commit
    commit: str  # whole; empty for the files on disk, and for HEAD before the first commit

    @property
    def is_worktree(self) -> bool:
        """Return whether these are the files on disk."""
        return self.name == WORKTREE


@dataclass(frozen=True)
class FileVersions:
    """One file that differs between two moments."""

    path: str  # within the workspace
    before: bytes | None  # None where there is no file
    after: bytes | None
    is_link: bool = False  # the later one is a symbolic link: its bytes are where it leads


def compared(workspace: Workspace, words: str = "") -> tuple[Revision, Revision]:
    """Return the two moments that words such as `main..HEAD` name; HEAD and the files on disk where there are none.

    Raise UsageError for what git does not know as a commit, and outside of a repository.
    """
    if "..." in words:
        old, _, new = words.partition("...")
        last = _revision(workspace, new or HEAD)
        base = _merge_base(workspace, _revision(workspace, old or HEAD), last)
        return Revision(base[:_SHORT], base), last
    old, dots, new = words.partition("..")
    return _revision(workspace, old or HEAD), _revision(workspace, (new or HEAD) if dots else WORKTREE)


def since(workspace: Workspace, words: str) -> tuple[Revision, Revision]:
    """Return a commit and the files on disk: `REV`, or `REV...` for where they left it; raise UsageError for others."""
    name, dots, end = words.partition("...")
    if end or ".." in name or not name:
        raise UsageError(f"since {words!r}", "name one commit, such as HEAD~1, or `main...` for what came since main")
    return compared(workspace, f"{name}{dots}{WORKTREE}" if dots else name)


def changed_files(
    workspace: Workspace, before: Revision, after: Revision, is_wanted: Wanted = lambda path: True
) -> list[FileVersions]:
    """List the wanted files of a workspace that differ between two moments, by path.

    Raise GitError for what a clone lacks, RefusedError for a file that cannot be read.
    """
    old, new = _listing(workspace, before, is_wanted), _listing(workspace, after, is_wanted)
    names = sorted(path for path in {*old, *new} if old.get(path) != new.get(path))
    texts = _contents(workspace, before, [path for path in names if path in old], old)
    later = _contents(workspace, after, [path for path in names if path in new], new)
    files = [
        FileVersions(path, texts.get(path), later.get(path), path in new and new[path][0] == LINK) for path in names
    ]
    return [file for file in files if _plain(file.before) != _plain(file.after)]


def texts_at(workspace: Workspace, revision: Revision, kind: str) -> dict[str, bytes]:
    """Read all files of one kind at a moment, by path."""
    listing = _listing(workspace, revision, lambda path: workspace.layout.kind_of(path) == kind)
    paths = [path for path in listing if listing[path][0] != LINK]
    contents = _contents(workspace, revision, paths, listing)
    return {path: data for path, data in contents.items() if data is not None}


def edits(workspace: Workspace, path: str, mention: str = "") -> list[tuple[run.Version, str, FileVersions]]:
    """List the commits that changed a file, the oldest first, with its path before and its texts; none without git.

    Renames are followed; with a `mention` only commits count in which that text came or went, and they are not.
    """
    which = [f"-S{mention}"] if mention else ["--follow"]
    words = ("log", "-z", "--raw", "--no-abbrev", f"--max-count={run.MOST}", f"--format=%x01{run.FORMAT}", *which)
    try:
        output = run.run(workspace.root, *words, "--", path, seconds=_SECONDS)
        rows = list(_edits(output, prefix(workspace)))
        texts = blobs(workspace.root, [blob for *_, pair in rows for blob in pair if blob.strip("0")])
    except GitError:
        return []
    return [
        (version, names[0], FileVersions(names[-1], texts.get(before), texts.get(after)))
        for version, names, (before, after) in reversed(rows)
    ]


def left_behind(workspace: Workspace) -> dict[str, str]:
    """Return the entries that lie where `paths.entries` was before, by git's history of mem.yaml, with what to do.

    Nothing reads them there, and what another machine wrote into that folder meanwhile is hidden too. The file of
    settings counts as it is now: a merge may have changed it since the workspace was opened.
    """
    marker = workspace.root / MARKER
    text = small_text(workspace.root, MARKER)
    is_stated = workspace.settings.places["paths.entries"] in ("default", str(marker))
    is_whole = text and not conflict_marker(text)
    now = _layout_of(workspace, text.encode()) if is_stated and is_whole else workspace.layout
    others = [path for path in _pages(workspace.root) if now.kind_of(path) is None]
    versions = edits(workspace, MARKER) if others else []
    texts = {text for *_, pair in versions for text in (pair.before, pair.after) if text is not None}
    hidden = {}
    for old in (_layout_of(workspace, text) for text in texts):
        for path in others if old.entries else ():
            if old.kind_of(path) == "entry" and path.startswith(f"{old.entries}/"):
                to = f"{now.entries}{path.removeprefix(old.entries)}".lstrip("/")
                words = "-C", str(workspace.root), "mv", path, to
                make = shlex.join(("mkdir", "-p", str(workspace.root / to)[: -len(to.rpartition("/")[2])]))
                hidden[path] = (
                    f"is hidden, where paths.entries was before: `{make} && git {shlex.join(words)}` moves it"
                )
    return dict(sorted(hidden.items()))


def _layout_of(workspace: Workspace, text: bytes) -> Layout:
    """Return the layout by the paths that a file of settings states; those of the workspace where they are no paths."""
    stated = stated_settings(text.decode("utf-8", "replace"))
    paths = {name: str(stated.get(f"paths.{name}", "")) for name in ("memory", "history", "notes", "entries")}
    try:
        return adjusted(LAYOUTS[workspace.layout.name], paths)
    except UsageError:
        return workspace.layout


def _pages(root: Path) -> Iterator[str]:
    """Yield the pages of markdown in a folder and below it, but for hidden folders."""
    for folder, below, names in os.walk(root):
        below[:] = [name for name in below if not name.startswith(".")]
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in names if name.endswith(".md"))


def _edits(output: bytes, folder: str) -> Iterator[tuple[run.Version, list[str], tuple[str, str]]]:
    """Yield commit, the paths before and after, and the names of both contents, of what `git log -z --raw` prints."""
    for commit in os.fsdecode(output).split("\x01")[1:]:
        *fields, raw = commit.split("\0", 4)
        names = [name for name in raw.strip("\0\n").split("\0") if name]
        if len(fields) == 4 and len(names) > 1 and names[0].startswith(":"):
            _, _, before, after, _ = names[0].split(" ")
            yield (
                run.Version(fields[0][:_SHORT], *fields[1:]),
                [name.removeprefix(folder) for name in names[1:]],
                (before, after),
            )


def prefix(workspace: Workspace) -> str:
    """Return the path of a workspace below the top of its repository; empty if it is the top, or in none."""
    try:
        return os.fsdecode(run.run(workspace.root, "rev-parse", "--show-prefix").removesuffix(b"\n"))
    except GitError:
        return ""


_Listing = Mapping[str, tuple[str, str]]
"""Files by path: the mode of a link, else an empty text, and git's name of the contents."""


def _revision(workspace: Workspace, name: str) -> Revision:
    if name == WORKTREE:
        _git(workspace, "rev-parse", "--git-dir")
        return Revision(name, "")
    if not name.isprintable():
        raise UsageError(f"no commit {name!r}", "name a branch, a tag or a commit")
    _git(workspace, "rev-parse", "--git-dir")
    try:
        commit = run.text(workspace.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        if name == HEAD:  # before the first commit everything is new
            return Revision(name, "")
        raise UsageError(
            f"no commit {name!r}", "name a branch, a tag or a commit; a shallow clone lacks old ones: git fetch"
        ) from None
    return Revision(name, commit.strip())


def _merge_base(workspace: Workspace, left: Revision, right: Revision) -> str:
    ends = [side.commit or _revision(workspace, HEAD).commit for side in (left, right)]
    try:
        return run.text(workspace.root, "merge-base", *ends).strip()
    except GitError:
        raise UsageError(
            f"{left.name} and {right.name} have no commit in common",
            f"compare them with {left.name}..{right.name}; a shallow clone lacks old ones: git fetch --unshallow",
        ) from None


def _git(workspace: Workspace, *words: str) -> bytes:
    try:
        return run.run(workspace.root, *words, seconds=_SECONDS)
    except GitError as error:
        if "not a git repository" in error.message:
            fix = f"`git init {shlex.quote(str(workspace.root))}` and a commit make what can be compared"
            raise UsageError(f"{workspace.root} is in no git repository", fix) from None
        raise UsageError(f"{workspace.root}: {error.message}", error.fix) from None


def _listing(workspace: Workspace, revision: Revision, is_wanted: Wanted) -> _Listing:
    """List the files of a workspace at a moment; git names them from the folder it runs in."""
    if revision.is_worktree:
        return _files(workspace, is_wanted)
    if not revision.commit:
        return {}
    return {
        path: (mode if mode == LINK else "", blob)
        for (mode, _, blob), path in listing_rows(_git(workspace, "ls-tree", "-r", "-z", revision.commit))
        if mode != MODULE and not path.startswith(f"{DERIVED}/") and is_wanted(path)
    }


def _files(workspace: Workspace, is_wanted: Wanted) -> _Listing:
    """List the files on disk that git keeps or would keep: without those it ignores."""
    commit = _revision(workspace, HEAD).commit
    is_long = len(commit) == 64  # a repository of SHA-256
    root = workspace.root.resolve()
    is_inside = cache(lambda folder: (root / folder).resolve().is_relative_to(root))
    listing = {}
    output = _git(workspace, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for path in dict.fromkeys(split(output)):
        folder, base = os.path.split(path)
        if is_temporary(base) or path.startswith(f"{DERIVED}/") or not (is_wanted(path) and is_inside(folder)):
            continue
        if (data := _read(workspace.root / path)) is not None:
            whole = b"blob %d\0%s" % (len(data), data)
            blob = new_hash("sha256" if is_long else "sha1", whole, usedforsecurity=False).hexdigest()
            listing[path] = (LINK if (workspace.root / path).is_symlink() else "", blob)
    return listing


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file, or where a link leads; None for what is neither, or is gone."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return os.fsencode(os.readlink(path))
        return path.read_bytes() if stat.S_ISREG(mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_steps.refusal("read", path, error) from None


def _contents(
    workspace: Workspace, revision: Revision, paths: Sequence[str], listing: _Listing
) -> dict[str, bytes | None]:
    if revision.is_worktree:
        return {path: _read(workspace.root / path) for path in paths}
    data = blobs(workspace.root, [listing[path][1] for path in paths])
    lacking = next((path for path in paths if listing[path][1] not in data), None)
    if lacking is not None:
        raise GitError(f"this clone lacks {lacking} of {revision.name}", "fetch it whole: git fetch --refetch")
    return {path: data[listing[path][1]] for path in paths}


def _plain(data: bytes | None) -> bytes | None:
    """Return bytes with the line ends that every checkout has."""
    return None if data is None else data.replace(b"\r\n", b"\n")
