"""Patterns of files to leave out, as in .gitignore: `*`, `**`, `?`, `[…]`, `!`, `/`."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from .files import read_small_text

IGNORE_FILE = ".secretsignore"
# More wildcards in one pattern would take an expression forever.
MOST_WILDCARDS = 8
NOTHING = re.compile(r"(?!)")


def read_patterns(root: Path, name: str = IGNORE_FILE) -> tuple[str, ...]:
    """Return the patterns of an ignore file in a folder."""
    lines = read_small_text(root / name).splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))


def is_ignored(patterns: Iterable[str], path: str) -> bool:
    """Return whether the last pattern that matches a path leaves it out."""
    ignored = False
    # The last match wins, as in .gitignore.
    for pattern in patterns:
        is_negated = pattern.startswith("!")
        if compile_pattern(pattern.removeprefix("!")).search(path):
            ignored = not is_negated
    return ignored


@lru_cache
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression of a pattern. It matches a file, or a folder above it."""
    if pattern.count("*") > MOST_WILDCARDS:
        return NOTHING
    start = "(?:^|/)" if "/" not in pattern.rstrip("/") else "^"
    parts = re.split(r"(\*\*/|\*\*|\*|\?|\[[^\]]+\])", pattern.strip("/"))
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    expression = ""
    for part in parts:
        if part in wildcards:
            expression += wildcards[part]
        elif part.startswith("[") and part.endswith("]"):
            expression += "[" + part[1:-1].replace("!", "^", 1).replace("\\", "\\\\") + "]"
        else:
            expression += re.escape(part)
    try:
        return re.compile(f"{start}{expression}(?:/|$)")
    except re.error:
        return NOTHING  # such as [z-a]
