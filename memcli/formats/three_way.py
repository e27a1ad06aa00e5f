"""Merge two texts that come from one, line by line: what one side changed is taken, what both changed is a clash.

Pure, and the same whichever side is called ours, but for the labels of a clash.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .history import notes, records
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


Key = tuple[str, int]
"""What identifies a record: its id or, where it has none, its text; and how many the same are before it."""


class _Piece(NamedTuple):
    key: Key
    time: str  # of itself or of what it follows
    text: str  # without the blank lines behind it
    gap: str  # those, the end of its last line included


class _Log(NamedTuple):
    before: str  # what stands before the first record
    pieces: dict[Key, _Piece]


def merge_history(base: str, ours: str, theirs: str, size: int = MARKER) -> Merged:
    """Merge a file of history; the same record changed on both sides is merged by lines."""
    return _merge(base, ours, theirs, size, _history, "\n\n")


def merge_notes(base: str, ours: str, theirs: str, size: int = MARKER) -> Merged:
    """Merge the notes of a day."""
    return _merge(base, ours, theirs, size, _notes, "\n")


def _history(text: str) -> Iterator[tuple[int, str, str]]:
    for record in records(text):
        if record.timestamp:  # what states no time belongs to the record it follows
            yield record.start, record.id, record.timestamp


def _notes(text: str) -> Iterator[tuple[int, str, str]]:
    for note in notes(text):
        if note.time:
            yield note.start, "", note.time


_Cut = Callable[[str], Iterator[tuple[int, str, str]]]
"""Yields where each record of a text begins, its id and its time."""


def _merge(base: str, ours: str, theirs: str, size: int, cut: _Cut, gap: str) -> Merged:
    if base in (ours, theirs) or ours == theirs:
        return merge_texts(base, ours, theirs)
    texts, written = plain_sides(base, ours, theirs)
    old, left, right = (_log(text, cut) for text in texts)
    before, clashes = merge_lines(old.before.split("\n"), left.before.split("\n"), right.before.split("\n"), size)
    pieces: list[_Piece] = []
    for key in _ordered(old, left, right):
        piece, more = _piece(old.pieces.get(key), left.pieces.get(key), right.pieces.get(key), size)
        pieces += piece
        clashes += more
    head, log = "\n".join(before), _joined(pieces, (left, right), gap)
    joint = "\n" if head and log and not head.endswith("\n") else ""  # one side may be a line without its end
    return Merged(written(head + joint + log), clashes)


def _log(text: str, cut: _Cut) -> _Log:
    marks = list(cut(text))
    seen: Counter[str] = Counter()
    pieces: dict[Key, _Piece] = {}
    time = ""
    for (start, name, moment), (stop, _, _) in pairwise([*marks, (len(text), "", "")]):
        block = text[start:stop]
        content = block.rstrip()
        time = max(time, moment)  # a record out of place stays where somebody put it
        key = (name or content, seen[name or content])
        seen[name or content] += 1
        pieces[key] = _Piece(key, time, content, block[len(content) :])
    return _Log(text[: marks[0][0]] if marks else text, pieces)


def _ordered(base: _Log, ours: _Log, theirs: _Log) -> dict[Key, None]:
    """Return the records of both sides: those they share as they stand, the others between them by time."""
    left_keys, right_keys = list(ours.pieces), list(theirs.pieces)
    shared = sorted(matches(left_keys, right_keys).items())
    ordered: dict[Key, None] = {}
    start = 0, 0
    for match in (*shared, (len(left_keys), len(right_keys))):
        left = [ours.pieces[key] for key in left_keys[start[0] : match[0]]]
        right = [theirs.pieces[key] for key in right_keys[start[1] : match[1]]]
        while left or right:
            is_ours = not right or bool(left and (left[0].time, left[0].text) <= (right[0].time, right[0].text))
            ordered.setdefault((left if is_ours else right).pop(0).key)
        if match[0] < len(left_keys):
            ordered.setdefault(left_keys[match[0]])
        start = match[0] + 1, match[1] + 1
    return ordered


def _piece(base: _Piece | None, ours: _Piece | None, theirs: _Piece | None, size: int) -> tuple[list[_Piece], int]:
    """Return what is left of a record, and the clashes in it; two of one id that both sides made both stay."""
    if ours is None or theirs is None:
        remaining = ours or theirs
        assert remaining is not None
        is_gone = base is not None and base.text == remaining.text
        return ([] if is_gone else [remaining]), 0
    if ours.text == theirs.text:
        return [ours], 0
    if base is None:
        return sorted((ours, theirs), key=lambda piece: piece.text), 0
    text, clashes = merge_texts(base.text, ours.text, theirs.text, size)
    return [ours._replace(text=text)], clashes


def _joined(pieces: list[_Piece], sides: tuple[_Log, ...], gap: str) -> str:
    sides = tuple(side for side in sides if side.pieces)
    between = Counter(piece.gap for side in sides for piece in list(side.pieces.values())[:-1])
    usual = max(between, key=lambda blank: (between[blank], blank), default=gap)
    ends = [list(side.pieces.values())[-1] for side in sides]
    last = max((piece.gap for piece in ends), default="")
    lasts = {piece.key for piece in ends}
    parts = []
    for piece in pieces:
        parts += [piece.text, usual if piece.key in lasts or "\n" not in piece.gap else piece.gap]
    return "".join([*parts[:-1], last]) if parts else ""
