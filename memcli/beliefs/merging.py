"""Make one memory of two that say the same: nothing of either is lost, and nothing stands there twice.

What is said again only counts, beside the file. What it brings along goes into the file: another wording, tags, files.
"""

from typing import Any

from ..formats.entry import SEMANTIC, Entry
from .precedence import is_trusted_less
from .same_text import are_twins

_PLAIN = "fact"  # what a memory is where nobody says more exactly
_JOINED = ("tags", "references", "files")


def are_of_one_kind(one: str, other: str) -> bool:
    """Tell whether memories of two types can be one: types are the same, or one is a fact and the other says more."""
    return one == other or (_PLAIN in (one, other) and kind_of(one) == kind_of(other))


def kind_of(name: str) -> str:
    """Give what the types of memories that can be one have in common; a correction is an event of its own."""
    return "semantic" if name in SEMANTIC and name != "correction" else name


def says(entry: Entry, text: str) -> bool:
    """Tell whether an entry has a text already, as its body or as another wording."""
    return any(are_twins(one, text) for one in (entry.body, *entry.wordings))


def told_anew(old: Entry, new: Entry) -> tuple[dict[str, Any], str | None]:
    """Give the fields, and the body where it is another one, that change when a memory is said again.

    Both wordings stay: the body is that of who is trusted more, and the other one goes to `wordings`. The old entry
    keeps its id, its time of creation and, unless the new one's says more, its type. Empty where it only counts.
    """
    told: dict[str, Any] = {}
    body = None
    if not says(old, new.body):
        is_trusted_more = is_trusted_less(old, new)
        body = new.body if is_trusted_more else None
        told["wordings"] = [*old.wordings, old.body if is_trusted_more else new.body]
    told |= _wordings_of(old, new, told.get("wordings", old.wordings), body or old.body)
    if old.type == _PLAIN != new.type:
        told["type"] = new.type
    for key in _JOINED:
        joined = _joined(getattr(old, key), getattr(new, key))
        if joined != getattr(old, key):
            told[key] = list(joined)
    if new.cited:  # the same lines as they are now, in the place of what they were
        places = {_place(one) for one in new.cited}
        told["cited"] = [*(one for one in old.cited if _place(one) not in places), *new.cited]
    if is_trusted_less(old, new):
        told |= {"trust": new.trust, "source": new.source}
    if new.confidence is not None and (old.confidence is None or new.confidence > old.confidence):
        told["confidence"] = new.confidence
    if new.salience is not None and (old.salience is None or new.salience > old.salience):
        told["salience"] = new.salience
    if new.pinned and not old.pinned:
        told["pinned"] = True
    for key in ("title", "project", "key"):
        if getattr(new, key) and not getattr(old, key):
            told[key] = getattr(new, key)
    more = {key: value for key, value in new.metadata.items() if key not in old.metadata}
    if more:
        told["metadata"] = {**old.metadata, **more}
    return told, body


def _place(citation: str) -> str:
    return citation.rpartition("@")[0] or citation


def _wordings_of(old: Entry, new: Entry, known: Any, body: str) -> dict[str, Any]:
    """Take over the other wordings of the new one."""
    found = list(known)
    found += [one for one in new.wordings if not any(are_twins(one, other) for other in (body, *found))]
    return {"wordings": found} if found != list(old.wordings) else {}


def _joined(old: tuple[Any, ...], new: tuple[Any, ...]) -> tuple[Any, ...]:
    return old + tuple(one for one in new if one not in old)
