"""How likely a new text says the same as each of its neighbours: a learned score, calibrated.

Gradient boosted trees over how the tokens and words of two texts match, made by `bench/training/pair_model.py` for one
embedding model and kept as arrays in one file; predicted with numpy alone. The order of the features belongs to the
file: to change it, train. A token is aligned with the token of the other text whose vector is nearest (the contextual
alignment of BERTScore, Zhang et al. 2020).
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import data
from ..dataclass import dataclass
from ..errors import UnavailableError
from ..index import onnx_session  # noqa: F401  # before numpy: it tells its BLAS to use one thread

with suppress(ModuleNotFoundError):  # where `mem` goes by words alone, only the words are read here
    import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..index.text_vectors import TokenVectors

    Floats = NDArray[np.float32]
    Flags = NDArray[np.bool_]


KINDS = ("negation", "change", "addition", "hedge", "past", "habit", "kin", "place", "calendar", "self")
"""Lists of words that are counted apart, in the order of the learned comparison."""
PHRASES = ("change", "negation", "correction", "addition", "question", "ongoing", "done")
FEW_NAMES = 0.25  # share of the words up to which those with a capital are names; in German nouns have one too
_WORD = re.compile(r"[\w@#+/.’'-]*[\w+#]")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SIGN = re.compile(r"(?<!\S)(?:[./~-][\w./-]+|[^\s,;]*[_=<>$@\\][^\s,;]*|\w[\w.-]*/[\w./-]+)")
_CAPITAL = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#/-]*")


@dataclass(frozen=True)
class Words:
    """The words of a text, sorted into kinds."""

    words: tuple[str, ...]  # lower case, without apostrophe s
    content: frozenset[str]
    numbers: frozenset[str]  # in digits
    signs: frozenset[str]  # paths, flags, identifiers and the like, as they are written
    names: frozenset[str]  # words with a capital inside a sentence, lower case
    marked: tuple[frozenset[str], ...]  # the words of each of KINDS
    phrases: tuple[int, ...]  # how often each of PHRASES occurs
    foreign: float  # share of the letters that are not Latin

    @property
    def negations(self) -> frozenset[str]:
        """Return the words of denial."""
        return self.marked[KINDS.index("negation")]

    @property
    def proper_names(self) -> frozenset[str]:
        """Return the names; none where nouns have capitals too."""
        return self.names if len(self.names) <= FEW_NAMES * len(self.words) else frozenset()


@cache
def _listed(kind: str) -> frozenset[str]:
    return data.words("pair_words.toml", kind)


@cache
def _phrase(kind: str) -> re.Pattern[str]:
    return re.compile("|".join(data.table("pair_words.toml")["phrases"][kind]))


@cache
def _pairs(key: str, sign: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of a list, each as it stands and the other way round."""
    pairs = [(left, right) for left, _, right in (pair.partition(sign) for pair in _listed(key))]
    return frozenset(pairs) | {(right, left) for left, right in pairs}


@lru_cache(maxsize=64)
def read_words(text: str) -> Words:
    """Return the words of a text, sorted into kinds."""
    lower = text.lower().replace("’", "'")
    words = tuple(word.removesuffix("'s") for word in _WORD.findall(lower))
    own = frozenset(words)
    digits = dict(_pairs("numbers", "="))
    letters = [character for character in text if character.isalpha()]
    return Words(
        words,
        frozenset(word for word in own if not is_stop(word)),
        frozenset(number for word in own for number in (_NUMBER.findall(word) or filter(None, [digits.get(word)]))),
        frozenset(sign.rstrip(".,;:!?)") for sign in _SIGN.findall(text)),
        frozenset(word.lower().removesuffix("'s").rstrip(".") for word in _CAPITAL.findall(text)) - _listed("self"),
        tuple(own & _listed(kind) for kind in KINDS),
        tuple(len(_phrase(kind).findall(lower)) for kind in PHRASES),
        sum(character > "ɏ" for character in letters) / max(1, len(letters)),
    )


def opposites(old: Words, new: Words) -> int:
    """Count the words that only one text has and whose opposite only the other has."""
    ours, theirs = set(old.words) - set(new.words), set(new.words) - set(old.words)
    return sum((left, right) in _pairs("opposites", "/") for left in ours for right in theirs)


def is_stop(word: str) -> bool:
    """Return whether a word says nothing by itself."""
    return word in _listed("stop") or word in _listed("self")


