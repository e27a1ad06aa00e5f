"""The part of the long-term memory page that promotion owns: lines between two marks, each with its entry's id.

    <!-- mem:promoted -->
    ## Confirmed

    - User prefers tabs. <!-- mem_01kh5zpjgkbz6vpb 3f2a19 -->
    <!-- /mem:promoted -->

The six digits are a digest of the line's words: where they no longer agree, a person has changed the line, and it is
theirs from then on. Nothing else on the page is ever touched, nor what stands in `<!-- mem:keep -->` within the marks.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from ..errors import RefusedError
from .blake import blake2b
from .conflict import conflict_marker
from .lines import with_code
from .problem import Problem
from .summary import summarise

OPENING, CLOSING = "<!-- mem:promoted -->", "<!-- /mem:promoted -->"
KEEP, END_OF_KEEP = "<!-- mem:keep -->", "<!-- /mem:keep -->"
HEADING = "## Confirmed"
LONGEST = 200
"""Characters of a statement; a longer one is cut at a word."""

_LINE = re.compile(r"- (?P<statement>.*\S) <!-- (?P<id>\S.*?) (?P<digest>[0-9a-f]{6}) -->")


@dataclass(frozen=True)
class Line:
    """A promoted line."""

    id: str
    statement: str
    start: int  # offsets in the page, its end of line included
    end: int
    is_ours: bool  # as it was written; else a person's


@dataclass(frozen=True)
class Promoted:
    """What of a page is promoted, and where more can be put."""

    lines: tuple[Line, ...]
    block: tuple[int, int, int, int] | None  # offsets of the first block: its marks' lines, outer and inner
    problem: Problem | None


def read_promoted(text: str) -> Promoted:
    """Find the promoted lines of a page; a mark that is not closed or a git conflict is its problem."""
    conflict = conflict_marker(text)
    if conflict is not None:
        return Promoted((), None, Problem(conflict, "a git conflict marker: resolve the conflict first"))
    lines: list[Line] = []
    block: tuple[int, int, int, int] | None = None
    opened: tuple[int, int, int] | None = None  # number and offsets of the line with the opening mark
    for number, start, end, bare in _unfenced(text):
        if bare == OPENING and opened is None:
            opened = number, start, end
        elif bare in (OPENING, CLOSING) and (opened is None or bare == OPENING):
            return Promoted((), None, Problem(number, f"{bare} without its other half: mend the marks"))
        elif bare == CLOSING and opened is not None:
            block = block or (opened[1], opened[2], start, end)
            opened = None
        elif opened is not None and (found := _LINE.fullmatch(bare)):
            is_ours = _digest(found["statement"]) == found["digest"]
            lines.append(Line(found["id"], found["statement"], start, end, is_ours))
    if opened is not None:
        return Promoted((), None, Problem(opened[0], f"{OPENING} is never closed: write {CLOSING} after the lines"))
    return Promoted(tuple(lines), block, None)


def statement_of(title: str, body: str) -> str:
    """Write a memory as one line without comment marks or control characters, which could break the page."""
    plain = summarise(title, body, LONGEST).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    return " ".join("".join(letter if letter.isprintable() or letter == "\u200d" else " " for letter in plain).split())


def line_of(identifier: str, statement: str) -> str:
    """Write a promoted line, without its end."""
    return f"- {statement} <!-- {identifier} {_digest(statement)} -->"


def with_lines(text: str, put: Mapping[str, str], drop: Collection[str] = ()) -> str:
    """Return the page with the statements of `put` by id, and without the lines of `drop`.

    A line that is there already is changed in place; new ones go below the others. A line that a person changed stays.
    Raises RefusedError for a page that ends within code or a part to be kept, where nothing new could be found again.
    """
    page = read_promoted(text)
    newline = "\r\n" if re.search(r"\r?\n|\Z", text)[0] == "\r\n" else "\n"  # type: ignore[index]
    pieces: list[str] = []
    seen: set[str] = set()
    at = 0
    for line in page.lines:
        twice = line.id in seen
        seen.add(line.id)
        if line.id in drop or (line.is_ours and twice):
            new = ""
        elif line.is_ours and line.id in put:
            new = line_of(line.id, put[line.id]) + newline
        else:
            continue
        if new.rstrip() != text[line.start : line.end].rstrip():
            pieces += [text[at : line.start], new]
            at = line.end
    result = "".join([*pieces, text[at:]])
    fresh = "".join(line_of(one, said) + newline for one, said in put.items() if one not in seen)
    if fresh:
        result = _with_fresh(result, fresh, newline)
        if not put.keys() <= {line.id for line in read_promoted(result).lines}:
            raise RefusedError("the page ends within code or a part to be kept", "close it first")
        return result
    return result if result == text else _without_empty_block(result)


def _with_fresh(text: str, fresh: str, newline: str) -> str:
    block = read_promoted(text).block
    if block is not None:
        return text[: block[2]] + fresh + text[block[2] :]
    if text.strip("\ufeff"):
        text += newline if text.endswith("\n") else newline * 2
    return f"{text}{OPENING}{newline}{HEADING}{newline}{newline}{fresh}{CLOSING}{newline}"


def _without_empty_block(text: str) -> str:
    """Take the block away when only the heading is left in it; marks that a person put somewhere stay."""
    block = read_promoted(text).block
    if block is None or text[block[1] : block[2]].strip() != HEADING:
        return text
    before = re.sub(r"\r?\n\Z", "", text[: block[0]]) if re.search(r"\n\r?\n\Z", text[: block[0]]) else text[: block[0]]
    return before + text[block[3] :]


def _unfenced(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield number, offsets and content of the lines that are neither code nor kept by a person."""
    kept, offset = False, 0
    for number, (line, is_code) in enumerate(with_code(text), 1):
        start, offset = offset, offset + len(line)
        bare = line.strip("\ufeff \t\r\n")
        if is_code:
            continue
        if bare in (KEEP, END_OF_KEEP):
            kept = bare == KEEP
        elif not kept:
            yield number, start, offset, bare


def _digest(statement: str) -> str:
    return blake2b(statement.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
