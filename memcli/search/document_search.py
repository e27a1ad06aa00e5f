"""Search the folders of documents beside the memories."""

import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from ..errors import MemError
from ..index.filters import Filter
from ..index.index import ask
from ..store.workspace import Workspace
from .reference_docs import folders
from .results import DOCUMENT, Found, Hit, joined
from .search import Request, search, search_index


def search_with_documents(workspaces: Sequence[Workspace], request: Request) -> Found:
    """Search what the request's kinds ask for; hits of documents have the names `mem read` takes them by.

    A document has no type, tag, layer, source or project: where one is asked for, none is found.
    """
    kinds = tuple(kind for kind in request.wanted.kinds if kind != DOCUMENT)
    found = [search(workspaces, replace(request, wanted=replace(request.wanted, kinds=kinds)))] if kinds else []
    if DOCUMENT in request.wanted.kinds and not request.wanted.asks_entries:
        found += [_documents(workspace, request) for workspace in workspaces]
    return joined(found, request.limit)


def _documents(workspace: Workspace, request: Request) -> Found:
    """Search the folders of one workspace; secrets are blanked out, since nobody looked through documents."""
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text
    wanted = Filter(since=request.wanted.since, until=request.wanted.until)
    budget = request.embed_budget / max(len(named), 1)
    found = [Found((), notices=refused)]
    for name, folder in named.items():
        asked = replace(request, wanted=wanted, embed_budget=budget, folder=None)
        try:
            part = ask(folder, lambda index, asked=asked: search_index(index, asked))  # type: ignore[misc]
        except MemError as error:
            found.append(Found((), notices=(f"index.include: {name}: {error}",)))
            continue
        hits = [
            replace(
                hit,
                id=f"{name}/{hit.id}",
                path=f"{name}/{hit.path}",
                kind=DOCUMENT,
                summary=clean(hit.summary),
                title=clean(hit.title),
                scope=workspace.scope,
            )
            for hit in part.hits
            if not (folder.root / hit.path).is_relative_to(workspace.root)  # a memory, found as one
        ]
        problems = tuple(replace(one, path=f"{name}/{one.path}", scope=workspace.scope) for one in part.problems)
        found.append(replace(part, hits=tuple(hits), problems=problems))
    whole = joined(found)
    return replace(whole, hits=tuple(hit for hit in whole.hits if _is_below(workspace, hit, request)))


def _is_below(workspace: Workspace, hit: Hit, request: Request) -> bool:
    """Tell whether a document lies where the paths asked for begin, in its own name or seen from the current folder."""
    if not request.wanted.paths:
        return True
    names = {hit.path, os.path.relpath(workspace.root / hit.path, request.folder)}
    asked = [path.removeprefix("./") for path in request.wanted.paths]
    return any(name.startswith(path) or fnmatchcase(name, path) for name in names for path in asked)
