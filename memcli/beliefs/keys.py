"""Keys: the slots that entries fill, such as staging/port. One active entry a key and project; the newer one wins.

Two texts of one key say the same thing at two times, whatever their words: no comparison is asked.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.entry import Entry, same_key
from ..index.index import Index, ask
from ..index.lookups import keys_in_use
from ..store.journal import Change
from ..store.workspace import Workspace
from .change_phrases import core, single, words
from .comparison import compare, is_comparable, replaced_span
from .merging import is_believed_over, is_same_slot
from .plan import Plan, applied, without_lines
from .supersession import EntryFile, conflicting_text, read_entry_file, referring_text, superseded_text

MOST_WORDS = 5
"""Words of a key that is proposed, at most."""


MOST_ALIKE = 50
"""Entries that begin alike of which every pair is compared."""


@dataclass(frozen=True)
class KeyProposal:
    """A key for entries that look like one slot."""

    key: str
    ids: tuple[str, ...]


def proposals(entries: Sequence[Entry]) -> list[KeyProposal]:
    """Propose a key for entries that look like one slot: they took each other's place, or say it with another value.

    Entries that have a key are left out, and so are those that begin with no subject and verb in common.
    """
    known = {entry.id: entry for entry in entries if not entry.key}
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for one, other in _likes(known):
        key = _subject(one.body, other.body) if one.project == other.project else ""
        if key:
            found[key, one.project] |= {one.id, other.id}
    return [KeyProposal(key, tuple(sorted(ids))) for (key, _), ids in sorted(found.items())]


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
    """Return what two statements begin with, up to the verb or preposition before what differs."""
    spelled, theirs = _spelled(one), _spelled(other)
    shared, _ = replaced_span(tuple(spelled), tuple(theirs))
    begin = list(spelled)[:shared]
    links = single("links")
    end = next((place for place, word in enumerate(begin) if place and word in links), 0)
    return "-".join(spelled[word] for word in begin[:end]).casefold() if end <= MOST_WORDS else ""


def _spelled(text: str) -> dict[str, str]:
    """Return the words of a text as they are compared, each with how it is written."""
    found = ((core(words(token)), token.strip(".,;:!?\"'()")) for token in text.split())
    return {said[0]: token for said, token in found if said}


@dataclass(frozen=True)
class Filled:
    """What filled the slot before, and what may still fill it, being trusted more."""

    supersedes: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()


def fill(workspace: Workspace, path: str, command: str) -> Filled:
    """Let the entry at a path take the place of what fills its key; what is trusted more is flagged with it."""
    one = read_entry_file(workspace, path)
    if not one.entry.key or one.entry.status != "active":
        return Filled()
    steps: list[Change] = []
    text = one.text
    gone, flagged = [], []
    for other in _others(workspace, one):
        now = EntryFile(one.path, text, one.entry)
        if is_believed_over(other.entry, one.entry, is_told_now=True):
            steps.append(Change(other.path, other.text, superseded_text(workspace, other, one.entry.id)))
            text = referring_text(workspace, now, other.entry.id)
            gone.append(other.entry.id)
        else:
            steps.append(Change(other.path, other.text, conflicting_text(workspace, other, one.entry.id)))
            text = conflicting_text(workspace, now, other.entry.id)
            flagged.append(other.entry.id)
    if text != one.text:
        steps.append(Change(one.path, one.text, text))
    applied(workspace, Plan(tuple(steps)) + without_lines(workspace, gone), command)
    return Filled(tuple(gone), tuple(flagged))


def _others(workspace: Workspace, one: EntryFile) -> list[EntryFile]:
    """Read the other entries that fill the same slot; one that cannot be changed is left out."""
    found = []
    for path in ask(workspace, lambda index: _paths(index, one.entry.key)):
        if path == one.path:
            continue
        try:
            other = read_entry_file(workspace, path)
        except MemError:
            continue
        if is_same_slot(other.entry, one.entry) and other.entry.id not in one.entry.conflicts_with:
            found.append(other)
    return found


def _paths(index: Index, key: str) -> list[str]:
    index.refresh()
    return [path for other, path in keys_in_use(index) if same_key(other) == same_key(key)]
