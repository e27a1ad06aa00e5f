"""How long a session may grow before it is made shorter."""

from dataclasses import dataclass

from ..store.settings import Settings

SHARE = 0.8
SOFT, HARD = 100_000, 125_000


@dataclass(frozen=True)
class Limits:
    """Tokens: from `soft` on old messages are compacted, past `hard` the oldest are archived."""

    soft: int
    hard: int
    window: int | None = None  # what the model takes in, where that is known


def limits(settings: Settings) -> Limits:
    """Settle the limits: as set, else by the model's window, else as most models have it."""
    soft, hard = settings["session.soft_limit"], settings["session.hard_limit"]
    window = None
    model = settings.values.get("llm.model", "")
    if model and not (soft and hard):
        from .llm import context_window

        window = context_window(model)
    return Limits(soft or int(SHARE * window if window else SOFT), hard or window or HARD, window)