FORMAT = 4
"""Version of the data file; another is refused."""
FOREIGN = 0.2
"""Share of letters outside the Latin script from which the embedding model cannot be trusted to tell "same"."""
_FIX = "install mem again"
_ARTICLES = ("a", "an", "the")
_FAR = 0.5  # cosine below which a token has no counterpart


@dataclass(frozen=True)
class ReadText:
    """A text made ready to be compared with many: its words, and its tokens with their unit vectors."""

    words: Words
    pieces: tuple[int, ...]
    vectors: "Floats"  # (n, dimension), unit rows
    pooled: "Floats"
    says: "Flags"  # (n), False for stop words and punctuation
    is_number: "Flags"
    is_name: "Flags"


def read_text(tokens: "TokenVectors") -> ReadText:
    """Return a text ready to be compared; its token vectors are (n, dimension) float32, made unit rows."""
    parts = [tokens.text[start:end] for start, end in tokens.spans]
    capital = [part[:1].isupper() and span[0] > 0 for part, span in zip(parts, tokens.spans, strict=True)]
    return ReadText(
        read_words(tokens.text),
        tokens.pieces,
        tokens.vectors / np.maximum(np.linalg.norm(tokens.vectors, axis=1, keepdims=True), 1e-9),
        tokens.pooled,
        np.array([any(map(str.isalnum, part)) and not is_stop(part.lower()) for part in parts], np.bool_),
        np.array([any(map(str.isdigit, part)) for part in parts], np.bool_),
        np.array(capital, np.bool_),
    )


def features(old: ReadText, new: ReadText) -> "Floats":
    """Return what describes a pair of texts, (columns) float32."""
    table = old.vectors @ new.vectors.T
    ours, left_old = _aligned(old, new, table)
    theirs, left_new = _aligned(new, old, table.T)
    values = [float(old.pooled @ new.pooled), *_compared(old.words, new.words), *ours, *theirs]
    if left_old.any() and left_new.any():
        means = [side.vectors[left].mean(axis=0) for side, left in ((old, left_old), (new, left_new))]
        part = table[np.ix_(left_old, left_new)]
        values += [_cosine(*means), part.max(), part.max(axis=1).mean(), part.max(axis=0).mean()]
    else:
        values += [-1.0, -1.0, float(left_old.any()), float(left_new.any())]
    return np.array(values, np.float32)


def _cosine(left: "Floats", right: "Floats") -> float:
    return float(left @ right) / max(float(np.linalg.norm(left) * np.linalg.norm(right)), 1e-9)


