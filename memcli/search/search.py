"""From a query to ranked hits, over one workspace or several: what is on disk now, best first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..errors import UnavailableError
from ..index.filters import Filter
from ..index.full_text import Posting, scores
from ..index.index import Index, ask
from ..store.workspace import Workspace
from .provenance import marked
from .query import Question, named, term_weights
from .query import ask as ask_of
from .ranking import candidate, fuse
from .ranking_weights import WEIGHTS, Weights
from .results import MODES, Found, Hit, completed, distinct, hit_of, joined
from .thresholds import LIKELY, thresholds

__all__ = ["MODES", "Found", "Hit", "Request", "search", "search_index"]

POOL = 100
"""Candidates each arm brings, unless more hits are asked for; both scores are looked up for all of them."""


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    query: str
    limit: int
    wanted: Filter
    mode: str = "hybrid"
    min_score: float | None = 0.0  # relevance below which hits are left out; None: as measured for the model
    vector_weight: float | None = None  # share of meaning; None: by the shape of the text
    embed_budget: float = 2.0
    weights: Weights = WEIGHTS
    folder: Path | None = None  # from which a query that is a path may be named
    may_mean_alone: bool = False  # a question was asked on purpose: words that stand nowhere need not hold it down
    draws_on_talk: bool = False  # passages of conversations join the hits where those are weak


def search(workspaces: Sequence[Workspace], request: Request) -> Found:
    """Search every workspace given and merge the answers by relevance.

    Where the best hit is more likely wrong than right, passages of conversations compete with the hits.
    """

    def asked(index: Index) -> tuple[Found, Found | None]:
        found = marked(index, search_index(index, request), request.wanted.as_of)
        if not request.draws_on_talk or _is_likely(found):
            return found, None
        from .passages import has_talk, talk

        # While the index is open with its model: opening both again would take a third of the time of a search.
        return found, talk(index, request) if has_talk(index.workspace) else None

    answers = [ask(workspace, asked) for workspace in workspaces]
    found = joined((own for own, _ in answers), request.limit)
    if _is_likely(found):
        return found
    return joined((found, *(said for _, said in answers if said)), request.limit)


def _is_likely(found: Found) -> bool:
    """Tell whether the best hit is more likely right than wrong."""
    return bool(found.hits) and found.hits[0].relevance >= LIKELY


def search_index(index: Index, request: Request) -> Found:
    """Search one workspace after bringing its index in step with the disk."""
    index.refresh(talk=_asks_talk(request))
    if _asks_talk(request):
        from ..store.sessions.sessions import compacted

        request = replace(request, wanted=replace(request.wanted, besides=compacted(index.workspace)))
    question = ask_of(request.query)
    postings = index.postings([term.forms for term in question.terms]) if question.terms else []
    own, whole = ({}, {}) if request.mode == "vector" else _by_words(index, question, postings, request)
    first = dict(nlargest(_pool(request), own.items(), key=itemgetter(1)))
    meaning = _NO_MEANING if request.mode == "keyword" else _meaning(index, question, postings, request, first)
    near = meaning.cosines
    called = frozenset(named(index, request.query, request.wanted, request.folder))
    best = nlargest(
        _pool(request),
        {*first, *near} - called,
        key=lambda chunk: 0.4 * near.get(chunk, 0.0) + 0.6 * max(own.get(chunk, 0.0), whole.get(chunk, 0.0)),
    )
    pieces = index.pieces([*called, *best])
    weigh = candidate(index.workspace, question, called)
    candidates = [
        weigh(piece, own.get(chunk, 0.0), whole.get(chunk, 0.0), near.get(chunk)) for chunk, piece in pieces.items()
    ]
    share = _vector_share(request, question, has_words=bool(own), has_vectors=bool(near))
    scored = fuse(candidates, question, request.weights, share)
    enough = [one for one in scored if one.relevance >= _least(request, question, meaning.model)]
    shown, pieces = completed(index, distinct(enough, pieces, request.limit), pieces, request.wanted)
    return Found(
        tuple(hit_of(index.workspace, pieces, one, request.query) for one in shown[: request.limit]),
        tuple(index.problems(request.wanted, whole=True)),
        meaning.notices,
        meaning.missing,
        meaning.total,
        meaning.vector,
        meaning.model,
        len(scored) - len(enough),
    )


@dataclass(frozen=True)
class _Meaning:
    """What the vectors say of a query."""

    cosines: Mapping[int, float]  # of the nearest chunks, and of those found by words
    vector: tuple[float, ...] = ()  # of the query
    model: str = ""
    notices: tuple[str, ...] = ()
    missing: int = 0  # chunks without a vector
    total: int = 0


_NO_MEANING = _Meaning({})


def _meaning(
    index: Index,
    question: Question,
    postings: Sequence[Posting | None],
    request: Request,
    first: Collection[int],
) -> _Meaning:
    """Embed what the time allows and the query, and compare; without a model, say so where words can do."""
    try:
        missing = index.embedding.embed_missing(request.embed_budget, frozenset(first), request.wanted)
        vector, near = _by_meaning(index, question, postings, request, _pool(request), first)
    except UnavailableError as error:
        if request.mode == "vector":
            raise
        return _Meaning({}, notices=(f"searching by words alone: {error}",))
    total = index.chunk_count() if missing else 0
    notices = (f"{missing:,} of {total:,} texts not embedded yet: run `mem index`",) if missing else ()
    return _Meaning(near, tuple(vector.tolist()), index.embedding.embedder().model, notices, missing, total)


def _vector_share(request: Request, question: Question, *, has_words: bool, has_vectors: bool) -> float | None:
    """Give the share of meaning that is the same for every text, or None where it goes by the text's shape."""
    if request.mode != "hybrid":
        return 1.0 if request.mode == "vector" else 0.0
    if not has_vectors:
        return 0.0
    # Where none of the question's words can be found, meaning alone has something to say.
    if request.may_mean_alone and not has_words and question.readable > 0:
        return 1.0
    return request.vector_weight


