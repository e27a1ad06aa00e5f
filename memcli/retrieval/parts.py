"""Search a prompt that asks several things for each of them too, so that one answer does not crowd out another.

Owns: where one question ends and the next begins, and which part of the prompt a hit answers best.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from ..index.index import Index
from ..text.sentences import is_question, sentences
from .gate import asks_memory, gate_of, is_telling
from .hits import Found, Hit
from .search import Request, search_index

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
    """Give the questions of a prompt that has two or more, each as it stands there; none where it asks one thing.

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


def search_parts(index: Index, request: Request, gate: float) -> tuple[Found, Mapping[str, str]]:
    """Search for a prompt and for each of its parts; say by id which part a hit answers better than the whole.

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
