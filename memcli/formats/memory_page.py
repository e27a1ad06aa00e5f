"""Long-term memory: a free-form markdown page, read as sections under its headings."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from ..dataclass import dataclass
from ..errors import RefusedError
from .ids import blake2b, slug
from .text_lines import Problem, conflict_marker, normalized, summarise, with_code

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
    result: list[Section] = []
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
        result.append(Section(anchor, tuple(name for _, name in trail), line, start, end))
    return tuple(result)


def _pieces(text: str) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield line, start, end, depth and heading of each piece; blank ones before the first heading left out."""
    begin, begin_line, level, heading = 0, 1, 0, ""
    offset = 0
    for number, (line, is_code) in enumerate(with_code(text), 1):
        content = line.lstrip("\ufeff") if number == 1 else line
        match = None if is_code else _HEADING.match(content.rstrip("\r\n"))
        if match:
            if heading or text[begin:offset].strip("\ufeff \t\r\n"):
                yield begin_line, begin, offset, level, heading
            begin, begin_line, level, heading = offset, number, len(match[1]), match[2]
        offset += len(line)
    if heading or text[begin:].strip("\ufeff \t\r\n"):
        yield begin_line, begin, len(text), level, heading


OPENING, CLOSING = "<!-- mem:promoted -->", "<!-- /mem:promoted -->"
KEEP, END_OF_KEEP = "<!-- mem:keep -->", "<!-- /mem:keep -->"
RULES, PREFERENCES, PEOPLE, PROJECT = HEADINGS = ("## Rules", "## Preferences", "## People", "## Project")
LONGEST = 400
"""Characters of a statement; a longer one is cut at a word."""

_OF_TYPE = {"constraint": RULES, "preference": PREFERENCES, "entity": PEOPLE}

_MARK = r" <!-- (?P<id>{}) (?P<digest>[0-9a-f]{{6}}) -->"
_LINE = re.compile(r"- (?P<statement>.*\S)" + _MARK.format(r"\S.*?"))


@dataclass(frozen=True)
class PromotedLine:
    """A promoted line."""

    id: str
    statement: str
    start: int  # offsets in the page, its end of line included
    end: int
    is_ours: bool  # as it was written; else a person's


@dataclass(frozen=True)
class Promoted:
    """What of a page is promoted, and where more can be put."""

    lines: tuple[PromotedLine, ...]
    block: tuple[int, int, int, int] | None  # offsets of the first block: its marks' lines, outer and inner
    problem: Problem | None


def read_promoted(text: str) -> Promoted:
    """Return the promoted lines of a page; a mark that is not closed or a git conflict is its problem."""
    conflict = conflict_marker(text)
    if conflict is not None:
        return Promoted((), None, Problem(conflict, "a git conflict marker: resolve the conflict first"))
    lines: list[PromotedLine] = []
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
        elif opened is not None and (match := _LINE.fullmatch(bare)):
            is_ours = _digest(match["statement"]) == match["digest"]
            lines.append(PromotedLine(match["id"], match["statement"], start, end, is_ours))
    if opened is not None:
        return Promoted((), None, Problem(opened[0], f"{OPENING} is never closed: write {CLOSING} after the lines"))
    return Promoted(tuple(lines), block, None)


def blocks(text: str) -> list[str]:
    """Return what a page holds from each opening mark to its closing one, or to its end; line ends count as one."""
    parts: list[str] = []
    begin = -1
    for _, start, end, bare in _unfenced(text):
        if bare == OPENING and begin < 0:
            begin = start
        elif bare == CLOSING:
            parts.append(text[max(begin, 0) : end])
            begin = -1
    if begin >= 0:
        parts.append(text[begin:])
    return [part.replace("\r\n", "\n").rstrip("\n") for part in parts]


def strip_comments(text: str) -> str:
    """Return a part of a page without its comments; the id behind a promoted line stays, for `mem read` takes it."""
    text = re.sub(_MARK.format(r"mem_\w+") + r"(?=\s*$)", r" (\g<id>)", text, flags=re.MULTILINE)
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+\n", "\n\n", re.sub(r"(?s)<!--.*?-->", "", text)).strip()


def says_something(part: str) -> bool:
    """Return whether a part of a page is more than a heading."""
    return any(line.strip() and not re.match(r"#{1,6}\s", line) for line in strip_comments(part).splitlines())


def statement_of(title: str, body: str) -> str:
    """Write a memory as one line without comment marks or control characters, which could break the page."""
    plain = summarise(title, body, LONGEST).replace("<!--", "&lt;!--").replace("-->", "--&gt;")
    return " ".join("".join(letter if letter.isprintable() or letter == "\u200d" else " " for letter in plain).split())


def statements(text: str) -> set[str]:
    """Return what the lines of a page say, a person's included, as `normalized` gives texts."""
    return {
        normalized(re.sub(r"<!--.*?-->", "", re.sub(r"\s*[-*+]\s+", "", line, count=1))) for line in text.splitlines()
    }


def heading_of(type_: str) -> str:
    """Return the heading under which a memory of a type stands."""
    return _OF_TYPE.get(type_, PROJECT)


def size_of_ours(text: str) -> int:
    """Return the bytes of all promoted lines of a page that no person changed."""
    return sum(len(text[line.start : line.end].encode()) for line in read_promoted(text).lines if line.is_ours)


def page_line(identifier: str, statement: str) -> str:
    """Write a promoted line, without its end."""
    return f"- {statement} <!-- {identifier} {_digest(statement)} -->"


