"""What kind of word a term is, and where in a sentence the verb stands."""

from collections.abc import Sequence

from ...text.english import forms
from .relations import NOUNS, STATES, USAGES, VERBS
from .terms import Term
from .words import AUXILIARY, BE, LIGHT, NOW, PLACES, STANDINGS, TIMES, canonical

DETERMINERS = frozenset(
    ["the", "a", "an", "my", "our", "their", "his", "her", "its", "this", "that", "'s", "every", "each", "no"]
)
_ASKED_AFTER = frozenset(["it", "that", "there", "he", "she", "what", "who", "where", "here"])
_SUBORDINATES = frozenset(["when", "while", "if", "because", "unless", "whenever"])


def is_light(word: Term) -> bool:
    return word.kind == "word" and word.key in LIGHT


def is_adverb(word: Term) -> bool:
    return word.kind == "word" and (word.key.endswith("ly") or word.key in NOW)


def is_participle(word: Term) -> bool:
    if word.kind != "word" or word.key in LIGHT or word.key in PLACES:
        return False
    family = forms(word.key)
    regular = word.key.endswith("ed") and len(word.key) > 3 and not word.key.endswith("eed")
    return regular or word.key in ("set", "put", "cut", "hit") or (len(family) > 1 and word.key != family[0])


def is_verb(word: Term) -> bool:
    if word.kind != "word" or (word.capital and word.text[1:] != word.text[1:].lower()):
        return False
    key = canonical(word.key)
    return key in STATES or key in USAGES or key in VERBS or word.key == "~"


def is_possessive(words: Sequence[Term], at: int) -> bool:
    return words[at].key == "'s" and (at == 0 or words[at - 1].key not in _ASKED_AFTER)


def is_noun(word: Term) -> bool:
    return not is_light(word) and word.key not in PLACES and word.kind not in ("number", "time") and not is_verb(word)


def is_time(word: Term) -> bool:
    return word.kind == "time" or (word.kind == "word" and word.key in TIMES)


def verb_place(words: list[Term]) -> tuple[int, str]:
    """Find where the verb stands and which it is; -1 where none is known."""
    for at, word in enumerate(words):
        if word.key == "~":
            return at, "~"
        if at and word.key in _SUBORDINATES:
            break
        if (at or _is_order(words)) and word.kind == "word" and word.key in AUXILIARY and not is_possessive(words, at):
            return _after_auxiliary(words, at)
        if word.kind == "word" and at > 1 and words[0].key == "there" and word.key.endswith("ing"):
            return at, canonical(word.key)
        if not is_verb(word) or (at and (words[at - 1].key in DETERMINERS or word.key.endswith("ing"))):
            continue
        if at + 1 < len(words) and _heads_subject(words, at):
            continue
        return at, canonical(word.key)
    colon = next((at for at, word in enumerate(words) if word.key == ":" and at), -1)
    return colon, "be" if colon > 0 else ""


def _is_order(words: list[Term]) -> bool:
    """Tell an order such as `do (not) deploy …`."""
    said = [word for word in words[1:3] if not is_light(word)]
    return words[0].key in ("do", "does") and bool(said) and is_verb(said[0])


def _heads_subject(words: list[Term], at: int) -> bool:
    """Tell a noun that could be a verb: `deploys run on …`, `log retention is …`, `tests must pass`."""
    follows = words[at + 1]
    if follows.key in AUXILIARY and not is_possessive(words, at + 1):
        return True
    leads = all(is_light(word) for word in words[:at])
    if is_verb(follows) and not follows.key.endswith("ing") and (not leads or canonical(words[at].key) in NOUNS):
        return not leads or words[at].key.endswith("s") or follows.key.endswith("s")
    return at == 0 and any(
        word.key == ":" or (word.kind == "word" and word.key in AUXILIARY and not is_possessive(words, place))
        for place, word in enumerate(words)
        if place
    )


def _after_auxiliary(words: list[Term], at: int) -> tuple[int, str]:
    """Read the verb that follows `is`, `has`, `must`; an adjective or a noun leaves it at `be`."""
    rest = at
    while rest < len(words) and (is_light(words[rest]) or is_adverb(words[rest]) or words[rest].key in AUXILIARY):
        if words[rest].key in DETERMINERS or words[rest].key in (",", ";"):
            break
        rest += 1
    word = words[rest] if rest < len(words) else None
    has_be = any(one.key in BE for one in words[at:rest])
    if word is not None and word.kind == "word" and word.key not in PLACES and not is_light(word):
        moves = word.key.endswith("ing") and len(word.key) > 4
        if has_be and canonical(word.key) in STANDINGS:
            return at, "be"
        if moves or is_participle(word) or (not has_be and is_verb(word)):
            return rest, canonical(word.key)
    if has_be:
        return at, "be"
    return at, "hav" if words[at].key in ("have", "has", "had") else ""
