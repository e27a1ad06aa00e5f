"""Passages of conversations: turns that were found with those around them, as one hit where they meet.

A turn alone says little: "no, 89" answers what was asked two turns before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ..index.index import Index
from ..store.sessions import FOLDER
from ..store.sessions.span import session_address
from ..store.workspace import Workspace
from ..text.json_records import is_records
from ..text.sentences import is_question
from .hits import Found, Hit
from .search import POOL, Request, search_index
from .snippet import LIMIT, snippet

LONGEST = 6
"""Turns of a passage."""
LEAST = 0.02
"""Relevance of a turn that joins others unasked: 1 in 100 right ones is below it (`bench/retrieval.py`)."""
KIND = "session"
_EACH = 2  # turns looked at for each hit asked for
_BUDGET = 0.25  # share of the time for embedding: most of a workspace is not conversations


@dataclass
class _Passage:
    """Turns that follow each other."""

    best: Hit
    turns: dict[int, tuple[str, int]]  # number and chunk, by the line
    relevance: float


def has_talk(workspace: Workspace) -> bool:
    """Tell whether a workspace may have conversations, without looking into them."""
    return any((workspace.root / place).is_dir() for place in (FOLDER, f"{workspace.layout.archive}{FOLDER}"))


def talk(index: Index, request: Request, room: int = LIMIT) -> Found:
    """Search the conversations of a workspace and return passages, each told in at most `room` characters."""
    wanted = replace(request.wanted, kinds=(KIND,))
    budget = _BUDGET * request.embed_budget
    found = search_index(index, replace(request, wanted=wanted, limit=POOL, embed_budget=budget))
    turns = [hit for hit in found.hits if hit.relevance >= LEAST]
    hits = passages(index, turns[: _EACH * request.limit], request.query, room)
    # What is not embedded is found by its words; who asks for conversations is told how many there are.
    return Found(hits, found.problems, talk=len(turns))


def passages(index: Index, hits: Sequence[Hit], query: str, room: int = LIMIT) -> tuple[Hit, ...]:
    """Join turns that stand together into passages, the best first.

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
            found.append(_Passage(hit, turns, hit.relevance))
        else:
            one.turns |= turns
            one.relevance += (1 - one.relevance) * hit.relevance
    pieces = index.pieces(set(chain.from_iterable((chunk for _, chunk in one.turns.values()) for one in found)))
    texts = {chunk: piece.text for chunk, piece in pieces.items()}
    return tuple(sorted((*alone, *(_hit(one, texts, query, room) for one in found)), key=lambda hit: -hit.relevance))


def _meet(one: _Passage, hit: Hit, turns: dict[int, tuple[str, int]]) -> bool:
    return one.best.path == hit.path and bool(one.turns.keys() & turns.keys()) and len(one.turns | turns) <= LONGEST


def _hit(one: _Passage, texts: dict[int, str], query: str, room: int) -> Hit:
    turns = [one.turns[line] for line in sorted(one.turns)]
    ends = dict.fromkeys((turns[0][0], turns[-1][0]))
    said = [texts[chunk] for _, chunk in turns]
    telling = [text for text in said if not is_question(text)]  # the question is no answer
    best = one.best
    return replace(
        best,
        id=session_address(best.path, ":".join(ends)),
        line=min(one.turns),
        summary=snippet("\n".join(telling or said), query, room)[0],
        relevance=one.relevance,
        parts={**best.parts, "passage": one.relevance - best.relevance},
    )
