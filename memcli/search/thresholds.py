"""Which relevance is enough to be shown, or for a turn to get memories at all; which likeness makes another topic.

The measures are `bench/gate.py`, which has prompts of strangers in four languages, and `bench/retrieval`. They were
made with the built-in model; the cosines of another one are scaled to its own, see `index/calibration.py`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..data import table

TELLING = 0.7
"""Factor on the relevance of a turn that states something and asks nothing: it is news, not a question to memory."""
LIKELY = 0.5
"""Relevance below which a hit is more likely wrong than right: relevance is the share of hits that were right."""
CERTAINTIES = ("clear", "likely", "possible", "weak")
"""Names of a hit's certainty: .93, .78, .46 and .35 of first hits so called were right, .22 and .10 of others."""
_GOOD = 0.3, 0.2
"""Relevance that a clear hit has, and one that is likely or possible."""
_ALONE = 0.7, 0.85
"""Share of its relevance that the next hit has at most, behind a clear one and behind a likely one."""
_NEAR = 0.8
"""Share of the best hit's relevance that a possible one has."""
EVERYDAY = 0.006
"""Share of short texts that hold a word from which on it names no subject: "idea" names none, "orbit" does."""
ENOUGH_WORDS = 2
"""Words that are not everyday ones, from which a turn can leave a topic."""


class Thresholds(NamedTuple):
    """From which relevance a turn gets memories, and below which likeness it is of another topic."""

    gate: float
    topic: float
    shown: float  # of a search's hits: 1 in 100 right ones is below it (`bench/retrieval`)


WORDS = Thresholds(0.12, 0.3, 0.0)
"""Where there is no vector: relevance by words alone."""
_MEASURED = Thresholds(0.16, 0.3, 0.02)


def thresholds(model: str) -> Thresholds:
    """Return a model's thresholds: those of words for "", the built-in model's for others, whose cosines are scaled.

    The likeness of two queries is not scaled, so that its threshold is moved instead. All hits are shown of a model
    that was not calibrated.
    """
    if not model:
        return WORDS
    from ..index.calibration import calibration_of  # late: words alone need none

    calibration = calibration_of(model)
    if calibration is None:
        return _MEASURED._replace(shown=0.0)
    return _MEASURED._replace(topic=calibration.unscaled(_MEASURED.topic))


def certainty(relevance: float, best: float, following: float) -> str:
    """Return what to say of a hit, by the best relevance of its search and the one that follows that.

    Measured on the first five hits of 2,300 questions to fifteen sets (`bench/retrieval`); how far a first hit is
    ahead tells more of whether it is right than its relevance does.
    """
    if relevance == best:
        for word, good, alone in zip(CERTAINTIES, _GOOD, _ALONE, strict=False):
            if relevance >= good and following <= alone * relevance:
                return word
    return CERTAINTIES[2 if relevance >= max(_GOOD[-1], _NEAR * best) else 3]


def explained(relevance: float, made_of: Mapping[str, float], matched: Sequence[str]) -> str:
    """Return in words what a hit's relevance is made of, the largest part first."""
    names = table("relevance_parts.toml")
    words = f" ({', '.join(matched)})" if matched else ""
    parts = sorted(made_of.items(), key=lambda part: -part[1])
    terms = [f"{value:+.2f} {names.get(name, name)}{words * (name == 'keyword')}" for name, value in parts if value]
    return f"relevance {relevance:.2f}: {', '.join(terms)}"


def gate_of(model: str, setting: float) -> float:
    """Return the relevance in [0, 1] from which a turn gets memories: `setting`, or as measured if that is below 0."""
    return thresholds(model).gate if setting < 0 else setting


def asks_memory(turn: str, relevance: float, threshold: float) -> bool:
    """Return whether a turn should get memories, by the relevance of the best one found for it."""
    return bool(turn.strip()) and demand(turn, relevance) >= threshold


def is_telling(turn: str) -> bool:
    """Return whether a turn has any word that is not an everyday one; nothing need be searched for one that has not."""
    return telling_count(turn) > 0


def demand(turn: str, relevance: float) -> float:
    """Return the relevance found weighed by the kind of turn, in [0, 1]; 0 for "thanks, go on"."""
    if not is_telling(turn):
        return 0.0
    from .query import parse_query

    return relevance * (TELLING if "?" not in turn and parse_query(turn).is_statement else 1.0)


def likeness(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two vectors, in [-1, 1]; 1 if one of them is empty or they differ in length."""
    if not left or len(left) != len(right):
        return 1.0
    product = sum(a * b for a, b in zip(left, right, strict=True))
    lengths = sum(a * a for a in left) * sum(b * b for b in right)
    return product / lengths**0.5 if lengths > 0 else 1.0


def is_other_topic(turn: str, vector: Sequence[float], context: Sequence[float], threshold: float) -> bool:
    """Return whether a turn left the topic of those before; "yes, go on" says too little to leave any."""
    return likeness(vector, context) < threshold and telling_count(turn) >= ENOUGH_WORDS


def telling_count(turn: str) -> int:
    """Return the number of words of a turn that are not everyday ones."""
    from ..language.lexicon import acknowledgements, common_share, stop_words
    from .query import parse_query

    question = parse_query(turn)
    empty, language = stop_words(question.language) | acknowledgements(), question.language
    words = (term.word for term in question.terms if term.is_name or term.word not in empty)
    return sum(common_share(word, language) < EVERYDAY for word in words)
