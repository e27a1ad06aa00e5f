"""Whether what is worth remembering says something by itself, weeks later: a learned second look, a few plain facts.

Owns: the model's file and its features. Refuses to decide: the caller has the threshold. What turns a statement away is
mostly that it lacks its subject, or tells how things stand for the moment. The model is trained by
`bench/training/second_look.py` on what readers said of what was kept; `second_look.md` beside it has the figures.
"""

import re
from collections.abc import Iterator
from functools import cache
from math import log
from pathlib import Path

from ..text.linear_model import Model, load
from . import worth
from .candidates import Candidate, telling_words
from .worth import Worth

FILE = Path(__file__).with_name("second_look.model")
ALONE = "says something by itself"
"""The only output of the model."""

_LEAST = 1e-4
_SHORT = 3  # letters of a word that hardly names a thing
_FEW = 10  # words
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_POINTING = frozenset(
    """it its it's itself that that's this these those they they're them their he he's him his she she's her there
    there's then one ones here so das dies dieser diese dieses es sie er ihn ihm ihr dort dann da le la les lui leur
    elle elles il ils cela ça ce y lo los las eso esto ella él ellos ese esa het die dat daar hij zij ze
    """.split()  # noqa: SIM905
)


def stands_alone(candidate: Candidate, judged: Worth) -> float:
    """Return the probability that a reader would keep a statement, joined with its neighbours, in [0, 1], calibrated.

    Raises UnavailableError where the model's file is damaged or of another version.
    """
    return _built_in().probability((), plain_features(candidate, judged))


def plain_features(candidate: Candidate, judged: Worth) -> tuple[float, ...]:
    """Return what is known of a statement, each in about [-1, 1]."""
    sure = min(max(judged.probability, _LEAST), 1 - _LEAST)
    return (
        *worth.plain_features(candidate),
        *(float(judged.kind == kind) for kind in _kinds()),
        log(sure / (1 - sure)) / 9,
        float(candidate.is_told),
        *_of_the_text(candidate.text),
    )


def _of_the_text(text: str) -> Iterator[float]:
    """Yield how much of a text names what it is about."""
    words = [word.casefold() for word in _WORD.findall(text)]
    count = max(1, len(words))
    telling = [word for word in words if len(word) > _SHORT and word not in _POINTING]
    pointing = [word for word in words if word in _POINTING]
    yield from (min(len(telling), 10) / 10, len(telling) / count, min(len(pointing), 3) / 3, len(pointing) / count)
    yield from (float(bool(words) and words[0] in _POINTING), float(bool(words) and len(words[0]) <= _SHORT))
    yield from (float(text[:1].islower()), min(count, 40) / 40, float(count < _FEW), min(text.count(","), 5) / 5)
    yield float(any(telling_words(text)))


def _kinds() -> tuple[str, ...]:
    return worth.built_in().outputs[2:]


@cache
def _built_in() -> Model:
    return load(FILE, ALONE, len(plain_features(Candidate("", "user"), Worth(0.5, ""))))
