"""Exact text search over every file, as grep does it, on the text the index keeps."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..index.filters import Filter
from ..index.index import Index


@dataclass(frozen=True)
class Line:
    """One line of output: a match, or context beside one."""

    path: str
    line: int
    text: str
    is_match: bool = True


@dataclass(frozen=True)
class Pattern:
    """What to look for; a regular expression may work for `seconds` on all the files together."""

    text: str
    fixed: bool = False
    ignore_case: bool = False
    words: bool = False
    seconds: float = 5.0


def grep(index: Index, pattern: Pattern, wanted: Filter, context: int = 0) -> Iterator[Line]:
    """Yield the matching lines with their context, file by file."""
    matches = finder(pattern)
    for path, text in index.texts(wanted):
        found = matches(text)
        first = next(found, None)
        if first is not None:
            yield from _lines(path, text, _with(first, found), context)


def count(index: Index, pattern: Pattern, wanted: Filter) -> Iterator[tuple[str, int]]:
    """Yield every file that matches with its number of matching lines."""
    matches = finder(pattern)
    for path, text in index.texts(wanted):
        lines = {text.count("\n", 0, start) for start in matches(text)}
        if lines:
            yield path, len(lines)


def finder(pattern: Pattern) -> Callable[[str], Iterator[int]]:
    """Give a function that yields where in a text the pattern matches; UsageError for a bad expression."""
    expression = re.escape(pattern.text) if pattern.fixed else pattern.text
    if pattern.words:
        expression = rf"(?<!\w)(?:{expression})(?!\w)"
    if pattern.fixed:
        known = re.compile(expression, re.IGNORECASE if pattern.ignore_case else 0)
        return lambda text: (match.start() for match in known.finditer(text))
    # The standard library's engine cannot be stopped; a bad expression would hang an agent for good.
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if pattern.ignore_case else 0)
    try:
        compiled = regex.compile(expression, flags)
    except regex.error as error:
        raise UsageError(
            f"{pattern.text!r} is not a regular expression ({error})",
            "use -F to look for the text as it stands",
        ) from None
    return lambda text: _bounded(compiled, text, pattern)


def _bounded(compiled: Any, text: str, pattern: Pattern) -> Iterator[int]:
    try:
        for match in compiled.finditer(text, timeout=pattern.seconds):
            yield match.start()
    except TimeoutError:
        raise UsageError(
            f"{pattern.text!r} took more than {pattern.seconds:g} s",
            "simplify it, or raise the setting grep.timeout",
        ) from None


def _lines(path: str, text: str, starts: Iterator[int], context: int) -> Iterator[Line]:
    """Turn offsets into lines, each once, with the lines around them."""
    lines = text.split("\n")
    numbers: list[int] = []
    offset = number = 0
    for start in starts:
        number += text.count("\n", offset, start)
        offset = start
        if number < len(lines) and (not numbers or numbers[-1] != number):
            numbers.append(number)
    matched = set(numbers)
    shown = -1
    for number in numbers:
        for near in range(max(number - context, shown + 1), min(number + context + 1, len(lines))):
            shown = near
            yield Line(path, near + 1, lines[near].rstrip("\r"), near in matched)


def _with(first: int, rest: Iterator[int]) -> Iterator[int]:
    yield first
    yield from rest
