"""How the cost of work grows with its size, told in the same way on a machine that is busy with other things."""

from collections.abc import Callable
from math import inf

ROUNDS = 5


def growth(seconds: Callable[[int], float], few: int, many: int, enough: float) -> float:
    """Return how many times more processor time `many` takes than `few`, each the least of several rounds.

    `seconds(size)` does the work and returns what `time.process_time` counted of it. No round is added once the ratio
    is below `enough`, but the smaller size is always measured three times, since a slow round of it would flatter.
    """
    least = min(seconds(few) for _ in range(3))
    most = inf
    for _ in range(ROUNDS):
        most = min(most, seconds(many))
        if most < enough * least:
            break
        least = min(least, seconds(few))
    return most / least
