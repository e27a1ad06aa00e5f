"""Consolidate a conversation without an LLM: the user's sentences that are worth remembering, as they were said.

Owns: which candidates are kept, and which of them belong into one memory. Of an assistant's words only what the user
takes up is one. Each is kept whole. Deterministic and offline; what is worth keeping is a learned score, see `worth`.
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
from .batch import Batch
from .candidates import (
    Candidate,
    amends,
    asks,
    binds,
    declares,
    is_one_off,
    is_taken_up,
    states_something,
    telling_words,
)
from .requests import place_of, remember_request, retracted
from .worth import REQUEST, Worth, are_neighbours, groups, is_fragment, is_short, joined, judge, rules

MOST = 100
"""Drafts of one batch; the worthiest stay."""

_WORTH = 0.4  # what a sentence needs to be kept
_BESIDE = 0.92  # the same where the sentence beside it asks for something: it mostly says what for
_STEP = re.compile(r"(?i)(?:first|then|else|otherwise|instead|zuerst|sonst|dann|d['’]abord|sinon|primero|si no)\b")
"""How a sentence begins that says what to do by the rule before it."""
_SURE = 0.6  # worth from which what looks like a request says something all the same
_TAKEN_UP = 0.2  # what an assistant's proposal needs that its user takes up
_SHORT = 0.35  # what a short sentence of a user needs, by the score of its own that such sentences have
_SHORT_ANSWER = 0.25  # the same where it answers a question with a number or a name
_LIKELY = 0.1  # what a user's sentence needs that has the form of a rule or a preference
_AMONG_PEOPLE = 0.83
"""What a sentence needs in a conversation of several people: they talk to each other, and tell memory nothing."""
_BINDING = ("rule", "preference")
_SOMEBODY = re.compile(r"\b(?:you|he|she|they)\s+(?:always|never)\b", re.IGNORECASE)
_SIGH = 0.35  # worth of an exclamation about somebody that only has the words of a rule: "you never cease to amaze me!"
_TYPES = {
    "rule": "constraint",
    "preference": "preference",
    "fact": "fact",
    "person": "entity",
    "decision": "fact",
    "plan": "fact",
    "cause": "lesson",
    "fix": "lesson",
    REQUEST: "fact",
    "correction": "correction",
    "event": "observation",
}
_ASIDE = re.compile(r"(?:oh,? |and |also,? )*(?:by the way|btw|übrigens|au fait|por cierto|trouwens)\b", re.IGNORECASE)


def statements(batch: Batch, spoken: Sequence[Candidate]) -> list[tuple[Candidate, Worth]]:
    """Return what is worth keeping of what was said in a conversation, in its order, neighbours joined.

    Among people much more is asked of a statement.
    """
    if batch.session.metadata.channel_type == "git":
        spoken = [replace(statement, is_told=False) for statement in spoken]  # all of it is observed
    texts = {event.id: event.text for event in batch.events}
    back = retracted(spoken)
    telling = (
        statement
        for statement in spoken
        if is_taken_up(statement)
        or (statement.role == "user" and (states_something(statement) or amends(statement, texts[statement.message])))
    )
    candidates = [statement for statement in telling if not _is_settled(batch, statement)]
    withdrawn = {position for position, statement in enumerate(candidates) if place_of(statement) in back}
    judged = judge(candidates, _LIKELY)
    needed = _AMONG_PEOPLE if _is_among_people(batch) else 0.0
    worth_by_position = {
        position: worth if worth.kind else judge([candidate])[0]
        for position, (candidate, worth) in enumerate(zip(candidates, judged, strict=True))
        if position not in withdrawn
        and (candidate.role != "user" or states_something(candidate))
        and worth.probability >= (needed or _needed(candidate, worth.kind))
        and not _says_nothing(candidate, worth)
    }
    worth_by_position |= {
        position: worth for position, worth in _rest(candidates, worth_by_position) if position not in withdrawn
    }
    amending = [
        position
        for position, (before, later) in enumerate(pairwise(candidates), 1)
        if position not in withdrawn and are_neighbours(before, later) and amends(later, texts[later.message])
    ]
    asides = {
        position
        for position, statement in enumerate(candidates)
        if _ASIDE.match(texts[statement.message], statement.start)
    }
    parts = (
        places
        for places in groups(candidates, worth_by_position, withdrawn, amending, asides)
        if not worth_by_position.keys().isdisjoint(places)
    )
    whole = [joined(texts, candidates, places, worth_by_position) for places in parts]
    all_texts = [candidate.text for candidate, _ in whole]
    return [
        (candidate, worth)
        for candidate, worth in whole
        if not is_fragment(candidate)
        and not any(candidate.text != text and text.startswith(candidate.text) for text in all_texts)
    ]


def _is_among_people(batch: Batch) -> bool:
    return len({event.name for event in batch.events if event.role == "user"}) > 1


def rule_drafts(batch: Batch, statements: Sequence[tuple[Candidate, Worth]]) -> list[Draft]:
    """Return the drafts of the worthiest statements, and of what repaired a failing command."""
    fixes = [
        batch.draft(text, type="lesson", source="observed", message=message, tags=("fix",))
        for text, message in batch.repairs
    ]
    worthiest = sorted(range(len(statements)), key=lambda position: -statements[position][1].probability)[
        : max(0, MOST - len(fixes))
    ]
    return [*fixes, *(_draft(batch, *statements[position]) for position in sorted(worthiest))]


def _type(candidate: Candidate, judged: Worth) -> str:
    """Return what a statement is; only a user's word binds, prefers, or corrects, and the last only if it says so."""
    kind = _TYPES[judged.kind]
    if kind == "correction" and not correction_in(candidate.text):
        return "fact"
    if kind in ("fact", "entity") and plain_type(candidate.text) == "preference":
        kind = "preference"  # its form says so: "I prefer …"
    binds = candidate.role == "user" and not candidate.is_told
    return kind if binds or kind not in ("constraint", "preference", "correction") else "fact"


