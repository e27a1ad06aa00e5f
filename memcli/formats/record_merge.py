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
"""What tells a record: its id or, where it has none, its text; and how many the same stand before it."""


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
    for one in records(text):
        if one.timestamp:  # what states no time belongs to the record it follows
            yield one.start, one.id, one.timestamp


def _notes(text: str) -> Iterator[tuple[int, str, str]]:
    for one in notes(text):
        if one.time:
            yield one.start, "", one.time


_Cut = Callable[[str], Iterator[tuple[int, str, str]]]
"""Yields where each record of a text begins, its id and its time."""


def _merge(base: str, ours: str, theirs: str, size: int, cut: _Cut, gap: str) -> Merged:
    if base in (ours, theirs) or ours == theirs:
        return merge_texts(base, ours, theirs)
    texts, written = plain_sides(base, ours, theirs)
    old, one, other = (_log(text, cut) for text in texts)
    before, clashes = merge_lines(old.before.split("\n"), one.before.split("\n"), other.before.split("\n"), size)
    found: list[_Piece] = []
    for key in _ordered(old, one, other):
        piece, more = _piece(old.pieces.get(key), one.pieces.get(key), other.pieces.get(key), size)
        found += piece
        clashes += more
    head, log = "\n".join(before), _joined(found, (one, other), gap)
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
        said = block.rstrip()
        time = max(time, moment)  # a record out of place stays where somebody put it
        key = (name or said, seen[name or said])
        seen[name or said] += 1
        pieces[key] = _Piece(key, time, said, block[len(said) :])
    return _Log(text[: marks[0][0]] if marks else text, pieces)


def _ordered(base: _Log, ours: _Log, theirs: _Log) -> dict[Key, None]:
    """Return the records of both sides: those they share as they stand, the others between them by time."""
    one, other = list(ours.pieces), list(theirs.pieces)
    shared = sorted(matches(one, other).items())
    found: dict[Key, None] = {}
    at = 0, 0
    for place in (*shared, (len(one), len(other))):
        here = [ours.pieces[key] for key in one[at[0] : place[0]]]
        there = [theirs.pieces[key] for key in other[at[1] : place[1]]]
        while here or there:
            is_ours = not there or bool(here and (here[0].time, here[0].text) <= (there[0].time, there[0].text))
            found.setdefault((here if is_ours else there).pop(0).key)
        if place[0] < len(one):
            found.setdefault(one[place[0]])
        at = place[0] + 1, place[1] + 1
    return found


def _piece(base: _Piece | None, ours: _Piece | None, theirs: _Piece | None, size: int) -> tuple[list[_Piece], int]:
    """Return what is left of a record, and the clashes in it; two of one id that both sides made both stay."""
    if ours is None or theirs is None:
        kept = ours or theirs
        assert kept is not None
        is_gone = base is not None and base.text == kept.text
        return ([] if is_gone else [kept]), 0
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
    usual = max(between, key=lambda one: (between[one], one), default=gap)
    ends = [list(side.pieces.values())[-1] for side in sides]
    last = max((piece.gap for piece in ends), default="")
    lasts = {piece.key for piece in ends}
    parts = []
    for piece in pieces:
        parts += [piece.text, usual if piece.key in lasts or "\n" not in piece.gap else piece.gap]
    return "".join([*parts[:-1], last]) if parts else ""
