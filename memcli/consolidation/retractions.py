"""What a user asks to forget of what was said before in a conversation: "forget that", "forget that I like jazz"."""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from .. import data
from ..language.lexicon import stop_words
from .candidates import Candidate, states_something

Place = tuple[str, int]
"""Message of a candidate, and where in it the candidate begins."""

_WITHIN = 20  # messages of the user between a statement and its retraction
_LONGEST = 25  # words of a retraction: whoever takes something back says little else
_ELSE = 3  # words beside "forget that" that do not make it a statement of something else
_MOST = 0.5  # share of a statement that is repeated where it is taken back
_STEM = 4  # letters by which two forms of a word are one
_WORD = re.compile(r"[^\W_]{3,}")
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")


def retracted(said: Sequence[Candidate]) -> set[Place]:
    """Return which of the candidates the user takes back in a later message, and the sentences that only do that."""
    messages: dict[str, list[Candidate]] = {}
    for candidate in said:
        if candidate.role == "user":
            messages.setdefault(candidate.message, []).append(candidate)
    order = list(messages)
    gone: set[Place] = set()
    for number, message in enumerate(order):
        told = messages[message]
        if number and sum(len(candidate.text.split()) for candidate in told) <= _LONGEST:
            names = order[max(0, number - _WITHIN) : number]
            earlier = [one for name in names for one in messages[name] if place_of(one) not in gone]
            gone.update(_retracted(earlier, told))
    return gone


def place_of(candidate: Candidate) -> Place:
    """Return where a candidate stands."""
    return candidate.message, candidate.start


def _retracted(earlier: Sequence[Candidate], told: Sequence[Candidate]) -> Iterator[Place]:
    for later in told:
        plain = later.text.lower().replace("’", "'")
        for kind in ("that", "named"):
            cue = _cue(kind).search(plain)
            rest = _content(f"{plain[: cue.start('cue')]} {plain[cue.end() :]}") if cue else frozenset()
            meant = _repeated(rest, earlier)
            if cue and kind == "that" and not meant and len(rest) <= _ELSE:
                meant = _last(earlier, told)
            if meant:
                yield from (place_of(meant), place_of(later))
                return


def _repeated(rest: frozenset[str], earlier: Sequence[Candidate]) -> Candidate | None:
    """Return the statement that is repeated most where something is taken back; the latest of several."""
    shared = {number: len(rest & _content(before.text)) for number, before in enumerate(earlier)}
    best = max(shared, key=lambda number: (shared[number], number), default=None)
    if best is None or not shared[best] or shared[best] < _MOST * len(_content(earlier[best].text)):
        return None
    return earlier[best]


def _last(earlier: Sequence[Candidate], told: Sequence[Candidate]) -> Candidate | None:
    """Return the last statement of the message before."""
    before = [one for one in earlier if one.position + 2 >= told[0].position and states_something(one)]
    return before[-1] if before else None


@cache
def _cue(kind: str) -> re.Pattern[str]:
    """Return the pattern of how a clause asks to forget something, behind interjections."""
    lists = data.table("retractions.toml")
    before, cues = (
        "|".join(map(re.escape, sorted(lists[name], key=len, reverse=True))) for name in ("interjections", kind)
    )
    opening = rf"(?:^|[.,;:!?…–—-]\s|[，。！])\s*(?:(?:{before})(?![a-zà-ÿ'])[\s,.!…]*)*"
    return re.compile(rf"{opening}(?P<cue>{cues})(?![a-zà-ÿ])")


@lru_cache(1024)
def _content(text: str) -> frozenset[str]:
    """Return what a text speaks of: words that not any text has, and pairs of unspaced characters."""
    light = stop_words() | set(data.table("retractions.toml")["interjections"])
    plain = text.casefold()
    spaced = {word[:_STEM] for word in _WORD.findall(_WIDE.sub(" ", plain)) if word not in light}
    return frozenset(spaced | {first + second for first, second in pairwise(_WIDE.findall(plain))})
