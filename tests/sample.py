"""How much of what repeats is tried: a sample in the suite, all of it by `make test-long`."""

import os
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any, TypeVar

Case = TypeVar("Case")
IS_LONG = bool(os.environ.get("MEM_LONG"))


def sampled(cases: Sequence[Case], most: int) -> list[Case]:
    """Return at most so many cases, spread evenly, the first and the last among them; a long run tries all."""
    if IS_LONG or len(cases) <= most:
        return list(cases)
    return [cases[number * (len(cases) - 1) // (most - 1)] for number in range(most)]


def in_turn(cases: Sequence[Any], values: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return each case with one of the values, in turn; a long run tries each with all."""
    if IS_LONG:
        return list(product(cases, values))
    return [(case, values[number % len(values)]) for number, case in enumerate(cases)]


def pairwise(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Return so many combinations that any two values of two axes meet in one; a long run tries all combinations."""
    every = list(product(*map(range, map(len, axes))))
    chosen = every if IS_LONG else []
    unmet = {pair for numbers in every for pair in _pairs(numbers)} if not IS_LONG else set()
    while unmet:
        chosen.append(max(every, key=lambda numbers: len(unmet & _pairs(numbers))))
        unmet -= _pairs(chosen[-1])
    return [tuple(axis[number] for axis, number in zip(axes, numbers, strict=True)) for numbers in chosen]


def _pairs(numbers: Sequence[int]) -> set[tuple[tuple[int, int], ...]]:
    return set(combinations(enumerate(numbers), 2))
