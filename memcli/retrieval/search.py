"""From a query to ranked hits, over one workspace or several: what is on disk now, best first."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from operator import itemgetter
from typing import Any

from ..errors import UnavailableError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.keywords import Posting, scores
from ..store.workspace import Workspace
from .candidates import candidate
from .fusion import fuse
from .gate import thresholds
from .hits import Found, Hit, distinct, hit_of
from .named import named
from .question import Question, term_weights
from .question import ask as ask_of
from .weights import WEIGHTS, Weights

__all__ = ["MODES", "Found", "Hit", "Request", "search", "search_index"]

MODES = ("hybrid", "vector", "keyword")
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
    may_mean_alone: bool = False  # a question was asked on purpose: words that stand nowhere need not hold it down


def search(workspaces: Sequence[Workspace], request: Request) -> Found:
    """Search every workspace given and merge the answers by relevance."""
    found = [ask(workspace, lambda index: search_index(index, request)) for workspace in workspaces]
    hits = sorted((hit for part in found for hit in part.hits), key=lambda hit: -hit.relevance)
    return Found(
        tuple(hits[: request.limit]),
        tuple(problem for part in found for problem in part.problems),
        tuple(dict.fromkeys(notice for part in found for notice in part.notices)),
        sum(part.missing for part in found),
        sum(part.total for part in found),
        weaker=sum(part.weaker for part in found),
    )


def search_index(index: Index, request: Request) -> Found:
    """Search one workspace after bringing its index in step with the disk."""
    index.refresh(talk=_asks_talk(request))
    question = ask_of(request.query)
    postings = index.postings([term.forms for term in question.terms]) if question.terms else []
    own, whole = ({}, {}) if request.mode == "vector" else _by_words(index, question, postings, request)
    pool = max(POOL, request.limit)
    first = dict(nlargest(pool, own.items(), key=itemgetter(1)))
    near: Mapping[int, float] = {}
    vector: Any = None
    notices: list[str] = []
    missing = total = 0
    if request.mode != "keyword":
        try:
            missing = index.embedding.embed_missing(request.embed_budget, frozenset(first), request.wanted)
            vector, near = _by_meaning(index, question, postings, request, pool, first)
        except UnavailableError as error:
            if request.mode == "vector":
                raise
            notices.append(f"searching by words alone: {error}")
        if missing:
            total = index.chunk_count()
            notices.append(f"{missing:,} of {total:,} texts not embedded yet: run `mem index`")
    called = frozenset(named(index, request.query, request.wanted))
    best = nlargest(
        pool,
        {*first, *near} - called,
        key=lambda chunk: 0.4 * near.get(chunk, 0.0) + 0.6 * max(own.get(chunk, 0.0), whole.get(chunk, 0.0)),
    )
    pieces = index.pieces([*called, *best])
    weigh = candidate(index.workspace, question, called)
    candidates = [
        weigh(piece, own.get(chunk, 0.0), whole.get(chunk, 0.0), near.get(chunk)) for chunk, piece in pieces.items()
    ]
    # Where none of the question's words can be found, meaning alone has something to say.
    is_meant_alone = request.may_mean_alone and not own and question.readable > 0
    hybrid = (1.0 if is_meant_alone else request.vector_weight) if near else 0.0
    share = {"hybrid": hybrid, "vector": 1.0, "keyword": 0.0}[request.mode]
    scored = fuse(candidates, question, request.weights, share)
    model = "" if vector is None else index.embedding.embedder().model
    least = request.min_score
    if least is None:
        least = thresholds(model).shown * question.readable if request.mode == "hybrid" else 0.0
    enough = [one for one in scored if one.relevance >= least]
    told = distinct(enough, pieces, request.limit)
    return Found(
        tuple(hit_of(index.workspace, pieces[one.chunk], one, request.query) for one in told),
        tuple(index.problems()),
        tuple(notices),
        missing,
        total,
        () if vector is None else tuple(vector.tolist()),
        model,
        len(scored) - len(enough),
    )


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
