"""Search memories in one workspace or several, with conversations where those help and folders of documents."""

import os
from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from math import sqrt
from typing import Any

from ..errors import MemError, UnavailableError, UsageError
from ..formats.text_lines import blanked
from ..formats.times import parse_time, past
from ..index.filters import Filter
from ..index.index import Index, ask
from ..store.settings_table import BY_NAME
from ..store.workspace import Workspace
from .index_search import SearchRequest, search_index
from .later import MOST_ADDED
from .reference_docs import folders
from .results import DOCUMENT, Hit, SearchResults, joined, watch
from .thresholds import LIKELY, certainty


def search(workspaces: Sequence[Workspace], request: SearchRequest, rerank: int | None = None) -> SearchResults:
    """Return the hits of every workspace for the kinds that the request asks for, merged by relevance.

    Where the best hit is more likely wrong than right, passages of conversations compete with the hits. Hits in
    documents have the names `mem read` takes them by; a document has no type, tag, layer, source or project, so none
    is found where one of these is asked for. A reranker reads the first `rerank` hits; None: as many as the settings
    say, and a notice tells that it cannot be used. Raise UnavailableError where an index fails, or where the request
    asks for meaning alone or a reranker and there is no model for it.
    """
    settings = workspaces[0].settings
    count = settings["search.rerank"] if rerank is None else BY_NAME["search.rerank"].read(rerank, "rerank")
    if rerank and not settings["search.reranker"]:
        raise UsageError("no reranker is chosen", "`mem config set --user search.reranker FOLDER` names one")
    # One more than asked for says how far the first is ahead.
    results = _search(workspaces, replace(request, limit=max(request.limit, 2), shown=request.limit, rerank=count))
    judged = _judged((*results.hits, *results.later))
    results = replace(results, hits=judged[: len(results.hits)], later=judged[len(results.hits) :])
    if count and len(results.hits) > 1:
        try:
            results = replace(results, hits=_reread(workspaces[0], request.query, results.hits, count))
        except UnavailableError as error:
            if rerank is not None:
                raise
            results = replace(results, notices=(*results.notices, f"not reranked: {error}"))
    hits, others = results.hits[: request.limit], (*results.hits[request.limit :], *results.later)
    shown = {hit.id for hit in hits}
    added = [hit for hit in others if hit.later_than in shown and hit.id not in shown]
    return replace(results, hits=(*hits, *added[:MOST_ADDED]), later=())


def _reread(where: Workspace, query: str, hits: Sequence[Hit], count: int) -> tuple[Hit, ...]:
    from ..index.cross_encoder import chosen_cross_encoder  # late: it brings along what runs models

    model = chosen_cross_encoder(where.settings, where.cache)
    return reranked(hits, model.scores(query, [hit.text for hit in hits[:count]]).tolist())


def reranked(hits: Sequence[Hit], scores: Sequence[float]) -> tuple[Hit, ...]:
    """Return hits with the first in the order of relevance and score together, those without a score behind them.

    Both are standardised over the hits that have a score, and added.
    """
    read = [hit.relevance for hit in hits[: len(scores)]]
    # Rounded: where one is as far ahead by relevance as the other by score, the order stays as it was.
    sums = [round(one + other, 6) for one, other in zip(_standard(read), _standard(scores), strict=True)]
    best = sorted(range(len(scores)), key=lambda place: -sums[place])
    order = [*(replace(hits[place], score=scores[place], moved=place) for place in best), *hits[len(scores) :]]
    return tuple(hit if hit.score is None else replace(hit, moved=hit.moved - rank) for rank, hit in enumerate(order))


def _standard(values: Sequence[float]) -> list[float]:
    """Return values with the mean 0 and the deviation 1; all 0 where they hardly differ."""
    mean = sum(values) / len(values)
    deviation = sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    is_flat = deviation <= 1e-6 * max(map(abs, values))  # as far as the numbers of a model go
    return [0.0 if is_flat else (value - mean) / deviation for value in values]


