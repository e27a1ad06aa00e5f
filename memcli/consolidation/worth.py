"""How likely a sentence is worth remembering, and which kind of memory it is: a learned score, without an embedding.

Owns: the model's file and its features, which are parts of words, words and pairs of words (hashed), and some plain
facts of how the sentence stands in the conversation. Refuses to decide: the caller has the threshold. The model is
trained by `bench/training/worth.py`; `worth.md` beside it says on what and how well it does.
"""

import re
from collections.abc import Sequence
from functools import cache, partial
from math import log1p

from .. import data
from ..dataclass import dataclass
from ..language.linear_model import TOKEN, Model, hashed_text, load
from ..language.sentences import is_question
from .candidates import Candidate

_pattern = partial(data.pattern, "statements.toml")
FILE = data.path("worth.model")
KEEP, SHORT = "keep", "keep if short"
"""First outputs of the model; the others are kinds."""

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
    return [_worth(model, one, least) for one in candidates]


def is_short(candidate: Candidate) -> bool:
    """Tell whether a user's sentence is so short that it has only one clause: what makes it a fact is another thing."""
    return candidate.role == "user" and len(candidate.text) <= _SHORT


def hashed_features(text: str, size: int) -> Sequence[tuple[int, float]]:
    """Return the places and values of the words, pairs of words and parts of words of a text; of length 1 together."""
    # Neither capitals nor the full stop: how carefully somebody types says nothing of what they say.
    return hashed_text(text.rstrip(" .!。！…"), size)


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
        float(candidate.place == 0),
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
    return Worth(probability, model.outputs[max(kinds, key=lambda at: model.total(at, words, plain))])
