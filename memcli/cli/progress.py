"""A line of progress for work that takes longer than two seconds."""

import time
from collections.abc import Callable

from ..context import Context

PATIENCE = 2.0  # seconds without a line
INTERVAL = 0.1
BAR_WIDTH = 24


def build_progress(context: Context, label: str) -> Callable[[int, int], None] | None:
    """Return a function that shows how much is done, or None if stderr is no terminal."""
    if not context.stderr.isatty():
        return None
    began = shown = time.monotonic()

    def show(done: int, total: int) -> None:
        nonlocal shown
        now = time.monotonic()
        is_visible = shown > began
        if done >= total:
            if is_visible:
                context.stderr.write("\r\033[K")
                context.stderr.flush()
        elif now - began > PATIENCE and now - shown > INTERVAL:
            bar = "#" * (BAR_WIDTH * done // total)
            line = f"\r{label:12} [{bar:{BAR_WIDTH}}] {done:,} of {total:,}"
            context.stderr.write(line[: context.width + 1])
            context.stderr.flush()
            shown = now

    return show
