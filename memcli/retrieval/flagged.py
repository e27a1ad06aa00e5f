"""Put memories that are flagged with each other side by side, the newer first, so that neither is read alone."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from .fusion import Scored

if TYPE_CHECKING:
    from ..index.filters import Filter
    from ..index.index import Index, Piece

T = TypeVar("T")


def side_by_side(
    items: Sequence[T],
    name: Callable[[T], str],
    others: Callable[[T], Collection[str]],
    changed: Callable[[T], str],
) -> list[list[T]]:
    """Gather items with those they are flagged with, in their order, the newer first in each group."""
    by_name = {name(item): item for item in items}
    groups: list[list[T]] = []
    placed: set[int] = set()
    for item in items:
        if id(item) in placed:
            continue
        partners = [by_name[one] for one in others(item) if one in by_name]
        group = [item, *(one for one in partners if one is not item and id(one) not in placed)]
        placed.update(map(id, group))
        groups.append(sorted(group, key=changed, reverse=True))
    return groups


def completed(
    index: "Index", scored: Sequence[Scored], pieces: Mapping[int, "Piece"], wanted: "Filter"
) -> tuple[list[Scored], dict[int, "Piece"]]:
    """Add to hits the active memories they are flagged with, each as relevant as the most relevant of its group."""
    from ..index.flags import chunks_of

    ids = {one for hit in scored for one in flags(pieces[hit.chunk])}
    known = dict(pieces)
    if not ids:
        return list(scored), known
    there = {pieces[hit.chunk].entry.get("id") for hit in scored}
    more = chunks_of(index, ids - there, wanted)
    known |= index.pieces(more) if more else {}
    added = [Scored(chunk, (known[chunk].file, ""), 0.0, {}) for chunk in more]
    groups = side_by_side(
        [*scored, *added],
        lambda one: str(known[one.chunk].entry.get("id") or one.chunk),
        lambda one: flags(known[one.chunk]),
        lambda one: moment(known[one.chunk]),
    )
    found = []
    for group in groups:
        most = max(one.relevance for one in group)
        for one in group:
            gain = most - one.relevance
            found.append(replace(one, relevance=most, parts={**one.parts, "flagged": gain}) if gain else one)
    return found, known


def moment(piece: "Piece") -> str:
    """Give by what the newer of two memories is told: when they changed, then when they were made, as ids sort."""
    return f"{piece.timestamp} {piece.entry.get('id', '')}"


def flags(piece: "Piece") -> list[str]:
    """Give the ids that an entry is flagged with."""
    return list(piece.entry.get("conflicts_with") or ())
