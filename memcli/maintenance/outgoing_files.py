"""What of memory is fit to be handed on: in what is about to be committed, and in the commits that are to be sent.

Not fit are secrets, in a text or in a name, conflict markers and what a crash left empty; nor is the deletion of a
memory that lies in a file which git does not get: other machines would lose it.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

from ..errors import RefusedError
from ..formats.frontmatter import document
from ..formats.text_lines import FileProblem, conflict_marker
from ..store.archive import KEEP, records_folder
from ..store.atomic_files import read
from ..store.git import blobs
from ..store.git_changes import change, split
from ..store.git_commit import CommittedFile, PathChange, differences, files_of_commits
from ..store.merge_resolution import identifier_of, text
from ..store.privacy import IGNORE
from ..store.repository import ChangedFile, Repository
from ..store.workspace import MARKER, Workspace
from .checks import credentials

_ROOT_FILES = (MARKER, IGNORE, ".gitignore", ".gitattributes")
_LINK = "120000"
_SHORT = 12  # characters of a commit that is named


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


def ignored(workspace: Workspace, repository: Repository) -> tuple[str, ...]:
    """Return the memories that git is told to ignore; conversations are left out, which stay here anyway."""
    words = ("--others", "--ignored", "--exclude-standard", "--full-name", "-z", "--", repository.prefix or ".")
    files = [ChangedFile(name, is_tracked=False) for name in split(change(repository.top, "ls-files", *words))]
    return tuple(repository.relative(one.path) for one in files if is_memory(workspace, repository, one))


def repositories_in(
    workspace: Workspace, repository: Repository, changed: Iterable[ChangedFile]
) -> tuple[FileProblem, ...]:
    """Return the folders of memory that are git repositories of their own, whose files no exchange takes along."""
    folders = [one.path for one in changed if one.path.endswith("/")]  # git names no file in them
    reason = "is a git repository of its own, whose files do not travel: move its .git away, or the folder"
    return tuple(
        FileProblem(repository.relative(folder).rstrip("/"), 1, f"{reason}; named in .gitignore it is not told of")
        for folder in folders
        if is_memory(workspace, repository, ChangedFile(f"{folder}x.md", is_tracked=False))
    )


def unfit(workspace: Workspace, repository: Repository, found: Sequence[PathChange]) -> dict[str, FileProblem]:
    """Return the files that are not fit to be handed on, by path from the top, each with the first reason.

    A secret that the earlier tree has in any of the files is no reason: it is in git already, and may move.
    """
    names = {name for one in found for name in (one.old, one.new) if name.strip("0") and one.mode.startswith("100")}
    names |= {one.old for one in found if one.is_gone}
    data = blobs(repository.top, list(names))

    @cache
    def known() -> Collection[str]:
        texts = [(repository.relative(one.path), text(data[one.old])) for one in found if one.old in data]
        return {credential for _, credential in credentials(workspace, texts)}

    problems = {}
    for one in found:
        path = repository.relative(one.path)
        if one.mode == _LINK and not one.is_new and one.old_mode != _LINK:
            problems[one.path] = FileProblem(path, 1, "is a link now, which is no memory: put the file back")
        if one.is_gone or one.new not in data:
            continue
        before = text(data.get(one.old, b""))
        if problem := _unfit_text(workspace, path, text(data[one.new]), before, known):
            problems[one.path] = problem
    return problems


def _unfit_text(
    workspace: Workspace, path: str, said: str, before: str = "", known: Callable[[], Collection[str]] = tuple
) -> FileProblem | None:
    """Return why a text is not fit to be handed on, which an earlier one was; None if it is."""
    if line := conflict_marker(said):
        return FileProblem(path, line, "a git conflict marker: settle the conflict")
    if before and not said.strip():
        return FileProblem(path, 1, "is empty, as after a crash: `git restore` brings its text back")
    for fault, credential in credentials(workspace, [(path, said)]):
        if credential not in known():
            return FileProblem(fault.path, fault.line, fault.reason)
    return None


class _Texts:
    """The texts of files, by their paths: asked for the one that has what a memory said."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self.ids: dict[str, str] = {}
        self.lines = defaultdict[str, list[tuple[str, set[str]]]](list)
        self.names: dict[str, str] = {}
        for path, said in texts:
            identifier, lines = identifier_of(said), _lines(said)
            if identifier:
                self.ids[identifier] = path
            self.names[path] = identifier
            for line in lines:
                self.lines[line].append((path, lines))

    def holder(self, said: str, names: Collection[str] = ()) -> str:
        """Return the path of a file with the id of a memory or all its lines, or one of `names`; empty if none is.

        A file with another id is another memory.
        """
        identifier, lines = identifier_of(said), _lines(said)
        found = self.ids.get(identifier, "")
        rarest = min((self.lines.get(line, []) for line in lines), key=len, default=[])
        others = [*(path for path, all_lines in rarest if lines <= all_lines), *names]
        return found or next((path for path in others if not (identifier and self.names[path])), "")


