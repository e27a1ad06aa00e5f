"""Search one index: from a query to ranked hits of what is on disk now, best first."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from heapq import nlargest
from operator import itemgetter
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import UnavailableError
from ..index.filters import Filter, Posting, TurnPiece, scores
from ..index.index import Index, MemoryIndex, Piece
from ..index.lookups import chunks_named, names_of_one
from ..index.vector_file import CosinesAmong
from ..language.lexicon import ENGLISH
from ..results import number_of
from ..store.addresses import prefixes
from ..store.workspace import Workspace
from .later import COSINE, LaterFirst
from .query import OtherName, Query, parse_query, term_weights, thresholds, with_other_names
from .ranking import ChunkCandidate, Scored, candidate, fuse
from .ranking_weights import WEIGHTS, Weights
from .results import Hit, SearchResults, distinct, hit_of, with_flagged

POOL = 100
"""Candidates each arm brings, unless more hits are asked for; both scores are looked up for all of them."""


@dataclass(frozen=True)
class SearchRequest:
    """What a search asks for."""

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
    shown: int = 0  # hits that are shown in the end; 0: all that come back
    marks_later: bool = False  # each hit says of which other it is the later one
    within: float = 0.0  # seconds for which what this process saw on the disk is good enough
    reaches_others: bool = False  # what others put on the server is found too

    @classmethod
    def of(
        cls,
        workspace: Workspace,
        query: str,
        wanted: Filter,
        *,
        limit: int | None = None,
        min_score: float | None = None,
        is_recall: bool = False,
        draws_on_talk: bool = False,
        **others: Any,
    ) -> "SearchRequest":
        """Return a request as the settings of a workspace have it; `min_score` is the least relevance of any hit.

        `others` are the other fields. No request draws on conversations where the settings say that none does.
        """
        settings = workspace.settings
        least = settings["recall.min_score" if is_recall else "search.min_score"] if min_score is None else min_score
        weight = settings["search.vector_weight"]
        fields: dict[str, Any] = {
            "limit": limit or settings["search.limit"],
            "min_score": least if least >= 0 else None,
            "vector_weight": weight if weight >= 0 else None,
            "embed_budget": settings["search.embed_budget"],
            "draws_on_talk": draws_on_talk and settings["search.conversations"],
        }
        return cls(query, wanted=wanted, **fields | others)


def search_index(index: Index, request: SearchRequest) -> SearchResults:
    """Refresh an index from the disk, search it, and return its hits, the best first, at most `request.limit`.

    Raise UnavailableError where the request asks for meaning alone and there is no model.
    """
    _bring_in_step(index, request)
    if _asks_talk(request):
        from ..store.sessions.sessions import compacted

        request = replace(request, wanted=replace(request.wanted, besides=compacted(index.workspace)))
    question = with_other_names(parse_query(request.query), names_of_one(index))
    postings = _postings(index, question, request.weights.other)
    stand_in = [(term.word, posting) for term, posting in zip(question.terms, postings, strict=True) if posting]
    for other in question.other_names:
        named = _name_posting(index, other)
        postings = _joined(question, postings, other, named, request.weights.other)
        stand_in.append((other.name, named))
    turns = index.turns(request.wanted) if _asks_talk(request) else {}
    own, whole = ({}, {}) if request.mode == "vector" else _by_words(index, question, postings, turns, request)
    first = dict(nlargest(_pool(request), own.items(), key=itemgetter(1)))
    meaning = _NO_MEANING if request.mode == "keyword" else _meaning(index, question, postings, request, first)
    near = meaning.cosines
    called = frozenset(_named(index, request))
    best = nlargest(
        _pool(request),
        {*first, *near} - called,
        key=lambda chunk: 0.4 * near.get(chunk, 0.0) + 0.6 * max(own.get(chunk, 0.0), whole.get(chunk, 0.0)),
    )
    pieces = index.pieces([*called, *best])
    candidates = _candidates(index, question, called, pieces, (own, whole), meaning, turns)
    readable = question.readable(meaning.readable)
    share = _vector_share(request, readable, has_words=bool(own), has_vectors=bool(near))
    cosines = index.embedding.cosines_among(pieces) if near and request.mode == "hybrid" else None
    scored = fuse(candidates, question, request.weights, share, cosines)
    enough = [document for document in scored if document.relevance >= _least(request, readable, meaning.model)]
    hits, later = _shown(index, question, request, pieces, enough, stand_in, cosines)
    return SearchResults(
        hits,
        index.answered_once(("problems", request.wanted), lambda: tuple(index.problems(request.wanted, whole=True))),
        (*_unreached(index, request), *meaning.notices),
        meaning.missing,
        meaning.total,
        meaning.vector,
        meaning.model,
        len(scored) - len(enough),
        later=later,
    )


def _candidates(
    index: MemoryIndex,
    question: Query,
    called: Collection[int],
    pieces: Mapping[int, Piece],
    by_words: tuple[Mapping[int, float], Mapping[int, float]],
    meaning: "_Meaning",
    turns: Mapping[int, TurnPiece],
) -> list[ChunkCandidate]:
    """Return the chunks with their scores; `by_words` are those of each and of its document."""
    own, whole = by_words
    weigh = candidate(index.workspace, question, called, meaning.readable)
    pieces_of = Counter((session, line) for session, line, _ in turns.values())
    long = {piece.file for piece in pieces.values() if not piece.is_whole}
    means = index.embedding.mean_cosines(meaning.vector, long) if meaning.cosines and long else {}
    return [
        weigh(
            piece,
            own.get(chunk, 0.0),
            whole.get(chunk, 0.0),
            meaning.cosines.get(chunk),
            means.get(piece.file),
            pieces_of[piece.file, piece.line],
        )
        for chunk, piece in pieces.items()
    ]


def _bring_in_step(index: MemoryIndex, request: SearchRequest) -> None:
    index.refresh(talk=_asks_talk(request), within=request.within)
    if request.reaches_others:
        index.reach_others()


def _unreached(index: MemoryIndex, request: SearchRequest) -> tuple[str, ...]:
    """Return a line that says why what others have is not among the hits, where it was asked for."""
    is_missed = index.failure and request.reaches_others
    return (f"searching this machine alone: {index.failure}",) if is_missed else ()


def _shown(
    index: Index,
    question: Query,
    request: SearchRequest,
    pieces: Mapping[int, Piece],
    ranked: Sequence[Scored],
    stand_in: Sequence[tuple[str, Posting]],
    cosines: CosinesAmong | None,
) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
    """Return the hits of the documents, and besides these what says later what one of them says.

    `stand_in` has the words of the question with where they stand; `cosines` are those among
    the chunks, where they are compared by meaning.
    """
    order, added = distinct(ranked, pieces, request.limit), list[Scored]()
    than: dict[int, int] = {}
    if cosines is not None:
        view = LaterFirst(index.workspace.stamp, pieces, cosines.alike(COSINE), marks=request.marks_later)
        order, than, added = view.view(order, ranked, request.shown or request.limit)
    pieces = with_flagged(index, [*order, *added], pieces, request.wanted)
    whole_query = " ".join((request.query, *(other.name for other in question.other_names)))

    def hit(scored: Scored) -> Hit:
        matched = (word for word, posting in stand_in if scored.chunk in posting)
        return hit_of(index.workspace, pieces, scored, whole_query, matched, than.get(scored.chunk))

    return tuple(map(hit, order[: request.limit])), tuple(map(hit, added))


@dataclass(frozen=True)
class _Meaning:
    """The nearest chunks of a query by its vector, and how complete the vectors are."""

    cosines: Mapping[int, float]  # of the nearest chunks, and of those that match by words
    vector: tuple[float, ...] = ()  # of the query
    model: str = ""
    notices: tuple[str, ...] = ()
    missing: int = 0  # chunks without a vector
    total: int = 0
    readable: Callable[[str], float] = lambda _: 1.0  # how far the model reads a text


_NO_MEANING = _Meaning({})


def _meaning(
    index: MemoryIndex,
    question: Query,
    postings: Sequence[Posting],
    request: SearchRequest,
    first: Collection[int],
) -> _Meaning:
    """Embed what the time allows and the query, and compare; without a model, return a notice where words can do."""
    try:
        missing = index.embedding.embed_missing(request.embed_budget, frozenset(first), request.wanted)
        vector, near = _by_meaning(index, question, postings, request, _pool(request), first)
    except UnavailableError as error:
        if request.mode == "vector":
            raise
        return _Meaning({}, notices=(f"searching by words alone: {error}",))
    total = index.chunk_count() if missing else 0
    notices = (f"{missing:,} of {number_of(total, 'text')} not embedded yet: run `mem index`",) if missing else ()
    model = index.embedding.embedder().model
    return _Meaning(near, tuple(vector.tolist()), model, notices, missing, total, index.embedding.scale().readable)


def _vector_share(request: SearchRequest, readable: float, *, has_words: bool, has_vectors: bool) -> float | None:
    """Return the share of meaning that is the same for every text, or None where it goes by the text's shape."""
    if request.mode != "hybrid":
        return 1.0 if request.mode == "vector" else 0.0
    if not has_vectors:
        return 0.0
    # Where none of the question's words can be found, meaning alone has something to say.
    if request.may_mean_alone and not has_words and readable > 0:
        return 1.0
    return request.vector_weight