def _least(request: Request, question: Question, model: str) -> float:
    """Give the relevance below which nothing is told; for scripts that the model cannot read none was measured."""
    if request.min_score is not None:
        return request.min_score
    return thresholds(model).shown * question.readable if request.mode == "hybrid" else 0.0


def _pool(request: Request) -> int:
    return max(POOL, request.limit)


def _by_words(
    index: Index, question: Question, postings: Sequence[Posting | None], request: Request
) -> tuple[dict[int, float], dict[int, float]]:
    """Score the chunks that may be found, and documents of several, by the words of the question."""
    if not any(postings):
        return {}, {}
    weights = term_weights(question, _counts(postings), index.chunk_count(), request.weights)
    # The turns around a turn count too, so that there the ones found are not enough.
    among = None if _asks_talk(request) else {chunk for one in postings for chunk in one or ()}
    documents = index.documents(request.wanted, among)
    turns = index.turns(request.wanted) if _asks_talk(request) else {}
    return scores(postings, weights, documents, turns, request.weights.saturation, request.weights.window)


def _by_meaning(
    index: Index,
    question: Question,
    postings: Sequence[Posting | None],
    request: Request,
    pool: int,
    also: Collection[int],
) -> tuple[Any, dict[int, float]]:
    """Give the query's vector, and the cosines of the chunks nearest to it and of the chunks named."""
    # How names are told from other words is known of English only.
    counts = [] if index.workspace.settings["embedding.model"] else _counts(postings)
    vector = index.embedding.vector(question.parts(counts, request.weights))
    near, named = index.embedding.nearest(vector, request.wanted, pool, also)
    floor = index.embedding.floor()
    return vector, {chunk: (cosine - floor) / (1 - floor) for chunk, cosine in (near | named).items()}


def _counts(postings: Sequence[Posting | None]) -> list[int | None]:
    return [None if one is None else len(one) for one in postings]


def _asks_talk(request: Request) -> bool:
    return not request.wanted.kinds or "session" in request.wanted.kinds
