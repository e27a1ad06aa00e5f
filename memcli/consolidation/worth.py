"""How likely a sentence is worth remembering, and which kind of memory it is: a learned score, without an embedding.

Owns: the model's file and its features, which are parts of words, words and pairs of words (hashed), and some plain
facts of how the sentence stands in the conversation. Refuses to decide: the caller has the threshold. The model is
trained by `bench/training/worth.py`; `worth.md` beside it says on what and how well it does.
"""

import json
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from math import exp, log1p, sqrt
from pathlib import Path

from ..errors import UnavailableError
from ..text.sentences import is_question
from .candidates import Candidate

FORMAT = 1
FILE = Path(__file__).with_name("worth.model")
KEEP = "keep"
"""First output of the model; the others are kinds."""

_TOKEN = re.compile(r"\w+|[^\w\s]")
_GRAMS = (3, 4)  # characters of a part of a word
_WIDE = re.compile(r"[\u2e80-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")  # scripts without spaces between words
_PATH = re.compile(r"[/_`.@#]\w")
_CAPITAL = re.compile(r"\b[A-ZÀ-Þ][\w-]+")
_FIRST_PERSON = re.compile(
    r"\b(?:i|i['’]\w+|im|we|we['’]\w+|my|our|me|us|mine|ours|ich|wir|mein\w*|unser\w*|mir|uns|je|j['’]\w+|nous|mon|ma|mes"
    r"|notre|nos|yo|mi|mis|nosotros|nuestr\w+)\b",
    re.IGNORECASE,
)
_ROLES = ("user", "assistant", "tool")


@dataclass(frozen=True)
class Worth:
    """What the model says of a candidate."""

    probability: float  # that it is worth keeping, in [0, 1], calibrated on conversations it was not trained on
    kind: str  # rule, preference, fact, person, decision, plan, cause, fix, correction or event


@dataclass(frozen=True)
class Model:
    """Weights of one linear output for `keep` and one for each kind."""

    outputs: tuple[str, ...]
    size: int  # hashed features
    hashed: "array[int]"  # int8, (outputs, size), row by row
    plain: tuple[tuple[float, ...], ...]  # (outputs, plain features)
    bias: tuple[float, ...]
    scale: tuple[float, ...]  # of the int8 weights of each output
    slope: float  # calibration: probability = 1 / (1 + exp(-(slope × sum + offset)))
    offset: float

    def worth(self, candidate: Candidate, least: float) -> Worth:
        """Return what a candidate is worth; the kind is empty below `least`."""
        hashed, plain = list(hashed_features(candidate.text, self.size)), plain_features(candidate)

        def total(output: int) -> float:
            start = output * self.size
            told = sum([self.hashed[start + place] * value for place, value in hashed])
            return self.bias[output] + self.scale[output] * told + sum(map(float.__mul__, self.plain[output], plain))

        found = max(-50.0, min(50.0, self.slope * total(0) + self.offset))
        probability = 1 / (1 + exp(-found))
        if probability < least:
            return Worth(probability, "")
        return Worth(probability, self.outputs[max(range(1, len(self.outputs)), key=total)])


def judge(candidates: Sequence[Candidate], least: float = 0.0) -> list[Worth]:
    """Return the worth of each candidate; the kind is empty below `least`, where nobody asks for it.

    Raises UnavailableError where the model's file is damaged or of another version.
    """
    model = built_in()
    return [model.worth(one, least) for one in candidates]


def hashed_features(text: str, size: int) -> Iterator[tuple[int, float]]:
    """Yield the places and values of the words, pairs of words and parts of words of a text; of length 1 together."""
    # Neither capitals nor the full stop: how carefully somebody types says nothing of what they say.
    words = _TOKEN.findall(text.casefold().rstrip(" .!。！…"))
    whole = f" {' '.join(words)} "
    counts = Counter(
        zlib.crc32(one.encode("utf-8", "replace")) % size
        for one in (
            *(f"w{word}" for word in words),
            *(f"b{one} {other}" for one, other in pairwise(words)),
            *(f"c{whole[start : start + size_]}" for size_ in _GRAMS for start in range(len(whole) - size_ + 1)),
        )
    )
    length = sqrt(sum(log1p(count) ** 2 for count in counts.values())) or 1.0
    for place, count in counts.items():
        yield place, log1p(count) / length


def plain_features(candidate: Candidate) -> tuple[float, ...]:
    """Return what else is known of a candidate, each in about [0, 1]."""
    text = candidate.text
    count = len(_WIDE.findall(text)) / 2 + len(_TOKEN.findall(_WIDE.sub("", text)))
    is_users, speaks, opens = candidate.role == "user", _FIRST_PERSON.search(text), _FIRST_PERSON.match(text)
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
    try:
        return parsed(FILE.read_bytes())
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(f"{FILE} cannot be used ({error})", "install mem again") from error


def parsed(data: bytes) -> Model:
    """Read a model's file: a line of JSON, then its int8 weights; raise ValueError where they do not fit."""
    head, _, weights = data.partition(b"\n")
    said = json.loads(head or b"{}")
    if said.get("format") != FORMAT:
        raise ValueError(f"format {said.get('format')}, not {FORMAT}")
    if zlib.crc32(weights) != said["checksum"]:
        raise ValueError("damaged")
    outputs = tuple(said["outputs"])
    plain = tuple(tuple(map(float, row)) for row in said["plain"])
    hashed = array("b", weights)
    if len(hashed) != len(outputs) * said["size"] or outputs[0] != KEEP:
        raise ValueError("weights missing")
    if {len(row) for row in plain} != {len(plain_features(Candidate("", "user")))}:
        raise ValueError("made for other features")
    bias, scale = tuple(map(float, said["bias"])), tuple(map(float, said["scale"]))
    return Model(outputs, said["size"], hashed, plain, bias, scale, float(said["slope"]), float(said["offset"]))
