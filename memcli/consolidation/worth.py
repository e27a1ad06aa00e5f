"""How likely a sentence is worth remembering, and which kind of memory it is: a learned score, without an embedding.

Owns: the model's file and its features, which are parts of words, words and pairs of words (hashed), and some plain
facts of how the sentence stands in the conversation. Refuses to decide: the caller has the threshold. The model is
trained by `bench/training/worth.py`; `worth.md` beside it says on what and how well it does.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from math import log1p

from .. import data
from ..dataclass import dataclass
from ..language.linear_model import TOKEN, Model, hashed_text, load
from ..language.sentences import is_question, sentences
from .attribution import limits
from .candidates import Candidate, binds, leans_back, without_filler

_pattern = partial(data.pattern, "statements.toml")
FILE = data.path("worth.model")
KEEP, SHORT = "keep", "keep if short"
"""First outputs of the model; the others are kinds."""
REQUEST = "request"
"""The kind of what is asked for once, and is never kept."""

_SHORT = 48  # characters of a short sentence
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")  # scripts without spaces between words
_PATH = re.compile(r"[/_`.@#]\w")
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ][\w-]+")
_ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True)
class Worth:
    """What the model says of a candidate."""

    probability: float  # that it is worth keeping, in [0, 1], calibrated on conversations it was not trained on
    kind: str  # rule, preference, fact, person, decision, plan, cause, fix, correction or event


def judge(candidates: Sequence[Candidate], least: float = 0.0) -> list[Worth]:
    """Return the worth of each candidate; the kind is empty below `least`, where nobody asks for it.

    Raises UnavailableError where the model's file is damaged or of another version.
    """
    model = built_in()
    return [_worth(model, candidate, least) for candidate in candidates]


def is_short(candidate: Candidate) -> bool:
    """Tell whether a user's sentence is so short that it has only one clause: what makes it a fact is another thing."""
    return candidate.role == "user" and len(candidate.text) <= _SHORT


def hashed_features(text: str, size: int) -> Sequence[tuple[int, float]]:
    """Return the places and values of the words, pairs of words and parts of words of a text; of length 1 together."""
    # Neither capitals nor the full stop: how carefully somebody types says nothing of what they say.
    return hashed_text("^ " + text.rstrip(" .!。！…"), size)  # an order begins with its verb


def plain_features(candidate: Candidate) -> tuple[float, ...]:
    """Return what else is known of a candidate, each in about [0, 1]."""
    text = candidate.text
    count = len(_WIDE.findall(text)) / 2 + len(TOKEN.findall(_WIDE.sub("", text)))
    first_person = _pattern("first_person")
    is_users, speaks, opens = candidate.role == "user", first_person.search(text), first_person.match(text)
    return (
        *(float(candidate.role == role) for role in _ROLES),
        log1p(count) / 3,
        float(count < 5),
        float(count > 30),
        float(any(map(str.isdigit, text))),
        float(_CAPITAL.search(text, 1) is not None),
        float(_PATH.search(text) is not None),
        float("," in text),
        float(":" in text or ";" in text),
        float("(" in text),
        float('"' in text or "“" in text),
        float(_WIDE.search(text) is not None),
        float(candidate.number == 0),
        min(candidate.sentences, 12) / 12,
        candidate.position / max(1, candidate.messages - 1),
        candidate.news,
        log1p(candidate.new_names) / 2,
        float(is_users and is_question(candidate.previous)),  # it answers a question
        float(is_question(candidate.after)),
        float(not candidate.is_own),
        float(is_users and speaks is not None),
        float(not is_users and speaks is not None),
        float(is_users and opens is not None),
        float(not is_users and opens is not None),
    )


@cache
def built_in() -> Model:
    """Return the model that is installed with mem; raise UnavailableError where its file cannot be used."""
    return load(FILE, KEEP, len(plain_features(Candidate("", "user"))))


def _worth(model: Model, candidate: Candidate, least: float) -> Worth:
    words, plain = hashed_features(candidate.text, model.size), plain_features(candidate)
    probability = model.probability(words, plain, model.outputs.index(SHORT) if is_short(candidate) else 0)
    if probability < least:
        return Worth(probability, "")
    kinds = range(2, len(model.outputs))
    return Worth(probability, model.outputs[max(kinds, key=lambda number: model.total(number, words, plain))])


