"""A linear model over hashed words and plain numbers, read from a file: the first output decides, others describe.

This module has the file's format, the hashing and the calibrated probability. What is judged is known to
`consolidation.worth` and `consolidation.attribution`; `bench/training` writes the files.
"""

import json
import re
import zlib
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from math import exp, log1p, sqrt
from pathlib import Path

from ..dataclass import dataclass
from ..errors import UnavailableError

FORMAT = 1
TOKEN = re.compile(r"\w+|[^\w\s]")
_GRAMS = (3, 4)  # characters of a part of a word


@dataclass(frozen=True)
class Model:
    """The weights of all outputs."""

    outputs: tuple[str, ...]
    size: int  # hashed features
    hashed: "array[int]"  # int8, (outputs, size), row by row
    plain: tuple[tuple[float, ...], ...]  # (outputs, plain features)
    bias: tuple[float, ...]
    scale: tuple[float, ...]  # of the int8 weights of each output
    slope: float  # calibration: probability = 1 / (1 + exp(-(slope × sum + offset)))
    offset: float

    def total(self, output: int, hashed: Sequence[tuple[int, float]], plain: Sequence[float]) -> float:
        """Return the weighted sum of an output."""
        start = output * self.size
        told = sum([self.hashed[start + place] * value for place, value in hashed])
        return self.bias[output] + self.scale[output] * told + sum(map(float.__mul__, self.plain[output], plain))

    def probability(self, hashed: Sequence[tuple[int, float]], plain: Sequence[float], output: int = 0) -> float:
        """Return the probability of an output, in [0, 1]; by default of the first."""
        found = max(-50.0, min(50.0, self.slope * self.total(output, hashed, plain) + self.offset))
        return 1 / (1 + exp(-found))


@lru_cache(maxsize=64)  # the ends of a prompt are asked for with each of its sentences
def hashed_text(text: str, size: int, region: str = "") -> tuple[tuple[int, float], ...]:
    """Return the places and values of a text's words, pairs of words and parts of words, a vector of length 1.

    `region` is where the text stands: the same word is another feature there.
    """
    words = TOKEN.findall(text.casefold())
    whole = f" {' '.join(words)} "
    # A part is hashed as bytes; where a letter is one byte these are cut without making a text of each.
    raw = whole.encode("utf-8", "replace")
    if len(raw) == len(whole):
        parts = [raw[start : start + many] for many in _GRAMS for start in range(len(whole) - many + 1)]
    else:
        parts = [
            whole[start : start + many].encode("utf-8", "replace")
            for many in _GRAMS
            for start in range(len(whole) - many + 1)
        ]
    crc32 = zlib.crc32
    word, pair, part = (crc32(f"{region}{mark}".encode()) for mark in "wbc")
    places = [crc32(one.encode("utf-8", "replace"), word) % size for one in words]
    places += [crc32(f"{one} {other}".encode("utf-8", "replace"), pair) % size for one, other in pairwise(words)]
    places += [crc32(one, part) % size for one in parts]
    return _weighted(places)


def hashed(features: Iterable[str], size: int) -> tuple[tuple[int, float], ...]:
    """Return the places and values of features, a vector of length 1."""
    return _weighted([zlib.crc32(one.encode("utf-8", "replace")) % size for one in features])


def _weighted(places: Sequence[int]) -> tuple[tuple[int, float], ...]:
    counts = Counter(places)
    values = {count: log1p(count) for count in set(counts.values())}
    length = sqrt(sum([values[count] ** 2 for count in counts.values()])) or 1.0
    values = {count: value / length for count, value in values.items()}
    return tuple([(place, values[count]) for place, count in counts.items()])


def load(file: Path, output: str, plain: int) -> Model:
    """Return the model of a file whose first output and number of plain features are known.

    Raises UnavailableError where the file is missing, damaged or of another version.
    """
    try:
        return parsed(file.read_bytes(), output, plain)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnavailableError(f"{file} cannot be used ({error})", "install mem again") from error


def parsed(data: bytes, output: str, width: int) -> Model:
    """Read a model's file: a line of JSON, then its int8 weights; raise ValueError where they do not fit."""
    head, _, weights = data.partition(b"\n")
    said = json.loads(head or b"{}")
    if said.get("format") != FORMAT:
        raise ValueError(f"format {said.get('format')}, not {FORMAT}")
    if zlib.crc32(weights) != said["checksum"]:
        raise ValueError("damaged")
    outputs = tuple(said["outputs"])
    plain = tuple(tuple(map(float, row)) for row in said["plain"])
    numbers = array("b", weights)
    if len(numbers) != len(outputs) * said["size"] or outputs[0] != output:
        raise ValueError("weights missing")
    if {len(row) for row in plain} != {width}:
        raise ValueError("made for other features")
    bias, scale = tuple(map(float, said["bias"])), tuple(map(float, said["scale"]))
    return Model(outputs, said["size"], numbers, plain, bias, scale, float(said["slope"]), float(said["offset"]))
