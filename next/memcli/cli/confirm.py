"""Ask the person at the terminal."""

from ..context import Context
from ..errors import UsageError


def ask(context: Context, question: str) -> bool:
    """Return whether the person answers yes. Without a terminal the answer is no."""
    # An agent that runs mem has no person to answer.
    if not context.is_terminal or not context.stdin.isatty():
        return False
    context.stderr.write(f"{question} [y/N] ")
    context.stderr.flush()
    return context.stdin.readline().strip().lower() in ("y", "yes")


def require_yes(context: Context, question: str, *, yes: bool) -> bool:
    """Return whether to go on with something that cannot be undone. A script must pass --yes."""
    if yes:
        return True
    if not context.is_terminal or not context.stdin.isatty():
        raise UsageError("a purge cannot be undone", "to confirm, add --yes")
    return ask(context, question)
