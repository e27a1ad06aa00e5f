"""Merge the lines of two versions of a text that have a common ancestor."""

from collections.abc import Callable, Iterator, Sequence

Run = tuple[int, int, list[str]]
"""Start and end of replaced lines, and the new lines."""
Resolve = Callable[[list[str], list[str], list[str]], list[str]]
"""Takes the lines of a conflict in the ancestor and on both sides, and returns the merged lines."""


def merge_lines(base: str, ours: str, theirs: str, resolve: Resolve | None = None) -> str | None:
    """Return the text with the changes of both sides, or None if they changed the same lines.

    Changes that only touch are merged; two insertions at the same place are a conflict. With
    `resolve`, every conflict is resolved.
    """
    if ours == base or ours == theirs:
        return theirs
    if theirs == base:
        return ours
    base_lines, our_lines, their_lines = (
        text.splitlines(keepends=True) for text in (base, ours, theirs)
    )
    merged = merge_sequences(base_lines, our_lines, their_lines, resolve)
    return None if merged is None else "".join(merged)


def merge_sequences(
    base: list[str], ours: list[str], theirs: list[str], resolve: Resolve | None = None
) -> list[str] | None:
    """Merge lines, or other parts of a text, as `merge_lines` does."""
    merged: list[str] = []
    position = 0
    for start, end, our_changes, their_changes in group_changes(
        find_changes(base, ours), find_changes(base, theirs)
    ):
        merged += base[position:start]
        position = end
        left = apply_changes(base, start, end, our_changes)
        right = apply_changes(base, start, end, their_changes)
        if left == right or not their_changes:
            merged += left
        elif not our_changes:
            merged += right
        elif resolve is None:
            return None
        else:
            merged += resolve(base[start:end], left, right)
    return merged + base[position:]


def group_changes(
    our_changes: Sequence[Run], their_changes: Sequence[Run]
) -> Iterator[tuple[int, int, list[Run], list[Run]]]:
    """Yield the changes of both sides and the lines they cover. Conflicting changes are grouped."""
    changes = [(change, 0) for change in our_changes] + [(change, 1) for change in their_changes]
    changes.sort(key=lambda item: item[0][:2])
    group: tuple[list[Run], list[Run]] = ([], [])
    start = end = -1
    for change, side in changes:
        # Two insertions at one place touch without a line between them, and their order is unknown.
        is_insertion = change[0] == change[1] == start == end
        if change[0] >= end and not is_insertion:
            if start >= 0:
                yield start, end, *group
            group = ([], [])
            start = change[0]
        end = max(end, change[1])
        group[side].append(change)
    if start >= 0:
        yield start, end, *group


def apply_changes(base: list[str], start: int, end: int, changes: Sequence[Run]) -> list[str]:
    """Return a part of the base with the changes of one side."""
    lines: list[str] = []
    for first, last, new_lines in changes:
        lines += base[start:first] + new_lines
        start = last
    return lines + base[start:end]


def find_changes(base: list[str], changed: list[str]) -> list[Run]:
    """Return (start, end, new lines) of every run of base lines that was replaced."""
    from difflib import SequenceMatcher  # 3 ms that most commands need not pay

    # Without autojunk: in a long note, frequent lines would be treated as noise.
    matcher = SequenceMatcher(None, base, changed, autojunk=False)
    return [
        (start, end, changed[new_start:new_end])
        for tag, start, end, new_start, new_end in matcher.get_opcodes()
        if tag != "equal"
    ]


def find_added_lines(before: str, after: str) -> str:
    """Return the lines of `after` that are not in `before`, as one text."""
    if not before:
        return after
    known = set(before.splitlines())
    return "\n".join(line for line in after.splitlines() if line not in known)