def promoted_line(line: str) -> tuple[str, bool]:
    """Return the id of a promoted line, and whether it is as it was written; an empty id for any other line."""
    match = _LINE.fullmatch(line.strip("\ufeff \t\r\n"))
    return (match["id"], _digest(match["statement"]) == match["digest"]) if match else ("", False)


def with_lines(
    text: str,
    put: Mapping[str, str],
    drop: Collection[str] = (),
    headings: Mapping[str, str] | None = None,
    successors: Mapping[str, str] | None = None,
) -> str:
    """Return the page with the statements of `put` by id, and without the lines of `drop`.

    A line that is there already is changed in place, and becomes that of the id that `successors` has for its own, of
    several the first; new ones go below the others under their heading, one of `headings` by id. A line that a person
    changed stays. Raises RefusedError for a page that ends within code or a part
    to be kept, where nothing new could be found again.
    """
    page = read_promoted(text)
    newline = "\r\n" if re.search(r"\r?\n|\Z", text)[0] == "\r\n" else "\n"  # type: ignore[index]
    pieces: list[str] = []
    seen: set[str] = set()
    position = 0
    for line in page.lines:
        name = (successors or {}).get(line.id, line.id) if line.is_ours else line.id
        twice = name in seen
        seen.add(name)
        if name in drop or (line.is_ours and twice):
            new = ""
        elif line.is_ours and name in put:
            new = page_line(name, put[name]) + newline
        else:
            continue
        if new.rstrip() != text[line.start : line.end].rstrip():
            pieces += [text[position : line.start], new]
            position = line.end
    result = "".join([*pieces, text[position:]])
    fresh: dict[str, str] = {}
    for identifier in (identifier for identifier in put if identifier not in seen):
        heading = (headings or {}).get(identifier, PROJECT)
        fresh[heading] = fresh.get(heading, "") + page_line(identifier, put[identifier]) + newline
    if fresh:
        for heading in sorted(fresh, key=HEADINGS.index):
            result = _with_fresh(result, heading, fresh[heading], newline)
        if not put.keys() <= {line.id for line in read_promoted(result).lines}:
            raise RefusedError("the page ends within code or a part to be kept", "close it first")
        return result
    return result if result == text else _without_empty_block(_without_empty_headings(result))


def _with_fresh(text: str, heading: str, lines: str, newline: str) -> str:
    """Put lines below those of their heading, which is made where it is not there: in the order of `HEADINGS`."""
    block = read_promoted(text).block
    if block is None:
        if text.strip("\ufeff"):
            text += newline if text.endswith("\n") else newline * 2
        return f"{text}{OPENING}{newline}{heading}{newline}{newline}{lines}{CLOSING}{newline}"
    titles = _titles(text, block)
    for number, (start, end, title) in enumerate(titles):
        if title == heading:
            stop = titles[number + 1][0] if number + 1 < len(titles) else block[2]
            content = text[end:stop].rstrip()
            gap = "" if content else newline
            position = end + len(content) + len(newline) if content else end
            return f"{text[:position]}{gap}{lines}{text[position:]}"
        if title in HEADINGS[HEADINGS.index(heading) + 1 :]:
            return f"{text[:start]}{heading}{newline}{newline}{lines}{newline}{text[start:]}"
    gap = newline if text[block[1] : block[2]].strip() else ""
    return f"{text[: block[2]]}{gap}{heading}{newline}{newline}{lines}{text[block[2] :]}"


def _titles(text: str, block: tuple[int, int, int, int]) -> list[tuple[int, int, str]]:
    """Return where the headings within the marks begin and end, and what they say."""
    return [
        (start, end, bare)
        for _, start, end, bare in _unfenced(text)
        if block[1] <= start < block[2] and bare.startswith("## ")
    ]


def _without_empty_headings(text: str) -> str:
    """Take away the headings of ours with nothing left under them."""
    block = read_promoted(text).block
    if block is None:
        return text
    titles = _titles(text, block)
    stops = [*(start for start, _, _ in titles[1:]), block[2]]
    for (start, end, title), stop in zip(titles, stops, strict=bool(titles)):
        if title in HEADINGS and not text[end:stop].strip():
            before = re.sub(r"(\n)\r?\n\Z", r"\1", text[:start]) if stop == block[2] else text[:start]
            return _without_empty_headings(before + text[stop:])
    return text


def _without_empty_block(text: str) -> str:
    """Take the block at the end of the page away when nothing is left in it."""
    block = read_promoted(text).block
    is_last = block is not None and not text[block[3] :].strip()
    if block is None or not is_last or text[block[1] : block[2]].strip():
        return text
    before = re.sub(r"\r?\n\Z", "", text[: block[0]]) if re.search(r"\n\r?\n\Z", text[: block[0]]) else text[: block[0]]
    return before + text[block[3] :]


def _unfenced(text: str) -> Iterator[tuple[int, int, int, str]]:
    """Yield number, offsets and content of the lines that are neither code nor kept by a person."""
    is_kept, offset = False, 0
    for number, (line, is_code) in enumerate(with_code(text), 1):
        start, offset = offset, offset + len(line)
        bare = line.strip("\ufeff \t\r\n")
        if is_code:
            continue
        if bare in (KEEP, END_OF_KEEP):
            is_kept = bare == KEEP
        elif not is_kept:
            yield number, start, offset, bare


def _digest(statement: str) -> str:
    return blake2b(statement.encode("utf-8", "surrogatepass"), digest_size=3).hexdigest()
