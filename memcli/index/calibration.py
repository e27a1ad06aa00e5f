"""What is measured of an embedding model, so that its cosines mean what those of the built-in model do.

Every threshold of mem was measured with the built-in model. Of another one two cosines are measured, that of texts that
have nothing in common and that of texts that say the same, and what it gives is stretched so that both lie where they
lie with the built-in model. It is measured when the model is first asked, and noted in the user's cache.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..data import path as data_file
from ..errors import UnavailableError

if TYPE_CHECKING:
    from .text_vectors import Embedder

FILE = "calibrations.json"
_UNRELATED, _SAME = 0.0699, 0.8628
"""What the built-in model gives to the texts of data/calibration.tsv: the mean of those about anything, and the median
of the pairs that say the same."""
_PAIRS = "calibration.tsv"
_SMALLEST = 16
"""Numbers of a vector from which it can tell texts apart; a model with fewer outputs rates texts, or sorts them."""


class Calibration(NamedTuple):
    """Where the cosines of a model lie."""

    floor: float = 0.0  # of texts that have nothing in common
    top: float = 1.0  # what counts as 1: from it texts that say the same are as near as with the built-in model
    is_latin: bool = False  # it reads the Latin script alone; of others every script is taken to be read

    def scaled(self, cosine: float) -> float:
        """Return about the cosine that the built-in model would give to the same texts."""
        return (cosine - self.floor) / (self.top - self.floor)

    def unscaled(self, cosine: float) -> float:
        """Return the model's own cosine for one of the built-in model."""
        return self.floor + cosine * (self.top - self.floor)

    def readable(self, text: str) -> float:
        """Return how far the model reads a text, from 0 to 1: by the share of letters in its script."""
        from ..language.keyword_tokens import latin_share  # late: most commands compare no texts

        return latin_share(text) if self.is_latin else 1.0


BUILT_IN = Calibration(is_latin=True)
_known: dict[str, Calibration] = {}
"""What this process knows, by the name of the model."""


def know_built_in(name: str) -> Calibration:
    """Return the calibration of the built-in model, which goes by this name."""
    return _known.setdefault(name, BUILT_IN)


def calibration_of(name: str, cache: Path | None = None) -> Calibration | None:
    """Return what was measured of a model on this machine, as far as this process or the cache has it."""
    if name not in _known and cache is not None:
        with suppress(OSError, ValueError, KeyError, TypeError):
            floor, top = json.loads((cache / FILE).read_bytes())[name]
            if -1 <= floor < top <= 2:
                _known[name] = Calibration(floor, top)
    return _known.get(name)


def measure(embedder: "Embedder") -> Calibration:
    """Measure a model with pairs that say the same and texts about anything; takes seconds.

    Raise UnavailableError for a model that tells nothing apart.
    """
    import numpy as np

    if embedder.dimension < _SMALLEST:
        raise UnavailableError(f"{embedder.model} gives {embedder.dimension} numbers for a text", "name another model")
    rows = [line.split("\t") for line in data_file(_PAIRS).read_text(encoding="utf-8").splitlines()[1:]]
    pairs = [row for row in rows if len(row) == 2]
    first, second = (embedder.embed([pair[side] for pair in pairs]) for side in (0, 1))
    others = embedder.embed([row[0] for row in rows if len(row) == 1])
    floor = float(np.mean((others @ others.T)[np.triu_indices(len(others), 1)]))
    same = float(np.median((first * second).sum(axis=1)))
    if same - floor < 0.02:
        raise UnavailableError(
            f"{embedder.model} gives texts about anything the cosines of those that say the same", "name another model"
        )
    step = (same - floor) / (_SAME - _UNRELATED)  # the built-in model's cosines, in those of this one
    return Calibration(round(floor - _UNRELATED * step, 4), round(floor + (1 - _UNRELATED) * step, 4))


def keep(calibration: Calibration, name: str, cache: Path) -> Calibration:
    """Note what was measured; a cache that cannot be written costs time, nothing else."""
    _known[name] = calibration
    with suppress(OSError, ValueError):
        cache.mkdir(parents=True, exist_ok=True)
        file, temporary = cache / FILE, cache / f"{FILE}.{os.getpid()}"
        try:
            noted = dict(json.loads(file.read_bytes()))
        except (OSError, ValueError, TypeError):
            noted = {}
        temporary.write_text(json.dumps({**noted, name: [calibration.floor, calibration.top]}), encoding="utf-8")
        temporary.replace(file)
    return calibration
