"""What two texts are to each other: the same, an update, a conflict, or distinct.

Acts surely only on twins and on explicit sentences of change; a learned comparison may add to that. Never by cosine.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from ..dataclass import dataclass
from .change_phrases import (
    CLAUSE_END,
    KNOWN,
    Words,
    after_opening,
    core,
    in_full,
    inverted,
    is_ended_by,
    sentences,
    single,
    starts,
    without_preamble,
    without_rejected,
    words,
)

Kind = Literal["same", "update", "conflict", "distinct"]

UNDECIDED = 0.5
"""Probability of "distinct" below which the words alone may flag what the learned comparison would not."""
LONGEST = 1500
"""Characters of a text that is compared with others; a longer one is a document, of which only twins are known."""


@dataclass(frozen=True)
class Verdict:
    """What a new text is to an old one; `sure` where it may act by itself."""

    kind: Kind
    sure: bool = False
    reason: str = ""

    @property
    def is_against(self) -> bool:
        """Tell whether the two texts cannot both hold, or may not."""
        return self.kind in ("update", "conflict")


@dataclass(frozen=True)
class Likelihoods:
    """Calibrated probabilities of a learned comparison; they add up to 1."""

    same: float
    update: float
    conflict: float
    distinct: float
    merges: bool = False  # "same" is as probable as it must be to act by itself, and no number, name or denial differs
    flags: bool = False  # anything but "distinct" is as probable as it must be for two memories to be flagged


Compared = Callable[[str, str], Likelihoods | None]
"""Gives what a learned comparison says of an old and a new text; None where it cannot tell."""
DISTINCT = Verdict("distinct")
_CAPITAL = re.compile(r"[^\W\d_a-zß-öø-ÿ]\w*")


def nothing_learned(old: str, new: str) -> Likelihoods | None:
    """Stand in where no comparison was learned for the embedding model."""
    return None


def compare(old: str, new: str, likelihoods: Likelihoods | None = None) -> Verdict:
    """Judge a new text against an old one; `likelihoods` are of these two texts, where a model could tell them."""
    if are_twins(old, new):
        return Verdict("same", True, "the same words")
    if not (is_comparable(old) and is_comparable(new)):
        return DISTINCT
    if are_in_other_form(without_preamble(old), without_preamble(new)):
        return Verdict("same", True, "the same in another form")
    ended = is_ended_by(old, new)
    if ended:
        is_agreed = likelihoods is None or likelihoods.distinct < 0.5
        return Verdict("update", is_agreed, "says what has changed")
    if correction := opened_by(new, starts("corrections")):
        corrected = _correcting(old, correction)
        return corrected if corrected != DISTINCT else _by_likelihoods(likelihoods) or DISTINCT
    if objection := opened_by(new, starts("objections")):
        objected = _correcting(old, objection)
        return _by_likelihoods(likelihoods) or replace(objected, sure=False)
    if are_twins(without_article(old), without_article(new)):
        return Verdict("same", True, "the same but for an article")
    if ended is False:
        return Verdict("update", False, "may say what has changed")
    if _denies(old, new):
        return Verdict("conflict", False, "one denies the other")
    learned = _by_likelihoods(likelihoods)
    is_undecided = likelihoods is None or (learned == DISTINCT and likelihoods.distinct < UNDECIDED)
    return _by_words(old, new) if learned is None or is_undecided else learned


def opened_by(new: str, openings: tuple[str, ...]) -> str:
    """Return what follows an opening such as "Correction:"; empty where the text does not begin with one."""
    return after_opening(without_preamble(new), *openings)


def replaced_span(old: Words, new: Words) -> tuple[int, int]:
    """Return how many words two statements share at the beginning, and then at the end."""
    most = min(len(old), len(new))
    first = next((place for place in range(most) if old[place] != new[place]), most)
    rest = most - first
    last = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return first, last


def is_comparable(text: str) -> bool:
    """Tell whether a text is short enough to be a belief and no document."""
    return len(text) <= LONGEST


def _correcting(old: str, correction: str) -> Verdict:
    """Judge what follows "Correction:": sure where it is the old statement with another value, or its denial.

    Where it says what it corrects, and the old text does not say that, it is not sure.
    """
    stated, whole = core(words(without_preamble(old))), words(correction)
    said = core(without_rejected(whole))
    if said in (stated, inverted(stated)):
        return Verdict("same", False, "says it again as a correction")
    if _denies(old, correction):
        return Verdict("update", True, "says that it is a correction")
    first, last = replaced_span(stated, said)
    ours, theirs = stated[first : len(stated) - last], said[first : len(said) - last]
    is_value = bool(ours and theirs) and not single("links").intersection(ours[:-1] + theirs[:-1])
    if first > 1 and is_value and single("links").intersection(stated[1:first]):
        return Verdict("update", said == core(whole), "says that it is a correction")
    return Verdict("conflict", False, "may correct it") if first and is_value else DISTINCT


def _by_likelihoods(likelihoods: Likelihoods | None) -> Verdict | None:
    """Judge by a learned comparison: only "same" may act by itself; None where there is none."""
    if likelihoods is None:
        return None
    if likelihoods.merges:
        return Verdict("same", True, "the same in other words")
    if not likelihoods.flags:
        return DISTINCT
    kinds: tuple[Kind, ...] = ("same", "update", "conflict")
    best = max(kinds, key=lambda kind: float(getattr(likelihoods, kind)))
    return Verdict(best, False, "by the learned comparison")


def _by_words(old: str, new: str) -> Verdict:
    """Flag statements that are the same but for a negation, a number or a name."""
    stated, said = core(words(old)), core(words(new))
    if sorted(stated) == sorted(said):
        return Verdict("same", False, "the same words in another order")
    first, last = replaced_span(stated, said)
    ours, theirs = stated[first : len(stated) - last], said[first : len(said) - last]
    if first < 2 or not ours or not theirs or len(ours) > 3 or len(theirs) > 3 or single("many").intersection(stated):
        return DISTINCT
    if not single("links").intersection(stated[1:first]):
        return DISTINCT
    if all(any(sign.isdigit() for sign in side[0]) and len(side) < 3 for side in (ours, theirs)):
        return Verdict("conflict", False, "the same but for a number")
    if _is_name(old, ours) and _is_name(new, theirs):
        return Verdict("conflict", False, "the same but for a name")
    return DISTINCT


def _denies(old: str, new: str) -> bool:
    """Tell whether a statement of one text denies one of the other, whatever else is said beside it."""
    conditions = single("conditions")
    told = [one for one in _clauses(new) if not conditions.intersection(one)]
    return any(_is_denial(stated, said) for stated in _clauses(old) for said in told)


@lru_cache(maxsize=KNOWN)
def _clauses(text: str) -> tuple[Words, ...]:
    """Return the statements of a text, each without commas and what never makes it another one."""
    parts = [part for one in sentences(text) for part in CLAUSE_END.split(one)]
    return tuple(found for found in (core(words(part)) for part in parts) if found)


def _is_denial(stated: Words, said: Words) -> bool:
    """Tell whether one text denies the other, perhaps within a longer sentence."""
    negations = single("negations")
    bare = [tuple(word for word in side if word not in negations and word != "do") for side in (stated, said)]
    odd = [sum(word in negations for word in side) % 2 for side in (stated, said)]
    if odd[0] == odd[1] or min(map(len, bare)) < 2:
        return False
    shorter, longer = sorted(bare, key=len)
    starts = range(len(longer) - len(shorter) + 1)
    is_within = any(longer[start : start + len(shorter)] == shorter for start in starts)
    is_aside = len(bare[1]) < len(bare[0]) and said[0] in negations  # "…, not with Mrs. Olsen" says nothing by itself
    return bare[0] == bare[1] or (len(shorter) > 2 and is_within and not is_aside)


def _is_name(text: str, value: Words) -> bool:
    """Tell whether the words of a value begin with capitals where the text has them."""
    names = {word for found in _capitals(text) for word in core(words(found))}
    return names.issuperset(value)


def _capitals(text: str) -> Iterator[str]:
    yield from (found.group() for found in re.finditer(r"\S+", text) if _CAPITAL.match(found.group().lstrip("(\"'")))


_STOPS = " .。"
_QUOTES = "\"“”‘’'`"
_BREAKS = ("–", "—", "…", "...", "!", "!!", "!!!")
_LAST = re.compile(r"(?<![\s!.…。！])[!.…。！]+(?=\s*$|\s+[^\W\d_a-zß-öø-ÿ])")


def are_twins(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for white space, letter case and closing full stops.

    The case of a flag, a path, an identifier or a unit counts: `-v` is not `-V`, and 5 Mb are not 5 MB.
    """
    if normalized(one) != normalized(other):
        return False
    ours, theirs = (" ".join(text.split()).rstrip(_STOPS).split() for text in (one, other))
    return all(
        a == b or not _is_exact(a, ours[place - 1] if place else "")
        for place, (a, b) in enumerate(zip(ours, theirs, strict=False))
    )