_LABEL = re.compile(r"[^.!?:]{2,40}:\s")  # what heads all that follows on its line: "retention: 7 daily. for legal …"
_FRAGMENT = 4  # words of a sentence that is part of its neighbour
_ROOM = 320  # characters up to which statements make one memory
_QUESTION = 160  # characters of a question that is kept with its answer
_SUBJECT = re.compile(r"(?:i|we|you|he|she|it|they|my|our|the|this|that|yes|no|please)\b", re.IGNORECASE)


def groups(
    candidates: Sequence[Candidate],
    worth_by_position: Mapping[int, Worth],
    withdrawn: Collection[int],
    amending: Sequence[int],
    asides: Collection[int],
) -> Iterator[list[int]]:
    """Yield the places that make one memory each: a statement with the ones before it that it says nothing without.

    What puts a statement right is kept with it; with an aside another thought begins.
    """
    wanted = set(worth_by_position)
    for position in amending:
        if position - 1 in wanted:
            wanted.add(position)
        elif position in wanted and position - 1 not in withdrawn:
            wanted.add(position - 1)
    for position in sorted(worth_by_position, reverse=True):
        while _leans(candidates, position) and position - 1 not in withdrawn:
            position -= 1
            wanted.add(position)
    group: list[int] = []
    for position in sorted(wanted):
        room = group and candidates[position].stop - candidates[group[0]].start <= _ROOM
        is_one = position in amending or (position not in asides and _is_one(candidates, worth_by_position, position))
        if group and not (room and position == group[-1] + 1 and is_one):
            yield group
            group = []
        group.append(position)
    if group:
        yield group


def _leans(candidates: Sequence[Candidate], position: int) -> bool:
    """Tell whether a statement says nothing without the one before it: it points back, limits it, or has it as head."""
    before, later = candidates[position - 1], candidates[position]
    points = leans_back(later.text) or (later.role == "user" and (limits(later.text) or _LABEL.match(before.text)))
    return bool(position and points and are_neighbours(before, later))


def _is_one(candidates: Sequence[Candidate], worth_by_position: Mapping[int, Worth], position: int) -> bool:
    """Tell whether a statement and the one before it are one: a rule and its cases, a cause and its fix, a fragment."""
    before, later = candidates[position - 1], candidates[position]
    if _leans(candidates, position):
        return True
    if not are_neighbours(before, later):
        return False
    if _LABEL.match(before.text) or min(len(before.text.split()), len(later.text.split())) <= _FRAGMENT:
        return True
    here = [number for number in (position - 1, position) if number in worth_by_position]
    return any(rules(candidates[number], worth_by_position[number]) for number in here)


def rules(candidate: Candidate, judged: Worth) -> bool:
    """Tell whether a user's statement is a rule, by its form, its limit or its kind."""
    return candidate.role == "user" and (binds(candidate) or limits(candidate.text) or judged.kind == "rule")


def are_neighbours(before: Candidate, after: Candidate) -> bool:
    """Tell whether one statement follows another on the same line."""
    return before.message == after.message and before.line == after.line and before.number + 1 == after.number


def joined(
    texts: Mapping[str, str],
    candidates: Sequence[Candidate],
    places: Sequence[int],
    worth_by_position: Mapping[int, Worth],
) -> tuple[Candidate, Worth]:
    """Return neighbours as one candidate, worth as much as the worthiest of them."""
    first, last = candidates[places[0]], candidates[places[-1]]
    best = max(
        (worth_by_position[position] for position in places if position in worth_by_position),
        key=lambda worth: worth.probability,
    )
    if first is not last:
        first = replace(first, text=without_filler(texts[first.message][first.start : last.stop]), stop=last.stop)
    text = texts[first.message]
    if first.role == "user" and not without_filler(text[: first.start]) and _needs_its_question(first):
        asked = [sentence.text for sentence in sentences(first.previous)]
        if asked and len(asked[-1]) <= _QUESTION:
            return replace(first, text=f"{asked[-1]} {text[: first.stop].strip()}", is_told=True), best  # others' words
    return first, best


def _needs_its_question(answer: Candidate) -> bool:
    """Tell whether an answer says nothing without what it answers: it is short, or points at it."""
    is_short = len(answer.text.split()) <= _FRAGMENT and not _SUBJECT.match(answer.text)
    points = is_short or _pattern("points").search(re.split(r"[.;!?\n]", answer.text)[0])
    return leans_back(answer.text) or bool(points and not binds(answer))


def is_fragment(candidate: Candidate) -> bool:
    """Tell whether a user's statement, which is joined with nothing, begins with a word for something else."""
    return candidate.role == "user" and not candidate.is_told and bool(_pattern("refers").match(candidate.text))
