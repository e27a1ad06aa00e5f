"""Patterns of files to leave out, as in .gitignore: `*`, `**`, `?`, `[…]`, `!`, `/`."""

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

IGNORE_FILE = ".secretsignore"


def read_patterns(root: Path) -> tuple[str, ...]:
    """Return the patterns of a workspace's ignore file."""
    try:
        lines = (root / IGNORE_FILE).read_text("utf-8", "replace").splitlines()
    except OSError:
        return ()
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
    return re.compile(f"{start}{expression}(?:/|$)")
