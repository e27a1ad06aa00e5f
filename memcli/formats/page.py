"""MEMORY.md: a free page with sections, and the lines that mem promotes into it.

New lines go between two markers. Each ends with the id of its memory, so that the line follows the
memory when it changes, and with a digest of its words, which tells whether a person changed them.
A person can protect a part of the page with `<!-- mem:keep -->` and `<!-- /mem:keep -->`.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from .ids import build_slug
from .text import build_text_digest

# ## Deployment ##
HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
FENCE = re.compile(r"\s*(```+|~~~+)")
# - Tea, not coffee. <!-- mem_01kajd3v7m4kq7tz 4b5787 -->
PROMOTED_LINE = re.compile(
    r"- (?P<statement>.*\S) <!-- (?P<id>[a-z]+_\w{16})(?: (?P<digest>[0-9a-f]+))? -->\s*"
)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
OPENING, CLOSING = "<!-- mem:promoted -->", "<!-- /mem:promoted -->"
KEEP, KEEP_END = "<!-- mem:keep -->", "<!-- /mem:keep -->"


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
    for number, (offset, content, is_code) in enumerate(split_lines(text), 1):
        # In a code block, a comment of a shell script looks like a heading.
        heading = None if is_code else HEADING.match(content.lstrip("\ufeff").rstrip("\r\n"))
        if heading:
            cuts.append((offset, number, len(heading[1]), heading[2]))
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


class PromotedLine(NamedTuple):
    """A line of the page that states a memory."""

    id: str
    statement: str
    line: int  # from 1
    digest: str  # of the words that mem wrote; empty in a line that mem did not write

    @property
    def is_reworded(self) -> bool:
        """Whether a person changed the words of mem."""
        return self.digest not in ("", build_line_digest(self.statement))


class PageError(ValueError):
    """A marker of the page has no partner."""


def find_promoted_lines(page: str) -> dict[str, str]:
    """Return the id and the statement of every promoted line, also of protected ones."""
    matches = filter(None, map(PROMOTED_LINE.fullmatch, page.splitlines()))
    return {match["id"]: match["statement"] for match in matches}


def list_promoted_lines(page: str) -> list[PromotedLine]:
    """Return the promoted lines that mem may change."""
    lines = []
    for number, (_, line, is_protected) in enumerate(split_page(page), 1):
        match = PROMOTED_LINE.fullmatch(line)
        if match and not is_protected:
            lines.append(
                PromotedLine(match["id"], match["statement"], number, match["digest"] or "")
            )
    return lines


def split_lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the offset and text of every line, and whether it belongs to a code block."""
    offset = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        # A block between longer fences can contain shorter ones, which do not end it.
        is_fence = bool(mark and (not fence or mark[1].startswith(fence)))
        if mark and is_fence:
            fence = "" if fence else mark[1]
        yield offset, line, bool(fence or is_fence)
        offset += len(line)


def split_page(page: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the lines as `split_lines` does, and whether they are code or protected by a person."""
    is_kept = False
    for offset, line, is_code in split_lines(page):
        content = line.strip("\ufeff \t\r\n")
        is_kept = (is_kept and content != KEEP_END) or content == KEEP
        yield offset, line, is_code or is_kept


def format_promoted_line(entry_id: str, statement: str) -> str:
    """Return the line of a memory, without its line end."""
    # A comment in the statement would hide the id, or everything below it.
    plain = " ".join(statement.replace("<!--", "&lt;!--").replace("-->", "--&gt;").split())
    return f"- {plain} <!-- {entry_id} {build_line_digest(plain)} -->"


def build_line_digest(statement: str) -> str:
    return build_text_digest(statement).hex()[:6]


def add_promoted_lines(page: str, statements: Mapping[str, str]) -> str:
    """Return the page with a line for each memory, by id, before the closing marker.

    A page without markers gets them at its end. Raises PageError.
    """
    # The page keeps the line ends of the editor that wrote it.
    newline = "\r\n" if "\r\n" in page else "\n"
    lines = "".join(
        format_promoted_line(entry_id, statement) + newline
        for entry_id, statement in statements.items()
    )
    position = find_closing_marker(page)
    if position is not None:
        return page[:position] + lines + page[position:]
    gap = ("" if page.endswith("\n") else newline) + newline if page.strip("\ufeff") else ""
    new_page = f"{page}{gap}{OPENING}{newline}{lines}{CLOSING}{newline}"
    # In an open code block the markers do not count, so each command would add them again.
    if find_closing_marker(new_page) is None:
        raise PageError("the page ends inside code or a protected part, which has no end")
    return new_page


def find_closing_marker(page: str) -> int | None:
    """Return the offset of the first closing marker, or None without markers."""
    opening = closing = None
    for offset, line, is_protected in split_page(page):
        content = "" if is_protected else line.strip("\ufeff \t\r\n")
        if content == OPENING and opening is None:
            opening = offset
        elif content == CLOSING and opening is not None and closing is None:
            closing = offset
    if opening is not None and closing is None:
        raise PageError(f"{OPENING} has no {CLOSING} after the lines")
    return closing


def replace_promoted_line(
    page: str,
    entry_id: str,
    statement: str | None,
    new_id: str = "",
    *,
    even_protected: bool = False,
) -> str:
    """Return the page with a memory's line reworded, or without it if the statement is None.

    A line that a person reworded stays until the memory with `new_id` replaces its memory.
    """
    lines = []
    promoted = list_promoted_lines(page)
    reworded = {line.line for line in promoted if line.is_reworded}
    is_successor_there = any(line.id == new_id for line in promoted)
    for number, (_, line, is_protected) in enumerate(split_page(page), 1):
        bare = line.rstrip("\r\n")
        match = PROMOTED_LINE.fullmatch(bare)
        if match and match["id"] == entry_id and (even_protected or not is_protected):
            # The successor may have been promoted before, and a memory has one line.
            if statement is None or is_successor_there:
                continue
            if new_id or even_protected or number not in reworded:
                line = format_promoted_line(new_id or entry_id, statement) + line[len(bare) :]
        lines.append(line)
    return "".join(lines)


def unlink_line(page: str, entry_id: str) -> str:
    """Return the page with a promoted line turned into an ordinary line, without an id."""
    lines = []
    for _, line, is_protected in split_page(page):
        match = PROMOTED_LINE.fullmatch(line)
        if match and match["id"] == entry_id and not is_protected:
            line = f"- {match['statement']}{line[len(line.rstrip()) :]}"
        lines.append(line)
    return "".join(lines)


def strip_comments(text: str) -> str:
    """Return a text without HTML comments. A comment that never ends is text."""
    # Without this cut, each comment that never ends would be read to the end of the text.
    commented, end, rest = text.rpartition("-->")
    return COMMENT.sub("", commented + end) + rest
