"""Fuse what words and meaning say of each candidate into one relevance that can be explained and compared.

Owns the formula. Refuses: searching, reading texts from disk, decay and trust (they order a recall, not a search).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Hashable, Iterable, Mapping
from datetime import date
from heapq import nlargest
from itertools import chain
from math import log
from operator import itemgetter
from typing import TYPE_CHECKING

from ..dataclass import dataclass
from ..formats.ids import day_of, parse_time
from ..index.index import Piece
from ..index.vector_file import CosinesAmong
from ..language.keyword_tokens import clean, query_terms
from ..language.lexicon import ENGLISH, asks_within, common_share, names_a_time
from ..language.sentences import QUESTION_MARKS, is_question
from ..store.workspace import Workspace
from .query import Query
from .ranking_weights import WEIGHTS, Weights

if TYPE_CHECKING:
    from ..language.dates import Period

_MOST_LIFTED, _NEIGHBOURS, _UNLIKE = 50, 5, 0.3
"""Texts that are compared with one another, how many of them count for each, and the cosine of texts about anything."""
ARMS = ("vector", "keyword")
"""Parts that are listed even where they are zero."""
_LEAST_EDGE, _MOST_EDGE = 3, 30
"""Days away from a time at which a text is half outside it: half as many as the time has, but no fewer and no more."""


@dataclass(frozen=True)
class ChunkCandidate:
    """A chunk with its scores and its signs of relevance."""

    chunk: int
    document: Hashable  # chunks of one document are one hit
    is_turn: bool  # of a session
    keyword: float  # Σ term weight × tf / (tf + saturation) over the chunk
    whole: float  # the same over its whole document; equal to `keyword` where that is one chunk
    cosine: float | None  # None where it has no vector
    mean: float | None = None  # cosine of the chunks of its entry, where that has several
    readable: float = 1.0  # how far the model reads its script and the query's, from 0 to 1
    title: frozenset[str] = frozenset()  # the words of its title, as query_terms gives them
    speaker: str = ""  # of a turn
    pieces: int = 1  # of a turn
    is_question: bool = False  # of a turn
    only_asks: bool = False  # of anything else: it asks the query again and says little else
    exact: float = 0.0  # the share of the query's phrases that stand in it
    is_named: bool = False  # the query gives its id, path or address
    outside: float = 0.0  # how far outside the time that the query names, from 0 to 1
    timestamp: str = ""


@dataclass(frozen=True)
class Scored:
    """A document found: its best chunk, its relevance in [0, 1] and the parts that add up to it."""

    chunk: int
    document: Hashable
    relevance: float
    parts: Mapping[str, float]


def fuse(
    candidates: Iterable[ChunkCandidate],
    question: Query,
    weights: Weights = WEIGHTS,
    vector: float | None = None,
    cosines: CosinesAmong | None = None,
) -> list[Scored]:
    """Return documents scored by their chunks, the best first, of equals the newer; leave out those without any sign.

    sum = v × cosine + (1 − v) × words + bonuses, with v for turns or for other texts (`vector` overrides it: 1
    asks by meaning alone, 0 by words alone), the best cosine of the document's chunks, and words the best chunk's,
    both mixed with the whole entry's where it has several. Relevance is a line over the sum, lifted by the texts
    nearest by `cosines`, and cut to [0, 1].
    """
    documents: dict[Hashable, list[ChunkCandidate]] = defaultdict(list)
    for chunk in candidates:
        documents[chunk.document].append(chunk)
    named = named_speakers({chunk.speaker for chunks in documents.values() for chunk in chunks}, question)
    rated = [_rate(chunks, question, weights, vector, named) for chunks in documents.values()]
    rated = [(chunk, parts) for chunk, parts in rated if any(part > 0 for part in parts.values())]
    if cosines is not None:
        _lift_by_neighbours([(chunk, parts) for chunk, parts in rated if not chunk.is_turn], cosines, weights)
    rated.sort(key=lambda item: (sum(item[1].values()), item[0].timestamp, -item[0].chunk), reverse=True)
    return [_scored(chunk, parts) for chunk, parts in rated]


def named_speakers(speakers: Collection[str], question: Query) -> frozenset[str]:
    """Return the speakers that a query names: by their whole name, or by a word of it that is no everyday one.

    Of several who share a word those of whose names the query says most: "Dr. Okafor" is not Dr. Lee.
    """
    words = {name: frozenset(query_terms(name, language=question.language)) for name in speakers}
    shares = {name: len(parts & question.speakers) / max(len(parts), 1) for name, parts in words.items()}
    named: set[str] = set()
    for word in question.speakers.intersection(chain.from_iterable(words.values())):
        sharing = {name: shares[name] for name in speakers if word in words[name]}
        most = max(sharing.values())
        if most == 1 or not common_share(word, question.language):
            named.update(name for name, share in sharing.items() if share == most)
    return frozenset(named)


def _rate(
    chunks: list[ChunkCandidate], question: Query, weights: Weights, vector: float | None, named: Collection[str]
) -> tuple[ChunkCandidate, dict[str, float]]:
    """Return the best chunk of a document, and the parts of the document's relevance."""
    share = {id(chunk): _vector_share(chunk, question, weights) if vector is None else vector for chunk in chunks}
    best = max(
        chunks, key=lambda chunk: share[id(chunk)] * (chunk.cosine or 0.0) + (1 - share[id(chunk)]) * chunk.keyword
    )
    cosines = [chunk.cosine for chunk in chunks if chunk.cosine is not None]
    v = share[id(best)] if cosines else 0.0
    words = (1 - weights.whole) * max(chunk.keyword for chunk in chunks) + weights.whole * best.whole
    near = max(cosines, default=0.0)
    if cosines and best.mean is not None:
        near += weights.mean_cosine * (best.mean - near)
    slope = weights.slope_turn if best.is_turn else 1.0
    parts = {
        "vector": v * near,
        "keyword": (1 - v) * words,
        "title": weights.titled * (bool(best.title) and best.title <= question.words),
        "speaker": weights.speaker * (best.speaker in named),
        "length": weights.pieces * log(min(best.pieces, weights.most_pieces)),
        "question": weights.asked * best.is_question,
        "exact": weights.exact * max(chunk.exact for chunk in chunks),
        "name": weights.named * any(chunk.is_named for chunk in chunks),
        "date": weights.dated * min(chunk.outside for chunk in chunks),
    }
    parts = {name: slope * part for name, part in parts.items() if part or name in ARMS}
    parts["base"] = weights.base_turn if best.is_turn else weights.base
    if best.only_asks and "name" not in parts and (sum_ := sum(parts.values())) > 0:
        parts["asks"] = weights.only_asks * sum_
    return best, parts


