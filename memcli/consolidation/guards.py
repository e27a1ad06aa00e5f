"""Turn away what states nothing, whatever a score says: questions without their mark, musings, commit subjects.

Owns: the plain forms of such sentences. Refuses to judge worth: see `worth`.
"""

import re

from .candidates import Candidate

_FEW, _LONG_WORD = 2, 12  # words that are too few, and characters that stand for one in a script without spaces
# Questions that are typed without their mark, what is merely imagined, and what an assistant is about to do.
_ASKS = re.compile(
    r"(?:who|why|how (?:much|many|long|loud|far|old|do|does|did|can|could|come|is|are)"
    r"|what(?:['’]?s| is| are| do| does| did| would| should| about)|which \w+ (?:do|does|is|are|should)"
    r"|wer|warum|wieso|was (?:ist|kostet|würde)|pourquoi|qui|quién)\b(?!.*[,:;])",
    re.IGNORECASE,
)
_MUSES = re.compile(
    r"^(?:maybe|perhaps|vielleicht|peut-être|quizás?|tal vez)\b|\b(?:who knows|wer weiß|qui sait|quién sabe)\b"
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


def states_something(one: Candidate) -> bool:
    """Tell whether a sentence is long enough to state anything, and no question, musing or announcement."""
    enough = len(one.text.split()) > _FEW or len(one.text) > _FEW * _LONG_WORD  # of a script without spaces
    if not enough or _MUSES.search(one.text) or _COMMIT.match(one.text):
        return False
    if one.role == "user":
        return not (_ASKS.match(one.text) and len(one.text.split()) <= _ASKED)
    return not _INTENDS.match(one.text)
