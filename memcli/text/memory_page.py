"""Long-term memory: a free-form markdown page, read as sections under its headings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from .ids import slug
from .lines import with_code

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")


@dataclass(frozen=True)
class Section:
    """One heading with the text below it, down to the next heading of any depth."""

    anchor: str  # unique on the page; empty for what stands before the first heading
    headings: tuple[str, ...]  # from the outermost to its own
    line: int  # 1-based line of the heading
    start: int  # offsets in the page, the heading included
    end: int


@lru_cache(maxsize=2)  # recall asks for the parts of one page, one after the other
def sections(text: str) -> tuple[Section, ...]:
    """Cut a page at its headings; text before the first one is a section without a name."""
    found: list[Section] = []
    taken: dict[str, int] = {}  # anchors, and the last number of each that was asked for again
    trail: list[tuple[int, str]] = []
    for line, start, end, level, heading in _pieces(text):
        while trail and trail[-1][0] >= level:
            trail.pop()
        if heading:
            trail.append((level, heading))
        anchor = name = slug(heading)
        number = taken.get(name, 1)
        while anchor in taken:
            number += 1
            anchor = f"{name}-{number}"
        taken[name] = number
        taken.setdefault(anchor, 1)
        found.append(Section(anchor, tuple(name for _, name in trail), line, start, end))
    return tuple(found)


def _pieces(text: str) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield line, start, end, depth and heading of each piece; blank ones before the first heading left out."""
    begin, begin_line, level, heading = 0, 1, 0, ""
    offset = 0
    for number, (line, is_code) in enumerate(with_code(text), 1):
        said = line.lstrip("\ufeff") if number == 1 else line
        found = None if is_code else _HEADING.match(said.rstrip("\r\n"))
        if found:
            if heading or text[begin:offset].strip("\ufeff \t\r\n"):
                yield begin_line, begin, offset, level, heading
            begin, begin_line, level, heading = offset, number, len(found[1]), found[2]
        offset += len(line)
    if heading or text[begin:].strip("\ufeff \t\r\n"):
        yield begin_line, begin, len(text), level, heading
