"""Cite lines of the project in a memory that is written."""

import os
from collections.abc import Sequence
from pathlib import Path

from ..dataclass import dataclass
from ..errors import UsageError
from ..formats.entry import read_entry
from ..formats.frontmatter import document
from ..formats.links import KEY, Citation, read_citation
from ..index.filters import Filter
from ..index.lookups import ask_current
from ..store.atomic_files import read
from ..store.entries import decoded, revised
from ..store.journal import Change
from ..store.privacy import GIT_IGNORE, require_open, shut_out
from ..store.project import Project, root_of
from ..store.workspace import Workspace
from .plan import Plan


def cite(
    workspace: Workspace, named: Sequence[str], folder: Path, *, allow_secret: bool
) -> tuple[list[str], list[str]]:
    """Return the citations of those names that give lines, and why others of these are not watched.

    A path is taken from the folder, then from the top of the project. Raises UsageError for lines that are not there,
    RefusedError for a file that is shut out of memory.
    """
    project = Project(root_of(workspace))
    citations: list[str] = []
    unwatched: list[str] = []
    for name in named:
        citation = None if "[REDACTED:" in name else read_citation(name)
        if citation is None or _exists(project.root, folder, name):
            continue
        path = _within(project.root, folder, citation.path)
        if not allow_secret:
            require_open(project.root / path)
        ignore = shut_out(project.root / path, (GIT_IGNORE,), project.root)
        state = project.state(citation._replace(path=path, blob="", digest=""))
        if ignore:
            unwatched.append(f"{name}: {ignore} names it, so that no clone has it")
        elif state.now is not None:
            citations.append(str(state.now))
        elif state.kind == "gone" and not (project.root / path).exists() and not path.startswith("../"):
            raise UsageError(f"{name}: there is no {path} in {project.root}", "name a file that is there")
        elif isinstance(project.data(path), bytes):
            raise UsageError(f"{name}: {path} {state.why}", "name lines that are there")
        else:
            unwatched.append(f"{name}: it {state.why}")
    return citations, unwatched


def _exists(root: Path, folder: Path, name: str) -> bool:
    return any(os.path.exists(base / name) for base in (folder, root) if "\0" not in name)


def _within(root: Path, folder: Path, name: str) -> str:
    """Return a path as it is named from the top of the project; it may lead out of it."""
    path = folder / Path(name).expanduser()
    if not path.exists() and (root / name).exists():
        path = root / name
    plain = os.path.normpath(path)
    real = os.path.join(os.path.realpath(os.path.dirname(plain)), os.path.basename(plain))
    return os.path.relpath(real, os.path.realpath(root)).replace(os.sep, "/")


@dataclass(frozen=True)
class Cited:
    """One citation of an entry that is not as it should be."""

    path: str  # of the entry
    line: int
    id: str
    was: str  # as the file has it
    reason: str
    now: Citation | None  # as it would be accepted; None where there is nothing to accept
    is_moved: bool = False  # the same lines elsewhere in their file: nothing is wrong


def cited(workspace: Workspace) -> list[Cited]:
    """Return the citations of active entries that are not what they were."""
    wanted = Filter(kinds=("entry",), managed=True)
    citing = ask_current(workspace, lambda index: [pair for pair in index.texts(wanted) if f"{KEY}:" in pair[1]])
    project = Project(root_of(workspace))
    return [citation for path, text in citing for citation in _of_entry(workspace, project, path, text)]


def refresh_plan(workspace: Workspace, outdated: Sequence[Cited]) -> Plan:
    """Propose to accept what stands there now, in `files` too."""
    steps = []
    reasons = []
    for path in dict.fromkeys(citation.path for citation in outdated if citation.now):
        before = decoded(path, read(workspace.path(path)))
        news = {citation.was: citation.now for citation in outdated if citation.path == path and citation.now}
        entry, _ = read_entry(document.parse(before), path, workspace.now)
        moved_to = {(read_citation(was) or now).place: now.place for was, now in news.items()}
        fields = {
            KEY: [str(news.get(line, line)) for line in entry.cited],
            "files": [moved_to.get(file, file) for file in entry.files],
        }
        fields = {key: value for key, value in fields.items() if value != list(getattr(entry, key))}
        steps.append(Change(path, before, revised(workspace, path, before, fields)))
        reasons += [f"{path}: {now.place}" for now in news.values()]
    return Plan(tuple(steps), tuple(reasons))


def _of_entry(workspace: Workspace, project: Project, path: str, text: str) -> list[Cited]:
    entry, _ = read_entry(document.parse(text), path, workspace.now)
    line = next((number for number, text_line in enumerate(text.split("\n"), 1) if text_line.startswith(f"{KEY}:")), 1)
    outdated = []
    for was in entry.cited:
        citation = read_citation(was)
        if citation is None:
            outdated.append(Cited(path, line, entry.id, was, f"{was!r} names no lines: write path:12-20", None))
            continue
        reason, now = _judged(project, citation)
        if now != citation:
            outdated.append(Cited(path, line, entry.id, was, reason, now, is_moved=not reason))
    return outdated


def _judged(project: Project, citation: Citation) -> tuple[str, Citation | None]:
    """Return what is wrong with a citation, and how it would be accepted; nothing is with lines that only moved."""
    state = project.state(citation)
    if state.kind == "same":  # another version of the file around the same lines is no news
        return "", citation
    if state.kind == "moved":
        return "", state.now
    if state.kind == "new":
        return f"{citation.place} was never looked at" + (f": it {state.why}" if state.why else ""), state.now
    reason = project.news(citation).replace(citation.path, citation.place, 1)
    if state.kind == "gone":
        return f"{reason}: where it was renamed `mem write --id ID --about` cites it anew", None
    current = project.followed(citation)
    state = project.state(current._replace(blob="", digest=""))
    return reason + (f": {current.path} {state.why}" if state.why else ""), state.now
