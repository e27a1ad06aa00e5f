"""Find what a sentence of change says is over, and whether another text states exactly that.

Precise rather than greedy: sure only where the old text says nothing but what the new one ends. Refuses plans,
questions and habits.
"""

import re
from collections.abc import Iterator
from functools import cache, lru_cache

from .. import data
from ..language.sentences import breaks, is_question

Words = tuple[str, ...]
KNOWN = 2048
"""Texts whose words are remembered: each is compared with several others, and those with it."""

CLAUSE_END = re.compile(r"[,;:–—]\s|\s[-–—]\s|[，；：]")
_TOKEN = re.compile(r"[^\s,]+|,")
_FORMS = {"is": "be", "are": "be", "am": "be", "being": "be", "be": "be", "has": "have", "have": "have"}
_ENDINGS = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))


@lru_cache(maxsize=1)
def _data() -> dict[str, list[str]]:
    return data.table("change_phrases.toml")


@cache
def starts(name: str) -> tuple[str, ...]:
    """Return a list of the data file as it stands there; raise KeyError where it has none of that name."""
    return tuple(_data()[name])


@cache
def several(name: str) -> tuple[Words, ...]:
    """Return a list of phrases, their words reduced as those of a sentence are."""
    return tuple(tuple(map(_reduced, phrase.replace(",", " , ").split())) for phrase in _data()[name])


@cache
def single(name: str) -> frozenset[str]:
    """Return a list of single words, reduced as those of a sentence are."""
    return frozenset(map(_reduced, _data()[name]))


@lru_cache(maxsize=KNOWN)
def sentences(text: str) -> tuple[str, ...]:
    """Cut a text at the ends of sentences and lines; "Dr." ends none."""
    found: list[str] = []
    for one in filter(str.strip, breaks(";；").split(text.strip())):
        goes_on = found and found[-1].lower().endswith(starts("abbreviations"))
        found[-1:] = [f"{found[-1]} {one}"] if goes_on else [*found[-1:], one]
    return tuple(found)


def after_opening(text: str, *openings: str) -> str:
    """Return what follows the first of some openings that a text begins with; empty where it begins with none."""
    start = text.lstrip("*_ ")
    lower = start.lower()
    if not lower.startswith(openings):
        return ""
    found = next(opening for opening in openings if lower.startswith(opening))
    return start[len(found) :].strip("*_ ,:")


@lru_cache(maxsize=KNOWN)
def without_preamble(text: str) -> str:
    """Return a text without what only asks to remember it: "Please note that"."""
    while rest := after_opening(text, *starts("preambles")):
        text = rest
    return text


@lru_cache(maxsize=KNOWN)
def words(sentence: str) -> Words:
    """Return the words of a sentence without their endings, commas included, signs that belong to a word kept."""
    tokens = _TOKEN.findall(CLAUSE_END.sub(" , ", in_full(sentence)))
    bare = (token.rstrip(".!?:;)\"”’'…。！？").lstrip("(\"“‘'") for token in tokens)
    return tuple(_reduced(word) for word in bare if word)


@lru_cache(maxsize=KNOWN)
def in_full(text: str) -> str:
    """Return a text in lower case with its short forms in full: "doesn't" is "does not"."""
    text = text.lower().replace("’", "'")
    for short, _, full in (one.partition("=") for one in starts("contractions")):
        text = re.sub(rf"{short}\b", full, text) if short in text else text
    return text


def core(found: Words) -> Words:
    """Leave out commas and words that never make a statement another one."""
    light = single("light")
    return tuple(word for word in found if word != "," and word not in light)


@lru_cache(maxsize=4096)
def _reduced(word: str) -> str:
    """Take an English ending off: uses, using and use are one; what is no plain word stays as it is."""
    if word in _FORMS:
        return _FORMS[word]
    if not word.isalpha() or len(word) < 3 or word.endswith(("ss", "eed")):
        return word
    for ending, base in _ENDINGS:
        stem = word.removesuffix(ending) + base
        if word.endswith(ending) and len(stem) > 1:
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "sl" else stem
    return word


