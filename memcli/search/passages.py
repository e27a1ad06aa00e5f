"""Passages of conversations: turns that were found with those around them, as one hit where they meet.

A turn alone says little: "no, 89" answers what was asked two turns before.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from ..dataclass import dataclass
from ..index.index import Index
from ..language.sentences import is_question, sentences
from ..store.layouts import SESSION_FOLDER as FOLDER
from ..store.layouts import is_records
from ..store.workspace import Workspace
from .index_search import POOL, SearchRequest, search_index
from .query import LIMIT, snippet
from .results import Hit, SearchResults
from .thresholds import asks_memory, gate_of, is_telling

LONGEST = 6
"""Turns of a passage."""
LEAST = 0.1
"""Relevance of a turn that joins other hits: below it one in ten is right whatever it is, so it says nothing.

Where there is nothing to join, a turn with a word asked for comes in too."""
KIND = "session"
_EACH = 2  # turns looked at for each hit asked for
_BUDGET = 0.25  # share of the time for embedding: most of a workspace is not conversations


@dataclass
class _Passage:
    """Turns that follow each other."""

    best: Hit
    turns: dict[int, tuple[str, int]]  # number and chunk, by the line
    texts: dict[int, str]  # what fits in those that matched, by the line
    relevance: float


def has_talk(workspace: Workspace) -> bool:
    """Return whether a workspace may have conversations, without looking into them."""
    return any((workspace.root / folder).is_dir() for folder in (FOLDER, f"{workspace.layout.archive}{FOLDER}"))


def search_talk(index: Index, request: SearchRequest, room: int = LIMIT, *, joins_others: bool = True) -> SearchResults:
    """Return passages of a workspace's conversations, the best first, each of at most `room` characters."""
    wanted = replace(request.wanted, kinds=(KIND,))
    budget = _BUDGET * request.embed_budget
    results = search_index(index, replace(request, wanted=wanted, limit=POOL, embed_budget=budget))
    turns = [hit for hit in results.hits if hit.relevance >= LEAST or (hit.matched and not joins_others)]
    hits = passages(index, turns[: _EACH * request.limit], request.query, room)
    # A turn without a vector is found by its words; who asks for conversations learns how many there are.
    return SearchResults(hits, results.problems, in_conversations=len(turns))


def passages(index: Index, hits: Sequence[Hit], query: str, room: int = LIMIT) -> tuple[Hit, ...]:
    """Return turns that stand together joined into passages, the best first, each in at most `room` characters.

    The relevance of a passage is the probability that one of its turns is right: 1 − Π (1 − relevance).
    """
    alone = tuple(hit for hit in hits if is_records(hit.path, hit.kind))
    groups: list[_Passage] = []
    for hit in hits:
        if hit in alone:
            continue
        turns = {line: (number, chunk) for line, number, chunk in index.turns_around(hit.path, hit.line)}
        passage = next((each for each in groups if _meet(each, hit, turns)), None)
        if passage is None:
            groups.append(_Passage(hit, turns, {hit.line: hit.text}, hit.relevance))
        else:
            passage.turns |= turns
            passage.texts[hit.line] = hit.text
            passage.relevance += (1 - passage.relevance) * hit.relevance
    pieces = index.pieces(
        set(chain.from_iterable((chunk for _, chunk in passage.turns.values()) for passage in groups))
    )
    texts = {chunk: piece.text for chunk, piece in pieces.items()}
    return tuple(
        sorted((*alone, *(_hit(passage, texts, query, room) for passage in groups)), key=lambda hit: -hit.relevance)
    )


def _meet(passage: _Passage, hit: Hit, turns: dict[int, tuple[str, int]]) -> bool:
    return (
        passage.best.path == hit.path
        and bool(passage.turns.keys() & turns.keys())
        and len(passage.turns | turns) <= LONGEST
    )


