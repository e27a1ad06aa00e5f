"""Keys: the slots that entries fill, such as staging/port. One active entry a key and project; the newer one wins.

Two texts of one key say the same thing at two times, whatever their words: no comparison is asked.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..text.entry import Entry, same_key
from .changes import replaced_span
from .phrases import core, phrases, words

MOST_WORDS = 5
"""Words of a key that is proposed, at most."""


@dataclass(frozen=True)
class Proposal:
    """A key for entries that look like one slot."""

    key: str
    ids: tuple[str, ...]


def slot_of(entry: Entry) -> tuple[str, str]:
    """Give key and project of an entry, by which two fill the same slot."""
    return same_key(entry.key), entry.project


def proposals(entries: Sequence[Entry], linked: Mapping[str, Iterable[str]]) -> list[Proposal]:
    """Propose a key for entries that took each other's place or are flagged, and begin with the same subject.

    `linked` are the ids that each entry is linked with. Entries that have a key are left out.
    """
    known = {entry.id: entry for entry in entries if not entry.key}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one in known.values():
        for other in (known[identifier] for identifier in linked.get(one.id, ()) if identifier in known):
            key = _subject(one.body, other.body) if one.project == other.project else ""
            if key:
                found[key, one.project] |= {one.id, other.id}
    return [Proposal(key, tuple(sorted(ids))) for (key, _), ids in sorted(found.items())]


def _subject(one: str, other: str) -> str:
    """Name what two statements begin with, up to the verb or preposition before what differs."""
    spelled, theirs = _spelled(one), _spelled(other)
    shared, _ = replaced_span(tuple(spelled), tuple(theirs))
    begin = list(spelled)[:shared]
    links = phrases().links
    end = next((place for place, word in enumerate(begin) if place and word in links), 0)
    return "-".join(spelled[word] for word in begin[:end]).casefold() if end <= MOST_WORDS else ""


def _spelled(text: str) -> dict[str, str]:
    """Give the words of a text as they are compared, each with how it is written."""
    found = ((core(words(token)), token.strip(".,;:!?\"'()")) for token in text.split())
    return {said[0]: token for said, token in found if said}
