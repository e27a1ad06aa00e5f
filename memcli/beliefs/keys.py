"""Keys: the slots that entries fill, such as staging/port. One active entry a key and project; the newer one wins.

Two texts of one key say the same thing at two times, whatever their words: no comparison is asked.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from ..formats.entry import Entry, same_key
from .change_phrases import core, replaced_span, single, words
from .comparison import compare, is_comparable

MOST_WORDS = 5
"""Words of a key that is proposed, at most."""


MOST_ALIKE = 50
"""Entries that begin alike of which every pair is compared."""


@dataclass(frozen=True)
class Proposal:
    """A key for entries that look like one slot."""

    key: str
    ids: tuple[str, ...]


def slot_of(entry: Entry) -> tuple[str, str]:
    """Give key and project of an entry, by which two fill the same slot."""
    return same_key(entry.key), entry.project


def proposals(entries: Sequence[Entry]) -> list[Proposal]:
    """Propose a key for entries that look like one slot: they took each other's place, or say it with another value.

    Entries that have a key are left out, and so are those that begin with no subject and verb in common.
    """
    known = {entry.id: entry for entry in entries if not entry.key}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one, other in _likes(known):
        key = _subject(one.body, other.body) if one.project == other.project else ""
        if key:
            found[key, one.project] |= {one.id, other.id}
    return [Proposal(key, tuple(sorted(ids))) for (key, _), ids in sorted(found.items())]


def _likes(known: Mapping[str, Entry]) -> Iterator[tuple[Entry, Entry]]:
    """Yield the entries that are linked with each other, and those that state another value of the same."""
    alike: dict[tuple[str, ...], list[Entry]] = defaultdict(list)
    for one in known.values():
        others = (one.superseded_by, *one.conflicts_with)
        yield from ((one, known[other]) for other in others if other in known)
        if one.status == "active" and is_comparable(one.body):
            alike[core(words(one.body))[:2]].append(one)
    for group in alike.values():
        for one, other in combinations(group[:MOST_ALIKE], 2):
            if compare(one.body, other.body).is_against:
                yield one, other


def _subject(one: str, other: str) -> str:
    """Name what two statements begin with, up to the verb or preposition before what differs."""
    spelled, theirs = _spelled(one), _spelled(other)
    shared, _ = replaced_span(tuple(spelled), tuple(theirs))
    begin = list(spelled)[:shared]
    links = single("links")
    end = next((place for place, word in enumerate(begin) if place and word in links), 0)
    return "-".join(spelled[word] for word in begin[:end]).casefold() if end <= MOST_WORDS else ""


def _spelled(text: str) -> dict[str, str]:
    """Give the words of a text as they are compared, each with how it is written."""
    found = ((core(words(token)), token.strip(".,;:!?\"'()")) for token in text.split())
    return {said[0]: token for said, token in found if said}
