"""Make one memory of two that say the same: nothing of either is lost, and nothing stands there twice."""

from typing import Any

from ..text.entry import SEMANTIC, Entry
from .beliefs import plain
from .claims.reading import claims, sentences

_PLAIN = "fact"  # what a memory is where nobody says more exactly
_JOINED = ("tags", "sources", "references", "files")


def are_of_one_kind(one: str, other: str) -> bool:
    """Tell whether memories of two types can be one: types are the same, or one is a fact and the other says more."""
    return one == other or (_PLAIN in (one, other) and kind_of(one) == kind_of(other))


def kind_of(name: str) -> str:
    """Give what the types of memories that can be one have in common; a correction is an event of its own."""
    return "semantic" if name in SEMANTIC and name != "correction" else name


def merged_fields(old: Entry, new: Entry, moment: str) -> dict[str, Any]:
    """Give the fields of the standing entry that change when another one confirms it, said at a moment.

    Whoever is trusted more stands for it from now on. The old one keeps its id, its time of creation and, unless the
    new one's says more, its type.
    """
    told: dict[str, Any] = {
        "strength": old.strength + new.strength,
        "updated_at": max(moment, old.created_at, old.updated_at),
    }
    if old.type == _PLAIN != new.type:
        told["type"] = new.type
    for key in _JOINED:
        joined = _joined(getattr(old, key), getattr(new, key))
        if joined != getattr(old, key):
            told[key] = list(joined)
    if new.trust > old.trust:
        told |= {"trust": new.trust, "source": new.source}
    if new.confidence is not None and (old.confidence is None or new.confidence > old.confidence):
        told["confidence"] = new.confidence
    if new.salience is not None and (old.salience is None or new.salience > old.salience):
        told["salience"] = new.salience
    if new.pinned and not old.pinned:
        told["pinned"] = True
    if new.title and not old.title:
        told["title"] = new.title
    more = {key: value for key, value in new.metadata.items() if key not in old.metadata}
    if more:
        told["metadata"] = {**old.metadata, **more}
    return told


def merged_body(old: str, new: str) -> str:
    """Give the text of a merged memory: the one that holds all of the other, else the old one with what is new."""
    if plain(old) == plain(new):
        return old
    said, told = _spoken_of(old), _spoken_of(new)
    if told <= said:
        return old
    kept = [sentence for sentence in sentences(old) if plain(sentence)]
    if said <= told and len(kept) <= 1:
        return new
    known = {plain(sentence) for sentence in kept}
    return old.rstrip() + "".join(f"\n{one}" for one in sentences(new) if plain(one) not in known)


def _spoken_of(text: str) -> frozenset[str]:
    """Give all that the statements of a text speak of."""
    return frozenset().union(*(claim.all_keys for claim in claims(text)))


def _joined(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    return old + tuple(one for one in new if one not in old)