def _lift_by_neighbours(
    rated: list[tuple[ChunkCandidate, dict[str, float]]], cosines: CosinesAmong, weights: Weights
) -> None:
    """Add to the best texts the part that those nearest to them give: what answers lies together.

    It is lifted by their nearness as far as their mean relevance is above that of all (the cluster hypothesis, Jardine
    and van Rijsbergen 1971; scores that agree among near texts, Diaz 2005). What has no good neighbour stays as it is.
    """
    parts_of = {chunk.chunk: parts for chunk, parts in rated}
    lines = {chunk: sum(parts_of[chunk].values()) for chunk in parts_of.keys() & set(cosines.chunks.tolist())}
    best = dict(nlargest(_MOST_LIFTED, lines.items(), key=itemgetter(1)))
    for chunk, above in cosines.neighbours_above(best, _NEIGHBOURS, _UNLIKE).items():
        parts = parts_of[chunk]
        parts["near"] = weights.near * above


def _scored(chunk: ChunkCandidate, parts: dict[str, float]) -> Scored:
    line = sum(parts.values())
    relevance = min(max(line, 0.0), 1.0)
    if relevance != line:
        parts["cut"] = relevance - line
    return Scored(chunk.chunk, chunk.document, relevance, parts)


def _vector_share(chunk: ChunkCandidate, question: Query, weights: Weights) -> float:
    share = weights.vector_turn if chunk.is_turn else weights.vector + weights.statement * question.is_statement
    return share * chunk.readable if chunk.cosine is not None else 0.0


_LITTLE = 8
"""Words besides the query's with which a text says little else; or twice those it shares, if that is more."""
_STAMP = re.compile(r"\A\[[^]\n]*\]")  # before what a record says
_SENTENCE = re.compile(r"[^.!?。！？؟\n]+[.!?。！？؟]*")


