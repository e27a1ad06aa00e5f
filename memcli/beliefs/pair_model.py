"""The learned comparison: what a new text is to each of its neighbours, with calibrated probabilities.

Gradient boosted trees over `pair_features`, made by `bench/training/pair_model.py` for one embedding model and kept as
arrays in one file; predicted with numpy alone.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import UnavailableError
from .pair_features import ReadText, features, read_text
from .pair_words import opposites

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..index.embedder import TokenVectors

    Floats = NDArray[np.float32]

FORMAT = 1
"""Version of the data file; another is refused."""
CLASSES = ("same", "update", "conflict", "distinct")
FOREIGN = 0.2
"""Share of letters outside the Latin script from which the embedding model cannot be trusted to tell "same"."""
_FIX = "install mem again"


class Likelihoods(NamedTuple):
    """Calibrated probabilities of what a new text is to an old one; they add up to 1."""

    same: float
    update: float
    conflict: float
    distinct: float
    differs: str = ""  # what forbids to take two texts for the same, however alike: numbers, names, a negation, …


@dataclass(frozen=True)
class PairModel:
    """The arrays of the data file."""

    embedding: str  # name of the embedding model, with the start of its hash
    merge: float  # probability of "same" from which its precision was 0.98 on pairs not trained on
    flag: float  # probability of update or conflict from which two texts are flagged
    depth: int
    feature: "NDArray[np.int64]"  # (nodes)
    threshold: "Floats"  # (nodes); a leaf's sends everything to itself
    left: "NDArray[np.int64]"
    right: "NDArray[np.int64]"
    value: "Floats"  # (nodes)
    roots: "NDArray[np.int64]"  # (trees), the classes in turn
    mean_pooled: "Floats"
    axes_pooled: "Floats"  # (3 · dimension, components)
    mean_left: "Floats"
    axes_left: "Floats"  # (dimension, components)
    scale: "Floats"  # calibration: softmax(scale · score + shift)
    shift: "Floats"

    def compare(self, new: "TokenVectors", olds: "Sequence[TokenVectors]") -> list[Likelihoods]:
        """Judge a new text against each of the old ones."""
        if not olds:
            return []
        told = read_text(new)
        standing = [read_text(old) for old in olds]
        table = self.table([features(old, told) for old in standing])
        chances = self.calibrated(self.scores(table))
        return [
            Likelihoods(*map(float, row), differs=difference(old, told))
            for old, row in zip(standing, chances, strict=True)
        ]

    def table(self, found: "Sequence[tuple[Floats, Floats]]") -> "Floats":
        """Give the features of pairs with the projections of their vectors, a row for each pair."""
        plain = np.stack([values for values, _ in found])
        vectors = np.stack([rows for _, rows in found])
        pooled = (vectors[:, :3].reshape(len(found), -1) - self.mean_pooled) @ self.axes_pooled
        left = [(vectors[:, row] - self.mean_left) @ self.axes_left for row in (3, 4)]
        return np.concatenate([plain, pooled, *left], axis=1).astype(np.float32)

    def scores(self, table: "Floats") -> "Floats":
        """Give the sums of the trees' leaves, (pairs, classes)."""
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            node = np.where(table[rows, self.feature[node]] <= self.threshold[node], self.left[node], self.right[node])
        summed: Floats = self.value[node].reshape(len(table), -1, len(CLASSES)).sum(axis=1)
        return summed

    def calibrated(self, scores: "Floats") -> "Floats":
        """Give probabilities for scores."""
        values = np.exp(scores * self.scale + self.shift - (scores * self.scale + self.shift).max(1, keepdims=True))
        chances: Floats = values / values.sum(axis=1, keepdims=True)
        return chances


def difference(old: ReadText, new: ReadText) -> str:
    """Say what forbids to take two texts for the same, however alike they look; empty where nothing does."""
    one, other = old.words, new.words
    if max(one.foreign, other.foreign) > FOREIGN:
        return "a script that the embedding model cannot read"
    if one.amounts != other.amounts:
        return "numbers"
    if one.names - set(other.words) and other.names - set(one.words):
        return "names"
    if opposites(one, other):
        return "opposites"
    if (len(one.marked["negation"]) + len(other.marked["negation"])) % 2:
        return "a negation"
    return ""


def default_file() -> Path:
    """Name the data file of the package."""
    return Path(str(files("memcli").joinpath("data/pair_model.npz")))


@lru_cache(maxsize=2)
def load_pair_model(embedding: str, file: Path | None = None) -> PairModel:
    """Open the comparison learned for an embedding model; UnavailableError where there is none or it is damaged."""
    path = file or default_file()
    try:
        with np.load(path, allow_pickle=False) as data:
            meta = json.loads(bytes(data["meta"]))
            if meta["format"] != FORMAT:
                raise UnavailableError(f"{path} has format {meta['format']}, not {FORMAT}", _FIX)
            model = _from_arrays(meta, {name: data[name] for name in data.files if name != "meta"})
    except UnavailableError:
        raise
    except Exception as error:  # numpy, zipfile and json have no common class for a damaged file
        raise UnavailableError(f"{path} is damaged ({' '.join(str(error).split())[:120]})", _FIX) from error
    if model.embedding != embedding:
        raise UnavailableError(
            f"the comparison of memories is not calibrated for the embedding model {embedding}",
            "exact repetitions and keys are recognised; train it with bench/training/pair_model.py",
        )
    return model


def _from_arrays(meta: "dict[str, object]", data: "dict[str, NDArray[np.generic]]") -> PairModel:
    """Build the model; ValueError where arrays do not fit each other."""
    whole = {name: data[name].astype(np.int64) for name in ("feature", "left", "right", "roots")}
    nodes, columns = len(whole["feature"]), data["columns"].astype(np.int64).item()
    broken = (
        any(len(data[name]) != nodes for name in ("left", "right", "threshold", "value"))
        or any(found.size and (found.min() < 0 or found.max() >= nodes) for found in (whole["left"], whole["right"]))
        or whole["roots"].max() >= nodes
        or whole["feature"].max() >= columns
        or len(whole["roots"]) % len(CLASSES)
    )
    if broken:
        raise ValueError("its trees do not fit together")
    floats = ("threshold", "value", "mean_pooled", "axes_pooled", "mean_left", "axes_left", "scale", "shift")
    return PairModel(
        str(meta["embedding"]),
        float(str(meta["merge"])),
        float(str(meta["flag"])),
        int(str(meta["depth"])),
        **whole,
        **{name: data[name].astype(np.float32) for name in floats},
    )