def _aligned(tokens: ReadText, counterpart: ReadText, table: "Floats") -> "tuple[list[float], Flags]":
    """Describe how the tokens of a text are aligned with another; also return which are left over."""
    count = len(tokens.pieces)
    if not count or not len(counterpart.pieces):
        return [0.0] * 15, np.ones(count, np.bool_)
    best = table.max(axis=1)
    exact = np.isin(tokens.pieces, counterpart.pieces)
    left = tokens.says & ~exact
    lefts = best[left] if left.any() else np.ones(1, np.float32)
    third = max(1, count // 3)
    content = best[tokens.says].mean() if tokens.says.any() else 1.0
    closest = [best.mean(), best.min(), np.sort(best)[:2].mean(), content, exact.mean(), lefts.mean(), lefts.min()]
    counts = [tokens.says, left, left & tokens.is_number, left & tokens.is_name, left & (best < _FAR)]
    share = left.sum() / max(1, tokens.says.sum())
    ends = [left[:third].any(), left[-third:].any()]
    return [float(value) for value in (*closest, *(each.sum() for each in counts), share, *ends)], left


def _compared(old: Words, new: Words) -> list[float]:
    """Describe two texts by their words."""
    shared = old.content & new.content
    values: list[float] = [
        len(shared) / max(1, len(old.content | new.content)),
        len(shared) / max(1, min(len(old.content), len(new.content))),
        sorted(old.words) == sorted(new.words),
        _begins(old.words, new.words),
        _begins(old.words[::-1], new.words[::-1]),
        len(old.words),
        len(new.words) / max(1, len(old.words)),
        opposites(old, new),
        bool(old.names - set(new.words)) and bool(new.names - set(old.words)),
        len(old.numbers & new.numbers),
        len(old.names & new.names),
    ]
    sets = (old.content, new.content), (old.numbers, new.numbers), (old.names, new.names), (old.signs, new.signs)
    for ours, theirs in (*sets, *zip(old.marked, new.marked, strict=True)):
        values += [len(ours - theirs), len(theirs - ours)]
    return values + [min(count, 3) for both in zip(old.phrases, new.phrases, strict=True) for count in both]


def _begins(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """Return how many words two texts begin with."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(ours), len(theirs)))


@dataclass(frozen=True)
class PairModel:
    """The arrays of the data file; of a node that parts pairs the left one follows, a leaf's right one is itself."""

    embedding: str  # name of the embedding model, with the start of its hash
    depth: int
    feature: "NDArray[np.int64]"  # (nodes)
    threshold: "Floats"  # (nodes)
    right: "NDArray[np.int64]"  # (nodes)
    value: "Floats"  # (nodes)
    roots: "NDArray[np.int64]"  # (trees)
    scale: float  # calibration: 1 / (1 + exp(-(scale · score + shift)))
    shift: float

    def repeats(self, pairs: "Sequence[tuple[TokenVectors, TokenVectors]]") -> list[float]:
        """Return how likely the new text of each pair (old, new) says the same, in their order.

        It is 0 where one of the two is in a script that the embedding model cannot read, and where both have the same
        words, in another order or with other signs: the trees take "Ann pays Bo" for "Bo pays Ann". It is 1 where they
        differ by articles alone.
        """
        if not pairs:
            return []
        texts = {id(text): text for pair in pairs for text in pair}
        ready = {key: read_text(text) for key, text in texts.items()}
        read = [(ready[id(old)], ready[id(new)]) for old, new in pairs]
        scores = self.scores(np.array([features(old, new) for old, new in read]))
        chances = 1 / (1 + np.exp(-(scores * self.scale + self.shift)))
        scored = zip(read, chances.tolist(), strict=True)
        return [0.0 if is_never(*pair) else 1.0 if is_always(*pair) else chance for pair, chance in scored]

    def scores(self, table: "Floats") -> "Floats":
        """Return the sum of the trees' leaves for each row of features."""
        rows = np.arange(len(table))[:, None]
        node = np.broadcast_to(self.roots, (len(table), len(self.roots)))
        for _ in range(self.depth):
            after = node + (self.right[node] != node)
            node = np.where(table[rows, self.feature[node]] <= self.threshold[node], after, self.right[node])
        summed: Floats = self.value[node].sum(axis=1)
        return summed


def is_never(old: ReadText, new: ReadText) -> bool:
    """Return whether two texts are no repeat: one cannot be read, or both have the same words, otherwise put."""
    ours, theirs = ([word for word in side.words.words if word in side.words.content] for side in (old, new))
    is_turned = old.words.words == new.words.words or (ours != theirs and sorted(ours) == sorted(theirs))
    return is_turned or max(old.words.foreign, new.words.foreign) > FOREIGN


def is_always(old: ReadText, new: ReadText) -> bool:
    """Return whether two texts differ by articles alone."""
    ours, theirs = ([word for word in side.words.words if word not in _ARTICLES] for side in (old, new))
    return ours == theirs and old.words.signs == new.words.signs


def default_file() -> Path:
    """Return the path of the package's data file."""
    return data.path("pair_model.npz")


@lru_cache(maxsize=2)
def load_pair_model(embedding: str, file: Path | None = None) -> PairModel:
    """Open the comparison learned for an embedding model; raise UnavailableError if there is none or it is damaged."""
    path = file or default_file()
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
            "exact repetitions and keys are recognised",
        )
    return model


def _from_arrays(meta: dict[str, Any], data: "dict[str, NDArray[Any]]") -> PairModel:
    """Build the model; raise ValueError where arrays do not fit each other."""
    feature, right, roots = (data[name].astype(np.int64) for name in ("feature", "right", "roots"))
    sizes = {len(data[name]) for name in ("feature", "right", "threshold", "value")}
    if len(sizes) != 1 or max(right.max(), roots.max()) >= len(feature) or feature.max() >= meta["columns"]:
        raise ValueError("its trees do not fit together")
    threshold, value = (data[name].astype(np.float32) for name in ("threshold", "value"))
    numbers = float(meta["scale"]), float(meta["shift"])
    return PairModel(str(meta["embedding"]), int(meta["depth"]), feature, threshold, right, value, roots, *numbers)