def _judged(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits with what is to be said of each; two that are flagged with each other do not stand in the way."""
    best = hits[0].relevance if hits else 0.0
    following = max((hit.relevance for hit in hits[1:] if hit.id not in hits[0].conflicts_with), default=0.0)
    return tuple(replace(hit, certainty=certainty(hit.relevance, best, following)) for hit in hits)


def _search(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    if DOCUMENT not in request.wanted.kinds:
        return _search_memories(workspaces, request)
    kinds = tuple(kind for kind in request.wanted.kinds if kind != DOCUMENT)
    of_memories = replace(request, wanted=replace(request.wanted, kinds=kinds))
    found = [_search_memories(workspaces, of_memories)] if kinds else []
    if not request.wanted.asks_entries:
        found += [_search_documents(workspace, request) for workspace in workspaces]
    return joined(found, request.depth)


def _search_memories(workspaces: Sequence[Workspace], request: SearchRequest) -> SearchResults:
    def asked(index: Index) -> tuple[SearchResults, SearchResults | None]:
        found = _mark_changed(index, search_index(index, request), request.wanted.as_of)
        found = replace(found, notices=(*found.notices, *index.model_notices()))
        if not request.draws_on_talk or _is_likely(found):
            return found, None
        from ..index.lookups import forgotten_texts
        from .passages import has_talk, search_talk

        # While the index is open with its model: opening both again would take a third of the time of a search.
        said = search_talk(index, request, joins_others=bool(found.hits)) if has_talk(index.workspace) else None
        if said and (forgotten := forgotten_texts(index)):  # nobody asked for what was said
            said = replace(said, hits=tuple(_blanked(hit, forgotten) for hit in said.hits))
        return found, said

    answers = [ask(workspace, asked) for workspace in workspaces]
    found = joined((own for own, _ in answers), request.depth)
    if _is_likely(found):
        return found
    return joined((found, *(said for _, said in answers if said)), request.depth)


def _mark_changed(index: Index, found: SearchResults, as_of: str) -> SearchResults:
    """Return the results with the hits marked that have expired, or whose cited lines changed or are gone."""
    from ..index.lookups import forgotten_texts, indexed_files

    changes = watch(index.workspace, as_of)
    texts = indexed_files(index, {hit.path for hit in (*found.hits, *found.later) if hit.kind == "entry"})
    now = parse_time(as_of) or index.workspace.now
    marks: dict[str, dict[str, Any]] = {}
    for path, file in texts.items():
        marks[path] = {"changed": changes(file.text), "expired": past(file.entry.get("expires_at"), now)}
    hits, later = (tuple(replace(hit, **marks.get(hit.path, {})) for hit in some) for some in (found.hits, found.later))
    forgotten = forgotten_texts(index)
    hits, later = (
        tuple(hit if hit.kind == "session" else _blanked(hit, forgotten) for hit in some) for some in (hits, later)
    )
    return replace(found, hits=hits, later=later)


def _blanked(hit: Hit, forgotten: frozenset[str]) -> Hit:
    """Return a hit without what was forgotten since it was recorded."""
    if not forgotten or hit.status == "archived":
        return hit
    return replace(hit, summary=blanked(hit.summary, forgotten), text=blanked(hit.text, forgotten))


def _is_likely(found: SearchResults) -> bool:
    """Return whether the best hit is more likely right than wrong."""
    return bool(found.hits) and found.hits[0].relevance >= LIKELY


def _search_documents(workspace: Workspace, request: SearchRequest) -> SearchResults:
    """Search the folders of one workspace; redact secrets, since nothing checked the documents for them."""
    from ..store.redaction import redactor

    named, refused = folders(workspace)
    clean = redactor(workspace, "documents").text
    wanted = Filter(since=request.wanted.since, until=request.wanted.until)
    budget = request.embed_budget / max(len(named), 1)
    found = [SearchResults((), notices=refused)]
    for name, folder in named.items():
        asked = replace(request, wanted=wanted, embed_budget=budget, folder=None)
        try:
            part = ask(folder, lambda index, asked=asked: search_index(index, asked))  # type: ignore[misc]
        except MemError as error:
            found.append(SearchResults((), notices=(f"index.include: {name}: {error}",)))
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
        problems = tuple(replace(one, path=f"{name}/{one.path}", scope=workspace.scope) for one in part.problems)
        found.append(replace(part, hits=tuple(hits), problems=problems))
    whole = joined(found)
    return replace(whole, hits=tuple(hit for hit in whole.hits if _is_below(workspace, hit, request)))


def _is_below(workspace: Workspace, hit: Hit, request: SearchRequest) -> bool:
    """Return whether a document lies under the paths asked for, by its own name or seen from the current folder."""
    if not request.wanted.paths:
        return True
    names = {hit.path, os.path.relpath(workspace.root / hit.path, request.folder)}
    asked = [path.removeprefix("./") for path in request.wanted.paths]
    return any(name.startswith(path) or fnmatchcase(name, path) for name in names for path in asked)
