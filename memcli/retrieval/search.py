"""From a query to ranked hits, over one workspace or several: what is on disk now, best first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import UnavailableError
from ..index.filters import Filter
from ..index.index import FileProblem, Index, Piece, ask
from ..store.workspace import Workspace
from ..text.words import match_expression, query_terms
from .rank import Candidate, Scored, fuse
from .snippet import snippet

MODES = ("hybrid", "vector", "keyword")
POOL = 200
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


@dataclass(frozen=True)
class Request:
    """What is asked for."""

    query: str
    limit: int
    wanted: Filter
    mode: str = "hybrid"
    min_score: float = 0.0
    vector_weight: float = 0.5
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
    index.refresh()
    match = match_expression(query_terms(request.query))
    wanted = request.wanted
    words = {} if request.mode == "vector" else index.words(match, wanted, POOL)
    near: dict[int, float] = {}
    notices: list[str] = []
    missing = total = 0
    if request.mode != "keyword":
        try:
            missing = index.embedding.embed_missing(request.embed_budget, frozenset(words), wanted)
            near, named = index.embedding.nearest(request.query, wanted, POOL, tuple(words))
            near |= named
        except UnavailableError as error:
            if request.mode == "vector":
                raise
            notices.append(f"searching by words alone: {error}")
        if missing:
            total = index.chunk_count()
            notices.append(f"{missing:,} of {total:,} texts not embedded yet: run `mem index`")
    if request.mode != "vector":
        words |= index.words_of(match, [chunk for chunk in near if chunk not in words])
    weight = {"hybrid": request.vector_weight if near else 0.0, "vector": 1.0, "keyword": 0.0}[request.mode]
    candidates = [Candidate(chunk, words.get(chunk, 0.0), near.get(chunk)) for chunk in {**words, **near}]
    scored = fuse(candidates, weight)
    hits = _hits(index, scored, request)
    return Found(tuple(hits), tuple(index.problems()), tuple(notices), missing, total)


def _hits(index: Index, scored: Sequence[Scored], request: Request) -> list[Hit]:
    """Fetch the best, one hit a memory: the best chunk stands for its entry or section."""
    hits: list[Hit] = []
    seen: set[tuple[int, str]] = set()
    for start in range(0, len(scored), 50):
        batch = [one for one in scored[start : start + 50] if one.relevance >= request.min_score]
        pieces = index.pieces([one.chunk for one in batch])
        for one in batch:
            piece = pieces.get(one.chunk)
            if piece is None:
                continue
            name = (piece.file, "" if piece.kind == "entry" else piece.anchor or str(piece.line))
            # A record may stand in a second file for older tools; file 0 is no file's number.
            twin = (0, f"{piece.timestamp} {piece.text}") if piece.kind == "history" else name
            if name in seen or twin in seen:
                seen.add(name)
                continue
            seen |= {name, twin}
            hits.append(_hit(index.workspace, piece, one, request.query))
            if len(hits) == request.limit:
                return hits
        if len(batch) < 50:
            break
    return hits


def _hit(workspace: Workspace, piece: Piece, one: Scored, query: str) -> Hit:
    entry: Mapping[str, Any] = piece.entry
    text, offset = snippet(piece.text, query)
    title = entry.get("title") or piece.title
    return Hit(
        id=address_of(piece),
        kind=piece.kind,
        path=piece.path,
        line=piece.line + offset,
        summary=text or entry.get("summary", ""),
        relevance=one.relevance,
        timestamp=piece.timestamp,
        scope=workspace.scope,
        type=entry.get("type", ""),
        title=title,
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
    return f"{piece.path}#{piece.anchor}" if piece.anchor else piece.path
