"""The files of a workspace at two moments that git knows: two commits, or a commit and the files as they are on disk.

A moment is named as for `git diff`: `A..B` is two commits, `A...B` is what B changed since it left A, and a commit
alone is compared with the files. `worktree` names the files. Reads what git stores and the files themselves, so that no
filter of a repository's attributes runs; a file whose line ends alone differ has not changed.
"""

import os
import shlex
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import new as new_hash
from pathlib import Path

from ..dataclass import dataclass
from ..errors import GitError, UsageError
from ..formats.text_lines import conflict_marker
from . import file_steps, git
from .file_steps import is_temporary
from .layouts import DERIVED, LAYOUTS, Layout, adjusted
from .privacy import small_text
from .settings import stated_settings
from .workspace import MARKER, Workspace

WORKTREE = "worktree"
"""Names the files as they are on disk."""
HEAD = "HEAD"
_LINK, _MODULE = "120000", "160000"
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
        one, _, other = words.partition("...")
        last = _revision(workspace, other or HEAD)
        base = _merge_base(workspace, _revision(workspace, one or HEAD), last)
        return Revision(base[:_SHORT], base), last
    one, dots, other = words.partition("..")
    return _revision(workspace, one or HEAD), _revision(workspace, (other or HEAD) if dots else WORKTREE)


def since(workspace: Workspace, words: str) -> tuple[Revision, Revision]:
    """Return a commit and the files on disk: `REV`, or `REV...` for where they left it; raise UsageError for others."""
    name, dots, other = words.partition("...")
    if other or ".." in name or not name:
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
    found = [
        FileVersions(path, texts.get(path), later.get(path), path in new and new[path][0] == _LINK) for path in names
    ]
    return [one for one in found if _plain(one.before) != _plain(one.after)]


def texts_at(workspace: Workspace, revision: Revision, kind: str) -> dict[str, bytes]:
    """Read all files of one kind at a moment, by path."""
    listing = _listing(workspace, revision, lambda path: workspace.layout.kind_of(path) == kind)
    paths = [path for path in listing if listing[path][0] != _LINK]
    found = _contents(workspace, revision, paths, listing)
    return {path: data for path, data in found.items() if data is not None}


def edits(workspace: Workspace, path: str, mention: str = "") -> list[tuple[git.Version, str, FileVersions]]:
    """List the commits that changed a file, the oldest first, with its path before and its texts; none without git.

    Renames are followed; with a `mention` only commits count in which that text came or went, and they are not.
    """
    which = [f"-S{mention}"] if mention else ["--follow"]
    words = ("log", "-z", "--raw", "--no-abbrev", f"--max-count={git.MOST}", f"--format=%x01{git.FORMAT}", *which)
    try:
        told = git.run(workspace.root, *words, "--", path, seconds=_SECONDS)
        rows = list(_edits(told, prefix(workspace)))
        texts = git.blobs(workspace.root, [blob for *_, pair in rows for blob in pair if blob.strip("0")])
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
    told = edits(workspace, MARKER) if others else []
    texts = {text for *_, pair in told for text in (pair.before, pair.after) if text is not None}
    found = {}
    for old in (_layout_of(workspace, text) for text in texts):
        for path in others if old.entries else ():
            if old.kind_of(path) == "entry" and path.startswith(f"{old.entries}/"):
                to = f"{now.entries}{path.removeprefix(old.entries)}".lstrip("/")
                words = "-C", str(workspace.root), "mv", path, to
                make = shlex.join(("mkdir", "-p", str(workspace.root / to)[: -len(to.rpartition("/")[2])]))
                found[path] = f"is hidden, where paths.entries was before: `{make} && git {shlex.join(words)}` moves it"
    return dict(sorted(found.items()))


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


def _edits(told: bytes, folder: str) -> Iterator[tuple[git.Version, list[str], tuple[str, str]]]:
    """Yield commit, the paths before and after, and the names of both contents, of what `git log -z --raw` prints."""
    for commit in os.fsdecode(told).split("\x01")[1:]:
        *fields, rest = commit.split("\0", 4)
        names = [one for one in rest.strip("\0\n").split("\0") if one]
        if len(fields) == 4 and len(names) > 1 and names[0].startswith(":"):
            _, _, before, after, _ = names[0].split(" ")
            yield (
                git.Version(fields[0][:_SHORT], *fields[1:]),
                [one.removeprefix(folder) for one in names[1:]],
                (before, after),
            )


def prefix(workspace: Workspace) -> str:
    """Return the path of a workspace below the top of its repository; empty if it is the top, or in none."""
    try:
        return os.fsdecode(git.run(workspace.root, "rev-parse", "--show-prefix").removesuffix(b"\n"))
    except GitError:
        return ""


