"""Merge two commits beside the worktree, which never holds half a merge.

A path that one side changed is taken from it, and what both changed is settled by the formats of memory. Renames are
not guessed: by likeness git takes one short memory for another.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import sha1, sha256
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from ..dataclass import dataclass
from ..errors import RefusedError
from ..store import file_steps
from ..store.workspace import Workspace
from .commit import OwnIndex, PathChange, commit_of, differences
from .merge_driver import kind_in, merge_content
from .repository import Repository, repository_of, require_identity
from .resolution import Read, Resolution, Sides, Stages, identifier_of, is_readable, settle, text
from .run import attempt, blobs, change, deleted, split

_FILTERED = (b"version https://git-lfs.github.com/spec/", b"\0GITCRYPT\0")


@dataclass(frozen=True)
class TreeMerge:
    """A merge that is no commit yet; where a person is needed, its tree has files with conflict markers."""

    tree: str
    settled: Resolution
    conflicts: Mapping[str, Stages]  # paths that both sides changed
    read: Read  # what was read and written already is not read again

    @property
    def clashes(self) -> tuple[str, ...]:
        """Return the paths that a person has to settle."""
        return self.settled.clashes


def merge_trees(repository: Repository, workspace: Workspace, ours: str, theirs: str) -> TreeMerge:
    """Merge two commits into a tree; raise RefusedError where they have nothing in common."""
    base = common_of(repository, ours, theirs)
    here, there = (differences(repository, base, side) for side in (ours, theirs))
    conflicts = _conflicts(here, there)
    read = Blobs(repository)
    _require_plain(read, conflicts)
    paths = _Paths(repository, theirs, here)
    settled = settle(workspace, repository.prefix, conflicts, Sides(here, there, read), paths.has)
    if nested := paths.nested([file.path for file in here if not file.is_gone]):
        settled = replace(settled, clashes=(*settled.clashes, *nested))
    with file_steps.naming("write", workspace.derived):
        folder = Path(mkdtemp(prefix="merge-", dir=workspace.derived))
    try:
        stored = {path: read.store(file[1], theirs) for path, file in settled.files.items() if file}
        read.flush()
        files = {
            file.path: (file.mode, "" if file.is_gone else file.new) for file in here if file.path not in conflicts
        }
        files |= {path: (file[0], stored[path]) if file else ("", "") for path, file in settled.files.items()}
        index = OwnIndex(repository, folder / "index", theirs)
        tree = index.put({path: file for path, file in files.items() if path not in nested})
    finally:
        rmtree(folder, ignore_errors=True)
    return TreeMerge(tree, settled, conflicts, read)


def settle_half_done(workspace: Workspace, unmerged: Mapping[str, Mapping[int, bytes]]) -> Resolution:
    """Settle, of a merge that git began, files of which one side has none, as `merge_trees` would have.

    Paths are within the workspace, each with what its sides have; of a path that has all of them, git took one memory
    for another. Nothing is settled where no merge is under way, or a file that is to change is neither gone nor as one
    side or the driver has it: then a person, or git, has done something about it already.
    """
    repository = repository_of(workspace)
    theirs = commit_of(repository, "MERGE_HEAD")
    if not theirs:
        return Resolution({})
    wanted = {repository.prefix + path for path in unmerged}
    base = common_of(repository, "HEAD", theirs)
    here, there = (differences(repository, base, side) for side in ("HEAD", theirs))
    sides = Sides(here, there, Blobs(repository))
    versions_of = defaultdict[str, set[bytes]](set)
    for path, versions in unmerged.items():
        versions_of[repository.prefix + path] |= set(map(_plain, versions.values()))  # as git wrote it
        if len(versions) == 3:
            merged = merge_content(kind_in(workspace.layout, path), versions[1], versions[2], versions[3])
            versions_of[repository.prefix + path].add(_plain(merged[0] if merged else b""))
    taken_for_others = {versions[1] for versions in unmerged.values() if len(versions) == 3}
    conflicts = {
        path: stages
        for path, stages in _conflicts(here, there).items()
        if path in wanted or (1 in stages and sides.read({stages[1][1]})[stages[1][1]] in taken_for_others)
    }
    settled = settle(workspace, repository.prefix, conflicts, sides, _Paths(repository, theirs, here).has)
    # What one side moved there and the other side has nothing of is a conflict for git alone: it stays.
    moved = {file.path: file for file in (*here, *there) if file.path in wanted and file.path not in settled.files}
    data = sides.read({file.new for file in moved.values()})
    files = {path: None if file.is_gone else (file.mode, data[file.new]) for path, file in moved.items()}
    files |= settled.files
    for file in (*here, *there):
        if file.path in files:
            versions_of[file.path] |= {_plain(side) for side in sides.read({file.old, file.new}).values()}
    for path in files:
        target = repository.top / path
        if target.is_symlink() or (target.exists() and _plain(target.read_bytes()) not in versions_of[path]):
            return Resolution({})
    within = {repository.relative(path): file for path, file in files.items()}
    return replace(settled, files=within, clashes=tuple(map(repository.relative, settled.clashes)))


def add(workspace: Workspace, paths: Iterable[str]) -> None:
    """Tell git that files of a workspace are settled."""
    repository = repository_of(workspace)
    change(repository.top, "add", "--all", "--", *(repository.prefix + path for path in paths))


def deleted_for_good(workspace: Workspace, names: Collection[str]) -> dict[str, dict[str, bytes]]:
    """Return the memories that a commit deleted and no file has now, by id: their last texts by path.

    What git never had is no sign of that: it may lie where git gets nothing, on another machine. Nor is a memory gone
    while a file that cannot be read has its id.
    """
    memories = defaultdict[str, dict[str, bytes]](dict)
    for path, data in deleted(workspace.root) if names else ():
        if workspace.layout.kind_of(path) == "entry" and (name := _stated(data, names)):
            memories[name].setdefault(path, data)
    for file in workspace.root.rglob("*.md") if memories else ():
        if workspace.layout.kind_of(workspace.relative(file)) == "entry":
            try:
                data = file.read_bytes()
            except OSError:
                return {}
            is_whole = is_readable(text(data))
            for name in [_stated(data, memories)] if is_whole else [name for name in memories if name.encode() in data]:
                memories.pop(name, None)
    return dict(memories)


def _stated(data: bytes, names: Collection[str]) -> str:
    """Return the id that a memory states if it is one of some."""
    if not any(name.encode("utf-8", "replace") in data for name in names):
        return ""
    identifier = identifier_of(text(data))
    return identifier if identifier in names else ""


def _plain(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _require_plain(read: Read, conflicts: Mapping[str, Stages]) -> None:
    """Raise RefusedError for a file that git keeps in another form than it is on disk."""
    names = {blob: path for path, stages in conflicts.items() for _, blob in stages.values()}
    for blob, data in read(names).items():
        if data.startswith(_FILTERED):
            fix = "take it out of the filters in .gitattributes"
            raise RefusedError(f"both sides changed {names[blob]}, which a filter of git's keeps in another form", fix)


def commit_merge(repository: Repository, merge: TreeMerge, ours: str, theirs: str, message: str) -> str:
    """Commit a merge of two commits and return it; nothing refers to it yet.

    Raise UsageError where git does not know who commits.
    """
    require_identity(repository)
    words = ("commit-tree", "--no-gpg-sign", merge.tree, "-p", ours, "-p", theirs)
    return change(repository.top, *words, given=message.encode()).decode().strip()


def common_of(repository: Repository, ours: str, theirs: str) -> str:
    """Return the commit that two have in common; raise RefusedError if there is none."""
    done = attempt(repository.top, "merge-base", ours, theirs)
    if done.code:
        if repository.is_shallow:
            fix = "run `git fetch --unshallow`, then `mem sync` again"
            raise RefusedError(f"{repository.top} is a shallow clone, and lacks what both sides have in common", fix)
        fix = f"clone it anew, or bring both together with `git merge --allow-unrelated-histories {theirs[:12]}`"
        raise RefusedError("this branch and that of the remote have no commit in common", fix)
    return done.out.decode().strip()


def _conflicts(here: Sequence[PathChange], there: Sequence[PathChange]) -> dict[str, Stages]:
    """Return the paths that both sides changed, and not to the same."""
    changed = {file.path: file for file in there}
    return {
        file.path: _stages(file, changed[file.path])
        for file in here
        if file.path in changed and (file.mode, file.new) != (changed[file.path].mode, changed[file.path].new)
    }


def _stages(ours: PathChange, theirs: PathChange) -> dict[int, tuple[str, str]]:
    sides = {1: (ours.old_mode, ours.old), 2: (ours.mode, ours.new), 3: (theirs.mode, theirs.new)}
    return {stage: (mode, blob) for stage, (mode, blob) in sides.items() if blob.strip("0")}


class Blobs:
    """Reads blobs, each once, and stores new ones together: git takes a thousand files one by one a second to sync."""

    def __init__(self, repository: Repository) -> None:
        """Belong to a repository."""
        self.repository = repository
        self._data: dict[str, bytes] = {}
        self._new: dict[str, bytes] = {}

    def __call__(self, names: Collection[str]) -> dict[str, bytes]:
        self._data.update(blobs(self.repository.top, [name for name in names if name not in self._data]))
        return {name: self._data[name] for name in names if name in self._data}

    def store(self, data: bytes, like: str) -> str:
        """Return the name of a new blob, made as the name `like` of another object; it is there once flushed."""
        digest = sha1 if len(like) == 40 else sha256
        name = digest(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        self._new[name] = self._data[name] = data
        return name

    def flush(self) -> None:
        """Write what was stored."""
        given = b"".join(b"blob\ndata %d\n%b\n" % (len(data), data) for data in self._new.values())
        if given:
            change(self.repository.top, "fast-import", "--quiet", given=given)


class _Paths:
    """The paths of a merged tree: those of theirs, and what ours changed of them."""

    def __init__(self, repository: Repository, theirs: str, ours: Sequence[PathChange]) -> None:
        self.names = set(split(change(repository.top, "ls-tree", "-r", "-z", "--name-only", "--full-tree", theirs)))
        self.names -= {file.path for file in ours if file.is_gone}
        self.names |= {file.path for file in ours if not file.is_gone}

    def has(self, path: str) -> bool:
        """Return whether the tree has a file."""
        return path in self.names

    def nested(self, paths: Collection[str]) -> tuple[str, ...]:
        """Return those paths that are a file on one side and a folder on the other."""
        folders = {name.rpartition("/")[0] for name in self.names}
        for folder in list(folders):
            while folder := folder.rpartition("/")[0]:
                folders.add(folder)
        clashing = [path for path in paths if path in folders]
        for path in paths:
            above = path
            while above := above.rpartition("/")[0]:
                if above in self.names:
                    clashing.append(path)
        return tuple(dict.fromkeys(clashing))
