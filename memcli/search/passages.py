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
"""Relevance of a turn that joins others unasked: below it one in ten is right whatever it is, so it tells nothing.

Where there is nothing to join, a turn with a word asked for comes in too."""
KIND = "session"
_EACH = 2  # turns looked at for each hit asked for
_BUDGET = 0.25  # share of the time for embedding: most of a workspace is not conversations


@dataclass
class _Passage:
    """Turns that follow each other."""

    best: Hit
    turns: dict[int, tuple[str, int]]  # number and chunk, by the line
    found: dict[int, str]  # what fits of those that were found, by the line
    relevance: float


def has_talk(workspace: Workspace) -> bool:
    """Return whether a workspace may have conversations, without looking into them."""
    return any((workspace.root / place).is_dir() for place in (FOLDER, f"{workspace.layout.archive}{FOLDER}"))


def search_talk(index: Index, request: SearchRequest, room: int = LIMIT, *, joins_others: bool = True) -> SearchResults:
    """Search the conversations of a workspace; return passages, the best first, each of at most `room` characters."""
    wanted = replace(request.wanted, kinds=(KIND,))
    budget = _BUDGET * request.embed_budget
    found = search_index(index, replace(request, wanted=wanted, limit=POOL, embed_budget=budget))
    turns = [hit for hit in found.hits if hit.relevance >= LEAST or (hit.matched and not joins_others)]
    hits = passages(index, turns[: _EACH * request.limit], request.query, room)
    # What is not embedded is found by its words; who asks for conversations is told how many there are.
    return SearchResults(hits, found.problems, in_conversations=len(turns))


def passages(index: Index, hits: Sequence[Hit], query: str, room: int = LIMIT) -> tuple[Hit, ...]:
    """Return turns that stand together joined into passages, the best first, each told in at most `room` characters.

    The relevance of a passage is the probability that one of its turns is right: 1 − Π (1 − relevance).
    """
    alone = tuple(hit for hit in hits if is_records(hit.path, hit.kind))
    found: list[_Passage] = []
    for hit in hits:
        if hit in alone:
            continue
        turns = {line: (number, chunk) for line, number, chunk in index.turns_around(hit.path, hit.line)}
        one = next((each for each in found if _meet(each, hit, turns)), None)
        if one is None:
            found.append(_Passage(hit, turns, {hit.line: hit.text}, hit.relevance))
        else:
            one.turns |= turns
            one.found[hit.line] = hit.text
            one.relevance += (1 - one.relevance) * hit.relevance
    pieces = index.pieces(set(chain.from_iterable((chunk for _, chunk in one.turns.values()) for one in found)))
    texts = {chunk: piece.text for chunk, piece in pieces.items()}
    return tuple(sorted((*alone, *(_hit(one, texts, query, room) for one in found)), key=lambda hit: -hit.relevance))


def _meet(one: _Passage, hit: Hit, turns: dict[int, tuple[str, int]]) -> bool:
    return one.best.path == hit.path and bool(one.turns.keys() & turns.keys()) and len(one.turns | turns) <= LONGEST


def _hit(one: _Passage, texts: dict[int, str], query: str, room: int) -> Hit:
    from ..store.sessions.reading import session_address  # it brings along all that writes conversations

    turns = [(*one.turns[line], one.found.get(line)) for line in sorted(one.turns)]
    ends = dict.fromkeys((turns[0][0], turns[-1][0]))
    said = [found or texts[chunk] for _, chunk, found in turns]
    telling = [text for text in said if not is_question(text)]  # the question is no answer
    best = one.best
    return replace(
        best,
        id=session_address(best.path, ":".join(ends)),
        line=min(one.turns),
        summary=snippet("\n".join(telling or said), query, room)[0],
        relevance=one.relevance,
        text="\n".join(said),
        parts={**best.parts, "passage": one.relevance - best.relevance},
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
    asked = prompt[turns[-1].end() :] if len(turns) > 1 else prompt
    found: list[str] = []
    for sentence in sentences(asked):
        clauses = _JOINED.split(sentence.text)
        asks = [clause for clause in clauses if _ASKED.search(clause)]
        if is_question(sentence.text) or len(asks) > 1:
            found += asks or [sentence.text]
    told = tuple(dict.fromkeys(part.strip() for part in found if is_telling(part)))
    return told[:MOST] if len(told) > 1 else ()


def search_parts(index: Index, request: SearchRequest, gate: float) -> tuple[SearchResults, Mapping[str, str]]:
    """Search for a prompt and each of its parts; return hits, and by id the part that one fits better than the whole.

    A part adds hits where it would get memories as a prompt of its own: where its best hit reaches the
    setting `gate`.
    """
    found = search_index(index, request)
    best: dict[str, Hit] = {hit.id: hit for hit in reversed(found.hits)}
    answers: dict[str, str] = {}
    for part in parts_of(request.query):
        said = search_index(index, replace(request, query=part))
        if not asks_memory(part, max((hit.relevance for hit in said.hits), default=0.0), gate_of(said.model, gate)):
            continue
        for hit in said.hits:
            if hit.id not in best or hit.relevance > best[hit.id].relevance:
                best[hit.id], answers[hit.id] = hit, part
    if not answers:
        return found, answers
    hits = sorted(best.values(), key=lambda hit: -hit.relevance)
    return replace(found, hits=tuple(hits[: request.limit])), answers
