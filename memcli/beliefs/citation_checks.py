"""Hold the citations of all entries against the files of the project, and accept what stands there now."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..index.filters import Filter
from ..index.index import Index, ask
from ..lifecycle.plan import Plan
from ..store.entries import revised
from ..store.journal import Change
from ..store.project import Project, root_of
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.citation import KEY, Citation, read_citation
from ..text.entry import read_entry


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
    """Find the citations of active entries that are not what they were, those of files that were renamed included."""

    def asked(index: Index) -> list[tuple[str, str]]:
        index.refresh()
        return [(path, text) for path, text in index.texts(Filter(kinds=("entry",))) if f"{KEY}:" in text]

    project = Project(root_of(workspace))
    return [one for path, text in ask(workspace, asked) for one in _of_entry(workspace, project, path, text)]


def refresh_plan(workspace: Workspace, found: Sequence[Cited]) -> Plan:
    """Propose to accept what stands there now, in `files` too."""
    steps = []
    reasons = []
    for path in dict.fromkeys(one.path for one in found if one.now):
        before = workspace.path(path).read_bytes().decode("utf-8")
        news = {one.was: one.now for one in found if one.path == path and one.now}
        entry, _ = read_entry(frontmatter.parse(before), path, workspace.now)
        places = {(read_citation(was) or now).place: now.place for was, now in news.items()}
        told = {
            KEY: [str(news.get(one, one)) for one in entry.cited],
            "files": [places.get(one, one) for one in entry.files],
        }
        told = {key: value for key, value in told.items() if value != list(getattr(entry, key))}
        steps.append(Change(path, before, revised(workspace, path, before, told, touch=False)))
        reasons += [f"{path}: {now.place}" for now in news.values()]
    return Plan(tuple(steps), tuple(reasons))


def _of_entry(workspace: Workspace, project: Project, path: str, text: str) -> list[Cited]:
    entry, _ = read_entry(frontmatter.parse(text), path, workspace.now)
    line = next((number for number, one in enumerate(text.split("\n"), 1) if one.startswith(f"{KEY}:")), 1)
    found = []
    for was in entry.cited:
        citation = read_citation(was)
        if citation is None:
            found.append(Cited(path, line, entry.id, was, f"{was!r} names no lines: write path:12-20", None))
            continue
        reason, now = _judged(project, citation)
        if now != citation:
            found.append(Cited(path, line, entry.id, was, reason, now, is_moved=not reason))
    return found


def _judged(project: Project, citation: Citation) -> tuple[str, Citation | None]:
    """Say what is wrong with a citation, and how it would be accepted; nothing is with lines that only moved."""
    state = project.state(citation)
    if state.kind == "same":  # another version of the file around the same lines is no news
        return "", citation
    if state.kind == "moved":
        return "", state.now
    if state.kind == "new":
        return f"{citation.place} was never looked at" + (f": it {state.why}" if state.why else ""), state.now
    to = project.went_to(citation.path) if state.kind == "gone" else ""
    if to:
        state = project.state(citation._replace(path=to))
        reason = f"{citation.path} was renamed to {to}"
        if state.kind != "changed":
            return reason, state.now
        reason += ", and the lines changed"
    else:
        reason = project.news(citation).replace(citation.path, citation.place, 1)
        if state.kind == "gone":
            return reason, None
    where = project.followed(citation._replace(path=to or citation.path))
    state = project.state(where._replace(blob="", digest=""))
    return reason + (f": {where.path} {state.why}" if state.why else ""), state.now
