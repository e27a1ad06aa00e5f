"""Merge two changes of one text, line by line: a change by one side is taken, and lines added by either are kept."""

from collections.abc import Sequence
from difflib import SequenceMatcher


def merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Bring the changes of `theirs` into `ours`; where both changed the same lines, ours stay and new ones follow."""
    here, there = _matches(base, ours), _matches(base, theirs)
    result: list[str] = []
    start = (0, 0, 0)
    common = [(line, here[line], there[line]) for line in sorted(here.keys() & there.keys())]
    for end in (*common, (len(base), len(ours), len(theirs))):
        parts = [side[first:last] for side, first, last in zip((base, ours, theirs), start, end, strict=True)]
        result += _settled(*parts)
        result += ours[end[1] : end[1] + 1]
        start = (end[0] + 1, end[1] + 1, end[2] + 1)
    return result


def _settled(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    if ours == base:
        return theirs
    if theirs in (base, ours):
        return ours
    known = {line.strip() for line in (*base, *ours)}
    return [*ours, *(line for line in theirs if line.strip() not in known)]


def _matches(base: Sequence[str], other: Sequence[str]) -> dict[int, int]:
    """Give the lines of the base that stand in the other text, with their places there."""
    blocks = SequenceMatcher(None, base, other, autojunk=False).get_matching_blocks()
    return {block.a + offset: block.b + offset for block in blocks for offset in range(block.size)}
