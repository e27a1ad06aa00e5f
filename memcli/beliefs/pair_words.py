"""What the words of a text tell the learned comparison: its numbers, names, negations and words of change."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby, pairwise

from .amounts import Amounts, NumberWords, amounts, in_one_form, is_sign, number_words
from .phrases import DATA

KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted, in the order of the features."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing")
STEM = 4
"""Letters by which forms of one word are known: lives and live, works and working."""
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

    @property
    def asks(self) -> bool:
        """Tell whether it is a question."""
        return self.phrases[PHRASES.index("question")] > 0


@dataclass(frozen=True)
class _Lists:
    words: Mapping[str, frozenset[str]]
    stop: frozenset[str]
    phrases: tuple[re.Pattern[str], ...]
    opposites: frozenset[tuple[str, str]]
    links: frozenset[str]
    qualifiers: frozenset[str]
    numbers: NumberWords


@lru_cache(maxsize=1)
def _lists() -> _Lists:
    data = tomllib.loads((DATA / "pair_words.toml").read_text(encoding="utf-8"))
    pairs = [(left, right) for left, _, right in (pair.partition("/") for pair in data["opposites"]["pairs"].split())]
    return _Lists(
        {kind: frozenset(data["words"][kind].split()) for kind in KINDS},
        frozenset(data["words"]["stop"].split() + data["words"]["self"].split()),
        tuple(re.compile("|".join(data["phrases"][kind])) for kind in PHRASES),
        frozenset(pairs) | {(right, left) for left, right in pairs},
        frozenset(data["order"]["links"].split()),
        frozenset(data["guards"]["qualifier"].split()),
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
    """Give the names of a text; of none where nouns have capitals too."""
    return words.names if len(words.names) <= len(words.words) / 4 else frozenset()


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text; where no space stands between words, each sign is one."""
    for found in _WORD.findall(text):
        if not any(map(is_sign, found)):
            yield found
            continue
        for are_signs, letters in groupby(found, is_sign):
            part = "".join(letters)
            yield from part if are_signs else _WORD.findall(part)


def qualifiers(words: Words) -> frozenset[str]:
    """Give the words that make another statement of one: almost, former, perhaps."""
    return _lists().qualifiers.intersection(words.words)


def opposites(old: Words, new: Words) -> int:
    """Count the words that only one text has and whose opposite only the other has."""
    lists = _lists()
    ours, theirs = set(old.words) - set(new.words), set(new.words) - set(old.words)
    return sum((left, right) in lists.opposites for left in ours for right in theirs)


def swapped_spans(old: Words, new: Words) -> tuple[int, int, int]:
    """Give how many words two texts begin with, how many they end with, and how many there are in the longer rest."""
    ours, theirs = old.words, new.words
    shorter = min(len(ours), len(theirs))
    first = next((at for at in range(shorter) if ours[at] != theirs[at]), shorter)
    last = next((at for at in range(shorter - first) if ours[-1 - at] != theirs[-1 - at]), shorter - first)
    return first, last, max(len(ours), len(theirs)) - first - last


def has_other_words(old: Words, new: Words) -> bool:
    """Tell whether one text is the other with something else or more in one place: `A is in Rome`, `B is in Rome`."""
    first, last, rest = swapped_spans(old, new)
    ours, theirs = (
        {word[:STEM] for word in words.words[first : len(words.words) - last] if word in words.content}
        for words in (old, new)
    )
    return ours != theirs and ours.isdisjoint(theirs) and first + last >= rest


def are_namesakes(old: Words, new: Words) -> bool:
    """Tell whether two texts begin with names of which only the first part differs: `Ann Lee is 5`, `Tom Lee is 6`."""
    is_shared = old.words[1:2] == new.words[1:2] and bool(old.names.intersection(new.names, old.words[1:2]))
    return is_shared and old.words[0] != new.words[0] and not any(map(is_stop, (old.words[0], new.words[0])))


def are_swapped(old: Words, new: Words) -> bool:
    """Tell whether texts of the same words have them in another order around a link: `A over B`, `B over A`."""
    if sorted(old.words) != sorted(new.words):
        return False
    links = _lists().links

    def after(words: tuple[str, ...]) -> set[tuple[str, str]]:
        return {pair for pair in pairwise(words) if pair[0] in links}

    return after(old.words) != after(new.words)


def are_reordered(old: Words, new: Words) -> bool:
    """Tell whether two texts name the same in another order: `Ann pays Bo`, `Bo pays Ann`.

    Words that only moved from one end to the other, as a time of day does, are in the same order.
    """
    names = (old.names | new.names) - old.marked["calendar"] - new.marked["calendar"]
    ours, theirs = ([word for word in side.words if word in names] for side in (old, new))
    if sorted(ours) == sorted(theirs) and ours != theirs:
        return True
    ours, theirs = ([word[:STEM] for word in side.words if word in side.content] for side in (old, new))
    turned = (ours[at:] + ours[:at] for at in range(len(ours)))
    return sorted(ours) == sorted(theirs) and theirs not in turned and bool(ours)


def with_one_notation(text: str) -> str:
    """Give a lower-case text with each time of day and each amount in one form."""
    return in_one_form(text, _lists().numbers)


def is_stop(word: str) -> bool:
    """Tell whether a word says nothing by itself."""
    return word in _lists().stop
