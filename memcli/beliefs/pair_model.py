"""The learned comparison: how likely a new text says the same as each of its neighbours, calibrated.

Gradient boosted trees over `pair_features`, made by `bench/training/pair_model.py` for one embedding model and kept as
arrays in one file; predicted with numpy alone.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import data as files
from ..dataclass import dataclass
from ..errors import UnavailableError
from ..index.calibration import comparison_of
from .pair_features import ReadText, features, read_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..index.text_vectors import TokenVectors

    Floats = NDArray[np.float32]


FORMAT = 3
"""Version of the data file; another is refused."""
CLASSES = ("same", "update", "conflict", "distinct")
FOREIGN = 0.2
"""Share of letters outside the Latin script from which the embedding model cannot be trusted to tell "same"."""
_FIX = "install mem again"


class Axes(NamedTuple):
    """Principal components."""

    mean: "Floats"
    axes: "Floats"  # (dimension, components)

    def project(self, vectors: "Floats") -> "Floats":
        """Return the components of each row."""
        found: Floats = ((vectors - self.mean) @ self.axes).astype(np.float32)
        return found


@dataclass(frozen=True)
class PairModel:
    """The arrays of the data file."""

    embedding: str  # name of the embedding model, with the start of its hash
    depth: int
    feature: "NDArray[np.int64]"  # (nodes)
    threshold: "Floats"  # (nodes); a leaf's sends everything to itself
    left: "NDArray[np.int64]"
    right: "NDArray[np.int64]"
    value: "Floats"  # (nodes)
    roots: "NDArray[np.int64]"  # (trees), the classes in turn
    pooled: Axes
    left_over: Axes
    scale: "Floats"  # calibration: softmax(scale · score + shift)
    shift: "Floats"

    def repeats(self, pairs: "Sequence[tuple[TokenVectors, TokenVectors]]") -> list[float]:
        """Return how likely the new text of each pair (old, new) says the same, calibrated, in their order.

        It is 0 where one of the two is in a script that the embedding model cannot read, and where both have the same
        words in another order: the trees take "Ann pays Bo" for "Bo pays Ann".
        """
        if not pairs:
            return []
        texts = {id(text): text for pair in pairs for text in pair}
        ready = {key: read_text(text) for key, text in texts.items()}
        read = [(ready[id(old)], ready[id(new)]) for old, new in pairs]
        table = self.table([features(old, new) for old, new in read])
        chances = self.calibrated(self.scores(table))
        found = zip(read, chances[:, 0].tolist(), strict=True)
        return [0.0 if is_foreign(*pair) or are_turned_round(*pair) else same for pair, same in found]

    def table(self, found: "Sequence[tuple[Floats, Floats]]") -> "Floats":
        """Return the features of pairs with the projections of their vectors, (pairs, columns) float32."""
        return columns(found, self.pooled, self.left_over)

    def scores(self, table: "Floats") -> "Floats":
        """Return the sums of the trees' leaves before calibration, (pairs, classes) float32."""
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            node = np.where(table[rows, self.feature[node]] <= self.threshold[node], self.left[node], self.right[node])
        summed: Floats = self.value[node].reshape(len(table), -1, len(CLASSES)).sum(axis=1)
        return summed

    def calibrated(self, scores: "Floats") -> "Floats":
        """Return the probabilities of the classes, (pairs, classes): softmax(scale · score + shift), vector scaling.

        The method is that of Guo et al., On Calibration of Modern Neural Networks, 2017.
        """
        values = np.exp(scores * self.scale + self.shift - (scores * self.scale + self.shift).max(1, keepdims=True))
        chances: Floats = values / values.sum(axis=1, keepdims=True)
        return chances


def columns(found: "Sequence[tuple[Floats, Floats]]", pooled: Axes, left_over: Axes) -> "Floats":
    """Put features and projections of vectors together, a row for each pair."""
    vectors = np.stack([rows for _, rows in found])
    parts = [
        np.stack([values for values, _ in found]),
        pooled.project(vectors[:, :3].reshape(len(found), -1)),
        left_over.project(vectors[:, 3]),
        left_over.project(vectors[:, 4]),
    ]
    return np.concatenate(parts, axis=1).astype(np.float32)


def are_turned_round(old: ReadText, new: ReadText) -> bool:
    """Tell whether two texts have the same words that tell something, in another order."""
    ours, theirs = ([word for word in side.words.words if word in side.words.content] for side in (old, new))
    return ours != theirs and sorted(ours) == sorted(theirs)


def is_foreign(old: ReadText, new: ReadText) -> bool:
    """Tell whether one of two texts is in a script that the embedding model cannot read."""
    return max(old.words.foreign, new.words.foreign) > FOREIGN


def default_file() -> Path:
    """Return the path of the package's data file."""
    return files.path("pair_model.npz")


@lru_cache(maxsize=2)
def load_pair_model(embedding: str, file: Path | None = None) -> PairModel:
    """Open the comparison learned for an embedding model; raise UnavailableError if there is none or it is damaged."""
    path = file or comparison_of(embedding) or default_file()
    try:
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as data:
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
            "exact repetitions and keys are recognised; docs/models.md says how to train it",
        )
    return model


def _from_arrays(meta: dict[str, Any], data: "dict[str, NDArray[Any]]") -> PairModel:
    """Build the model; raise ValueError where arrays do not fit each other."""
    feature, left, right, roots = (data[name].astype(np.int64) for name in ("feature", "left", "right", "roots"))
    if (
        {len(feature)} != {len(data[name]) for name in ("left", "right", "threshold", "value")}
        or max(left.max(), right.max(), roots.max()) >= len(feature)
        or feature.max() >= data["columns"].item()
        or len(roots) % len(CLASSES)
    ):
        raise ValueError("its trees do not fit together")
    return PairModel(
        embedding=str(meta["embedding"]),
        depth=int(meta["depth"]),
        feature=feature,
        threshold=data["threshold"].astype(np.float32),
        left=left,
        right=right,
        value=data["value"].astype(np.float32),
        roots=roots,
        pooled=_axes(data, "pooled"),
        left_over=_axes(data, "left"),
        scale=data["scale"].astype(np.float32),
        shift=data["shift"].astype(np.float32),
    )


def _axes(data: "dict[str, NDArray[Any]]", name: str) -> Axes:
    return Axes(data[f"mean_{name}"].astype(np.float32), data[f"axes_{name}"].astype(np.float32))