_Listing = Mapping[str, tuple[str, str]]
"""Files by path: the mode of a link, else an empty text, and git's name of the contents."""


def _revision(workspace: Workspace, name: str) -> Revision:
    if name == WORKTREE:
        _git(workspace, "rev-parse", "--git-dir")
        return Revision(name, "")
    if name.startswith("-") or not name.isprintable():
        raise UsageError(f"no commit {name!r}", "name a branch, a tag or a commit")
    _git(workspace, "rev-parse", "--git-dir")
    try:
        told = git.text(workspace.root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    except GitError:
        if name == HEAD:  # before the first commit everything is new
            return Revision(name, "")
        raise UsageError(
            f"no commit {name!r}", "name a branch, a tag or a commit; a shallow clone lacks old ones: git fetch"
        ) from None
    return Revision(name, told.strip())


def _merge_base(workspace: Workspace, one: Revision, other: Revision) -> str:
    ends = [each.commit or _revision(workspace, HEAD).commit for each in (one, other)]
    try:
        return git.text(workspace.root, "merge-base", *ends).strip()
    except GitError:
        raise UsageError(
            f"{one.name} and {other.name} have no commit in common",
            f"compare them with {one.name}..{other.name}; a shallow clone lacks old ones: git fetch --unshallow",
        ) from None


def _git(workspace: Workspace, *words: str) -> bytes:
    try:
        return git.run(workspace.root, *words, seconds=_SECONDS)
    except GitError as error:
        fix = error.fix or "this compares commits: run `git init` and commit the workspace first"
        raise UsageError(f"{workspace.root}: {error.message}", fix) from None


def _listing(workspace: Workspace, revision: Revision, is_wanted: Wanted) -> _Listing:
    """List the files of a workspace at a moment; git names them from the folder it runs in."""
    if revision.is_worktree:
        return _files(workspace, is_wanted)
    if not revision.commit:
        return {}
    found = {}
    for row in _git(workspace, "ls-tree", "-r", "-z", revision.commit).split(b"\0")[:-1]:
        head, _, name = row.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        if mode != _MODULE:
            found[os.fsdecode(name)] = (mode if mode == _LINK else "", blob)
    return {path: one for path, one in found.items() if not path.startswith(f"{DERIVED}/") and is_wanted(path)}


def _files(workspace: Workspace, is_wanted: Wanted) -> _Listing:
    """List the files on disk that git keeps or would keep: without those it ignores."""
    commit = _revision(workspace, HEAD).commit
    is_long = len(commit) == 64  # a repository of SHA-256
    root = workspace.root.resolve()
    is_inside = cache(lambda folder: (root / folder).resolve().is_relative_to(root))
    found = {}
    told = _git(workspace, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in dict.fromkeys(told.split(b"\0")[:-1]):
        path = os.fsdecode(name)
        folder, base = os.path.split(path)
        if is_temporary(base) or path.startswith(f"{DERIVED}/") or not (is_wanted(path) and is_inside(folder)):
            continue
        if (data := _read(workspace.root / path)) is not None:
            whole = b"blob %d\0%s" % (len(data), data)
            blob = new_hash("sha256" if is_long else "sha1", whole, usedforsecurity=False).hexdigest()
            found[path] = (_LINK if (workspace.root / path).is_symlink() else "", blob)
    return found


def _read(path: Path) -> bytes | None:
    """Return the bytes of a file, or where a link leads; None for what is neither, or is gone."""
    try:
        seen = os.lstat(path)
        if stat.S_ISLNK(seen.st_mode):
            return os.fsencode(os.readlink(path))
        return path.read_bytes() if stat.S_ISREG(seen.st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise file_steps.refusal("read", path, error) from None


def _contents(
    workspace: Workspace, revision: Revision, paths: Sequence[str], listing: _Listing
) -> dict[str, bytes | None]:
    if revision.is_worktree:
        return {path: _read(workspace.root / path) for path in paths}
    blobs = git.blobs(workspace.root, [listing[path][1] for path in paths])
    lacking = next((path for path in paths if listing[path][1] not in blobs), None)
    if lacking is not None:
        raise GitError(f"this clone lacks {lacking} of {revision.name}", "fetch it whole: git fetch --refetch")
    return {path: blobs[listing[path][1]] for path in paths}


def _plain(data: bytes | None) -> bytes | None:
    """Return bytes with the line ends that every checkout has."""
    return None if data is None else data.replace(b"\r\n", b"\n")