def _least(request: SearchRequest, readable: float, model: str) -> float:
    """Return the relevance below which hits are left out; none was measured for scripts the model cannot read."""
    if request.min_score is not None:
        return request.min_score
    return thresholds(model).shown * readable if request.mode == "hybrid" else 0.0


def _pool(request: SearchRequest) -> int:
    return max(POOL, request.limit)


def _postings(index: MemoryIndex, question: Query, share: float) -> list[Posting]:
    """Return how often each term is in each chunk.

    The index stems English alone: of another language's word that stands nowhere, those that begin alike count a share.
    """
    postings = index.postings([term.forms for term in question.terms]) if question.terms else []
    for position, (term, posting) in enumerate(zip(question.terms, postings, strict=True)):
        if not posting and not (question.language == ENGLISH and term.word.isascii()):
            alike = index.alike_postings(term.word)
            postings[position] = {chunk: share * count for chunk, count in alike.items()}
    return postings


def _name_posting(index: MemoryIndex, other: OtherName) -> Posting:
    """Return how often a name stands in each chunk that has all of its words."""
    first, *more = held = index.postings([(word,) for word in other.words])
    return {
        chunk: min(posting[chunk] for posting in held) for chunk in first if all(chunk in posting for posting in more)
    }


def _joined(
    question: Query, postings: Sequence[Posting], other: OtherName, named: Posting, share: float
) -> list[Posting]:
    """Return the postings of a query's words, those of a name with a share of the postings of its other name."""
    return [
        {**own, **{chunk: own.get(chunk, 0) + share * count for chunk, count in named.items()}}
        if term.word in other.words_in_query
        else own
        for term, own in zip(question.terms, postings, strict=True)
    ]


