"""What two texts are to each other as far as their words show it for certain: twins, or one corrects the other.

Guesses nothing: what is neither is another memory, however alike the two look.
"""

import re
from functools import cache, lru_cache
from typing import Literal

from .. import data
from ..dataclass import dataclass
from ..formats.text_lines import STOPS
from ..formats.text_lines import normalized as normalized

Kind = Literal["same", "update", "conflict", "distinct"]

LONGEST = 1500
"""Characters of a text that is compared with others; a longer one is a document, of which only twins are known."""
KNOWN = 2048
"""Texts whose words are remembered: each is compared with several others."""


@dataclass(frozen=True)
class Verdict:
    """What a new text is to an old one; `sure` where it may act by itself."""

    kind: Kind
    sure: bool = False
    reason: str = ""
    by_llm: bool = False


DISTINCT = Verdict("distinct")


def is_comparable(text: str) -> bool:
    """Return whether a text is short enough to be a belief and no document."""
    return len(text) <= LONGEST


def are_twins(left: str, right: str) -> bool:
    """Return whether two texts are the same but for white space, letter case and closing full stops.

    The case of a flag, a path, an identifier or a unit counts: `-v` is not `-V`, and 5 Mb are not 5 MB.
    """
    if normalized(left) != normalized(right):
        return False
    ours, theirs = (" ".join(text.split()).rstrip(STOPS).split() for text in (left, right))
    return all(
        a == b or not _is_exact(a, ours[number - 1] if number else "")
        for number, (a, b) in enumerate(zip(ours, theirs, strict=False))
    )


def _is_exact(word: str, before: str) -> bool:
    """Return whether the letter case of a word counts."""
    inner = word.strip(".,;:!?()\"'")
    is_unit = len(inner) < 4 and before[-1:].isdigit() and inner.lower().replace(".", "") not in ("am", "pm")
    return is_unit or word.startswith("-") or any(sign.isdigit() or sign in "_/\\=$@" for sign in inner)


_TOKEN = re.compile(r"\w[\w.:/@+#'-]*\w[+#%]*|\w[+#%]*")
_REJECTED = re.compile(r",?\s+(?:(?:and|but)\s+)?(?:not|rather than|instead of|no longer|nicht)\s+", re.IGNORECASE)
_FILLER = re.compile(r"(?:(?:sorry|oh|ah|ok|okay|no|hm+|please note|note)\b[\s,.:!–-]*)+", re.IGNORECASE)
_FORMS = {"is": "be", "are": "be", "am": "be", "was": "be", "were": "be", "has": "have", "had": "have"}
_FORMS |= {"does": "do", "did": "do"}


def correction_in(text: str) -> str:
    """Return what follows "Correction:" and the like; empty where a text does not begin with it."""
    start = text.lstrip("*_ ")
    start = start[filler.end() :] if (filler := _FILLER.match(start)) else start
    opening = next((opening for opening in _listed("openings") if start.lower().startswith(opening)), "")
    return start[len(opening) :].strip("*_ ,:–—-") if opening else ""


def is_correction_of(new: str, old: str) -> bool:
    """Return whether a text that begins with "Correction:" is an old statement with another value, or its denial."""
    correction = correction_in(new)
    if not correction or not is_comparable(old):
        return False
    stated, negations = _words(old), _listed("negations")
    sides = stated, _words(correction)
    bare = [tuple(word for word in side if word not in negations and word != "do") for side in sides]
    if bare[0] == bare[1] and len(bare[0]) > 1:
        return len({sum(word in negations for word in side) % 2 for side in sides}) == 2
    claim, *rejected = _REJECTED.split(correction, maxsplit=1)
    claimed = _words(claim)
    first = _shared(stated, claimed)
    last = min(_shared(stated[::-1], claimed[::-1]), min(len(stated), len(claimed)) - first)
    ours, theirs = stated[first : len(stated) - last], claimed[first : len(claimed) - last]
    links = frozenset(_listed("links"))
    if first < 1 or not ours or not theirs or not links.isdisjoint(ours[:-1] + theirs[:-1]):
        return False
    if rejected:  # what it puts aside is the old value, and nothing else
        return set(ours) - links <= set(_words(rejected[0]))
    return first > 1 and not links.isdisjoint(stated[1:first])


@lru_cache(maxsize=KNOWN)
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a statement in one form each, without those that never make it another one."""
    plain = text.lower().replace("’", "'").replace("can't", "can not").replace("won't", "will not")
    light = _listed("light")
    forms = (_FORMS.get(word, word) for word in _TOKEN.findall(plain.replace("n't", " not")))
    content = (word for word in forms if word not in light)
    return tuple(word.removesuffix("s") if len(word) > 3 and word.isalpha() else word for word in content)


def _shared(left: tuple[str, ...], right: tuple[str, ...]) -> int:
    """Return how many words two statements begin with."""
    most = min(len(left), len(right))
    return next((number for number in range(most) if left[number] != right[number]), most)


@cache
def _listed(name: str) -> tuple[str, ...]:
    words: list[str] = data.table("corrections.toml")[name]
    return tuple(words)