def normalized(text: str) -> str:
    """Return a text without what never makes it another one: case, white space, full stops at its end."""
    return " ".join(text.lower().split()).rstrip(_STOPS)


def without_article(text: str) -> str:
    """Return a text without the article it begins with: "The user prefers tabs" says what "User prefers tabs" does."""
    return text.strip()[4:] if text.strip()[:4].lower() == "the " else text


def plain_form(text: str) -> str:
    """Return a text as all are that say the same in another form; so are some that do not, by a sign that counts."""
    plain = in_full(" ".join(_tokens(without_preamble(text))))
    if not any(map(str.isdigit, plain)):
        return plain
    from .pair_words import with_one_notation

    return " ".join(with_one_notation(plain).split())


def are_in_other_form(one: str, other: str) -> bool:
    """Tell whether two texts are the same but for punctuation, short forms, and how times and amounts are written.

    A sign that belongs to a word counts, and a question is no statement.
    """
    ours, theirs = _tokens(one), _tokens(other)
    if _is_cased_otherwise(ours, theirs) or _is_cased_otherwise(theirs, ours):
        return False
    plain_ones = [in_full(" ".join(tokens)) for tokens in (ours, theirs)]
    if plain_ones[0] == plain_ones[1]:
        return True
    if not any(sign.isdigit() for sign in one + other):
        return False
    from .pair_words import with_one_notation

    first, second = (with_one_notation(text).split() for text in plain_ones)
    return first == second


