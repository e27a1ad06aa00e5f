"""Ask the person at the terminal."""

from ..context import Context
from ..errors import UsageError

ESCAPE, END_OF_INPUT = "\x1b", "\x04"


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


def read_key(context: Context) -> str:
    """Return the next key that the person presses, or an empty text at the end of the input."""
    stream = context.stdin
    if not stream.isatty():
        key = stream.read(1)
        while key.isspace():
            key = stream.read(1)
        return key
    import os
    import termios
    import tty
    from select import select

    settings = termios.tcgetattr(stream)
    try:
        tty.setcbreak(stream)
        key = os.read(stream.fileno(), 1).decode("latin-1")
        # An arrow key sends several characters, which must not count as answers.
        while key == ESCAPE and select([stream], [], [], 0)[0]:
            os.read(stream.fileno(), 1)
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, settings)
    return "" if key == END_OF_INPUT else key
