"""A linear model over hashed words and plain numbers, read from a file: the first output decides, others describe.

This module has the file's format, the hashing and the calibrated probability. The features are made by
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
        total = sum([self.hashed[start + feature] * value for feature, value in hashed])
        return self.bias[output] + self.scale[output] * total + sum(map(float.__mul__, self.plain[output], plain))

    def probability(self, hashed: Sequence[tuple[int, float]], plain: Sequence[float], output: int = 0) -> float:
        """Return the probability of an output, in [0, 1]; by default of the first."""
        score = max(-50.0, min(50.0, self.slope * self.total(output, hashed, plain) + self.offset))
        return 1 / (1 + exp(-score))


@lru_cache(maxsize=64)  # the ends of a prompt are asked for with each of its sentences
def hashed_text(text: str, size: int, region: str = "") -> tuple[tuple[int, float], ...]:
    """Return the numbers and values of the features of a text: its words, pairs of words and parts of words.

    The vector has the length 1.

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
    of_word, of_pair, of_part = (crc32(f"{region}{mark}".encode()) for mark in "wbc")
    numbers = [crc32(word.encode("utf-8", "replace"), of_word) % size for word in words]
    numbers += [crc32(f"{left} {right}".encode("utf-8", "replace"), of_pair) % size for left, right in pairwise(words)]
    numbers += [crc32(piece, of_part) % size for piece in parts]
    return _weighted(numbers)


def hashed(features: Iterable[str], size: int) -> tuple[tuple[int, float], ...]:
    """Return the numbers and values of features, a vector of length 1."""
    return _weighted([zlib.crc32(feature.encode("utf-8", "replace")) % size for feature in features])


def _weighted(numbers: Sequence[int]) -> tuple[tuple[int, float], ...]:
    counts = Counter(numbers)
    values = {count: log1p(count) for count in set(counts.values())}
    length = sqrt(sum([values[count] ** 2 for count in counts.values()])) or 1.0
    values = {count: value / length for count, value in values.items()}
    return tuple([(feature, values[count]) for feature, count in counts.items()])


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
    header = json.loads(head or b"{}")
    if header.get("format") != FORMAT:
        raise ValueError(f"format {header.get('format')}, not {FORMAT}")
    if zlib.crc32(weights) != header["checksum"]:
        raise ValueError("damaged")
    outputs = tuple(header["outputs"])
    plain = tuple(tuple(map(float, row)) for row in header["plain"])
    numbers = array("b", weights)
    if len(numbers) != len(outputs) * header["size"] or outputs[0] != output:
        raise ValueError("weights missing")
    if {len(row) for row in plain} != {width}:
        raise ValueError("made for other features")
    bias, scale = tuple(map(float, header["bias"])), tuple(map(float, header["scale"]))
    return Model(outputs, header["size"], numbers, plain, bias, scale, float(header["slope"]), float(header["offset"]))
