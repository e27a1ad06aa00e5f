"""Consolidate a conversation without an LLM: the sentences that are worth remembering, as they were said.

Owns: which candidates are kept, and which of them belong into one memory. Each is kept whole and in its speaker's
words. Deterministic and offline; what is worth keeping is a learned score, see `worth`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from ..beliefs.neighbours import correction_in
from ..beliefs.plan import Draft
from ..language.dates import dated
from ..language.sentences import is_question
from .attribution import exempts, is_standing_rule, plain_type
from .batch import Batch, Findings
from .candidates import Candidate, amends, binds, is_one_off, states_something, telling_words
from .requests import place_of, remember_request, retracted
from .worth import Worth, are_neighbours, groups, is_short, joined, judge, paragraph, rules

MOST = 100
"""Drafts of one batch; the worthiest stay."""

_WORTH = {"user": 0.5, "assistant": 0.65, "tool": 0.6}
"""What a sentence needs to be kept, by who said it: most of what an assistant says stands elsewhere anyway."""
_SHORT = 0.4  # what a short sentence of a user needs, by the score of its own that such sentences have
_SHORT_ANSWER = 0.25  # the same where it answers a question with a number or a name
_ANSWERS = 0.5  # what an assistant's sentence needs that answers a question with a number, a name or a cause
_LIKELY = 0.1  # what a user's sentence needs that has the form of a rule or a preference
_AMONG_PEOPLE = 0.83
"""What a sentence needs in a conversation of several people: they talk to each other, and tell memory nothing."""
_BINDING = ("rule", "preference")
_SOMEBODY = re.compile(r"\b(?:you|he|she|they)\s+(?:always|never)\b", re.IGNORECASE)
_SIGH = 0.05  # worth of an exclamation about somebody that only has the words of a rule: "you never cease to amaze me!"
_TYPES = {
    "rule": "constraint",
    "preference": "preference",
    "fact": "fact",
    "person": "entity",
    "decision": "fact",
    "plan": "fact",
    "cause": "lesson",
    "fix": "lesson",
    "correction": "correction",
    "event": "observation",
}
_ASIDE = re.compile(r"(?:oh,? |and |also,? )*(?:by the way|btw|übrigens|au fait|por cierto|trouwens)\b", re.IGNORECASE)


def statements(batch: Batch, said: Sequence[Candidate]) -> list[tuple[Candidate, Worth]]:
    """Return what is worth keeping of what was said in a conversation, in its order, neighbours joined.

    Among people much more is asked of a statement.
    """
    if batch.session.metadata.channel_type == "git":
        said = [replace(one, is_told=False) for one in said]  # all of it is observed
    texts = {event.id: event.text for event in batch.events}
    back = retracted(said)
    told = (one for one in said if states_something(one) or amends(one, texts[one.message]))
    found = [one for one in told if not _is_settled(batch, one)]
    gone = {at for at, one in enumerate(found) if place_of(one) in back}
    judged = judge(found, _LIKELY)
    needed = _AMONG_PEOPLE if _is_among_people(batch) else 0.0
    kept = {
        place: one if one.kind else judge([candidate])[0]
        for place, (candidate, one) in enumerate(zip(found, judged, strict=True))
        if place not in gone
        and states_something(candidate)
        and one.probability >= (needed or _needed(candidate, one.kind))
        and not _says_nothing(candidate, one)
    }
    kept |= {at: one for at, one in _rest(found, kept) if at not in gone}
    amending = [
        place
        for place, (before, later) in enumerate(pairwise(found), 1)
        if place not in gone and are_neighbours(before, later) and amends(later, texts[later.message])
    ]
    asides = {at for at, one in enumerate(found) if _ASIDE.match(texts[one.message], one.start)}
    parts = (places for places in groups(found, kept, gone, amending, asides) if not kept.keys().isdisjoint(places))
    return [joined(texts, found, places, kept) for places in parts]


def _is_among_people(batch: Batch) -> bool:
    return len({event.name for event in batch.events if event.role == "user"}) > 1


def by_rules(batch: Batch, said: Sequence[Candidate]) -> Findings:
    """Return the drafts of what rules find worth keeping of what was said in a batch."""
    return Findings(rule_drafts(batch, statements(batch, said)))


def rule_drafts(batch: Batch, found: Sequence[tuple[Candidate, Worth]], room: int = MOST) -> list[Draft]:
    """Return the drafts of the worthiest statements, at most `room`, and of what repaired a failing command."""
    fixes = [
        batch.draft(fix.text, type="lesson", source="observed", message=fix.event_id, tags=("fix",))
        for fix in batch.repairs
    ]
    worthiest = sorted(range(len(found)), key=lambda place: -found[place][1].probability)[: max(0, room - len(fixes))]
    return [*fixes, *(_draft(batch, *found[place]) for place in sorted(worthiest))]


def _type(said: Candidate, judged: Worth) -> str:
    """Return what a statement is; only a user's word binds, prefers, or corrects, and the last only if it says so."""
    found = _TYPES[judged.kind]
    if found == "correction" and not correction_in(said.text):
        return "fact"
    if found in ("fact", "entity") and plain_type(said.text) == "preference":
        found = "preference"  # its form says so: "I prefer …"
    binds = said.role == "user" and not said.is_told
    return found if binds or found not in ("constraint", "preference", "correction") else "fact"


