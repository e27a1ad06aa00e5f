"""Bring a sentence into one form: phrases folded, passive voice made active, `of` and `which is` taken out."""

from .phrases import LONGEST, OPENING_PHRASES, PHRASES
from .shape import DETERMINERS, is_adverb, is_light, is_noun, is_participle, is_possessive
from .terms import Term
from .words import AUXILIARY, BE, PLACES, USER

_WHICH = ("which", "that", "who")


def folded(words: list[Term]) -> list[Term]:
    """Replace phrases by the words they stand for."""
    done: list[Term] = []
    at = 0
    while at < len(words):
        for size in range(min(LONGEST, len(words) - at), 0, -1):
            phrase = tuple(word.key for word in words[at : at + size])
            found = PHRASES.get(phrase)
            if found is None and all(word.key in USER or word.key in BE for word in words[:at]):
                found = OPENING_PHRASES.get(phrase)
            if found is not None:
                done += [Term(key, "word", words[at].text) for key in found]
                at += size
                break
        else:
            done.append(words[at])
            at += 1
    return done


def without_relatives(words: list[Term]) -> list[Term]:
    """Put `a door, which is large,` as `a large door`."""
    done: list[Term] = []
    at = 0
    while at < len(words):
        end = _end_of_relative(words, at) if done else 0
        if not end:
            done.append(words[at])
            at += 1
            continue
        while done[-1].key == "," and len(done) > 1:
            done.pop()
        done.insert(len(done) - 1, words[end - 1])
        at = end + (end < len(words) and words[end].key == ",")
    return done


def _end_of_relative(words: list[Term], at: int) -> int:
    """Find the end of `which is (very) X` with a single word X; 0 where there is no such thing."""
    if words[at].key not in _WHICH or at + 2 >= len(words) or words[at + 1].key not in ("is", "are"):
        return 0
    rest = at + 2
    while rest < len(words) and is_light(words[rest]) and words[rest].key not in (",", ";"):
        rest += 1
    if rest >= len(words) or words[rest].key in PLACES or words[rest].key.endswith("ing"):
        return 0
    ends = rest + 1 == len(words) or words[rest + 1].key in {",", ";", "and"} | AUXILIARY
    return rest + 1 if ends else 0


def active(words: list[Term]) -> tuple[list[Term], bool]:
    """Turn `B is done by A` into `A does B`; tell whether a statement is in the passive voice."""
    for at in range(1, len(words)):
        be = _be_before(words, at)
        if be < 0 or not is_participle(words[at]):
            continue
        rest = words[at + 1 :]
        by = next((place for place, word in enumerate(rest) if word.key == "by"), -1)
        if by < 0 or by + 1 >= len(rest) or rest[by + 1].kind in ("time", "number") or rest[by + 1].key.endswith("ing"):
            return words, True
        end = by + 1
        while end < len(rest) and rest[end].key not in PLACES and rest[end].key not in (",", ";"):
            end += 1
        first = be
        while first > 0 and words[first - 1].key in AUXILIARY:
            first -= 1
        manner = [word for word in words[be + 1 : at] if not is_light(word)]
        does = Term("does", "word", "")
        return [*rest[by + 1 : end], does, *manner, words[at], *words[:first], *rest[:by], *rest[end:]], False
    return words, False


def compounds(words: list[Term]) -> list[Term]:
    """Put `the manual of the heat pump` as `the heat pump manual`."""
    at = next((place for place, word in enumerate(words) if word.key == "of"), -1)
    if at < 0:
        return words
    start = at - (at > 0 and not is_light(words[at - 1]) and words[at - 1].key not in PLACES)
    while 0 < start < at and is_noun(words[start - 1]):
        start -= 1
    begin = at + 1
    while begin < len(words) and is_light(words[begin]) and words[begin].key not in BE:
        begin += 1
    stop = begin
    while stop < len(words) and is_noun(words[stop]):
        stop += 1
    if start == at or stop == begin:
        return words[:at] + compounds(words[at + 1 :])
    return words[:start] + words[begin:stop] + words[start:at] + compounds(words[stop:])


def _be_before(words: list[Term], at: int) -> int:
    """Find the `be` that a participle or progressive belongs to; -1 where there is none."""
    be = at - 1
    while be > 0 and words[be].key not in BE and (is_light(words[be]) or is_adverb(words[be])):
        if words[be].key in DETERMINERS or words[be].key in (",", ";", "and"):
            return -1
        be -= 1
    return be if be >= 0 and words[be].key in BE and not is_possessive(words, be) else -1
