"""What the words of a text tell the learned comparison: its numbers, names, negations and words of change."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import groupby, pairwise

from .. import data as files
from ..dataclass import dataclass
from .amounts import Amounts, NumberWords, amounts, in_one_form, is_sign, number_words
from .change_phrases import in_full

KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted, in the order of the features."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing")
STEM = 4
"""Letters by which forms of one word are known: lives and live, works and working."""
SHORT = 9
"""Words of a text up to which each of them counts; long texts say "no", "before" and "often" in passing."""
DAY = 3
"""Letters to which the names of days and months are cut."""
_NUMBER = "#"
_WORD = re.compile(r"[\w@#+/.’'-]*[\w+#]")
_LONG = re.compile(r"\b[a-z]{6,}\b", re.ASCII)
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
    turns: frozenset[str]
    joints: frozenset[str]
    qualifiers: frozenset[str]
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
        frozenset(data["order"]["turns"].split()),
        frozenset(data["order"]["and"].split()),
        frozenset(data["guards"]["qualifier"].split()),
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


def have_other_names(old: Words, new: Words) -> bool:
    """Tell whether each of two texts has a name that the other lacks, or one has several; a day may be cut short.

    The first word of a text may be a name too, where the other has a capital that this one lacks.
    """
    ours, theirs = _missing(proper_names(old), new), _missing(proper_names(new), old)
    if (ours and theirs) or max(ours, theirs) > 1:
        return True
    return any(_begins_apart(one, other) and _missing(other.names, one) for one, other in ((old, new), (new, old)))


def _missing(names: frozenset[str], other: Words) -> int:
    """Count the names of a text that stand nowhere in another."""
    known, units = {_calendar_name(word) for word in other.words}, _lists().numbers.units
    return sum(_calendar_name(name) not in known and name not in units for name in names)


def _begins_apart(side: Words, other: Words) -> bool:
    """Tell whether a short text begins with a capital and a word that another lacks in every form."""
    if not is_short(side, other) or not side.text[:1].isupper() or side.words[0] not in side.content:
        return False
    return side.words[0][:STEM] not in {word[:STEM] for word in other.words}


def _calendar_name(word: str) -> str:
    """Return a day or a month by its first three letters, any other word as it is."""
    days = _lists().words["calendar"]
    is_cut = len(word) == DAY and any(day.startswith(word) for day in days)
    return word[:DAY] if is_cut or word in days or word.removesuffix("s") in days else word


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
    """Return the words that make another statement of one: almost, former, perhaps."""
    return _lists().qualifiers.intersection(words.words)


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


def is_short(old: Words, new: Words) -> bool:
    """Tell whether one of two texts is so short that each of its words counts."""
    return min(len(old.content), len(new.content)) <= SHORT


def are_reordered(old: Words, new: Words) -> bool:
    """Tell whether two texts name the same in another order: `Ann pays Bo`, `Bo pays Ann`.

    The order is the same where words moved from one end to the other, as a time of day does, where two neighbours or
    two words around `and` changed places, and where two changed places with a word that turns them round: `Ann paints
    the gate`, `the gate is painted by Ann`.
    """
    names = (old.names | new.names) - old.marked["calendar"] - new.marked["calendar"]
    ours, theirs = _in_order(old, names), _in_order(new, names)
    if is_short(old, new) and sorted(ours) == sorted(theirs) and ours != theirs:
        return True
    ours, theirs = ([word[:STEM] for word in _in_order(side, side.content)] for side in (old, new))
    if not ours or sorted(ours) != sorted(theirs):
        return False
    moved = [at for at, (left, right) in enumerate(zip(ours, theirs, strict=True)) if left != right]
    if not moved:
        return ("by" in old.words) != ("by" in new.words)
    is_moved = theirs in (ours[at:] + ours[:at] for at in range(len(ours)))
    are_neighbours = len(moved) == 2 and moved[1] == moved[0] + 1 and len(ours) > 2
    return _turned(old) == _turned(new) and not is_moved and not are_neighbours


def _in_order(side: Words, chosen: frozenset[str]) -> list[str]:
    """Return chosen words of a text in their order; two around `and` have none."""
    found: list[list[str]] = []
    is_joined = False
    for word in side.words:
        if word in chosen:
            found += [] if is_joined else [[]]
            found[-1].append(word)
        is_joined = bool(found) and word in _lists().joints
    return [word for run in found for word in sorted(run)]


def _turned(side: Words) -> list[str]:
    """Return the words of a text that turn two things round."""
    turns = _lists().turns
    return sorted(["'s"] * side.text.replace("’", "'").count("'s") + [word for word in side.words if word in turns])


def lasting_words(text: str) -> frozenset[str]:
    """Return words that a text has in every form: long ones that are in no amount."""
    numbers = _lists().numbers
    found = frozenset(_LONG.findall(in_full(text)))
    return found.difference(numbers.values, numbers.scales, numbers.units)


def with_one_notation(text: str) -> str:
    """Return a lower-case text with each time of day and each amount in one form."""
    return in_one_form(text, _lists().numbers)


def is_stop(word: str) -> bool:
    """Tell whether a word says nothing by itself."""
    return word in _lists().stop
