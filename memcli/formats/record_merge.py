"""Merge logs: history by record, a day's notes by note. What either side added stays, in the order of time, once.

What one side took away (`mem forget --purge`) stays away unless the other side changed it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from .history import notes, records
from .three_way import MARKER, Merged, matches, merge_lines, merge_texts, plain_sides

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
    """Cut a text into records."""
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
    """Join records with the blank lines that stand between records, and end as the sides do."""
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