def _by_words(
    index: MemoryIndex,
    question: Query,
    postings: Sequence[Posting],
    turns: Mapping[int, TurnPiece],
    request: SearchRequest,
) -> tuple[dict[int, float], dict[int, float]]:
    """Score the chunks that may be found, and documents of several, by the words of the question."""
    if not any(postings):
        return {}, {}
    weights = term_weights(question, list(map(len, postings)), index.chunk_count(), request.weights)
    # The turns around a turn count too, so that there the matching chunks are not enough.
    among = {chunk for posting in (*postings, turns) for chunk in posting}
    documents = index.documents(request.wanted, among)
    spread = request.weights.saturation, request.weights.window, request.weights.reach
    return scores(postings, weights, documents, turns, *spread)


def _by_meaning(
    index: MemoryIndex,
    question: Query,
    postings: Sequence[Posting],
    request: SearchRequest,
    pool: int,
    also: Collection[int],
) -> tuple[Any, dict[int, float]]:
    """Return the query's vector, and the cosines of the chunks nearest to it and of the chunks named."""
    vector = index.embedding.vector(question.parts(list(map(len, postings)), request.weights))
    near, named = index.embedding.nearest(vector, request.wanted, pool, also)
    return vector, near | named


def _asks_talk(request: SearchRequest) -> bool:
    return not request.wanted.kinds or "session" in request.wanted.kinds


_ID = re.compile(r"\b[a-z]+_[0-9a-z]{16}\b")
_PATH = re.compile(r"(?P<path>[^\n]+?)(?::(?P<line>\d{1,9})|#(?P<anchor>[^\n]+))?")
_MOST_NAMED = 50
"""Chunks of what is named, at most: a long history file is not one memory."""


def _named(index: Index, request: SearchRequest) -> list[int]:
    """Return the chunks that the query names by id or path; a path may also be relative to the request's folder."""
    text = request.query.strip()
    ids = list(dict.fromkeys(_ID.findall(text[:4000])))[:_MOST_NAMED]
    path = _PATH.fullmatch(text) if "/" in text or ".md" in text else None
    if path is None:
        return chunks_named(index, request.wanted, _MOST_NAMED, ids)
    folder = request.folder
    paths = [path["path"]] if folder is None else prefixes(index.workspace, path["path"], folder)
    return chunks_named(
        index, request.wanted, _MOST_NAMED, ids, paths, anchor=path["anchor"] or "", line=int(path["line"] or 0)
    )
