"""MEMORY.md: a free page with sections, and the lines that mem promotes into it.

Promoted lines are between two markers. Each ends with the id of its memory, so that the line
follows the memory when it changes.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from .ids import build_slug

HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
FENCE = re.compile(r"\s*(```+|~~~+)")
PROMOTED_LINE = re.compile(
    r"- (?P<statement>.*\S) <!-- (?P<id>[a-z]+_\w{16})(?: [0-9a-f]+)? -->\s*"
)


class Section(NamedTuple):
    """A heading and the text below it, up to the next heading."""

    anchor: str  # unique on the page; empty before the first heading
    headings: tuple[str, ...]  # from the outermost heading to its own
    line: int  # from 1
    start: int  # offsets in the page, heading included
    end: int


def split_sections(text: str) -> list[Section]:
    """Cut a page at its headings. Headings inside code blocks do not count."""
    cuts = [(0, 1, 0, "")]
    offset = 0
    fence = ""
    for number, content in enumerate(text.splitlines(keepends=True), 1):
        # A comment in a shell script looks like a heading.
        mark = FENCE.match(content)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        heading = None if fence else HEADING.match(content.lstrip("\ufeff").rstrip("\r\n"))
        if heading:
            cuts.append((offset, number, len(heading[1]), heading[2]))
        offset += len(content)
    sections = []
    anchors: dict[str, int] = {}
    trail: list[tuple[int, str]] = []
    ends = [start for start, *_ in cuts[1:]] + [len(text)]
    for (start, line, level, heading_text), end in zip(cuts, ends, strict=True):
        if not heading_text and not text[start:end].strip("\ufeff \t\r\n"):
            continue
        while trail and trail[-1][0] >= level:
            trail.pop()
        if heading_text:
            trail.append((level, heading_text))
        name = build_slug(heading_text)
        anchors[name] = anchors.get(name, 0) + 1
        # Two sections may have the same heading.
        anchor = name if anchors[name] == 1 else f"{name}-{anchors[name]}"
        sections.append(Section(anchor, tuple(words for _, words in trail), line, start, end))
    return sections


def find_promoted_lines(page: str) -> Iterator[tuple[str, str]]:
    """Yield the id and the statement of every promoted line."""
    for line in page.splitlines():
        match = PROMOTED_LINE.fullmatch(line)
        if match:
            yield match["id"], match["statement"]


def replace_promoted_line(page: str, entry_id: str, statement: str | None, new_id: str = "") -> str:
    """Return the page with a memory's line reworded, or without it if the statement is None."""
    lines = []
    for line in page.splitlines(keepends=True):
        match = PROMOTED_LINE.fullmatch(line.rstrip("\r\n"))
        if match and match["id"] == entry_id:
            if statement is None:
                continue
            ending = line[len(line.rstrip("\r\n")) :]
            line = f"- {' '.join(statement.split())} <!-- {new_id or entry_id} -->{ending}"
        lines.append(line)
    return "".join(lines)


def strip_comments(text: str) -> str:
    """Return a text without HTML comments. A comment that never ends is text."""
    pieces = []
    position = 0
    while (start := text.find("<!--", position)) >= 0:
        end = text.find("-->", start)
        if end < 0:
            break
        pieces.append(text[position:start])
        position = end + 3
    return "".join([*pieces, text[position:]])
