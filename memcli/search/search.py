"""Search memories in one workspace or several, with conversations where those help and folders of documents."""

import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from ..errors import MemError
from ..formats.text_lines import blanked
from ..formats.times import parse_time, past
from ..index.filters import Filter
from ..index.index import Index, ask
from ..store.workspace import Workspace
from .index_search import SearchRequest, search_index
from .later import MOST_ADDED
from .reference_docs import folders
from .results import DOCUMENT, Hit, SearchResults, joined, watch
from .thresholds import LIKELY, certainty


def search(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    """Return the hits of every workspace for the kinds that the request asks for, merged by relevance.

    Where the best hit is more likely wrong than right, passages of conversations compete with the hits. Hits in
    documents have the names `mem read` takes them by; a document has no type, tag, layer, source or project, so none
    is found where one of these is asked for. Raise UnavailableError where an index fails, or where the request asks for
    meaning alone and there is no model for it.
    """
    # One more than asked for says how far the first is ahead.
    results = _search(workspaces, replace(request, limit=max(request.limit, 2), shown=request.limit))
    judged = _judged((*results.hits, *results.later))
    results = replace(results, hits=judged[: len(results.hits)], later=judged[len(results.hits) :])
    hits, others = results.hits[: request.limit], (*results.hits[request.limit :], *results.later)
    shown = {hit.id for hit in hits}
    added = [hit for hit in others if hit.later_than in shown and hit.id not in shown]
    return replace(results, hits=(*hits, *added[:MOST_ADDED]), later=())


def _judged(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with their certainty; the hits that the best one is flagged with do not lower it."""
    best = hits[0].relevance if hits else 0.0
    following = max((hit.relevance for hit in hits[1:] if hit.id not in hits[0].conflicts_with), default=0.0)
    return tuple(replace(hit, certainty=certainty(hit.relevance, best, following)) for hit in hits)


def _search(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    if DOCUMENT not in request.wanted.kinds:
        return _search_memories(workspaces, request)
    kinds = tuple(kind for kind in request.wanted.kinds if kind != DOCUMENT)
    of_memories = replace(request, wanted=replace(request.wanted, kinds=kinds))
    parts = [_search_memories(workspaces, of_memories)] if kinds else []
    if not request.wanted.asks_entries:
        parts += [_search_documents(workspace, request) for workspace in workspaces]
    return joined(parts, request.limit)


def _search_memories(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    def answer(index: Index) -> tuple[SearchResults, SearchResults | None]:
        results = _mark_changed(index, search_index(index, request), request.wanted.as_of)
        if not request.draws_on_talk or _is_likely(results):
            return results, None
        from ..index.lookups import forgotten_texts
        from .passages import has_talk, search_talk

        # While the index is open with its model: opening both again would take a third of the time of a search.
        talk = search_talk(index, request, joins_others=bool(results.hits)) if has_talk(index.workspace) else None
        if talk and (forgotten := forgotten_texts(index)):  # nobody asked for what was said
            talk = replace(talk, hits=tuple(_blanked(hit, forgotten) for hit in talk.hits))
        return results, talk

    answers = [ask(workspace, answer) for workspace in workspaces]
    merged = joined((own for own, _ in answers), request.limit)
    if _is_likely(merged):
        return merged
    return joined((merged, *(talk for _, talk in answers if talk)), request.limit)


def _mark_changed(index: Index, results: SearchResults, as_of: str) -> SearchResults:
    """Return the results with the hits marked that have expired, or whose cited lines changed or are gone."""
    from ..index.lookups import forgotten_texts, indexed_files

    changes = watch(index.workspace, as_of)
    texts = indexed_files(index, {hit.path for hit in (*results.hits, *results.later) if hit.kind == "entry"})
    now = parse_time(as_of) or index.workspace.now
    marks: dict[str, dict[str, Any]] = {}
    for path, file in texts.items():
        marks[path] = {"changed": changes(file.text), "expired": past(file.entry.get("expires_at"), now)}
    hits, later = (
        tuple(replace(hit, **marks.get(hit.path, {})) for hit in group) for group in (results.hits, results.later)
    )
    forgotten = forgotten_texts(index)
    hits, later = (
        tuple(hit if hit.kind == "session" else _blanked(hit, forgotten) for hit in group) for group in (hits, later)
    )
    return replace(results, hits=hits, later=later)


def _blanked(hit: Hit, forgotten: frozenset[str]) -> Hit:
    """Return a hit with the texts blanked out that were forgotten."""
    if not forgotten or hit.status == "archived":
        return hit
    return replace(hit, summary=blanked(hit.summary, forgotten), text=blanked(hit.text, forgotten))


def _is_likely(results: SearchResults) -> bool:
    """Return whether the best hit is more likely right than wrong."""
    return bool(results.hits) and results.hits[0].relevance >= LIKELY


def _search_documents(workspace: Workspace, request: SearchRequest) -> SearchResults:
    """Search the folders of one workspace; redact secrets, since nothing checked the documents for them."""
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text
    wanted = Filter(since=request.wanted.since, until=request.wanted.until)
    budget = request.embed_budget / max(len(named), 1)
    answers = [SearchResults((), notices=refused)]
    for name, folder in named.items():
        own = replace(request, wanted=wanted, embed_budget=budget, folder=None)
        try:
            part = ask(folder, lambda index, own=own: search_index(index, own))  # type: ignore[misc]
        except MemError as error:
            answers.append(SearchResults((), notices=(f"index.include: {name}: {error}",)))
            continue
        hits = [
            replace(
                hit,
                id=f"{name}/{hit.id}",
                path=f"{name}/{hit.path}",
                kind=DOCUMENT,
                summary=clean(hit.summary),
                title=clean(hit.title),
                text=clean(hit.text),
                scope=workspace.scope,
            )
            for hit in part.hits
            if not (folder.root / hit.path).is_relative_to(workspace.root)  # a memory, found as one
        ]
        problems = tuple(
            replace(problem, path=f"{name}/{problem.path}", scope=workspace.scope) for problem in part.problems
        )
        answers.append(replace(part, hits=tuple(hits), problems=problems))
    whole = joined(answers)
    return replace(whole, hits=tuple(hit for hit in whole.hits if _is_below(workspace, hit, request)))


def _is_below(workspace: Workspace, hit: Hit, request: SearchRequest) -> bool:
    """Return whether a document lies under the paths asked for, by its own name or seen from the current folder."""
    if not request.wanted.paths:
        return True
    names = {hit.path, os.path.relpath(workspace.root / hit.path, request.folder)}
    paths = [path.removeprefix("./") for path in request.wanted.paths]
    return any(name.startswith(path) or fnmatchcase(name, path) for name in names for path in paths)