def only_asks(text: str, words: Collection[str], language: str = "") -> bool:
    """Return whether a text asks a query again: what they share stands in its questions, and it says little else.

    A request that tells a lot before it asks is what was said of the matter.
    """
    if not any(mark in text for mark in QUESTION_MARKS):
        return False
    question_words: set[str] = set()
    statement_words: set[str] = set()
    for sentence in _SENTENCE.findall(_STAMP.sub("", text, 1)):
        (question_words if is_question(sentence) else statement_words).update(query_terms(sentence, language=language))
    shared = len(question_words.intersection(words))
    if shared <= 2 * len(statement_words.intersection(words)):
        return False
    return len((question_words | statement_words).difference(words)) <= max(2 * shared, _LITTLE)


Weigh = Callable[[Piece, float, float, float | None, float | None, int], ChunkCandidate]
"""Make the candidate of a chunk from its score by words, its document's, its cosine, the mean of its entry's, and the
pieces of its turn."""


def candidate(
    workspace: Workspace, question: Query, called: Container[int] = (), readable: Callable[[str], float] = lambda _: 1.0
) -> Weigh:
    """Return the function that gathers a chunk's scores and the signs of relevance that its text shows.

    `called` are the chunks that the query calls by name; `readable` returns how far the model reads a text.
    """
    query_readable = question.readable(readable)
    outside = _outside(workspace, question)

    def weigh(
        piece: Piece, own: float, whole: float, cosine: float | None, mean: float | None, pieces: int
    ) -> ChunkCandidate:
        is_turn = piece.kind == "session"
        text = clean(piece.text).casefold()
        speaker, _, speech = piece.text.partition(": ") if is_turn else ("", "", "")
        phrases = question.phrases
        return ChunkCandidate(
            chunk=piece.chunk,
            document=(piece.file, "" if piece.kind == "entry" else piece.anchor or str(piece.line)),
            is_turn=is_turn,
            keyword=own,
            whole=whole or own,
            cosine=cosine,
            mean=mean,
            readable=min(query_readable, readable(piece.text)),
            title=frozenset(query_terms(piece.title, language=question.language))
            if piece.title and not is_turn
            else frozenset(),
            speaker=speaker.strip(),
            pieces=max(pieces, 1),
            is_question=is_turn and is_question(speech),
            only_asks=not is_turn and only_asks(piece.text, question.words, question.language),
            exact=sum(phrase in text for phrase in phrases) / len(phrases) if phrases else 0.0,
            is_named=piece.chunk in called,
            outside=outside(piece),
            timestamp=piece.timestamp,
        )

    return weigh


def _is_news(question: Query) -> bool:
    """Return whether a query reports something of a time: "last week I …" does not ask for what was written then."""
    if not question.is_statement or question.about != question.text:  # "tell me what we said" asks
        return False
    is_talk = "\n" in question.text  # a pasted conversation, whatever is asked in it
    return is_talk or not (is_question(question.text) or asks_within(question.text))


def _time_named(question: Query, today: date) -> "Period | None":
    is_english = question.language == ENGLISH and question.text.isascii()
    if is_english and not names_a_time(question.text):
        return None
    from ..language.dates import day_abroad
    from ..language.periods import period_in

    return period_in(question.text, today) or (None if is_english else day_abroad(question.text[:4000], today))


def _outside(workspace: Workspace, question: Query) -> Callable[[Piece], float]:
    """Return the function that returns how far a text is outside the time that the question names, from 0 to 1."""
    period = None if _is_news(question) else _time_named(question, day_of(workspace.now, workspace.zone))
    if period is None:
        return lambda piece: 0.0
    from ..language.dates import Period
    from ..language.periods import period_in

    def beyond(time: Period) -> float:
        named = period.near(time.first)
        days = abs(named.away(time))
        return days / (days + min(max(named.days // 2, _LEAST_EDGE), _MOST_EDGE))

    def outside(piece: Piece) -> float:
        if piece.kind == "memory":  # of its sections nobody knows when they were written
            return 0.0
        moments = map(parse_time, (piece.timestamp, piece.entry.get("created_at") or ""))
        days = {day_of(moment, workspace.zone) for moment in moments if moment}
        least = min((beyond(Period(day, day)) for day in days), default=0.0)
        if least and names_a_time(piece.text):  # a text may be of another time than the day on which it was written
            named = ((day, period_in(piece.text, day)) for day in days)
            least = min([least, *(beyond(time.near(day)) for day, time in named if time)])
        return least

    return outside
