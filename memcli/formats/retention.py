"""How far a memory has faded: its type, age, use and trust in one number.

The formula is the decay of the memory system jcode.
"""

import math
from datetime import datetime
from typing import Any

from .dates import parse_time

DECAY_DAYS = {
    "correction": 365.0,
    "preference": 90.0,
    "constraint": 90.0,
    "fact": 30.0,
    "procedure": 30.0,
    "lesson": 30.0,
    "observation": 7.0,
}
DEFAULT_DECAY_DAYS = 30.0
FADED = 0.1
LASTING_TYPES = ("constraint", "entity", "episode", "summary")


def compute_retention(entry: Any, now: datetime, access_count: int = 0) -> float:
    """Return e^(−age / decay days) × (1 + ln(accesses + 1)) × trust.

    `entry` is an Entry or IndexedEntry. Its age counts from its latest date. Use can lift the
    value above 1.
    """
    said = parse_time(max(entry.created_at, entry.updated_at))
    # A clock that went back must not make a memory stronger than new.
    days = max((now - said).total_seconds() / 86400, 0.0) if said else 0.0
    decay_days = DECAY_DAYS.get(entry.type, DEFAULT_DECAY_DAYS)
    use = 1 + math.log(access_count + 1)
    return float(math.exp(-days / decay_days) * use * entry.trust)


def can_fade(entry: Any) -> bool:
    """Return whether a memory fades at all."""
    if entry.pinned or entry.type in LASTING_TYPES:
        return False
    return not (entry.type == "preference" and entry.source == "user")