def _lines(said: str) -> set[str]:
    return {line.strip() for line in document.parse(said).body.splitlines()} - {""}


def moved_unseen(
    workspace: Workspace, repository: Repository, found: Sequence[PathChange], left_out: Collection[str]
) -> dict[str, FileProblem]:
    """Return the memories that would be gone in git, though a file that is not committed has them now, by their path.

    That file is left out for what stands in it, lies in a repository of its own, or git is told to ignore it. It has
    the memory if it has its id or, where one of them has none, all its lines, or is new and has its name, as the one in
    the archive. Other machines would see a deletion.
    """
    layout = workspace.layout
    gone = [one for one in found if one.is_gone and layout.kind_of(repository.relative(one.path)) == "entry"]
    if not gone:
        return {}
    new = [one for one in found if not one.is_gone and repository.relative(one.path) not in left_out]
    data = blobs(repository.top, [name for one in (*gone, *new) for name in (one.old, one.new) if name.strip("0")])
    arrived = _Texts((repository.relative(one.path), text(data[one.new])) for one in new if one.new in data)
    files = {*ignored(workspace, repository), *_files_in(workspace, left_out)}
    holders = _Texts((path, text(read(workspace.root / path))) for path in sorted(files) if _is_entry(workspace, path))
    old_paths = {repository.relative(one.path) for one in found if not one.is_new}
    names = defaultdict[str, list[str]](list)
    for path in holders.names:
        if path not in old_paths:
            names[os.path.basename(path)].append(path)
    problems = {}
    for one in gone:
        said, path = text(data.get(one.old, b"")), repository.relative(one.path)
        if not arrived.holder(said) and (holder := holders.holder(said, names.get(os.path.basename(path), ()))):
            shown = next((fault.path for fault, _ in credentials(workspace, [(holder, "")])), holder)
            reason = f"stays in git: what was there is in {shown} now, which is not committed"
            problems[one.path] = FileProblem(path, 1, reason)
    return problems


def _files_in(workspace: Workspace, paths: Iterable[str]) -> Iterable[str]:
    """Yield files, and for a folder those in it and below it."""
    for path in paths:
        yield path
        for place, _, names in os.walk(workspace.root / path):
            yield from (os.path.relpath(os.path.join(place, name), workspace.root) for name in names)


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
    found: list[dict[str, FileProblem]] = []
    for side in sides:
        changes = differences(repository, side, tree, repository.prefix)
        found.append({**unfit(workspace, repository, changes), **moved_unseen(workspace, repository, changes, unseen)})
    return [one for path, one in found[0].items() if all(path in other for other in found)]


def beside_memory(
    workspace: Workspace, repository: Repository, ours: str, theirs: str, looked: Collection[tuple[str, str]]
) -> list[str]:
    """Return the files that are not memory which the commits touch that the remote's last one lacks.

    Raise RefusedError where a text of memory in any of these commits has a secret, or a name, that the remote has not:
    a later commit without it would be sent with its history. Commits that were `looked` at when they were made are
    named with the one before.
    """
    found = files_of_commits(repository, f"{theirs}..{ours}" if theirs else ours)
    paths = dict.fromkeys(one.path for one in found)
    kept = {path for path in paths if is_memory(workspace, repository, ChangedFile(path, is_tracked=True))}
    new = [one for one in found if one.path in kept and (one.commit, one.parents) not in looked]
    _require_no_secret(workspace, repository, [one for one in new if one.mode != _LINK])
    return [path for path in paths if path not in kept]


def _require_no_secret(workspace: Workspace, repository: Repository, files: Sequence[CommittedFile]) -> None:
    made = {one.new for one in files}
    data = blobs(repository.top, list({*made, *(name for one in files for name in one.old)} - {""}))

    def credentials_of(path: str, blob: str) -> list[tuple[FileProblem, str]]:
        return [*credentials(workspace, [(repository.relative(path), text(data[blob]))])] if blob in data else []

    found = [(one, *pair) for one in files for pair in credentials_of(one.path, one.new)]
    if not found:
        return
    before = {(one.path, name) for one in files for name in one.old if name not in made}  # so the remote has these
    known = {credential for path, blob in before for _, credential in credentials_of(path, blob)}
    left = [(one, fault) for one, fault, credential in found if credential not in known]
    if not left:
        return
    first, fault = left[0]
    commit = first.commit[:_SHORT]
    others = len({one.path for one, _ in left}) - 1
    more = f" (and {others:,} more file{'s' * (others > 1)})" if others else ""
    what = f"{fault.path}:{fault.line} {fault.reason.partition(':')[0]} in commit {commit}{more}"
    undo = f"git reset {commit}^" if first.parents else "git update-ref -d HEAD"
    fix = f"`{undo}` undoes it and what follows, and keeps the files: take it out of them and run `mem sync`"
    raise RefusedError(f"{what}, which is not sent yet", f"{fix}; or name the file in the setting secrets.allow")
