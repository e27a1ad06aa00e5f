"""Merge the lines of two versions of a text that have a common ancestor."""

Run = tuple[int, int, list[str]]
"""Start and end of replaced lines, and the new lines."""


def merge_lines(base: str, ours: str, theirs: str) -> str | None:
    """Return the text with the changes of both sides, or None if they changed the same lines.

    Changes that only touch are merged; two insertions at the same place are a conflict.
    """
    if ours == base or ours == theirs:
        return theirs
    if theirs == base:
        return ours
    base_lines = base.splitlines(keepends=True)
    our_changes = find_changes(base_lines, ours.splitlines(keepends=True))
    their_changes = find_changes(base_lines, theirs.splitlines(keepends=True))
    merged: list[str] = []
    position = 0
    changes = sorted([*our_changes, *their_changes], key=lambda change: (change[0], change[1]))
    previous: Run | None = None
    for change in changes:
        start, end, lines = change
        if change == previous:
            continue  # both sides made this change
        if previous is not None and is_conflict(previous, change):
            return None
        merged += base_lines[position:start]
        merged += lines
        position = end
        previous = change
    merged += base_lines[position:]
    return "".join(merged)


def is_conflict(first: Run, second: Run) -> bool:
    """Return whether two changes overlap, or insert lines at the same place."""
    if second[0] < first[1]:
        return True
    is_insertion = first[0] == first[1] and second[0] == second[1]
    return is_insertion and first[0] == second[0]


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