def is_ended_by(old: str, new: str) -> bool | None:
    """Tell whether a new text ends an old one: True surely, False perhaps, None where it says nothing of the kind."""
    stated = core(words(without_preamble(old)))
    if len(stated) < 2 or len(sentences(old)) > 1:
        return None
    found = [one for sentence in sentences(new) for one in _ends(stated, sentence)]
    return True if True in found else False if found else None


def tells_of_change(text: str) -> bool:
    """Tell whether a text says outright that something is no longer so, whatever it was."""
    return any(map(_tells_of_change, sentences(text)))


def _tells_of_change(sentence: str) -> bool:
    opened = without_preamble(sentence)
    is_correction = bool(after_opening(opened, *starts("corrections")))
    said = _joined(words(after_opening(opened, *starts("corrections")) or opened))
    if is_question(sentence) or not single("conditions").isdisjoint(said) or _is_thought(said):
        return False
    is_moved = any(word in single("moved") and {"from", "to"} <= set(said[at:]) for at, word in enumerate(said))
    return is_correction or is_moved or any(_find(said, phrase) > 0 for phrase in several("over"))


def without_rejected(said: Words) -> Words:
    """Leave out what a statement puts aside: "on Friday, not on Thursday" without what begins with the "not"."""
    places = [place for phrase in several("instead") if (place := _find(said, phrase)) > 0]
    return said[: min(places, default=len(said))]


def inverted(stated: Words) -> Words:
    """Turn "Dr. Hansen is the dentist" around; empty where it is no such statement."""
    place = stated.index("be") if stated.count("be") == 1 else 0
    return (*stated[place + 1 :], "be", *stated[:place]) if 0 < place < len(stated) - 1 else ()


def _ends(stated: Words, sentence: str) -> Iterator[bool]:
    opened = without_preamble(sentence)
    said = _joined(words(after_opening(opened, *starts("corrections"), *starts("objections")) or opened))
    if single("reasons").intersection(said[:1]) and "," in said:
        said = said[said.index(",") + 1 :]
    if is_question(sentence) or single("conditions").intersection(said) or _is_thought(said):
        return
    found = [one for retired in _over(said) for one in _matched(stated, retired)]
    found += [one for side in (stated, inverted(stated)) for one in _instead(side, said)]
    found += [*_renamed(stated, said), *_moved(stated, said)]
    yield from (one and not single("doubts").intersection(said) for one in found)


def _is_thought(said: Words) -> bool:
    """Tell whether the clause that tells of the change is only thought about, or tells of a habit."""
    places = [_find(said, phrase) for phrase in (*several("over"), *several("instead"))]
    places += [place for place, word in enumerate(said) if word in single("moved") | single("renamed")]
    first = min((place for place in places if place >= 0), default=0)
    return bool(single("hedges").intersection(said[: _comma(said, first + 1)]))


def _matched(stated: Words, retired: Words) -> Iterator[bool]:
    """Compare a statement with one that is over: the same surely ends, of which one says more perhaps."""
    if len(retired) < 2:
        return
    if stated == retired:
        yield True
    elif len(retired) > 2 and (stated[: len(retired)] == retired or retired[: len(stated)] == stated):
        yield False


def _over(said: Words) -> Iterator[Words]:
    """Yield the statement without "no longer" or "stopped", up to where something else begins."""
    for phrase in several("over"):
        place = _find(said, phrase)
        if place > 0:
            before = _without_auxiliary(said[:place])
            yield from (core(before + part) for part in _parts(said[place + len(phrase) :]))


def _instead(stated: Words, said: Words) -> Iterator[bool]:
    """Match "S … B instead of A" and "S … B, not A" with "S … A"."""
    for phrase in several("instead"):
        place = _find(said, phrase)
        if place < 1:
            continue
        before, after = core(said[:place]), said[place + len(phrase) :]
        asides = {core(part) for part in _parts(after)} if not single("partly").intersection(after[:1]) else ()
        for aside in filter(None, asides):
            start = _find(stated, aside)
            rest = stated[start + len(aside) :]
            value = len(before) - start - len(rest)
            if 0 <= start < len(before) and before[:start] == stated[:start]:
                is_same = value > 0 and before[len(before) - len(rest) :] == rest
                if is_same or start > 1:
                    yield is_same and len(stated) > 1 and value < len(aside) + 2


