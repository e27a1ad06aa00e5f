"""Turn away what states nothing, whatever a score says: questions without their mark, musings, commit subjects.

Owns: the plain forms of such sentences. Refuses to judge worth: see `worth`.
"""

import re

from .candidates import Candidate
from .standing_rules import is_standing_rule

_FEW = 2  # words that are too few, but where a user begins with them: "I'm vegan"
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2}")  # a word in a script without spaces
_ONCE = re.compile(
    r"\b(?:this time|(?:just|only) (?:this )?once|this once|for this (?:one|run|commit|time|pr|release) only"
    r"|(?:once|one) more|diesmal|dieses mal|nur dieses eine mal|cette fois|esta vez)\b|\bagain\s*(?:[,.!]|and\b|$)",
    re.IGNORECASE,
)
# Questions that are typed without their mark, what is merely imagined, and what an assistant is about to do.
_ASKS = re.compile(
    r"(?:who|why|how (?:much|many|long|loud|far|old|do|does|did|can|could|come|is|are)"
    r"|what(?:['’]?s| is| are| do| does| did| would| should| about)|which \w+ (?:do|does|is|are|should)"
    r"|where(?:['’]?s| (?:is|are|do|does|did|can))|when (?:do|does|did|will)"
    r"|wer|warum|wieso|was (?:ist|kostet|würde)|wie (?:heißt|heisst|viel|lange|oft|geht|komm)\w*|wo (?:ist|liegt|finde)"
    r"|pourquoi|qui|quién)\b(?!.*[,:;])",
    re.IGNORECASE,
)
_MUSES = re.compile(
    r"^(?:maybe|perhaps|vielleicht|peut-être|quizás?|tal vez|let['’]s (?:say|pretend|assume)"
    r"|(?:imagine|pretend|suppose) (?:that|you|if|we|i|an?|my|our|the)|assuming|stell dir vor|angenommen,"
    r"|nehmen wir an|imaginons|supposons|imagina|imagínate|supongamos|stel je voor)(?!\w)"
    r"|\b(?:who knows|wer weiß|qui sait|quién sabe)\b"
    r"(?! (?:you|me|us|him|her|it|them|my|our|your|the)\b)"
    r"|\bif\b.*\b(?:were|had|ever|was)\b.*(?:\bwould\b|['’]d\b)|\bwenn\b.*\b(?:würde|wäre|hätte)\w*\b",
    re.IGNORECASE,
)
_INTENDS = re.compile(
    r"(?:(?:then|for .{1,30}|okay|ok|sure)[, ]+)?(?:i['’]?(?:ll|d)|i (?:will|would|can|could)|let me|shall"
    r"|ich (?:würde|werde|schaue))\b",
    re.IGNORECASE,
)
_ASKED = 14  # words of a question
_COMMIT = re.compile(
    r"(?:feat|fix|chore|docs|refactor|test|perf|build|ci|style|revert)(?:\([^)]*\))?!?:\s", re.IGNORECASE
)
_TOPIC = re.compile(r"(?:docs|test|build|ci|style): ", re.IGNORECASE)  # types of commits that are also topics

_LEANS = re.compile(
    r"(?:it|its|it['’]s|they|she|he|this|that|these|those|there|here|then|same|both|er|sie|es|das|dies\w*|il|elle|ça|ella|eso)\b",
    re.IGNORECASE,
)


def states_something(one: Candidate) -> bool:
    """Tell whether a sentence is long enough to state anything, and no question, musing or announcement."""
    count = len(one.text.split()) + len(_WIDE.findall(one.text))
    if (
        count < _FEW
        or (count == _FEW and (one.role != "user" or one.place))
        or _MUSES.search(one.text)
        or _is_subject(one.text)
    ):
        return False
    if one.role == "user":
        return not (_ASKS.match(one.text) and len(one.text.split()) <= _ASKED)
    return not _INTENDS.match(one.text)


def _is_subject(text: str) -> bool:
    """Tell whether a text is the subject of a commit; "style: always tabs" may be a rule about style."""
    return bool(_COMMIT.match(text)) and not (_TOPIC.match(text) and is_standing_rule(text))


def is_one_off(text: str) -> bool:
    """Tell whether an order is for once alone."""
    return bool(_ONCE.search(text))


def leans_back(text: str) -> bool:
    """Tell whether a sentence begins with a word for what stands before it: "that's why …"."""
    return bool(_LEANS.match(text))


def binds(one: Candidate) -> bool:
    """Tell whether a user's own sentence is a rule by its form; a ban is one with a limit or a reason behind it."""
    if one.role != "user" or one.is_told:
        return False
    return is_standing_rule(one.text, one.after)
