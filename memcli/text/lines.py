"""Lines as editors and grep count them: a newline ends one, and no form feed or other separator does."""

import re
from collections.abc import Iterator
from io import StringIO

BOM = "\ufeff"
"""What some editors put before the first line of a file."""
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")


def lines(text: str) -> Iterator[str]:
    """Yield the lines with their endings; joined they are the text."""
    return iter(StringIO(text, newline="\n"))


def with_code(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of markdown, and whether each belongs to a fenced block of code, its fences included."""
    fence = ""
    for line in lines(text):
        mark = _FENCE.match(line)
        yield line, bool(fence or mark)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
