"""Where a memory came from: the messages of a session, a commit, shown as they are read."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..errors import GitError, MemError
from ..formats.frontmatter import document
from ..formats.session_event import view
from ..index.lookups import indexed_files
from ..store import git
from ..store.sessions.addresses import parse_name, span_events
from ..store.sessions.sessions import Session, at, find
from ..store.workspace import Workspace
from .results import SearchResults

if TYPE_CHECKING:
    from ..index.index import Index
    from ..store.project import Project


_COMMIT = re.compile(r"commit:([0-9a-fA-F]{4,64})")


@dataclass(frozen=True)
class Origin:
    """One source of a memory, and what stands there; or why it cannot be shown."""

    source: str
    text: str = ""
    problem: str = ""


def origins(workspace: Workspace, sources: Sequence[str]) -> Iterator[Origin]:
    """Yield each source with its text, in their order; one that is not here any more has a problem instead."""
    for source in sources:
        try:
            named, commit = parse_name(source), _COMMIT.fullmatch(source)
            if named is not None:
                session = find(workspace, named[0], strict=True)
                yield Origin(source, _written(workspace, session, named[1]))
            elif commit:
                yield _commit(workspace, source, commit[1])
            else:
                yield Origin(source, problem="is not in the workspace")
        except MemError as error:
            yield Origin(source, problem=str(error))


def said_at(workspace: Workspace, path: str, span: str) -> str:
    """Return what was said in a span of the session whose file this is, to be read."""
    return _written(workspace, at(workspace, path.rpartition("/")[0]), span)


def _written(workspace: Workspace, session: Session, span: str) -> str:
    events = span_events(workspace, session, span)
    return "".join(f"{view(event, position, workspace.zone)}\n" for position, event in events)


def _commit(workspace: Workspace, source: str, commit: str) -> Origin:
    try:
        shown = git.text(workspace.root, "show", "--stat", "--format=medium", commit, "--")
    except GitError as error:
        return Origin(source, problem=f"is not in this repository ({error})")
    return Origin(source, shown)


MOST = 20
"""Citations of one memory that are looked at."""

Watch = Callable[[str], tuple[str, ...]]
"""Given an entry's file, what changed of the lines it cites, a few words each."""


def watch(workspace: Workspace, as_of: str = "") -> Watch:
    """Return a function that compares citations with the project's files, each read once; none with `as_of`."""
    project: list[Project] = []

    def changes(text: str) -> tuple[str, ...]:
        if as_of or "cited:" not in text:
            return ()
        if not project:
            from ..store.project import Project, root_of

            project.append(Project(root_of(workspace)))
        return _changes(text, project[0])

    return changes


def mark_changed(index: "Index", found: SearchResults, as_of: str) -> SearchResults:
    """Return the results with the hits marked whose cited lines changed or are gone."""
    changes = watch(index.workspace, as_of)
    texts = indexed_files(index, {hit.path for hit in found.hits if hit.kind == "entry"})
    news = {path: changes(file.text) for path, file in texts.items()}
    return replace(found, hits=tuple(replace(hit, changed=news.get(hit.path, ())) for hit in found.hits))


def _changes(text: str, project: "Project") -> tuple[str, ...]:
    from ..formats.links import KEY, read_citation

    told = document.parse(text).fields.get(KEY)
    every = told if isinstance(told, list) else [told]
    found = [one for one in (read_citation(str(text).strip()) for text in every[:MOST]) if one is not None]
    return tuple(dict.fromkeys(news for one in found if (news := project.news(one))))