def _draft(batch: Batch, candidate: Candidate, judged: Worth) -> Draft:
    is_rule = binds(candidate)
    is_users = candidate.role == "user" and batch.session.metadata.channel_type != "git"
    is_users = is_users and not candidate.is_told and (candidate.is_own or (is_rule and candidate.line == 0))
    event = batch.event(candidate.message)
    name = event.name if event.type == "message" and batch.session.metadata.channel_type != "git" else ""
    text = dated(candidate.text, batch.day_of(candidate.message))
    return batch.draft(
        f"{name}: {text}" if name else text,
        type="constraint" if is_rule else _type(candidate, judged),
        source="user" if is_users else "observed",
        message=candidate.message,
    )


def _needed(candidate: Candidate, kind: str) -> float:
    """Return the worth a sentence must have; a user's rule for the future is kept for its form alone."""
    if _has_form(candidate):
        return 0.0 if binds(candidate) else _LIKELY
    if any(asks(text, "user") for text in (candidate.before, candidate.after)):
        return _BESIDE
    if is_short(candidate):
        return _SHORT_ANSWER if _answers(candidate, kind) else _SHORT
    return _WORTH if candidate.role == "user" else _TAKEN_UP


def _has_form(candidate: Candidate) -> bool:
    """Tell whether a user's own sentence has the form of a rule or a preference."""
    return binds(candidate) or (
        candidate.role == "user" and not candidate.is_told and plain_type(candidate.text) != "fact"
    )


def _answers(candidate: Candidate, kind: str) -> bool:
    """Tell whether a sentence answers a question with a cause, a number or a name."""
    return is_question(candidate.previous) and (kind == "cause" or any(telling_words(candidate.text)))


def _is_settled(batch: Batch, candidate: Candidate) -> bool:
    """Tell whether a candidate is a title, of a commit, or kept already as what was asked for outright."""
    if batch.session.metadata.channel_type == "git":
        return (candidate.line == 0 and not is_standing_rule(candidate.text)) or candidate.text.startswith("(commit ")
    request = remember_request(batch.event(candidate.message).text) if candidate.role == "user" else None
    return request is not None and candidate.start < request.stop and request.start < candidate.stop


def _says_nothing(candidate: Candidate, judged: Worth) -> bool:
    """Tell whether a sentence is an order for once, or an exclamation, that only looks like a rule."""
    if candidate.text.endswith("!") and judged.probability < _SIGH:
        return bool(_SOMEBODY.search(candidate.text))
    is_request = judged.kind == REQUEST and judged.probability < _SURE
    is_request = is_request and not (declares(candidate.text) or _has_form(candidate))
    return not binds(candidate) and (is_request or is_one_off(candidate.text))


def _rest(candidates: Sequence[Candidate], worth_by_position: Mapping[int, Worth]) -> Iterator[tuple[int, Worth]]:
    """Yield the cases of a user's rule, which are kept for it."""
    for position, judged in list(worth_by_position.items()):
        if rules(candidates[position], judged):
            yield from _limit(candidates, worth_by_position, position)
            number = position + 1
            if (
                number < len(candidates)
                and number not in worth_by_position
                and are_neighbours(candidates[position], candidates[number])
            ):
                (worth,) = judge([candidates[number]])
                is_step = bool(_STEP.match(candidates[number].text)) or worth.probability >= _WORTH
                is_case = worth.kind in _BINDING or worth.probability >= _LIKELY
                if is_step or (is_case and not _says_nothing(candidates[number], worth)):
                    yield number, worth


def _limit(
    candidates: Sequence[Candidate], worth_by_position: Mapping[int, Worth], rule: int
) -> Iterator[tuple[int, Worth]]:
    """Yield the sentences behind a rule up to one that says where it does not hold; one aside may stand between."""
    near = [
        number
        for number in (rule + 1, rule + 2)
        if number < len(candidates) and are_neighbours(candidates[number - 1], candidates[number])
    ]
    limit = next(
        (number for number in near if not binds(candidates[number]) and exempts(candidates[number].text)), rule
    )
    if near and near[0] == rule + 1:
        yield from (
            (number, judge([candidates[number]])[0])
            for number in range(rule + 1, limit + 1)
            if number not in worth_by_position
        )