def _draft(batch: Batch, said: Candidate, judged: Worth) -> Draft:
    is_rule = binds(said)
    is_users = said.role == "user" and batch.session.metadata.channel_type != "git"
    is_users = is_users and not said.is_told and (said.is_own or (is_rule and said.line == 0))
    event = batch.event(said.message)
    name = event.name if event.type == "message" and batch.session.metadata.channel_type != "git" else ""
    text = dated(said.text, batch.day_of(said.message))
    return batch.draft(
        f"{name}: {text}" if name else text,
        type="constraint" if is_rule else _type(said, judged),
        source="user" if is_users else "observed",
        message=said.message,
    )


def _needed(one: Candidate, kind: str) -> float:
    """Return the worth a sentence must have; a user's rule for the future is kept for its form alone."""
    if _has_form(one):
        return 0.0 if binds(one) else _LIKELY
    if is_short(one):
        return _SHORT_ANSWER if _answers(one, kind) else _SHORT
    return _ANSWERS if one.role == "assistant" and _answers(one, kind) else _WORTH[one.role]


def _has_form(one: Candidate) -> bool:
    """Tell whether a user's own sentence has the form of a rule or a preference."""
    return binds(one) or (one.role == "user" and not one.is_told and plain_type(one.text) != "fact")


def _answers(one: Candidate, kind: str) -> bool:
    """Tell whether a sentence answers a question with a cause, a number or a name."""
    return is_question(one.previous) and (kind == "cause" or any(telling_words(one.text)))


def _is_settled(batch: Batch, one: Candidate) -> bool:
    """Tell whether a candidate is a title, of a commit, or kept already as what was asked for outright."""
    if batch.session.metadata.channel_type == "git":
        return (one.line == 0 and not is_standing_rule(one.text)) or one.text.startswith("(commit ")
    request = remember_request(batch.event(one.message).text) if one.role == "user" else None
    return request is not None and one.start < request.stop and request.start < one.stop


def _says_nothing(one: Candidate, judged: Worth) -> bool:
    """Tell whether a user's sentence is an order for once, or an exclamation, that only looks like a rule."""
    if one.role != "user":
        return False
    if one.text.endswith("!") and judged.probability < _SIGH:
        return bool(_SOMEBODY.search(one.text))
    return not binds(one) and is_one_off(one.text) and judged.kind in (*_BINDING, "")


def _rest(found: Sequence[Candidate], kept: Mapping[int, Worth]) -> Iterator[tuple[int, Worth]]:
    """Yield what is kept for its neighbour: the cases of a user's rule, what an assistant explains beside a cause."""
    for place, judged in list(kept.items()):
        if rules(found[place], judged):
            yield from _limit(found, kept, place)
            at = place + 1
            if at < len(found) and at not in kept and are_neighbours(found[place], found[at]):
                (one,) = judge([found[at]])
                if one.kind in _BINDING or one.probability >= _LIKELY:
                    yield at, one
        elif found[place].role == "assistant":
            around = [at for at in paragraph(found, place) if at not in kept]
            yield from zip(around, judge([found[at] for at in around]), strict=True)


def _limit(found: Sequence[Candidate], kept: Mapping[int, Worth], rule: int) -> Iterator[tuple[int, Worth]]:
    """Yield the sentences behind a rule up to one that says where it does not hold; one aside may stand between."""
    near = [at for at in (rule + 1, rule + 2) if at < len(found) and are_neighbours(found[at - 1], found[at])]
    limit = next((at for at in near if not binds(found[at]) and exempts(found[at].text)), rule)
    if near and near[0] == rule + 1:
        yield from ((at, judge([found[at]])[0]) for at in range(rule + 1, limit + 1) if at not in kept)
