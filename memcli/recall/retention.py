"""How much of a memory is left: the formula of decay, which orders recall and picks what is archived.

score = relevance × e^(−age / days) × (1 + ln(accesses + 1)) × trust, where `days` is the time constant of the type.
Knows numbers only. What is archived, and what is spared, is decided by `maintenance/decay.py`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Protocol

from ..errors import UsageError
from ..formats.entry import EPISODIC, TRUST
from ..formats.times import parse_time

UNKNOWN_TYPE = "fact"
"""The type by whose days a type of another tool fades."""


class Values(Protocol):
    """Settings, or a plain mapping of their names."""

    def __getitem__(self, name: str, /) -> Any:
        """Give the value in force."""


@dataclass(frozen=True)
class Fading:
    """The numbers a score is made of."""

    age: float  # days since the memory was made or last changed, whichever is later; 0 for a date in the future
    days: float  # the time constant; infinite for what does not fade
    accesses: int
    trust: float

    @property
    def score(self) -> float:
        """Multiply them; a memory read often scores above 1."""
        return math.exp(-self.age / self.days) * (1 + math.log(self.accesses + 1)) * self.trust


def retention(row: Mapping[str, Any], now: datetime, settings: Values, accesses: int = 0) -> float:
    """Give the score of an entry's row clipped to 1, for recall; `accesses` are those not yet in its file."""
    return min(1.0, fading(row, now, settings, accesses).score)


def fading(row: Mapping[str, Any], now: datetime, settings: Values, accesses: int = 0) -> Fading:
    """Gather an entry's numbers; what is absent or makes no sense counts as the default the reader gives it."""
    return Fading(
        age(row, now),
        _days(row, settings),
        _count(row.get("access_count")) + accesses,
        _trust(row),
    )


def age(row: Mapping[str, Any], now: datetime) -> float:
    """Give the days since an entry was made or last changed."""
    moments = [parse_time(str(row.get(key) or "")) for key in ("created_at", "updated_at")]
    latest = max((moment for moment in moments if moment is not None), default=now)
    return max(0.0, (now - latest).total_seconds() / 86400)


@lru_cache(maxsize=4)
def tag_days(told: tuple[str, ...]) -> Mapping[str, float]:
    """Read the setting `decay.tags`, a list of TAG=DAYS; UsageError for anything else."""
    found = {}
    for item in told:
        tag, _, days = item.rpartition("=")
        try:
            number = float(days)
        except ValueError:
            number = math.nan
        if not tag or not 0 < number < math.inf:
            raise UsageError(f"decay.tags: {item!r} is no TAG=DAYS", "write it as work=90")
        found[tag.lstrip("#").casefold()] = number
    return found


def _days(row: Mapping[str, Any], settings: Values) -> float:
    """Give the time constant: of a tag, the longest where several have one, else of the type."""
    if settings["decay.tags"]:
        known = tag_days(tuple(settings["decay.tags"]))
        tagged = [known[tag.casefold()] for tag in row.get("tags") or () if tag.casefold() in known]
        if tagged:
            return max(tagged)
    kind = row.get("type") or UNKNOWN_TYPE
    if kind in EPISODIC:
        return math.inf
    try:
        return float(settings[f"decay.days.{kind}"])
    except KeyError:
        return float(settings[f"decay.days.{UNKNOWN_TYPE}"])


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _trust(row: Mapping[str, Any]) -> float:
    value = row.get("trust")
    if isinstance(value, int | float) and 0 <= value <= 1:
        return float(value)
    return TRUST.get(str(row.get("source")), TRUST["inferred"])