def _hit(passage: _Passage, texts: dict[int, str], query: str, room: int) -> Hit:
    from ..store.sessions.reading import session_address  # it brings along all that writes conversations

    turns = [(*passage.turns[line], passage.texts.get(line)) for line in sorted(passage.turns)]
    ends = dict.fromkeys((turns[0][0], turns[-1][0]))
    lines = [text or texts[chunk] for _, chunk, text in turns]
    telling = [text for text in lines if not is_question(text)]  # the question is no answer
    best = passage.best
    return replace(
        best,
        id=session_address(best.path, ":".join(ends)),
        line=min(passage.turns),
        summary=snippet("\n".join(telling or lines), query, room)[0],
        relevance=passage.relevance,
        text="\n".join(lines),
        parts={**best.parts, "passage": passage.relevance - best.relevance},
    )


MOST = 4
"""Parts that are searched for; each costs one more search."""
_ASKS = (
    r"(?:who|whom|whose|what|when|where|which|why|how"
    r"|wer|wem|wen|wessen|was|wann|wo|wohin|woher|warum|wieso|wie|welche[mnrs]?"
    r"|qui|quand|où|pourquoi|comment|combien|quel(?:le)?s?"
    r"|quién(?:es)?|qué|cuándo|dónde|cómo|cuál(?:es)?|cuánt[oa]s?)\b"
)
_DOES_IT = (
    r"(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|should|will|would|must)"
    r" (?:(?:i|we|you|he|she|it|they|there)\b|(?-i:[A-Z]))"
    r"|(?:do|does|did|is|are|was|were) (?:the|my|our|your|his|her|their)\b)"
)
_JOINED = re.compile(
    r"[,;]?\s+(?:and|or|but|plus|also|und|oder|aber|et|ou|y|o|e)\s+(?:also |then |auch |aussi |también )?"
    rf"(?={_ASKS}|{_DOES_IT})|;\s*(?={_ASKS})",
    re.IGNORECASE,
)
_TURN = re.compile(r"^[ \t]*[A-Z][\w .-]{0,30}: ", re.MULTILINE)
"""Opens a line of a pasted dialogue: only its last turn asks."""
_ASKED = re.compile(rf"\b{_ASKS}|^{_DOES_IT}", re.IGNORECASE)


def parts_of(prompt: str) -> tuple[str, ...]:
    """Return the questions of a prompt that has two to four, each as it stands there; none where it asks one thing.

    Only what has a question word or form of its own is a part, and words that are not everyday ones.
    """
    turns = list(_TURN.finditer(prompt))
    last_turn = prompt[turns[-1].end() :] if len(turns) > 1 else prompt
    questions: list[str] = []
    for sentence in sentences(last_turn):
        clauses = _JOINED.split(sentence.text)
        asks = [clause for clause in clauses if _ASKED.search(clause)]
        if is_question(sentence.text) or len(asks) > 1:
            questions += asks or [sentence.text]
    parts = tuple(dict.fromkeys(part.strip() for part in questions if is_telling(part)))
    return parts[:MOST] if len(parts) > 1 else ()


def search_parts(index: Index, request: SearchRequest, gate: float) -> tuple[SearchResults, Mapping[str, str]]:
    """Search for a prompt and each of its parts; return hits, and by id the part that one fits better than the whole.

    A part adds hits where it would get memories as a prompt of its own: where its best hit reaches the
    setting `gate`.
    """
    results = search_index(index, request)
    best: dict[str, Hit] = {hit.id: hit for hit in reversed(results.hits)}
    answers: dict[str, str] = {}
    for part in parts_of(request.query):
        part_results = search_index(index, replace(request, query=part))
        if not asks_memory(
            part, max((hit.relevance for hit in part_results.hits), default=0.0), gate_of(part_results.model, gate)
        ):
            continue
        for hit in part_results.hits:
            if hit.id not in best or hit.relevance > best[hit.id].relevance:
                best[hit.id], answers[hit.id] = hit, part
    if not answers:
        return results, answers
    hits = sorted(best.values(), key=lambda hit: -hit.relevance)
    return replace(results, hits=tuple(hits[: request.limit])), answers
