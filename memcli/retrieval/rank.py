"""Fuse words and meaning into one relevance."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Candidate:
    """A chunk with what each arm says of it."""

    chunk: int
    bm25: float  # 0 where it holds none of the words
    cosine: float | None  # None where it has no vector


@dataclass(frozen=True)
class Scored:
    """A chunk with its relevance in [0, 1] and the parts that add up to it."""

    chunk: int
    relevance: float
    parts: Mapping[str, float]


def fuse(candidates: Iterable[Candidate], vector_weight: float) -> list[Scored]:
    """Add the arms: BM25 over its maximum and cosine, each in [0, 1]; highest first."""
    found = list(candidates)
    top = max((one.bm25 for one in found), default=0.0) or 1.0
    scored = []
    for one in found:
        meaning = vector_weight * max(one.cosine or 0.0, 0.0)
        words = (1 - vector_weight) * one.bm25 / top
        scored.append(Scored(one.chunk, meaning + words, {"vector": meaning, "keyword": words}))
    return sorted(scored, key=lambda one: (-one.relevance, one.chunk))
