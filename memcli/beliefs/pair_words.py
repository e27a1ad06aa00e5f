"""The words of a text: its numbers and names, and the words of denial, change and the like in it."""

import re
from functools import cache, lru_cache

from .. import data
from ..dataclass import dataclass

KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted apart, in the order of the learned comparison."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing", "done")
FEW_NAMES = 0.25  # share of the words up to which those with a capital are names; in German nouns have one too
_WORD = re.compile(r"[\w@#+/.’'-]*[\w+#]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SIGN = re.compile(r"(?<!\S)(?:[./~-][\w./-]+|[^\s,;]*[_=<>$@\\][^\s,;]*|\w[\w.-]*/[\w./-]+)")
_CAPITAL = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#/-]*")


@dataclass(frozen=True)
class Words:
    """The words of a text, sorted into kinds."""

    words: tuple[str, ...]  # lower case, without apostrophe s
    content: frozenset[str]
    numbers: frozenset[str]  # in digits
    signs: frozenset[str]  # paths, flags, identifiers and the like, as they are written
    names: frozenset[str]  # words with a capital inside a sentence, lower case
    marked: tuple[frozenset[str], ...]  # the words of each of KINDS
    phrases: tuple[int, ...]  # how often each of PHRASES occurs
    foreign: float  # share of the letters that are not Latin

    @property
    def negations(self) -> frozenset[str]:
        """Return the words of denial."""
        return self.marked[KINDS.index("negation")]

    @property
    def proper_names(self) -> frozenset[str]:
        """Return the names; none where nouns have capitals too."""
        return self.names if len(self.names) <= FEW_NAMES * len(self.words) else frozenset()


@cache
def _listed(kind: str) -> frozenset[str]:
    return data.words("pair_words.toml", kind)


@cache
def _phrase(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(data.table("pair_words.toml")["phrases"][kind]))


@cache
def _pairs(key: str, sign: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of a list, each as it stands and the other way round."""
    pairs = [(left, right) for left, _, right in (pair.partition(sign) for pair in _listed(key))]
    return frozenset(pairs) | {(right, left) for left, right in pairs}


@lru_cache(maxsize=64)
def read_words(text: str) -> Words:
    """Return the words of a text, sorted into kinds."""
    lower = text.lower().replace("’", "'")
    words = tuple(word.removesuffix("'s") for word in _WORD.findall(lower))
    own = frozenset(words)
    digits = dict(_pairs("numbers", "="))
    letters = [character for character in text if character.isalpha()]
    return Words(
        words,
        frozenset(word for word in own if not is_stop(word)),
        frozenset(number for word in own for number in (_NUMBER.findall(word) or filter(None, [digits.get(word)]))),
        frozenset(sign.rstrip(".,;:!?)") for sign in _SIGN.findall(text)),
        frozenset(word.lower().removesuffix("'s").rstrip(".") for word in _CAPITAL.findall(text)) - _listed("self"),
        tuple(own & _listed(kind) for kind in KINDS),
        tuple(len(_phrase(kind).findall(lower)) for kind in PHRASES),
        sum(character > "ɏ" for character in letters) / max(1, len(letters)),
    )


def opposites(old: Words, new: Words) -> int:
    """Count the words that only one text has and whose opposite only the other has."""
    ours, theirs = set(old.words) - set(new.words), set(new.words) - set(old.words)
    return sum((left, right) in _pairs("opposites", "/") for left in ours for right in theirs)


def is_stop(word: str) -> bool:
    """Return whether a word says nothing by itself."""
    return word in _listed("stop") or word in _listed("self")
