"""What the words of a text tell the learned comparison: its numbers, names, negations and words of change."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby, pairwise

from .. import data as files
from ..dataclass import dataclass
from .amounts import Amounts, NumberWords, amounts, is_sign, number_words

KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted, in the order of the features."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing")
STEM = 4
"""Letters by which forms of one word are known: lives and live, works and working."""
_NUMBER = "#"
_WORD = re.compile(r"[\w@#+/.’'-]*[\w+#]")
_SIGN = re.compile(r"(?<!\S)(?:[./~-][\w./-]+|[^\s,;]*[_=<>$@\\][^\s,;]*|\w[\w.-]*/[\w./-]+)")
_CAPITAL = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#/-]*")


@dataclass(frozen=True)
class Words:
    """The words of a text and what they tell."""

    text: str
    words: tuple[str, ...]  # lower case, without apostrophe s
    content: frozenset[str]
    signs: frozenset[str]  # paths, flags, identifiers and the like, as they are written
    names: frozenset[str]  # words with a capital inside a sentence, lower case
    amounts: Amounts
    marked: Mapping[str, frozenset[str]]  # kind → the words of that kind
    phrases: tuple[int, ...]  # how often each of PHRASES occurs
    foreign: float  # share of the letters that are not Latin

    def has(self, kind: str) -> bool:
        """Tell whether a phrase of a kind occurs in it."""
        return self.phrases[PHRASES.index(kind)] > 0


@dataclass(frozen=True)
class _Lists:
    words: Mapping[str, frozenset[str]]
    stop: frozenset[str]
    phrases: tuple[re.Pattern[str], ...]
    opposites: frozenset[tuple[str, str]]
    links: frozenset[str]
    english: frozenset[str]
    numbers: NumberWords


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    data = files.table("pair_words.toml")
    pairs = [(left, right) for left, _, right in (pair.partition("/") for pair in data["opposites"]["pairs"].split())]
    return _Lists(
        {kind: frozenset(data["words"][kind].split()) for kind in KINDS},
        frozenset(data["words"]["stop"].split() + data["words"]["self"].split()),
        tuple(re.compile("|".join(data["phrases"][kind])) for kind in PHRASES),
        frozenset(pairs) | {(right, left) for left, right in pairs},
        frozenset(data["order"]["links"].split()),
        frozenset(data["guards"]["english"].split()),
        number_words(data["numbers"]),
    )


@lru_cache(maxsize=64)
def read_words(text: str) -> Words:
    """Read what the words of a text tell."""
    lists = _lists()
    lower = text.lower().replace("’", "'")
    words = tuple(word.removesuffix("'s") for word in _words(lower))
    own = frozenset(words)
    letters = [character for character in text if character.isalpha()]
    return Words(
        text,
        words,
        own - lists.stop,
        frozenset(sign.rstrip(".,;:!?)") for sign in _SIGN.findall(text)),
        frozenset(word.lower().removesuffix("'s").rstrip(".") for word in _CAPITAL.findall(text)) - lists.words["self"],
        amounts(lower, lists.numbers),
        {kind: own & found for kind, found in lists.words.items()},
        tuple(len(pattern.findall(lower)) for pattern in lists.phrases),
        sum(character > "ɏ" for character in letters) / max(1, len(letters)),
    )


def proper_names(words: Words) -> frozenset[str]:
    """Return the names of a text; of none where nouns have capitals too, as in German."""
    are_few = len(words.names) <= len(words.words) / 4
    return words.names if are_few or _lists().english.intersection(words.words) else frozenset()


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text; where no space stands between words, each sign is one."""
    for found in _WORD.findall(text):
        if not any(map(is_sign, found)):
            yield found
            continue
        for are_signs, letters in groupby(found, is_sign):
            part = "".join(letters)
            yield from part if are_signs else _WORD.findall(part)


def opposites(old: Words, new: Words) -> int:
    """Count the words that only one text has and whose opposite only the other has."""
    lists = _lists()
    ours, theirs = set(old.words) - set(new.words), set(new.words) - set(old.words)
    return sum((left, right) in lists.opposites for left in ours for right in theirs)


def swapped_spans(old: Words, new: Words) -> tuple[int, int, int]:
    """Return how many words two texts begin with, how many they end with, and how many there are in the longer rest."""
    ours, theirs = old.words, new.words
    shorter = min(len(ours), len(theirs))
    first = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    last = next((at for at in range(shorter - first) if ours[-1 - at] != theirs[-1 - at]), shorter - first)
    return first, last, max(len(ours), len(theirs)) - first - last


def has_other_words(old: Words, new: Words) -> bool:
    """Tell whether one text is the other with something else or more in one place: `A is in Rome`, `B is in Rome`.

    At the beginning, where the subject stands, the two may share a word: `passed ball is …`, `ball boy is …`.
    """
    first, last, rest = swapped_spans(old, new)
    ours, theirs = (
        {_form(side, word) for word in side.words[first : len(side.words) - last] if word in side.content}
        for side in (old, new)
    )
    if old.amounts.agree(new.amounts):
        ours, theirs = ours - {_NUMBER}, theirs - {_NUMBER}
    have_other_subjects = first == 0 and last > 1 and last >= rest and bool(ours - theirs and theirs - ours)
    return have_other_subjects or (ours != theirs and ours.isdisjoint(theirs) and first + last >= rest)


def _form(side: Words, word: str) -> str:
    """Return a word's first letters; all denials are one, and so are all numbers: amounts are compared elsewhere."""
    if word in side.marked["negation"]:
        return "not"
    numbers = _lists().numbers
    is_size = numbers.units.get(word, ("", 0.0))[0] == "size"
    return _NUMBER if is_size or word in numbers.values or word[0].isdigit() else word[:STEM]


def are_swapped(old: Words, new: Words) -> bool:
    """Tell whether texts of the same words have them in another order around a link: `A over B`, `B over A`."""
    if sorted(old.words) != sorted(new.words):
        return False
    links = _lists().links

    def after(words: tuple[str, ...]) -> set[tuple[str, str]]:
        return {pair for pair in pairwise(words) if pair[0] in links}

    return after(old.words) != after(new.words)


def is_stop(word: str) -> bool:
    """Tell whether a word says nothing by itself."""
    return word in _lists().stop
