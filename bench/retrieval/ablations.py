"""Rankings with one means of finding taken away, or one more that was tried, to see what each is worth."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from math import exp
from typing import Any

from memcli.search import index_search, ranking
from memcli.search import query as question
from memcli.search.ranking_weights import WEIGHTS, Weights

Variant = tuple[str, Weights, str, AbstractContextManager[None]]
"""Name, weights, mode, and what is changed meanwhile."""
_OFF: dict[str, dict[str, Any]] = {
    "no words of the turns around": {"window": ()},
    "the words of one turn around": {"window": (0.3,)},
    "no words of the whole document": {"whole": 0.0},
    "no query without its frequent names": {"frequent": 10**9},
    "the last line of a dialogue counts once": {"last_line": 0.0},
    "a statement is asked like a question": {"statement": 0.0},
    "a long entry means what its best chunk means": {"mean_cosine": 0.0},
    "what lies near good texts is no better": {"near": 0.0},
    "one share of the vector, .35": {"vector_turn": 0.35, "vector": 0.35, "statement": 0.0},
    "one share of the vector, .5": {"vector_turn": 0.5, "vector": 0.5, "statement": 0.0},
    "no title in the query": {"titled": 0.0},
    "no speaker in the query": {"speaker": 0.0},
    "a turn that asks answers too": {"asked": 0.0},
    "no exact phrases": {"exact": 0.0},
    "the time named is no filter": {"dated": 0.0},
    "no texts beside the workspace's": {"everyday_texts": 1, "other_texts": 1},
    "tf saturation of 1.2": {"saturation": 1.2},
    "idf as it is": {"idf_power": 1.0},
}


def variants() -> Iterator[Variant]:
    """Give every ranking with something taken away."""
    for name, changes in _OFF.items():
        yield name, WEIGHTS._replace(**changes), "hybrid", nullcontext()
    once = _instead(index_search, "parse_query", _each_word_once)
    yield "a word said twice counts once", WEIGHTS, "hybrid", once
    yield "no common words known", WEIGHTS, "hybrid", _instead(question, "common_share", lambda *_: 0.0)
    yield "no irregular forms and clippings", WEIGHTS, "hybrid", _instead(question, "forms", lambda word: (word,))
    yield "question words asked for too", WEIGHTS, "hybrid", _instead(question, "query_terms", _every_word)
    yield "by words alone", WEIGHTS, "keyword", nullcontext()
    yield "by meaning alone", WEIGHTS, "vector", nullcontext()
    yield "tried: newer is better, by .02 at most", WEIGHTS, "hybrid", _instead(index_search, "fuse", _recent)
    yield "tried: the query drawn to its hits", WEIGHTS, "hybrid", _instead(index_search, "_by_meaning", _fed_back)


def _each_word_once(text: str) -> question.Query:
    asked = question.parse_query(text)
    return replace(asked, terms=tuple(replace(term, count=1) for term in asked.terms))


def _every_word(query: str, language: str = "") -> tuple[str, ...]:
    """Drop the 33 usual stop words only."""
    from bench.retrieval.references import STOP

    words = dict.fromkeys(word.lower() for word in question._WORD.findall(query))
    return tuple(word for word in words if word not in STOP)[:64] or ranking.query_terms(query, language=language)


def _recent(many: Iterable[ranking.ChunkCandidate], *arguments: Any) -> list[ranking.Scored]:
    """Lift what is new: .02 × e^(−age / 90 days), the newest candidate being of age 0."""
    known = {one.chunk: one for one in many}
    moments = {chunk: _moment(one.timestamp) for chunk, one in known.items()}
    newest = max(moments.values(), default=0.0)

    def lifted(one: ranking.Scored) -> ranking.Scored:
        lift = 0.02 * exp((moments[one.chunk] - newest) / 90 / 86400)
        return replace(one, relevance=one.relevance - one.parts.get("cut", 0.0) + lift)

    return sorted(map(lifted, ranking.fuse(known.values(), *arguments)), key=lambda one: -one.relevance)


def _moment(timestamp: str) -> float:
    return datetime.fromisoformat(timestamp).astimezone(UTC).timestamp() if timestamp else 0.0


_ask_by_meaning = index_search._by_meaning


def _fed_back(index: Any, question: Any, postings: Any, request: Any, pool: int, also: Any) -> Any:
    """Ask a second time with the query's vector drawn to its three nearest texts (Rocchio 1971)."""
    import numpy as np

    vector, near = _ask_by_meaning(index, question, postings, request, pool, also)
    table, matrix = index.embedding.rows(request.wanted)
    first = sorted(near, key=lambda chunk: -near[chunk])[:3]
    rows = table[np.isin(table[:, 0], first), 1]
    drawn = vector + 0.3 * matrix.take(rows).mean(axis=0) if len(rows) else vector
    drawn /= np.linalg.norm(drawn)
    found, named = index.embedding.nearest(drawn, request.wanted, pool, also)
    return drawn, found | named


@contextmanager
def _instead(module: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    standing = getattr(module, name)
    setattr(module, name, function)
    try:
        yield
    finally:
        setattr(module, name, standing)
