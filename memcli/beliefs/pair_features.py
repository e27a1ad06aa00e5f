"""Numbers that describe two texts side by side: what of each is aligned with the other, and what is left over.

A token of one text is aligned with the token of the other whose vector is nearest (the contextual alignment of
BERTScore, Zhang et al. 2020). The order of the features belongs to the data file of the model: to change it, train.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..dataclass import dataclass
from .pair_words import KINDS, Words, are_swapped, has_other_words, is_stop, opposites, read_words, swapped_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..index.text_vectors import TokenVectors

    Floats = NDArray[np.float32]
    Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class ReadText:
    """A text made ready to be compared with many: its words, and its tokens with their unit vectors."""

    words: Words
    pieces: tuple[int, ...]
    vectors: "Floats"  # (n, dimension), unit rows
    raw: "Floats"  # (n, dimension), as the model gave them
    pooled: "Floats"
    says: "Flags"  # (n), False for stop words and punctuation
    is_number: "Flags"
    is_name: "Flags"


def read_text(tokens: "TokenVectors") -> ReadText:
    """Return a text ready to be compared; its token vectors are (n, dimension) float32, made unit rows."""
    text = tokens.text
    parts = [text[start:end] for start, end in tokens.spans]
    norms = np.linalg.norm(tokens.vectors, axis=1, keepdims=True)
    return ReadText(
        read_words(text),
        tokens.pieces,
        tokens.vectors / np.maximum(norms, 1e-9),
        tokens.vectors,
        tokens.pooled,
        np.array([any(map(str.isalnum, part)) and not is_stop(part.lower()) for part in parts], np.bool_),
        np.array([any(map(str.isdigit, part)) for part in parts], np.bool_),
        np.array(
            [part[:1].isupper() and span[0] > 0 for part, span in zip(parts, tokens.spans, strict=True)], np.bool_
        ),
    )


def features(old: ReadText, new: ReadText) -> "tuple[Floats, Floats]":
    """Return the features of a pair, (columns) float32, and the (5, dimension) vectors that are projected to more."""
    cosine = float(old.pooled @ new.pooled)
    table = old.vectors @ new.vectors.T
    kept, left_old = _aligned(old, new, table)
    told, left_new = _aligned(new, old, table.T)
    residues = [_mean(old.raw, left_old), _mean(new.raw, left_new)]
    values = [cosine, cosine * cosine, *_compared(old.words, new.words), *kept, *told]
    values += [kept[0] - told[0], kept[5] - told[5], *_leftovers(table, left_old, left_new, residues)]
    pooled = [np.abs(old.pooled - new.pooled), old.pooled * new.pooled, new.pooled - old.pooled]
    return np.array(values, np.float32), np.array([*pooled, *residues], np.float32)


def _mean(vectors: "Floats", chosen: "Flags") -> "Floats":
    """Return the unit mean of the chosen rows; zero where there is none."""
    if not chosen.any():
        return np.zeros(vectors.shape[1] if vectors.ndim == 2 else 0, np.float32)
    mean = vectors[chosen].mean(axis=0)
    unit: Floats = (mean / max(float(np.linalg.norm(mean)), 1e-9)).astype(np.float32)
    return unit


def _aligned(one: ReadText, other: ReadText, table: "Floats") -> "tuple[list[float], Flags]":
    """Describe how the tokens of one text are aligned with another; also tell which are left over."""
    count = len(one.pieces)
    if not count or not len(other.pieces):
        return [0.0] * 30, np.ones(count, np.bool_)
    best = table.max(axis=1)
    known = set(other.pieces)
    exact = np.array([piece in known for piece in one.pieces], np.bool_)
    left = one.says & ~exact
    says = max(1, int(one.says.sum()))
    place = (np.arange(count) + 0.5) / count
    third = max(1, count // 3)
    names, numbers = left & one.is_name, left & one.is_number
    lefts, where = (best[left], place[left]) if left.any() else (np.ones(1), np.full(1, 0.5))
    return [
        float(best.mean()),
        float(best.min()),
        float(np.sort(best)[:2].mean()),
        float(best[one.says].mean()) if one.says.any() else 1.0,
        float(exact.mean()),
        float(left.sum() / says),
        float(left.sum()),
        float(one.says.sum()),
        float(lefts.mean()),
        float(lefts.min()),
        float(lefts.max()),
        float(where.mean()),
        float(where.min()),
        float(where.max()),
        float(numbers.sum()),
        float(names.sum()),
        float((left & ~one.is_number & ~one.is_name).sum()),
        float(exact[one.is_number].mean()) if one.is_number.any() else -1.0,
        float(exact[one.is_name].mean()) if one.is_name.any() else -1.0,
        float(best[names].mean()) if names.any() else 1.0,
        float(best[numbers].mean()) if numbers.any() else 1.0,
        float(exact[0]),
        float(exact[-1] if one.says[-1] or count == 1 else exact[-2]),
        float(best[:third].mean()),
        float(best[-third:].mean()),
        float(best[min(third, count - 1) : max(third + 1, 2 * third)].mean()),
        float(left[:third].any()),
        float(left[-third:].any()),
        float((best[left] < 0.5).sum()),
        float(left[:third].sum() / max(1, int(one.says[:third].sum()))),
    ], left


def _leftovers(table: "Floats", old: "Flags", new: "Flags", means: "list[Floats]") -> list[float]:
    """Describe how what is left of one text is to what is left of the other: a value for a value, or another thing."""
    if not old.any() or not new.any():
        return [-1.0, -1.0, -1.0, -1.0, float(old.any()), float(new.any())]
    part = table[np.ix_(old, new)]
    return [
        float(means[0] @ means[1]),
        float(part.max()),
        float(part.max(axis=1).mean()),
        float(part.max(axis=0).mean()),
        1.0,
        1.0,
    ]


def _compared(old: Words, new: Words) -> list[float]:
    """Describe two texts by their words."""
    shared = old.content & new.content
    sizes = max(1, len(old.words)), max(1, len(new.words))
    values = [
        len(shared) / max(1, len(old.content | new.content)),
        len(shared) / max(1, min(len(old.content), len(new.content))),
        len(old.content - new.content),
        len(new.content - old.content),
        len(shared),
        sorted(old.words) == sorted(new.words),
        _common(old.words, new.words),
        _common(old.words[::-1], new.words[::-1]),
        sizes[0],
        sizes[1],
        sizes[1] / sizes[0],
        old.words[:1] == new.words[:1],
        old.words[:2] == new.words[:2],
        opposites(old, new),
        max(old.foreign, new.foreign),
        *_sets(old.amounts.exact, new.amounts.exact),
        *_sets(old.names, new.names),
        bool(old.names - set(new.words)) and bool(new.names - set(old.words)),
        old.amounts == new.amounts,
        old.amounts.agree(new.amounts),
        are_swapped(old, new),
        *_swap(old, new),
        *_numbers(old, new),
    ]
    for kind in KINDS:
        ours, theirs = old.marked[kind], new.marked[kind]
        values += [len(ours), len(theirs), len(theirs - ours), len(ours - theirs), (len(ours) > 0) != (len(theirs) > 0)]
    for before, after in zip(old.phrases, new.phrases, strict=True):
        values += [min(before, 3), min(after, 3), after > 0 and before == 0]
    return [float(value) for value in values]


def _swap(old: Words, new: Words) -> list[float]:
    """Describe what stands in one text in the place of something else in the other: how long, where, of what kind."""
    first, last, rest = swapped_spans(old, new)
    ours, theirs = (words.words[first : len(words.words) - last] for words in (old, new))
    names = [bool(words.names.intersection(span)) for words, span in ((old, ours), (new, theirs))]
    numbers = [any(sign.isdigit() for word in span for sign in word) for span in (ours, theirs)]
    share = (first + last) / max(1, first + last + rest)
    place = first / max(1, first + last)
    return [first, last, len(ours), len(theirs), share, place, sum(names), sum(numbers), has_other_words(old, new)]


def _numbers(old: Words, new: Words) -> list[float]:
    """Describe the first number of each text that the other lacks: it may name a thing, as `box 15`, or be a value."""
    ours, theirs = _number_apart(old, new), _number_apart(new, old)
    if ours is None or theirs is None:
        return [0.0, 0.0, 0.0, -1.0, -1.0, 0.0, 0.0]
    rests = [one.content - other.content for one, other in ((old, new), (new, old))]
    counts = [sum(not any(map(str.isdigit, word)) for word in rest) for rest in rests]
    return [1.0, ours[1] == theirs[1] != "", ours[2] == theirs[2] != "", ours[0], theirs[0], *counts]


def _number_apart(one: Words, other: Words) -> tuple[float, str, str] | None:
    """Return where in a text the first number stands that another lacks, with the words around it."""
    words = ("", *one.words, "")
    known = set(other.words)
    for at, word in enumerate(words):
        if any(map(str.isdigit, word)) and word not in known:
            return (at - 1) / len(one.words), words[at - 1], words[at + 1]
    return None


def _sets(old: frozenset[str], new: frozenset[str]) -> list[float]:
    return [len(old & new), len(old - new), len(new - old), bool(old) and bool(new) and old.isdisjoint(new)]


def _common(old: tuple[str, ...], new: tuple[str, ...]) -> float:
    """Return the share of the shorter text that the two begin with."""
    length = next((at for at, (left, right) in enumerate(zip(old, new, strict=False)) if left != right), None)
    shorter = min(len(old), len(new))
    return (shorter if length is None else length) / max(1, shorter)