@lru_cache(maxsize=KNOWN)
def _tokens(text: str) -> Words:
    """Return the words of a text without the punctuation around them."""
    return tuple(_bare(token) for token in _LAST.sub("", text).split() if token not in _BREAKS)


def _bare(token: str) -> str:
    if not any(map(str.isalnum, token)):
        return token
    stripped = token.rstrip(".,;:…)").lstrip("(" + _QUOTES)
    end = stripped.rstrip(_QUOTES)
    return stripped if end[-1:].isdigit() else end.rstrip(".,;:…)")  # 5" is a length


def _is_cased_otherwise(ours: Words, theirs: Words) -> bool:
    """Tell whether a word whose case counts stands in the other text in another case."""
    known = set(theirs)
    lower = {token.lower() for token in theirs}
    pairs = zip(ours, ("", *ours), strict=False)
    return any(word not in known and word.lower() in lower and _is_exact(word, before) for word, before in pairs)


def _is_exact(word: str, before: str) -> bool:
    inner = word.strip(".,;:!?()\"'")
    is_unit = len(inner) < 4 and before[-1:].isdigit() and inner.lower().replace(".", "") not in ("am", "pm")
    return is_unit or word.startswith("-") or any(sign.isdigit() or sign in "_/\\=$@" for sign in inner)
