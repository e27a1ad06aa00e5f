"""Lines as editors and grep count them: a newline ends one, and no form feed or other separator does."""

from collections.abc import Iterator
from io import StringIO

BOM = "\ufeff"
"""What some editors put before the first line of a file."""


def lines(text: str) -> Iterator[str]:
    """Yield the lines with their endings; joined they are the text."""
    return iter(StringIO(text, newline="\n"))
