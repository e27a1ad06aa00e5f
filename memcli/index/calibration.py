"""What is measured of an embedding model, so that its cosines mean what those of the built-in model do.

Every threshold of mem was measured with the built-in model. Of another one two cosines are measured, that of texts that
have nothing in common and that of texts that say the same, and what it gives is stretched so that both lie where they
lie with the built-in model. They are kept in the model's own folder, with the comparison of memories trained for it.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..data import path as data_file
from ..errors import UnavailableError

if TYPE_CHECKING:
    from .text_vectors import Embedder

FILE = "mem-calibration.json"
COMPARISON = "mem-comparison.npz"
"""The comparison of memories for a model, in its folder: `bench/training/pair_model.py` trains it."""
_UNRELATED, _SAME = 0.0699, 0.8628
"""What the built-in model gives to the texts of data/calibration.tsv: the mean of those about anything, and the median
of the pairs that say the same."""
_PAIRS = "calibration.tsv"


class Calibration(NamedTuple):
    """Where the cosines of a model lie."""

    floor: float = 0.0  # of texts that have nothing in common
    top: float = 1.0  # what counts as 1: from it texts that say the same are as near as with the built-in model
    is_measured: bool = False  # by `mem model calibrate`; else the floor alone, on a few texts
    is_latin: bool = False  # it reads the Latin script alone; of others every script is taken to be read

    def scaled(self, cosine: float) -> float:
        """Return what the built-in model would give for texts as like each other, about."""
        return (cosine - self.floor) / (self.top - self.floor)

    def unscaled(self, cosine: float) -> float:
        """Return the model's own cosine for one of the built-in model."""
        return self.floor + cosine * (self.top - self.floor)

    def readable(self, text: str) -> float:
        """Return how far the model reads a text, from 0 to 1: by the share of letters in its script."""
        from ..language.keyword_tokens import latin_share  # late: most commands compare no texts

        return latin_share(text) if self.is_latin else 1.0


BUILT_IN = Calibration(is_measured=True, is_latin=True)
_read: dict[str, tuple[Calibration | None, Path | None]] = {}
"""What this process has read, by the name of the model."""


def read_calibration(name: str, folder: Path | None) -> Calibration | None:
    """Return what was measured of a model, None if nothing was; it is known by the name from then on."""
    if name not in _read:
        _read[name] = (BUILT_IN if folder is None else _from_file(folder / FILE, name), folder)
    return _read[name][0]


def calibration_of(name: str) -> Calibration | None:
    """Return what this process has read of a model; None where that is nothing."""
    return _read.get(name, (None, None))[0]


def comparison_of(name: str) -> Path | None:
    """Return the file of the comparison trained for a model that this process has read of; None if there is none."""
    folder = _read.get(name, (None, None))[1]
    return folder / COMPARISON if folder and (folder / COMPARISON).is_file() else None


def measure(embedder: "Embedder") -> Calibration:
    """Measure a model with pairs that say the same and texts about anything; takes seconds."""
    import numpy as np

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
    return Calibration(round(floor - _UNRELATED * step, 4), round(floor + (1 - _UNRELATED) * step, 4), True)


def keep(calibration: Calibration, name: str, folder: Path) -> Path:
    """Write what was measured into the model's folder; raise UnavailableError if that cannot be written."""
    file = folder / FILE
    text = json.dumps({"model": name, "floor": calibration.floor, "top": calibration.top})
    try:
        temporary = file.with_name(f".{FILE}.new")
        temporary.write_text(text + "\n", encoding="utf-8")
        temporary.replace(file)
    except OSError as error:
        said = f"{file} cannot be written ({error.strerror})"
        raise UnavailableError(said, "copy the model to a folder of yours") from None
    _read.pop(name, None)
    return file


def _from_file(file: Path, name: str) -> Calibration | None:
    """Read what was measured; what is damaged, or of other files in the same folder, says nothing."""
    try:
        found = json.loads(file.read_bytes())
        calibration = Calibration(float(found["floor"]), float(found["top"]), True)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return calibration if found["model"] == name and -1 <= calibration.floor < calibration.top <= 2 else None
