"""Find in a statement what it says is over: "switched from A to B", "B instead of A", "replaced A with B", "(was 3)".

Owns: taking the retired value out, so that what is left states what holds now.
"""

from .claim import Claim
from .relations import STATES, USAGES
from .terms import Term, stem
from .words import BE, LIGHT, PLACES, are_alternatives, canonical, listed

MOVES = {
    stem(word): kind
    for kind, words in {
        "any": "switch change convert transition pivot swap replace go shift migrate evolve turn",
        "place": "move relocate",
        "time": "postpone reschedule push delay defer",
        "name": "rename rebrand",
        "language": "rewrite rewritten rewrote port reimplement",
        "version": "upgrade downgrade update bump",
        "role": "promote demote",
        "number": "raise increase decrease lower drop grow rise fall reduce extend shorten climb",
        "owner": "hand transfer reassign pass",
    }.items()
    for word in words.split()
}
"""Verb of change → what it changes; `move` is settled by what follows."""
_LEAVES = listed("sold left ditched abandoned dropped scrapped uninstalled cancelled canceled discontinued dumped")
_ENDS = listed(", ; ( ) and but because since when while for as in on at with instead infavour")


def change_in(words: list[Term]) -> tuple[list[Term], set[str], str]:
    """Give the words that say what holds now, what is over, and the kind of change; all words where there is none."""
    for found in (_handed, _from_to, _replaced, _instead, _contrasted, _arrow, _was, _left):
        result = found(words)
        if result is not None:
            return result
    return _only_to(words)


def _kind(words: list[Term], start: int = 0) -> tuple[int, str]:
    """Find the verb of change, after at least a subject or at the beginning."""
    for place in range(start, len(words)):
        if words[place].kind == "word" and (kind := MOVES.get(stem(words[place].key))):
            return place, kind
    return -1, ""


def _span(words: list[Term], start: int, stops: frozenset[str] = _ENDS) -> int:
    """Find where the phrase that begins there ends."""
    place = start
    while place < len(words) and words[place].key not in stops:
        if place > start and words[place].key in ("to", "from", "into", "by"):
            break
        place += 1
    return place


def _said(words: list[Term]) -> set[str]:
    return {
        canonical(word.key) if word.kind == "word" else word.key
        for word in words
        if word.key not in LIGHT and word.key not in PLACES
    }


