"""Which statements a user takes back in a later message: "forget that", "just testing you", "stop with the Polish".

Owns: which statement such a message means. Refuses corrections that give another value: see `taken_back`.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from ..beliefs.phrases import single, starts, words
from ..text.words import STOP_WORDS
from .candidates import Candidate
from .guards import states_something
from .standing_rules import is_standing_rule, plain_type

Place = tuple[str, int]
"""Message of a candidate, and where in it the candidate begins."""

_WITHIN = 20  # messages of the user between a statement and its retraction
_LONGEST = 25  # words of a retraction: whoever takes something back says little else
_ELSE = 3  # words beside "just testing" that do not make it a statement of something else
_MOST = 0.5  # share of a statement that is repeated where it is denied
_STEM = 4  # letters by which two forms of a word are one
_WORD = re.compile(r"[^\W_]{3,}")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_OF_RULES = ("reconsiders", "stops", "permits")
KINDS = (*_OF_RULES, "denies", "rights", "forgets")


def retracted(said: Sequence[Candidate]) -> set[Place]:
    """Return which of the candidates the user takes back in a later message, and the sentences that only do that."""
    messages: dict[str, list[Candidate]] = {}
    for one in said:
        if one.role == "user":
            messages.setdefault(one.message, []).append(one)
    order = list(messages)
    gone: set[Place] = set()
    for at, message in enumerate(order):
        told = messages[message]
        if at and sum(len(one.text.split()) for one in told) <= _LONGEST:
            names = order[max(0, at - _WITHIN) : at]
            earlier = [one for name in names for one in messages[name] if place_of(one) not in gone]
            gone.update(_retracted(earlier, told))
    return gone


def place_of(one: Candidate) -> Place:
    """Return where a candidate stands."""
    return one.message, one.start


def _retracted(earlier: Sequence[Candidate], told: Sequence[Candidate]) -> Iterator[Place]:
    for later in told:
        for kind, rest in _cues(later.text):
            found = _meant(kind, rest, earlier)
            if not found and kind == "denies" and len(_content(rest)) <= _ELSE:
                found = _last(earlier, told)
            if found:
                yield place_of(found)
                if kind != "rights":  # it says what is so instead
                    yield place_of(later)
                return


def _meant(kind: str, rest: str, earlier: Sequence[Candidate]) -> Candidate | None:
    """Return the statement that is repeated most where something is taken back; the latest of several."""
    about = _content(rest)
    shared = {place: about & _content(one.text) for place, one in enumerate(earlier) if _may_mean(kind, rest, one)}
    best = max(shared, key=lambda place: (len(shared[place]), place), default=None)
    if best is None or not shared[best]:
        return None
    least = _MOST * (1 if kind in _OF_RULES else len(_content(earlier[best].text)))
    return earlier[best] if len(shared[best]) >= least else None


def _may_mean(kind: str, rest: str, before: Candidate) -> bool:
    """Tell whether what takes back in this way may speak of a statement of that form."""
    if kind == "rights":
        return _denies(rest)
    if kind not in _OF_RULES:
        return True
    if not is_standing_rule(before.text, before.after) and plain_type(before.text) == "fact":
        return False
    if kind == "permits":
        return _denies(before.text) and any(f" {phrase}" in f" {rest}" for phrase in starts("freely"))
    return kind != "stops" or not _denies(before.text)


def _last(earlier: Sequence[Candidate], told: Sequence[Candidate]) -> Candidate | None:
    """Return the last statement of the message before."""
    before = [one for one in earlier if one.position + 2 >= told[0].position and states_something(one)]
    return before[-1] if before else None


def _cues(text: str) -> Iterator[tuple[str, str]]:
    """Yield in which ways a sentence takes something back, and what it says besides."""
    plain = text.lower().replace("’", "'")
    for kind in KINDS:
        if found := _form(kind).search(plain):
            yield kind, f"{plain[: found.start('cue')]} {plain[found.end() :]}"


@cache
def _form(kind: str) -> re.Pattern[str]:
    before, cues = (
        "|".join(map(re.escape, sorted(starts(name), key=len, reverse=True))) for name in ("interjections", kind)
    )
    opening = rf"(?:^|[.,;:!?…–—-]\s|[，。！])\s*(?:(?:{before})(?![a-zà-ÿ'])[\s,.!…]*)*"
    return re.compile(rf"{opening}(?P<cue>{cues})(?![a-zà-ÿ])")


def _denies(text: str) -> bool:
    return not single("negations").isdisjoint(words(text))


@lru_cache(1024)
def _content(text: str) -> frozenset[str]:
    """Return what a text speaks of: words that not any text has, and pairs of unspaced characters."""
    light = STOP_WORDS | set(starts("interjections"))
    plain = text.casefold()
    spaced = {word[:_STEM] for word in _WORD.findall(_WIDE.sub(" ", plain)) if word not in light}
    wide = _WIDE.findall(plain)
    return frozenset(spaced | {one + other for one, other in pairwise(wide)})
