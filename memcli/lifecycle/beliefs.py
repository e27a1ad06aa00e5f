"""Judge two short texts of memory: the same, a revision, a contradiction, one with more to say, or strangers.

Offline and the same every time. `sure` is said only where acting on it is right: a merge that loses no number, name
or unit, and a superseding by the same statement with another value. Everything else may be flagged and no more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from .claims.change import exchanged, retires
from .claims.claim import Claim
from .claims.difference import Difference, differences, text_of
from .claims.reading import MOST, claims
from .claims.relations import LANDS, LOOSE_SLOTS, MANY, SLOTS, STATES

Kind = Literal["same", "revises", "contradicts", "extends", "unrelated"]


@dataclass(frozen=True)
class Verdict:
    """What a new text is to an old one."""

    kind: Kind
    sure: bool = False
    reason: str = ""
    values: tuple[tuple[str, str], ...] = ()  # (what the old says, what the new says)

    @property
    def is_against(self) -> bool:
        """Tell whether the two texts cannot both hold."""
        return self.kind in ("revises", "contradicts")


@dataclass(frozen=True)
class Thresholds:
    """Cosines of one embedding model from which it may be believed; measured by `bench/beliefs.py`."""

    same: float  # texts that say the same word for word, but for form
    detail: float  # texts of which one adds a detail
    denial: float  # texts of which one denies something much like the other


THRESHOLDS = {"all-MiniLM-L6-v2": Thresholds(same=0.7, detail=0.85, denial=0.5)}
NEVER = Thresholds(same=2.0, detail=2.0, denial=2.0)
"""Of a model nobody measured: nothing is merged, and only what the words themselves say is flagged."""

LONGEST = 1500
"""Characters of a text that is compared with others; a longer one is a document."""
UNRELATED = Verdict("unrelated")
_LIKINGS = frozenset(["lik", "prefer", "want"])
_OWNING = frozenset(["own", "lead", "head", "manag", "maintain"])


def thresholds(model: str) -> Thresholds:
    """Give what was measured for a model, by its name without the fingerprint behind it."""
    return next((found for name, found in THRESHOLDS.items() if model.startswith(name)), NEVER)


def compare(old: str, new: str, cosine: float | None = None, limits: Thresholds = NEVER) -> Verdict:
    """Judge a new text against an old one; without a cosine, a likeness is sure only where the words are the same."""
    if plain(old) == plain(new):
        return Verdict("same", True, "the same words")
    if not is_comparable(old) or not is_comparable(new):
        return UNRELATED
    ours, theirs = _claims(old), _claims(new)
    if not ours or not theirs or len(ours) > MOST or len(theirs) > MOST:
        return UNRELATED
    verdict = judge(ours[0], theirs[0]) if len(ours) == len(theirs) == 1 else _of_several(ours, theirs)
    near = -1.0 if cosine is None else cosine
    if verdict.kind == "same":
        return Verdict("same", verdict.sure and near > limits.same, verdict.reason)
    if verdict.kind == "extends":
        merges = verdict.sure and near > limits.detail
        return Verdict("same" if merges else "extends", merges, verdict.reason)
    if verdict.kind == "unrelated" and near > limits.denial and len(ours) == len(theirs) == 1:
        return _denial(ours[0], theirs[0], is_near=near > limits.same)
    return verdict


def is_comparable(text: str) -> bool:
    """Tell whether a text is short enough to be a belief and no document."""
    return len(text) <= LONGEST and text.count("\n\n") < MOST


def plain(text: str) -> str:
    """Give a text without what never makes it another one: case, white space, the dot at its end."""
    return " ".join(text.casefold().split()).strip(" .!")


@lru_cache(maxsize=256)
def _claims(text: str) -> tuple[Claim, ...]:
    return tuple(claims(text))


def _of_several(ours: Sequence[Claim], theirs: Sequence[Claim]) -> Verdict:
    """Judge texts of several statements: what contradicts one of many does not end the others."""
    table = [[judge(old, new) for new in theirs] for old in ours]
    against = [verdict for row in table for verdict in row if verdict.is_against]
    if against:
        best = max(against, key=lambda verdict: verdict.sure)
        whole = all(any(one.kind != "unrelated" for one in row) for row in table)
        return Verdict(best.kind, best.sure and whole, best.reason, best.values)
    said = [max((row[place] for row in table), key=_likeness) for place in range(len(theirs))]
    if all(one.kind == "same" for one in said):
        return Verdict("same", all(one.sure for one in said), said[0].reason)
    if any(one.kind in ("same", "extends") for one in said):
        return Verdict("extends", False, "says some of it, and more")
    return UNRELATED


def _likeness(verdict: Verdict) -> tuple[bool, bool, bool]:
    return verdict.kind == "same", verdict.sure, verdict.kind == "extends"


def judge(old: Claim, new: Claim) -> Verdict:
    """Judge one statement against one."""
    if new.retired or new.change:
        return _changing(old, new)
    if not old.keys & new.keys and (old.verb != new.verb or old.verb == "be"):
        return UNRELATED
    found = differences(old, new)
    extras = [one for one in found if not one.is_swap]
    swaps = [one for one in found if one.is_swap]
    if old.negated != new.negated:
        return _denying(old, new, extras, swaps)
    if not found:
        if old.is_past != new.is_past or old.is_hedged != new.is_hedged:
            return Verdict("extends", False, "the same but for time or certainty")
        return Verdict("same", True, "the same statement")
    if not swaps:
        more = "says more" if any(one.new for one in extras) else "says less"
        return Verdict("extends", _is_detail(old, new, extras), more)
    if _is_traded(old, swaps) and not extras:
        values = tuple((text_of(one.old), text_of(one.new)) for one in swaps)
        return Verdict("revises", not old.is_hedged and not new.is_hedged, "prefers it the other way round", values)
    if len(swaps) == 1 and not any(one.place == "subject" for one in extras):
        return _exchanging(old, new, swaps[0], extras)
    return UNRELATED


def _is_traded(old: Claim, swaps: Sequence[Difference]) -> bool:
    """Tell whether a preference was turned round: `A over B`, `B over A`."""
    if old.verb != "prefer" or len(swaps) != 2:
        return False
    (one, other) = ([[term.key for term in side] for side in (swap.old, swap.new)] for swap in swaps)
    return one == other[::-1]


def _is_detail(old: Claim, new: Claim, extras: Sequence[Difference]) -> bool:
    """Tell whether only one of two texts has more to say, and that in ordinary words that set no condition."""
    if any(one.old for one in extras) and any(one.new for one in extras):
        return False
    if old.is_past != new.is_past or old.is_hedged != new.is_hedged:
        return False
    said = [term for one in extras for term in one.old + one.new]
    if len(said) > 3 or any(term.kind != "word" or term.capital for term in said):
        return False
    return all(
        one.place == "core"
        or (one.place == "subject" and new.is_indefinite)
        or (one.is_partial and one.place in ("in", "with"))
        for one in extras
    )


def _denying(old: Claim, new: Claim, extras: Sequence[Difference], swaps: Sequence[Difference]) -> Verdict:
    """Judge statements of which one is negated: only the general denial of a special statement contradicts it."""
    denial, said = (new, old) if new.negated else (old, new)
    if any((one.new if new.negated else one.old) for one in extras):
        return UNRELATED
    if any(one.place == "subject" for one in extras) and not denial.is_indefinite and not said.is_indefinite:
        return UNRELATED
    if extras and len(denial.all_keys) < 2 and not denial.changed:
        return UNRELATED  # a word that is denied is no statement
    kind: Kind = "revises" if new.changed else "contradicts"
    if swaps:
        liked = all(one.place == "verb" and {one.old[0].key, one.new[0].key} <= _LIKINGS for one in swaps)
        return Verdict(kind, False, "one denies what the other says") if liked else UNRELATED
    hedged = new.has_never or old.has_never or old.is_hedged or new.is_hedged
    sure = not hedged and (not extras or (new.negated and new.changed))
    return Verdict(kind, sure, "one denies what the other says")


def _denial(old: Claim, new: Claim, *, is_near: bool) -> Verdict:
    """Judge what no rule spoke of: statements that share most of their words, one of them a denial."""
    if old.negated == new.negated or new.change or new.retired:
        return UNRELATED
    found = differences(old, new)
    about_one = old.is_indefinite or new.is_indefinite
    if any((one.is_swap and not is_near) or (one.place == "subject" and not about_one) for one in found):
        return UNRELATED
    special = [one for one in found if (one.new if new.negated else one.old)]
    if any(one.place not in ("subject", "verb", "core") and not one.is_partial for one in special):
        return UNRELATED  # denied for some place or time only
    ours, theirs = old.all_keys, new.all_keys
    if 2 * len(ours & theirs) < min(len(ours), len(theirs)):
        return UNRELATED
    return Verdict("contradicts", False, "one denies something like the other")


def _exchanging(old: Claim, new: Claim, one: Difference, extras: Sequence[Difference]) -> Verdict:
    """Judge statements that differ in one value."""
    if old.is_past or new.is_past or old.is_indefinite or new.is_indefinite:
        return UNRELATED
    values = ((text_of(one.old), text_of(one.new)),)
    hedged = old.is_hedged or new.is_hedged
    if one.kind == "opposite":
        holds = _excludes(old, new, one)
        return (
            UNRELATED
            if holds is None
            else Verdict("contradicts", holds and not extras and not hedged, "the opposite", values)
        )
    holds = _holds_one(old, new, one)
    vague = one.kind == "other" and (extras or len(one.old) > 3 or len(one.new) > 3)
    if holds is None or vague:
        return UNRELATED
    told = (new.corrects or new.changed) and one.kind != "other"
    sure = (holds or told) and not extras and not hedged
    return Verdict("revises", sure, "the same statement with another value", values)


def _excludes(old: Claim, new: Claim, one: Difference) -> bool | None:
    """Tell whether opposites exclude each other where they stand: a green door does not, an open one does."""
    if one.place == "verb":
        return True
    if one.place != "core":
        return None if one.place == "subject" else False
    if new.verb in ("be", "", "prefer", "set"):
        return True
    modifies = new.core[-1:] != one.new[-1:] or len(new.core[new.subject :]) > len(one.new)
    return None if new.verb in MANY and modifies else False


def _holds_one(old: Claim, new: Claim, one: Difference) -> bool | None:
    """Tell whether only one of two values can hold: True surely, False perhaps, None where both can."""
    verb, kind, place = new.verb or old.verb, one.kind, one.place
    if place == "verb":
        return None
    if place == "subject":
        role = {term.key for term in new.core[new.subject :]} & (SLOTS | LOOSE_SLOTS)
        if verb == "be" and role and kind in ("name", "number"):
            return True
        return False if verb in _OWNING and kind == "name" else None
    if place not in ("core", "when") and not one.is_same_word and kind != "number":
        return None
    subject = {term.key for term in new.core[: new.subject]}
    states = STATES.get(verb, ())
    if kind in ("number", "time"):
        if verb == "be" or "number" in states or place in states or subject & SLOTS:
            return True
        return False if verb or new.core[:1] == old.core[:1] != () else None
    if verb in ("be", ""):
        if place == "core":
            return True if subject & SLOTS else False if subject & LOOSE_SLOTS or kind == "alternative" else None
        return (
            {"code": True, "alternative": True, "name": False}.get(kind) if place in ("in", "with", "until") else None
        )
    if "alternative" in states:
        return verb == "prefer" if kind == "alternative" else None
    if place in states:
        return _is_elsewhere(verb, one)
    return False if kind == "alternative" and place != "core" else None


def _is_elsewhere(verb: str, one: Difference) -> bool:
    """Tell whether two values surely exclude each other: a city lies in its country, a service runs on two things."""
    if one.kind in ("alternative", "code", "time"):
        return True
    lands = [bool({term.key for term in side} & LANDS) for side in (one.old, one.new)]
    return one.kind == "name" and lands[0] == lands[1] and verb in ("work", "liv", "call", "report", "stor")


def _changing(old: Claim, new: Claim) -> Verdict:
    """Judge a statement that says what is over or what something has become."""
    if old.negated or old.is_past or new.is_wished:
        return UNRELATED
    unsure = new.is_underway or old.is_hedged or old.is_indefinite
    if new.retired:
        whole = retires(old, new)
        if whole is None:
            return UNRELATED
        gone = text_of([term for term in old.all_terms if term.key in new.retired])
        return Verdict("revises", whole and not unsure, "says that it is over", ((gone, text_of(new.value)),))
    had = exchanged(old, new)
    if not had:
        return UNRELATED
    return Verdict("revises", not unsure, "says what it has become", ((text_of(had), text_of(new.value)),))
