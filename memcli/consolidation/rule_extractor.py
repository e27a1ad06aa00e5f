"""Consolidate a conversation without an LLM: the sentences that are worth remembering, as they were said.

Owns: which candidates are kept, and which of them belong into one memory. Each is kept whole and in its speaker's
words. Deterministic and offline; what is worth keeping is a learned score, see `worth`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ..lifecycle.admission import Draft
from .candidates import Candidate, without_filler
from .drafts import Batch
from .guards import states_something
from .relative_dates import dated
from .remember_requests import remember_request
from .repairs import repairs
from .standing_rules import is_standing_rule, plain_type
from .taken_back import corrects, taken_back
from .worth import Worth, judge

MOST = 100
"""Drafts of one batch; the worthiest stay."""

_WORTH = {"user": 0.4, "assistant": 0.6, "tool": 0.6}
"""What a sentence needs to be kept, by who said it: most of what an assistant says stands elsewhere anyway."""
_LIKELY = 0.1  # what a user's sentence needs that has the form of a rule or a preference
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
_ROOM = 320  # characters up to which neighbours make one memory
_ANSWER, _QUESTION = 7, 80  # words of an answer that says nothing without its question, and characters of that
_LEANS = re.compile(
    r"(?:it|its|it['’]s|they|she|he|this|that|these|those|there|here|then|same|both|er|sie|es|das|dies\w*|il|elle|ça|ella|eso)\b",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?:i|we|you|he|she|it|they|my|our|the|this|that|yes|no|please)\b", re.IGNORECASE)


def statements(batch: Batch, said: Sequence[Candidate]) -> list[tuple[Candidate, Worth]]:
    """Return what is worth keeping of what was said in a conversation, in its order, neighbours joined."""
    found = [one for one in said if states_something(one) and not _is_settled(batch, one)]
    texts = {event.id: event.text for event in batch.events}
    gone = taken_back(found, texts)
    judged = judge(found, _LIKELY)
    kept = {
        place: one if one.kind else judge([candidate])[0]
        for place, (candidate, one) in enumerate(zip(found, judged, strict=True))
        if place not in gone and one.probability >= _needed(candidate)
    }
    return [_joined(texts, found, places, kept) for places in _groups(found, kept, gone)]


def rule_drafts(batch: Batch, found: Sequence[tuple[Candidate, Worth]], room: int = MOST) -> list[Draft]:
    """Return the drafts of the worthiest statements, at most `room`, and of what repaired a failing command."""
    fixes = [
        batch.draft(fix.text, type="lesson", source="observed", message=fix.event_id, tags=("fix",))
        for fix in repairs(batch.events)
    ]
    worthiest = sorted(range(len(found)), key=lambda place: -found[place][1].probability)[: max(0, room - len(fixes))]
    return [*fixes, *(_draft(batch, *found[place]) for place in sorted(worthiest))]


def _type(said: Candidate, judged: Worth) -> str:
    """Return what a statement is; only a user's word binds, prefers, or corrects, and the last only if it says so."""
    found = _TYPES[judged.kind]
    if found == "correction" and not corrects(said.text):
        return "fact"
    return found if said.role == "user" or found not in ("constraint", "preference", "correction") else "fact"


def _draft(batch: Batch, said: Candidate, judged: Worth) -> Draft:
    binds = _binds(said)
    is_users = said.role == "user" and batch.session.metadata.channel_type != "git"
    is_users = is_users and (said.is_own or (binds and said.line == 0))
    event = batch.event(said.message)
    name = event.name if event.type == "message" else ""
    text = dated(said.text, batch.day_of(said.message))
    return batch.draft(
        f"{name}: {text}" if name else text,
        type="constraint" if binds else _type(said, judged),
        source="user" if is_users else "observed",
        message=said.message,
    )


def _needed(one: Candidate) -> float:
    """Return the worth a sentence must have; a user's rule for the future is kept for its form alone."""
    if _binds(one):
        return 0.0
    return _LIKELY if one.role == "user" and plain_type(one.text) != "fact" else _WORTH[one.role]


def _is_settled(batch: Batch, one: Candidate) -> bool:
    """Tell whether a candidate is a title, of a commit, or kept already as what was asked for outright."""
    if batch.session.metadata.channel_type == "git":
        return (one.line == 0 and not is_standing_rule(one.text)) or one.text.startswith("(commit ")
    request = remember_request(batch.event(one.message).text) if one.role == "user" else None
    return request is not None and one.start < request.stop and request.start < one.stop


def _binds(one: Candidate) -> bool:
    return one.role == "user" and is_standing_rule(one.text)


def _groups(found: Sequence[Candidate], kept: Collection[int], gone: Collection[int]) -> Iterator[list[int]]:
    """Yield the places that make one memory each: neighbours on a line, and what a kept one says nothing without."""
    wanted = set(kept)
    for place in sorted(kept, reverse=True):
        while _LEANS.match(found[place].text) and place and _are_neighbours(found[place - 1], found[place]):
            place -= 1
            if place in gone:
                break
            wanted.add(place)
    group: list[int] = []
    for place in sorted(wanted):
        room = group and found[place].stop - found[group[0]].start <= _ROOM
        if group and not (room and place == group[-1] + 1 and _are_neighbours(found[group[-1]], found[place])):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _are_neighbours(before: Candidate, after: Candidate) -> bool:
    return before.message == after.message and before.line == after.line and before.place + 1 == after.place


def _joined(
    texts: Mapping[str, str], found: Sequence[Candidate], places: Sequence[int], kept: Mapping[int, Worth]
) -> tuple[Candidate, Worth]:
    """Return neighbours as one candidate, worth as much as the worthiest of them."""
    first, last = found[places[0]], found[places[-1]]
    best = max((kept[place] for place in places if place in kept), key=lambda one: one.probability)
    if first is not last:
        whole = texts[first.message][first.start : last.stop]
        return replace(first, text=without_filler(whole), stop=last.stop), best
    question = re.split(r"(?<=[.!\n])\s+", first.previous.strip())[-1]
    answers = not first.place and question.endswith("?") and len(question) <= _QUESTION
    if answers and len(first.text.split()) <= _ANSWER and not _SUBJECT.match(first.text):
        return replace(first, text=f"{question} {first.text}"), best
    return first, best
