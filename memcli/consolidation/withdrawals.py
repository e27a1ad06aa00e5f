"""Which statements a user takes back in a later message: "forget that", "just testing you", "stop with the Polish".

Owns: which statement such a message means. Refuses corrections that give another value: see `taken_back`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import pairwise

from .. import data
from ..beliefs.change_phrases import single, starts, words
from ..language.lexicon import stop_words
from .candidates import Candidate, states_something
from .standing_rules import is_standing_rule, plain_type

_pattern = partial(data.pattern, "retractions.toml")
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
    light = stop_words() | set(starts("interjections"))
    plain = text.casefold()
    spaced = {word[:_STEM] for word in _WORD.findall(_WIDE.sub(" ", plain)) if word not in light}
    wide = _WIDE.findall(plain)
    return frozenset(spaced | {one + other for one, other in pairwise(wide)})


_CORRECTED_WITHIN = 40  # messages between a statement and its correction
_OPENING = 4  # characters within which a correction opens its message
_SHORT = 5  # words of a correction that only gives the value
_LETTERS = re.compile(r"[^\W\d_]{3,}")
_NAMED = 2  # words of a correction that says what it is about
_AMENDING = 12  # words of such a sentence


def taken_back(found: Sequence[Candidate], said: Mapping[str, str]) -> dict[int, int]:
    """Return the places of the candidates that are taken back, and by which; `said` are the messages' texts by id."""
    gone: dict[int, int] = {}
    used: set[tuple[str, int]] = set()  # corrections that found what they are about
    first = 0
    for place, later in enumerate(found):
        while later.position - found[first].position > _CORRECTED_WITHIN:
            first += 1
        if later.role != "user":
            continue
        earlier = [at for at in range(first, place) if at not in gone and found[at].role == "user"]
        if withdraws(later.text):
            gone |= dict.fromkeys((place, *(at for at in earlier[-1:] if _is_just_before(found[at], later))), place)
            continue
        text = said.get(later.message, "")
        denied = {_plain(match["value"]) for match in _pattern("denied").finditer(later.text)}
        if denied:
            gone |= dict.fromkeys((at for at in earlier if _is_denied(found[at], later, denied)), place)
            if names_only_values(later.text):
                gone |= dict.fromkeys([at for at in earlier if _values(found[at].text) & denied][-1:], place)
        cue = max((match.start() + 1 for match in _pattern("corrects").finditer(text, 0, later.stop)), default=0)
        if not later.place and amends(later, text):
            cue = max(cue, later.start + 1)
        if place not in gone.values() and cue and (later.message, cue) not in used:
            last = max((found[at].position for at in earlier if found[at].position < later.position), default=-1)
            weights = {at: _weight(found[at], later, text, cue, last) for at in earlier}
            best = max(weights.values(), default=0)
            if best:
                used.add((later.message, cue))
                gone |= dict.fromkeys((at for at, weight in weights.items() if weight == best), place)
    return gone


def corrects(text: str) -> bool:
    """Tell whether a text says of itself that it corrects something."""
    return bool(_pattern("corrects").search(text) or _pattern("denied").search(text))


def withdraws(text: str) -> bool:
    """Tell whether a text takes back what was said before: "never mind"."""
    return bool(_pattern("withdraws").search(text))


def names_only_values(text: str) -> bool:
    """Tell whether a correction gives values without saying of what, so that it tells nothing alone."""
    said = _pattern("value").sub(" ", _pattern("corrects").sub(" ", _pattern("amends").sub(" ", text, count=1)))
    return bool(_pattern("value").search(text)) and len(_words(said) - stop_words()) < _NAMED


def amends(said: Candidate, text: str) -> bool:
    """Tell whether a statement of the message `text` may put right the sentence before it, filler in front counted."""
    return len(said.text.split()) <= _AMENDING and bool(_pattern("amends").match(text, said.start))


def _is_just_before(before: Candidate, later: Candidate) -> bool:
    """Tell whether nothing was said by the speaker between two candidates."""
    if before.position == later.position:
        return before.place == later.place - 1
    return later.position - before.position == 2 and later.place == 0 and before.place == before.sentences - 1


def _weight(before: Candidate, later: Candidate, text: str, cue: int, last: int) -> int:
    """Return how sure it is that the correction at `cue` of a message means `before`; 0 where it cannot.

    It must give another value of the same shape, for something that both speak of; a correction that opens its message,
    or is short, may speak of the speaker's `last` message without naming anything of it.
    """
    if before.position == later.position and before.stop > cue:
        return 0
    values = _values(before.text)
    told = list(map(_plain, _pattern("value").findall(text[max(cue - 1, later.start) : later.stop])))
    new = [value for value in told if value not in values][: 1 if cue > later.start else None]
    if not {_shape(value) for value in values - _values(later.text)} & set(map(_shape, new)):
        return 0
    start = max(text.rfind(mark, 0, cue) for mark in ".!?\n") + 1
    about = _words(text[start : later.stop]) | _values(text[start : later.stop])
    weight = 2 * len((_words(before.text) | values) & about)
    opens = cue <= _OPENING or len(later.text.split()) <= _SHORT
    return weight + (3 if opens and before.position == last else 0)


def _is_denied(before: Candidate, later: Candidate, denied: set[str]) -> bool:
    """Tell whether `later` names a value of `before` as what is not so, and another in its place."""
    values, others = _values(before.text), _values(later.text)
    return bool(values & denied and others - values and _words(before.text) & _words(later.text))


@lru_cache(1024)
def _values(text: str) -> frozenset[str]:
    return frozenset(_plain(value) for value in _pattern("value").findall(text))


def _plain(value: str) -> str:
    return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", value.casefold().strip(".,:/"))


def _shape(value: str) -> str:
    """Return the shape of a value: a time is not corrected by a price."""
    if value[-1:].isalpha() and not any(map(str.isdigit, value)):
        return "day" if "day" in value else "month"
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d+", "9", value))


@lru_cache(1024)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in _LETTERS.findall(text)) - data.words("retractions.toml", "common")
