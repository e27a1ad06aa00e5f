"""What two claims say differently: words only one of them has, and words that stand in each other's place."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from .claim import Circumstance, Claim
from .relations import KIN
from .terms import Term
from .words import NOW, PLACES, are_alternatives, are_opposites

_DIRECTED = frozenset(PLACES.values()) - {"in", "with", "for", "to", "as", "when", "per"}
"""Circumstances that turn a statement into another one: before is not after."""


@dataclass(frozen=True)
class Difference:
    """Terms of the old claim and of the new one that do not agree; one of the two may be empty."""

    old: tuple[Term, ...]
    new: tuple[Term, ...]
    place: str  # subject, verb, core, or the kind of circumstance
    is_partial: bool = False  # both claims have that circumstance, and one says more of it
    is_same_word: bool = True  # the circumstances begin with the same word

    @property
    def is_swap(self) -> bool:
        """Tell whether both claims say something here."""
        return bool(self.old and self.new)

    @property
    def kind(self) -> str:
        """Say how the sides relate: opposite, number, time, alternative, name, other; extra where one is empty."""
        if not self.is_swap:
            return "extra"
        old, new = _content(self.old), _content(self.new)
        if len(old) == len(new) and all(are_opposites(one.key, two.key) for one, two in zip(old, new, strict=True)):
            return "opposite"
        kinds = [{term.kind for term in side} for side in (old, new)]
        if kinds == [{"number"}, {"number"}]:
            return "number" if len(old) == len(new) == 1 and old[0].unit == new[0].unit else "other"
        if kinds == [{"time"}, {"time"}]:
            return "time" if {term.unit for term in old} == {term.unit for term in new} else "other"
        if are_alternatives(old[-1].key, new[-1].key) or are_alternatives(old[0].key, new[0].key):
            return "alternative"
        if kinds == [{"code"}, {"code"}]:
            return "code"
        return "name" if _is_name(old) and _is_name(new) else "other"


def differences(old: Claim, new: Claim) -> list[Difference]:
    """List where two claims differ; how strongly or in what manner does not count."""
    if _is_turned(old, new) or _is_reordered(old, new):
        return []
    found = _of_verbs(old, new) + _of_rows(old, new) + _of_circumstances(old.around, new.around)
    return [one for one in _rejoined(found) if not all(_is_manner(term) for term in one.old + one.new)]


def text_of(terms: Sequence[Term]) -> str:
    """Write terms as they stood."""
    return " ".join(term.text for term in terms)


def _is_turned(old: Claim, new: Claim) -> bool:
    """Tell whether one says `A is B` and the other `B is A`."""
    if old.verb != "be" or new.verb != "be" or old.around or new.around:
        return False
    return _keys(old.core[: old.subject]) == _keys(new.core[new.subject :]) and _keys(old.core[old.subject :]) == _keys(
        new.core[: new.subject]
    )


def _is_reordered(old: Claim, new: Claim) -> bool:
    """Tell whether two claims have all words in common and nobody changed places with anybody."""
    if _bag(old) != _bag(new):
        return False
    ours, theirs = old.core[: old.subject], new.core[: new.subject]
    if ours and theirs:
        if set(_keys(ours)) != set(_keys(theirs)) or old.is_passive != new.is_passive:
            return False
    elif [key for key in _keys(old.core) if key in new.core_keys] != [
        key for key in _keys(new.core) if key in old.core_keys
    ]:
        return False
    if any(
        one.verb in ("", "be") and other.verb not in {"", "be", "hav", *one.core_keys}
        for one, other in ((old, new), (new, old))
    ):
        return False
    strays = [
        [one for one in mine.around if not any(_is_alike(one, two) for two in its.around)]
        for mine, its in ((old, new), (new, old))
    ]
    if strays[0] and strays[1]:
        return False
    return all(
        one.place not in _DIRECTED and one.keys <= (new if one in old.around else old).core_keys
        for one in strays[0] + strays[1]
    )


def _bag(claim: Claim) -> Counter[str]:
    """Count what a claim speaks of, its verb among it."""
    found = Counter(_keys(claim.all_terms))
    if claim.verb not in ("", "be", "hav") and not any(claim.verb in group for group in KIN):
        found[claim.verb] += 1
    return found


def _is_alike(one: Circumstance, other: Circumstance) -> bool:
    """Tell whether two circumstances say the same, behind words such as in and at that hardly differ."""
    return one.keys == other.keys and (one.place == other.place or not {one.place, other.place} & _DIRECTED)


def _keys(terms: Sequence[Term]) -> list[str]:
    return [term.key for term in terms]


def _of_verbs(old: Claim, new: Claim) -> list[Difference]:
    verbs = old.verb, new.verb
    if old.verb == new.verb or set(verbs) <= {"", "be"}:
        return []
    if any(set(verbs) <= group for group in KIN) and not (old.is_user and new.is_user and "liv" in verbs):
        return []
    ours, theirs = ((Term(verb, "word", verb),) if verb else () for verb in verbs)
    return [Difference(ours, theirs, "verb")]


def _of_rows(old: Claim, new: Claim) -> list[Difference]:
    ours, theirs = _keys(old.core), _keys(new.core)
    found = []
    for tag, start, stop, begin, end in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            in_subject = start < old.subject or begin < new.subject
            found.append(Difference(old.core[start:stop], new.core[begin:end], "subject" if in_subject else "core"))
    return found


def _of_circumstances(old: Sequence[Circumstance], new: Sequence[Circumstance]) -> list[Difference]:
    ours, theirs = list(old), list(new)
    for one in old:
        same = next((two for two in theirs if one.keys == two.keys and one.place == two.place), None)
        if same is not None:
            ours.remove(one)
            theirs.remove(same)
    found = []
    for one in ours:
        other = next((two for two in theirs if two.place == one.place and two.of_subject == one.of_subject), None)
        place = "subject" if one.of_subject else one.place
        if other is None:
            found.append(Difference(one.terms, (), place))
            continue
        theirs.remove(other)
        left = tuple(term for term in one.terms if term.key not in other.keys)
        right = tuple(term for term in other.terms if term.key not in one.keys)
        found.append(Difference(left, right, place, True, one.word == other.word))
    return found + [Difference((), other.terms, "subject" if other.of_subject else other.place) for other in theirs]


def _rejoined(found: list[Difference]) -> list[Difference]:
    """Put together what one claim says in its subject and the other beside it: `Kyoto trip`, `trip to Kyoto`."""
    kept = list(found)
    for one in found:
        for other in found:
            if one.new or other.old or one not in kept or other not in kept:
                continue
            if one.place == other.place == "subject" and set(_keys(one.old)) == set(_keys(other.new)):
                kept.remove(one)
                kept.remove(other)
    return kept


def _content(terms: tuple[Term, ...]) -> tuple[Term, ...]:
    return tuple(term for term in terms if not _is_manner(term)) or terms


def _is_manner(term: Term) -> bool:
    if term.kind == "number":
        return term.text.lower() == "one"
    return term.kind == "word" and (term.key in NOW or (term.key.endswith("ly") and len(term.key) > 4))


def _is_name(terms: tuple[Term, ...]) -> bool:
    return all(term.kind == "name" or term.capital or (term.kind == "number" and at) for at, term in enumerate(terms))
