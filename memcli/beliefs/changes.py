"""Find what a sentence of change says is over, and whether another text states exactly that.

Precise rather than greedy: sure only where the old text says nothing but what the new one ends. Refuses plans,
questions and habits.
"""

from collections.abc import Iterator

from ..text.sentences import is_question
from .phrases import Words, core, phrases, sentences, words


def is_ended_by(old: str, new: str) -> bool | None:
    """Tell whether a new text ends an old one: True surely, False perhaps, None where it says nothing of the kind."""
    stated = core(words(old))
    if len(stated) < 2 or len(sentences(old)) > 1:
        return None
    found = [one for sentence in sentences(new) for one in _ends(stated, sentence)]
    return True if True in found else False if found else None


def opened_by(new: str, openings: tuple[str, ...]) -> str:
    """Give what follows an opening such as "Correction:"; empty where the text does not begin with one."""
    text = new.lstrip("*_ ")
    found = next((opening for opening in openings if text.lower().startswith(opening)), "")
    return text[len(found) :].strip("*_ ") if found else ""


def replaced_span(old: Words, new: Words) -> tuple[int, int]:
    """Give how many words two statements share at the beginning, and then at the end."""
    most = min(len(old), len(new))
    first = next((place for place in range(most) if old[place] != new[place]), most)
    rest = most - first
    last = next((place for place in range(rest) if old[-1 - place] != new[-1 - place]), rest)
    return first, last


def _ends(stated: Words, sentence: str) -> Iterator[bool]:
    said = _joined(words(sentence))
    lists = phrases()
    if is_question(sentence) or lists.hedges.intersection(said):
        return
    for retired in (*_over(said), *_instead(said)):
        yield from _matched(stated, retired)
    yield from _renamed(stated, said)
    for verb in (place for place, word in enumerate(said) if word in lists.moved):
        yield from _moved(stated, said, verb)


def _matched(stated: Words, retired: Words) -> Iterator[bool]:
    """Compare a statement with one that is over: the same surely ends, of which one says more perhaps."""
    if len(retired) < 2:
        return
    if stated == retired:
        yield True
    elif len(retired) > 2 and (stated[: len(retired)] == retired or retired[: len(stated)] == stated):
        yield False


def _over(said: Words) -> Iterator[Words]:
    """Give the statement without "no longer" or "stopped", up to where something else begins."""
    lists = phrases()
    for phrase in lists.over:
        place = _find(said, phrase)
        if place > 0:
            before = _without_auxiliary(said[:place])
            yield from (core(before + part) for part in _parts(said[place + len(phrase) :]))


def _instead(said: Words) -> Iterator[Words]:
    """Put what stands behind "instead of" in the place of any words before it."""
    for phrase in phrases().instead:
        place = _find(said, phrase)
        if place <= 0:
            continue
        before = core(said[:place])
        for part in _parts(said[place + len(phrase) :]):
            yield from (before[:cut] + core(part) for cut in range(1, len(before)))


def _moved(stated: Words, said: Words, verb: int) -> Iterator[bool]:
    """Match "S moved from A to B", "we moved S from A to B" and "S moved to B from A" with "S … A"."""
    lists = phrases()
    if "to" not in said[verb:] or (verb and said[verb - 1] == "be"):
        return
    to = said.index("to", verb)
    start = said.index("from", verb) if "from" in said[verb:] else to
    actor, moved = core(_without_auxiliary(said[:verb])), core(said[verb + 1 : min(start, to)])
    subject = moved or actor
    if stated[: len(subject)] != subject:
        return
    rest = stated[len(subject) :]
    value = core(said[start + 1 : to] if to > start else said[start + 1 :])
    new_value = core(said[to + 1 :] if to >= start else said[to + 1 : start])
    if start == to:  # "moved to B", which does not say from where
        if subject and rest[:1] and rest[0] in lists.links and _has_digit(rest) == _has_digit(new_value):
            yield False
        return
    place = _find(rest, value) if value and value != new_value else -1
    if place < 0 or not lists.links.union(lists.agents).issuperset(rest[:place]):
        return
    tail = rest[place + len(value) :]
    is_named = bool(moved or (actor and actor[-1] not in lists.agents - {"user"}))
    yield is_named and (not tail or new_value[-len(tail) :] == tail)


def _renamed(stated: Words, said: Words) -> Iterator[bool]:
    """Match "A was renamed to B" and "we renamed A to B" with "… is called A"."""
    lists = phrases()
    verb = next((place for place, word in enumerate(said) if word in lists.renamed), -1)
    if verb < 0 or "from" in said[verb:] or (verb and said[verb - 1] == "be"):
        return
    before, after = core(_without_auxiliary(said[:verb])), said[verb + 1 :]
    to = next((place for place, word in enumerate(after) if word in ("to", "as")), 0)
    name = core(after[:to]) or before
    if name and stated[-len(name) :] == name and lists.names.intersection(stated[: -len(name)]):
        yield True


def _parts(after: Words) -> Iterator[Words]:
    """Give all that follows a phrase, and what of it stands before a word that begins something else."""
    yield after
    for place, word in enumerate(after):
        if place and word in phrases().boundaries:
            yield after[:place]


def _without_auxiliary(before: Words) -> Words:
    while before and before[-1] in phrases().auxiliary:
        before = before[:-1]
    return before


def _joined(said: Words) -> Words:
    """Bring "does not use vim any more" into the form "no longer use vim"."""
    for end in phrases().over_after:
        place, stop = _find(said, ("not",)), _find(said, end)
        if 0 < place < stop - 1:
            return (*said[:place], "no", "longer", *said[place + 1 : stop], *said[stop + len(end) :])
    return said


def _has_digit(found: Words) -> bool:
    return any(sign.isdigit() for word in found for sign in word)


def _find(found: Words, phrase: Words) -> int:
    """Give where a phrase stands; -1 where it does not."""
    size = len(phrase)
    return next((place for place in range(len(found) - size + 1) if found[place : place + size] == phrase), -1)