def _moved(stated: Words, said: Words) -> Iterator[bool]:
    """Match "S moved from A to B", "we moved S from A to B" and "S moved to B from A" with "S … A"."""
    for verb in (place for place, word in enumerate(said) if word in single("moved") and "to" in said[place:]):
        if said[max(verb - 1, 0)] != "be":
            begin = max((place + 1 for place in range(verb) if said[place] == ","), default=0)
            yield from (found and not begin for found in _moved_by(stated, said[begin:], verb - begin))


def _moved_by(stated: Words, said: Words, verb: int) -> Iterator[bool]:
    to = said.index("to", verb)
    start = said.index("from", verb) if "from" in said[verb:] else to
    end = _comma(said, max(to, start))
    actor, moved = core(_without_auxiliary(said[:verb])), core(said[verb + 1 : min(start, to)])
    value, new_value = (
        core(said[start + 1 : to if to > start else end]),
        core(said[to + 1 : start if start > to else end]),
    )
    subject = moved or actor
    rest = stated[len(subject) :] if stated[: len(subject)] == subject else ()
    if start == to:  # "moved to B", which does not say from where
        if subject and rest[:1] and rest[0] in single("links") and _has_digit(rest) == _has_digit(new_value):
            yield False
    elif value and value != new_value:
        place = _find(rest, value)
        if place >= 0 and single("links").union(single("agents")).issuperset(rest[:place]):
            tail = rest[place + len(value) :]
            is_named = bool(moved or (actor and actor[-1] not in single("agents") - {"user"}))
            yield is_named and (not tail or new_value[-len(tail) :] == tail)
        elif _find(stated, value) > 0 and _is_about(stated, subject, value):
            yield False


def _is_about(stated: Words, subject: Words, value: Words) -> bool:
    """Tell whether what was moved from a value seems to be what a statement with that value is about."""
    named = set(subject) - single("speakers") - single("others") - {"our", "my"}
    if named or single("speakers").intersection(subject):
        is_about = named.issubset(stated) if named else bool(single("speakers").intersection(stated))
    else:  # "him" and "it" may be anything
        is_about = len(value) > 1
    return is_about and not single("past").intersection(stated)  # "was born in Lisbon" stays so


def _renamed(stated: Words, said: Words) -> Iterator[bool]:
    """Match "A was renamed to B" and "we renamed A to B" with "… is called A"."""
    verb = next((place for place, word in enumerate(said) if word in single("renamed")), -1)
    if verb < 0 or "from" in said[verb:] or (verb and said[verb - 1] == "be"):
        return
    before, after = core(_without_auxiliary(said[:verb])), said[verb + 1 :]
    to = next((place for place, word in enumerate(after) if word in ("to", "as")), 0)
    name = core(after[:to]) or before
    if name and stated[-len(name) :] == name and single("names").intersection(stated[: -len(name)]):
        yield True


def _parts(after: Words) -> Iterator[Words]:
    """Yield all that follows a phrase, and what of it stands before a word that begins something else."""
    yield after
    for place, word in enumerate(after):
        if place and word in single("boundaries"):
            yield after[:place]


def _without_auxiliary(before: Words) -> Words:
    while before and before[-1] in single("auxiliary"):
        before = before[:-1]
    return before


def _joined(said: Words) -> Words:
    """Bring "does not use vim any more" into the form "no longer use vim"."""
    for end in several("over_after"):
        place, stop = _find(said, ("not",)), _find(said, end)
        if 0 < place < stop - 1:
            return (*said[:place], "no", "longer", *said[place + 1 : stop], *said[stop + len(end) :])
    return said


def _comma(said: Words, start: int) -> int:
    """Return where the next comma stands; the end where there is none."""
    return said.index(",", start) if "," in said[start:] else len(said)


def _has_digit(found: Words) -> bool:
    return any(sign.isdigit() for word in found for sign in word)


def _find(found: Words, phrase: Words) -> int:
    """Return where a phrase stands; -1 where it does not."""
    if phrase and phrase[0] not in found:
        return -1
    size = len(phrase)
    return next((place for place in range(len(found) - size + 1) if found[place : place + size] == phrase), -1)