def _from_to(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    keys = [word.key for word in words]
    at, kind = _kind(words)
    if at < 0 or "from" not in keys[at:]:
        return None
    start = keys.index("from", at)
    end = _span(words, start + 1)
    old = _said(words[start + 1 : end])
    if not old:
        return None
    rest = words[:start] + words[end:]
    if "to" not in keys[at:] and "into" not in keys[at:]:
        return None
    return _settled(rest, at, kind), old, kind


def _handed(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    """Read `A handed B to C`: what A had is C's now."""
    at, kind = _kind(words, 1)
    keys = [word.key for word in words]
    if kind != "owner" or "to" not in keys[at:] or "from" in keys:
        return None
    old = _said(words[:at])
    to = keys.index("to", at)
    return (words[at + 1 : to] + words[to + 1 :], old, "any") if old else None


def _replaced(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    for at, word in enumerate(words):
        if word.kind != "word" or stem(word.key) not in (stem("replace"), stem("swap"), stem("trade")):
            continue
        keys = [one.key for one in words]
        link = next((place for place in range(at + 1, len(keys)) if keys[place] in ("with", "by", "for")), -1)
        if link < 0:
            return None
        passive = any(key in BE for key in keys[:at])
        old = _said(words[:at] if passive else words[at + 1 : link])
        kept = words[link + 1 :] if passive else words[:at] + words[link + 1 :]
        return (kept, old, "any") if old else None
    return None


def _instead(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    keys = [word.key for word in words]
    for mark in ("instead", "infavour"):
        if mark not in keys:
            continue
        at = keys.index(mark)
        if mark == "infavour":
            verb = next((place for place in range(at) if keys[place] in _LEAVES), -1)
            old = _said(words[verb + 1 : at]) if verb >= 0 else set()
            return (words[:verb] + words[at + 1 :], old, "any") if old else None
        end = _span(words, at + 1)
        old = _said(words[at + 1 : end])
        return (words[:at] + words[end:], old, "any") if old else (words[:at] + words[at + 1 :], set(), "")
    return None


def _contrasted(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    """Read `B, not A` and `not A but B`."""
    keys = [word.key for word in words]
    for at in range(1, len(keys) - 1):
        if keys[at] == "not" and keys[at - 1] in (",", "and", "(") and "changed" not in keys:
            old = _said(words[at + 1 :])
            return (words[: at - 1], old, "any") if old and len(old) <= 4 else None
        if keys[at] == "not" and "but" in keys[at:] and keys[at - 1] in BE:
            but = keys.index("but", at)
            old = _said(words[at + 1 : but])
            return (words[:at] + words[but + 1 :], old, "any") if old else None
    return None


def _arrow(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    for at, word in enumerate(words):
        if (
            word.key in ("→", "->", "=>")
            and 0 < at < len(words) - 1
            and words[at - 1].kind == words[at + 1].kind != "word"
        ):
            old = _said([words[at - 1]])
            return (words[: at - 1] + words[at + 1 :], old, "any") if old else None
    return None


def _was(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    """Read `now 0.81 (was 0.72)`."""
    keys = [word.key for word in words]
    for at in range(1, len(keys) - 1):
        if keys[at] in ("was", "were", "formerly", "previously") and keys[at - 1] in ("(", ","):
            end = next((place for place in range(at, len(keys)) if keys[place] in (")", ",", ";")), len(keys))
            old = _said(words[at + 1 : end])
            return (words[: at - 1] + words[end:], old, "any") if old else None
    return None


def _left(words: list[Term]) -> tuple[list[Term], set[str], str] | None:
    for at, word in enumerate(words):
        if word.kind == "word" and word.key in _LEAVES and at + 1 < len(words):
            if any(one.key == "to" for one in words[at:]):
                return None
            end = _span(words, at + 1)
            old = _said(words[at + 1 : end])
            return (words, old, "left") if old else None
    return None


def _only_to(words: list[Term]) -> tuple[list[Term], set[str], str]:
    keys = [word.key for word in words]
    at, kind = _kind(words)
    if at < 0 or not any(key in ("to", "into", "in") for key in keys[at + 1 : at + 4]):
        return words, set(), ""
    settled = _settled(words, at, kind)
    wanted = {"time": "time", "number": "number"}.get(kind)
    value = settled[[word.key for word in settled].index("~") + 1 :]
    if wanted and not any(word.kind == wanted for word in value[:2]):
        return words, set(), ""
    return settled, set(), kind


def _settled(words: list[Term], at: int, kind: str) -> list[Term]:
    """Take out the verb of change with what stands around it, and the `to` before what holds now."""
    start = at
    while start > 0 and words[start - 1].key in LIGHT and words[start - 1].kind == "word" and start - 1 > 0:
        start -= 1
    end = at + 1
    while end < len(words) and words[end].key in ("to", "into", "over", "up", "down", "fully", "completely"):
        end += 1
    rest = words[end:]
    if rest and rest[0].key == "to":
        rest = rest[1:]
    verb = Term("~", "word", words[at].text)
    if kind in ("place", "any") and end < len(words) and words[at + 1 : at + 2] and words[at + 1].key in ("to", "into"):
        return [*words[:start], verb, *rest]
    return [*words[:start], verb, *[word for word in rest if word.key not in ("to", "into")]]


def retires(old: Claim, new: Claim) -> bool | None:
    """Tell whether what the new claim says is over is what the old one says: all of it, part of it, or (None) not."""
    if not new.retired <= old.keys or (new.change != "left" and not new.whose <= old.keys):
        return None
    if not (old.verb in USAGES or old.verb in STATES or old.verb == "be" or len(old.keys) <= 3):
        return None
    freed = {one.place for one in old.around if one.keys & new.retired}
    scope = {key for one in new.around if one.place not in {"when", "because"} | freed for key in one.keys} - {
        term.key for term in new.value
    }
    left_over = old.core_keys - new.retired - new.keys
    return not left_over and new.change != "left" and scope <= old.keys


def exchanged(old: Claim, new: Claim) -> tuple[Term, ...]:
    """Find in the old claim, if it is about the same, the value that a change of this kind does away with."""
    value = new.value
    had = _value(old, new, value) if value else ()
    fixed = old.core_keys - {term.key for term in had}
    same = {term.key for term in had} == {term.key for term in value}
    return () if same or fixed != new.whose else had


def _value(old: Claim, new: Claim, value: tuple[Term, ...]) -> tuple[Term, ...]:
    kinds, change = {term.kind for term in value}, new.change
    where = {one.place: one.terms for one in old.around if not one.of_subject}
    if kinds == {"time"}:
        return where.get("when", ()) if change in ("place", "time", "any") else ()
    if kinds == {"number"} or change == "number":
        numbers = tuple(term for term in old.core if term.kind == "number")
        return numbers if len(numbers) == 1 and numbers[0].unit == value[0].unit else ()
    if change == "place":
        return where.get("in", ()) or where.get("with", ()) if old.verb in ("liv", "be") else ()
    if change == "language":
        return where.get("in", ()) if old.verb in ("writ", "build") else ()
    after = old.core[old.subject :]
    if (change, old.verb) in (("name", "call"), ("role", "be")):
        return after
    if change == "any" and old.verb in USAGES and after:
        purposes = {one.place: one.keys for one in new.around}
        served = any(one.place in ("for", "as") and purposes.get(one.place) == one.keys for one in old.around)
        return after if served or are_alternatives(after[-1].key, value[-1].key) else ()
    return ()
