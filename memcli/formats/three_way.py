"""Merge two texts that come from one, line by line: what one side changed is taken, what both changed is a clash.

Pure, and the same whichever side is called ours, but for the labels of a clash.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import NamedTuple

from .text_lines import BOM, lines

Lines = Sequence[str]
Settle = Callable[[Lines, Lines, Lines], Lines | None]
"""Takes what base, ours and theirs have in one place where both changed; None where that is a clash."""

MARKER = 7
"""Length of a conflict marker unless git asks for another one."""
_MOST_PAIRS = 1_000_000  # of lines without any that stands in both texts once: more are not compared


class Merged(NamedTuple):
    """A merged text, and how many places of it a person has to settle between conflict markers."""

    text: str
    clashes: int = 0


def merge_texts(base: str, ours: str, theirs: str, size: int = MARKER, settle: Settle | None = None) -> Merged:
    """Merge two texts by lines; line ends and the byte order mark are merged apart from what the lines say."""
    if ours == theirs or theirs == base:
        return Merged(ours)
    if ours == base:
        return Merged(theirs)
    (base_text, our_text, their_text), written = plain_sides(base, ours, theirs)
    merged, clashes = merge_lines(base_text.split("\n"), our_text.split("\n"), their_text.split("\n"), size, settle)
    return Merged(written("\n".join(merged)), clashes)


def plain_sides(base: str, ours: str, theirs: str) -> tuple[tuple[str, str, str], Callable[[str], str]]:
    """Return three texts without byte order mark and carriage returns, and what writes a text as the merge has them."""
    sides = base, ours, theirs
    marks = [side.startswith(BOM) for side in sides]
    ends = ["\n" in side and side.count("\n") == side.count("\r\n") for side in sides]
    plain = [
        side.removeprefix(BOM).replace("\r\n", "\n") if is_windows else side.removeprefix(BOM)
        for side, is_windows in zip(sides, ends, strict=True)
    ]
    bom = BOM if _one_of(marks, has_base=bool(base)) else ""
    newline = "\r\n" if _one_of(ends, has_base=bool(base)) else "\n"

    def written(text: str) -> str:
        return bom + (text if newline == "\n" else text.replace("\n", newline))

    return (plain[0], plain[1], plain[2]), written


def _one_of(sides: list[bool], *, has_base: bool) -> bool:
    """Return a property of the merged file: what a side changed it to, or what it is on both."""
    base, ours, theirs = sides
    return (ours and theirs) if not has_base or ours == theirs else not base


def sides_of(text: str) -> tuple[str, str, str] | None:
    """Return base, ours and theirs of a text with conflict markers; None where there are none, or one is not closed.

    Of the base only what both sides share is known where the markers do not show it, as those of git's style `merge`.
    """
    sides: tuple[list[str], list[str], list[str]] = ([], [], [])
    part, size = -1, 0
    for line in lines(text):
        length = len(line) - len(line.lstrip(line[:1])) if line[:1] in ("<", "|", "=", ">") else 0
        mark = line[0] if length >= MARKER and (line[length:] or "\n")[0] in " \r\n" else ""
        if part < 0 and mark == "<" and line[length] == " ":
            part, size = 1, length
        elif mark and length == size and (part, mark) in ((1, "|"), (1, "="), (0, "="), (2, ">")):
            part = {"|": 0, "=": 2, ">": -1}[mark]
        else:
            for side in sides if part < 0 else (sides[part],):
                side.append(line)
    base, ours, theirs = map("".join, sides)
    return (base, ours, theirs) if size and part < 0 else None


def merge_lines(
    base: Lines, ours: Lines, theirs: Lines, size: int = MARKER, settle: Settle | None = None
) -> tuple[list[str], int]:
    """Return the merged lines and the number of clashes, which stand between markers of a size."""
    result: list[str] = []
    clashes = 0
    for old, left, right in chunks(base, ours, theirs):
        taken = right if left == old else left if right in (old, left) else settle(old, left, right) if settle else None
        if taken is not None:
            result += taken
            continue
        start, end = common_ends(left, right)
        result += left[:start]
        result += [f"{'<' * size} ours", *left[start : len(left) - end]]
        result += ["=" * size, *right[start : len(right) - end], f"{'>' * size} theirs"]
        result += left[len(left) - end :]
        clashes += 1
    return result, clashes


def chunks(base: Lines, ours: Lines, theirs: Lines) -> Iterator[tuple[Lines, Lines, Lines]]:
    """Cut three texts in step: each line that stands in all of them is a chunk, and what is between two of these."""
    in_ours, in_theirs = matches(base, ours), matches(base, theirs)
    start = (0, 0, 0)
    for line in sorted(in_ours.keys() & in_theirs.keys()):
        stop = line, in_ours[line], in_theirs[line]
        if stop != start:
            yield base[start[0] : stop[0]], ours[start[1] : stop[1]], theirs[start[2] : stop[2]]
        yield base[line : line + 1], ours[stop[1] : stop[1] + 1], theirs[stop[2] : stop[2] + 1]
        start = stop[0] + 1, stop[1] + 1, stop[2] + 1
    if start != (len(base), len(ours), len(theirs)):
        yield base[start[0] :], ours[start[1] :], theirs[start[2] :]


def matches(base: Sequence[Hashable], other: Sequence[Hashable]) -> dict[int, int]:
    """Return the lines of one text that stand in another one, in order, with their places there.

    Lines that each text has once come first (patience diff), which keeps what was moved or inserted in one piece and
    takes no more than n log n steps; only between these every line is compared with every other.
    """
    pairs: dict[int, int] = {}
    waiting = [(0, len(base), 0, len(other))]
    while waiting:
        first, last, begin, finish = waiting.pop()
        start, end = common_ends(base[first:last], other[begin:finish])
        pairs.update((first + step, begin + step) for step in range(start))
        pairs.update((last - step, finish - step) for step in range(1, end + 1))
        first, last, begin, finish = first + start, last - end, begin + start, finish - end
        if first == last or begin == finish:
            continue
        anchors = _anchors(base[first:last], other[begin:finish])
        if anchors:
            steps = [*anchors, (last - first, finish - begin)]
            position = 0, 0
            for left, right in steps:
                waiting.append((first + position[0], first + left, begin + position[1], begin + right))
                position = left + 1, right + 1
            pairs.update((first + left, begin + right) for left, right in anchors)
        elif (last - first) * (finish - begin) <= _MOST_PAIRS and not {*base[first:last]}.isdisjoint(
            other[begin:finish]
        ):
            from difflib import SequenceMatcher

            matcher = SequenceMatcher(None, base[first:last], other[begin:finish], autojunk=False)
            pairs.update(
                (first + block.a + step, begin + block.b + step)
                for block in matcher.get_matching_blocks()
                for step in range(block.size)
            )
    return pairs


def common_ends(left: Sequence[Hashable], right: Sequence[Hashable]) -> tuple[int, int]:
    """Return how many lines two texts begin with, and how many of the rest they end with, in common."""
    most = min(len(left), len(right))
    start = 0
    while start < most and left[start] == right[start]:
        start += 1
    end = 0
    while end < most - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return start, end


def _anchors(base: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the longest row of lines that each text has once, in the order of both."""
    counts = Counter(base), Counter(other)
    positions = {line: number for number, line in enumerate(other)}
    pairs = [
        (number, positions[line])
        for number, line in enumerate(base)
        if counts[0][line] == 1 and counts[1].get(line) == 1
    ]
    ends: list[int] = []  # the least place in the other text at which a row of each length ends
    last: list[int] = []  # the pair it ends with
    before: list[int] = []
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        before.append(last[length - 1] if length else -1)
        ends[length : length + 1] = [position]
        last[length : length + 1] = [number]
    row = []
    number = last[-1] if last else -1
    while number >= 0:
        row.append(pairs[number])
        number = before[number]
    return row[::-1]
