"""Say of a memory which of the lines it cites are not what they were; asks the files, no git and no index."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..index.rows import known
from ..store.workspace import Workspace
from ..text import frontmatter
from .hits import Found

if TYPE_CHECKING:
    from ..index.index import Index
    from ..store.project import Project

MOST = 20
"""Citations of one memory that are looked at."""

Watch = Callable[[str], tuple[str, ...]]
"""Given an entry's file, what changed of the lines it cites, a few words each."""


def watch(workspace: Workspace, as_of: str = "") -> Watch:
    """Return what looks at the files of the project, each once; at a time past nothing is known to have changed."""
    project: list[Project] = []

    def changes(text: str) -> tuple[str, ...]:
        if as_of or "cited:" not in text:
            return ()
        if not project:
            from ..store.project import Project, root_of

            project.append(Project(root_of(workspace)))
        return _changes(text, project[0])

    return changes


def marked(index: "Index", found: Found, as_of: str) -> Found:
    """Mark the hits whose cited lines changed or are gone."""
    changes = watch(index.workspace, as_of)
    texts = known(index, {hit.path for hit in found.hits if hit.kind == "entry"})
    news = {path: changes(file.text) for path, file in texts.items()}
    return replace(found, hits=tuple(replace(hit, changed=news.get(hit.path, ())) for hit in found.hits))


def _changes(text: str, project: "Project") -> tuple[str, ...]:
    from ..text.citation import KEY, read_citation

    told = frontmatter.parse(text).fields.get(KEY)
    every = told if isinstance(told, list) else [told]
    found = [one for one in (read_citation(str(text).strip()) for text in every[:MOST]) if one is not None]
    return tuple(dict.fromkeys(news for one in found if (news := project.news(one))))
