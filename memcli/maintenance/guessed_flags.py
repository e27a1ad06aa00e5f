"""Flags that an earlier version put on memories by a guess: no key in common and no verdict stands behind them."""

from collections.abc import Iterator, Sequence

from ..beliefs.supersession import flags_left, is_guessed
from ..index.file_reader import Reading
from .invariants import Fault, line_in_head, shown_name

_NAMED = 3


def guessed_flags(readings: Sequence[Reading]) -> dict[str, dict[str, object]]:
    """Return what the flags of entries are without those that were guessed, by path: the fields that change."""
    entries = {one.entry.id: one.entry for one in readings if one.entry is not None}
    found = {}
    for one in readings:
        if one.entry is None or one.status != "active" or one.problems:
            continue
        flags = one.entry.conflicts_with
        left = [name for name in flags if name not in entries or not is_guessed(one.entry, entries[name])]
        if fields := {**flags_left(one.entry, left), **({"likely_same": []} if one.entry.likely_same else {})}:
            found[one.path] = fields
    return found


def guesses(readings: Sequence[Reading]) -> Iterator[Fault]:
    """Yield a fault for each entry that has such flags."""
    found = guessed_flags(readings)
    for one in readings:
        if one.path in found and one.entry is not None:
            left = found[one.path].get("conflicts_with", one.entry.conflicts_with)
            assert isinstance(left, list | tuple)
            names = [shown_name(name) for name in one.entry.conflicts_with if name not in left]
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            named = f"is flagged with {', '.join(names[:_NAMED])}{more}"
            what = f"{named} by a guess" if names else "has a guessed likely_same"
            line = line_in_head(one.text, "conflicts_with" if names else "likely_same")
            yield Fault(one.path, line, f"{what}: `mem check --fix` takes that off", "flag", mends=True)
