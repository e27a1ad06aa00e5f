"""Measures of a ranking, with their uncertainty; definitions as in trec_eval."""

import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"

DEPTH = 10


@dataclass(frozen=True)
class Scores:
    """How well one ranking answers one query, each from 0 to 1."""

    recall5: float  # share of the relevant documents among the first five
    recall10: float
    reciprocal: float  # 1 / rank of the first relevant one, 0 where it is not among the first ten
    ndcg10: float  # Σ grade / log2(rank + 1) over the same sum of the best ranking (Järvelin and Kekäläinen 2002)


def scores(ranking: Sequence[str], grades: Mapping[str, float]) -> Scores:
    """Measure a ranking of documents against the grades of the relevant ones."""
    found = [grades.get(document, 0.0) for document in ranking[:DEPTH]]
    relevant = sum(grade > 0 for grade in grades.values())
    first = next((rank for rank, grade in enumerate(found, 1) if grade > 0), 0)
    best = _gain(sorted(grades.values(), reverse=True)[:DEPTH])
    return Scores(
        sum(grade > 0 for grade in found[:5]) / max(relevant, 1),
        sum(grade > 0 for grade in found) / max(relevant, 1),
        1 / first if first else 0.0,
        _gain(found) / best if best else 0.0,
    )


def mean(values: Sequence[float]) -> float:
    """Give the mean, NaN of nothing."""
    return math.fsum(values) / len(values) if values else math.nan


def paired_error(ours: Sequence[float], theirs: Sequence[float], draws: int = 1000) -> float:
    """Give the standard error of the mean difference of two rankings over the same queries, by bootstrap."""
    differences = [a - b for a, b in zip(ours, theirs, strict=True)]
    draw = random.Random(1)
    means = [mean(draw.choices(differences, k=len(differences))) for _ in range(draws)]
    middle = mean(means)
    return math.sqrt(mean([(value - middle) ** 2 for value in means]))


def _gain(grades: Sequence[float]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def rows(path: Path) -> list[Any]:
    """Return the documents of a file of JSON lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def show(name: str, text: str, *, write: bool) -> None:
    """Print the figures of a benchmark, and write them into its page of the results folder if asked to."""
    print(text)
    if write:
        (RESULTS / f"{name}.md").write_text(f"# {name}\n\n{text.rstrip()}\n", encoding="utf-8")
