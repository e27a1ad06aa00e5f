"""From a query to ranked hits, over one workspace or several: what is on disk now, best first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from operator import itemgetter
from typing import Any

from ..errors import UnavailableError
from ..index.filters import Filter
from ..index.index import FileProblem, Index, Piece, ask
from ..index.keywords import scores
from ..store.workspace import Workspace
from .candidates import candidate
from .fusion import Scored, fuse
from .question import Question, term_weights
from .question import ask as ask_of
from .snippet import snippet
from .weights import WEIGHTS

MODES = ("hybrid", "vector", "keyword")
POOL = 100
"""Candidates each arm brings; both scores are looked up for all of them."""


@dataclass(frozen=True)
class Hit:
    """One memory found."""

    id: str  # what `mem read` takes
    kind: str
    path: str
    line: int
    summary: str  # the passage that matched, at most 160 characters
    relevance: float  # in [0, 1], comparable across queries
    timestamp: str
    scope: str
    type: str = ""
    title: str = ""
    tags: tuple[str, ...] = ()
    status: str = "active"
    source: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)  # they add up to the relevance


@dataclass(frozen=True)
class Found:
    """The answer to a search: hits, and everything that could not be looked at."""

    hits: tuple[Hit, ...]
    problems: tuple[FileProblem, ...] = ()
    notices: tuple[str, ...] = ()
    missing: int = 0  # texts known only by their words so far
    total: int = 0
    vector: tuple[float, ...] = ()  # of the query, where it was embedded
    model: str = ""  # whose vector it is


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    query: str
    limit: int
    wanted: Filter
    mode: str = "hybrid"
    min_score: float = 0.0
    vector_weight: float | None = None  # share of meaning; None: by the shape of the text
    embed_budget: float = 2.0


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
    )


def search_index(index: Index, request: Request) -> Found:
    """Search one workspace after bringing its index in step with the disk."""
    index.refresh(talk=not request.wanted.kinds or "session" in request.wanted.kinds)
    question = ask_of(request.query)
    own, whole = _by_words(index, question, request)
    first = dict(nlargest(POOL, own.items(), key=itemgetter(1)))
    near: dict[int, float] = {}
    notices: list[str] = []
    missing = total = 0
    vector: Any = None
    if request.mode != "keyword":
        try:
            missing = index.embedding.embed_missing(request.embed_budget, frozenset(first), request.wanted)
            vector = index.embedding.vector(question.parts)
            near, named = index.embedding.nearest(vector, request.wanted, POOL, frozenset(first))
            near |= named
        except UnavailableError as error:
            if request.mode == "vector":
                raise
            notices.append(f"searching by words alone: {error}")
        if missing:
            total = index.chunk_count()
            notices.append(f"{missing:,} of {total:,} texts not embedded yet: run `mem index`")
    if request.mode == "vector":
        own, whole = {}, {}
    share = {"hybrid": request.vector_weight if near else 0.0, "vector": 1.0, "keyword": 0.0}[request.mode]
    best = nlargest(
        POOL,
        {*first, *near},
        key=lambda chunk: 0.4 * near.get(chunk, 0.0) + 0.6 * max(own.get(chunk, 0.0), whole.get(chunk, 0.0)),
    )
    pieces = index.pieces(best)
    # The model that comes with mem reads English only.
    is_english = not index.workspace.settings["embedding.model"]
    candidates = [
        candidate(piece, question, own.get(chunk, 0.0), whole.get(chunk, 0.0), near.get(chunk), is_english=is_english)
        for chunk, piece in pieces.items()
    ]
    scored = [one for one in fuse(candidates, question, vector=share) if one.relevance >= request.min_score]
    scored = list(_told_once(scored, pieces))
    hits = [_hit(index.workspace, pieces[one.chunk], one, request.query) for one in scored[: request.limit]]
    embedded = () if vector is None else tuple(vector.tolist())
    model = "" if vector is None else index.embedding.embedder().model
    return Found(tuple(hits), tuple(index.problems()), tuple(notices), missing, total, embedded, model)


def _told_once(scored: Iterable[Scored], pieces: Mapping[int, Piece]) -> Iterator[Scored]:
    """Leave out a record of the history that is told already: older tools keep a second copy of each."""
    told: set[tuple[str, str]] = set()
    for one in scored:
        piece = pieces[one.chunk]
        if piece.kind != "history" or (piece.timestamp, piece.text) not in told:
            told.add((piece.timestamp, piece.text))
            yield one


def _by_words(index: Index, question: Question, request: Request) -> tuple[dict[int, float], dict[int, float]]:
    """Score the chunks that may be found, and their documents, by the words of the question."""
    if request.mode == "vector" or not question.terms:
        return {}, {}
    found = index.postings([term.forms for term in question.terms])
    if not any(found):
        return {}, {}
    weights = term_weights(question, [None if one is None else len(one) for one in found], index.chunk_count())
    rows = index.rows(request.wanted)
    documents = {chunk: file if kind == "entry" else -chunk for chunk, file, kind in rows}
    turns = {chunk: file for chunk, file, kind in rows if kind == "session"}
    return scores(found, weights, documents, turns, WEIGHTS.saturation, WEIGHTS.window)


def _hit(workspace: Workspace, piece: Piece, one: Scored, query: str) -> Hit:
    entry: Mapping[str, Any] = piece.entry
    text, offset = snippet(piece.text, query)
    return Hit(
        id=address_of(piece),
        kind=piece.kind,
        path=piece.path,
        line=piece.line + (0 if piece.kind == "session" else offset),  # a turn is one line of its file
        summary=text or entry.get("summary", ""),
        relevance=one.relevance,
        timestamp=piece.timestamp,
        scope=workspace.scope,
        type=entry.get("type", ""),
        title=entry.get("title") or piece.title,
        tags=tuple(entry.get("tags", ())),
        status=piece.status,
        source=entry.get("source", ""),
        parts=one.parts,
    )


def address_of(piece: Piece) -> str:
    """Give what `mem read` takes to show a chunk's memory."""
    if piece.kind == "entry":
        identifier: str = piece.entry.get("id", piece.path)
        return identifier
    if piece.anchor.startswith("hist_"):
        return piece.anchor
    if piece.kind == "session":
        from ..store.session_span import session_address  # only where conversations are asked for

        return session_address(piece.path, piece.anchor)
    return f"{piece.path}#{piece.anchor}" if piece.anchor else piece.path
