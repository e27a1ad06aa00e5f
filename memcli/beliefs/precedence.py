"""Which of two memories is believed: what they are about by name, who said them, and when."""

from ..formats.entry import TRUST, Entry
from .change_phrases import opened_by, starts
from .keys import slot_of
from .same_text import plain


def are_apart(old: Entry, new: Entry) -> bool:
    """Tell whether two memories are about different things by name, or were found distinct, whatever they say."""
    if is_same_slot(old, new):
        return False
    if new.id in old.distinct or old.id in new.distinct:
        return True
    names = (old.title, new.title), (old.project, new.project), (slot_of(old)[0], slot_of(new)[0])
    return any(all(pair) and plain(pair[0]) != plain(pair[1]) for pair in names)


def is_same_slot(old: Entry, new: Entry) -> bool:
    """Tell whether two memories fill the same slot: the same key in the same project."""
    return bool(new.key) and slot_of(old) == slot_of(new)


def may_replace(old: Entry, new: Entry) -> bool:
    """Tell whether one may take the other's place: what holds for one project or title need not for the rest."""
    return is_same_slot(old, new) or (old.project == new.project and plain(old.title) == plain(new.title))


def is_believed_over(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Tell whether the new memory is believed: a user's correction wins, else higher trust, else the newer one.

    What is told now without a date of its own is the newer one, whatever the clocks of the two say.
    """
    if new.source == "user" and (new.type == "correction" or opened_by(new.body, starts("corrections"))):
        return True
    if old.source == "user" and old.type == "correction" and new.source != "user":
        return False
    if is_trusted_less(new, old) or is_trusted_less(old, new):
        return is_trusted_less(old, new)
    return is_told_now or _moment(new) >= _moment(old)


def is_trusted_less(one: Entry, other: Entry) -> bool:
    """Tell whether one memory is trusted less: no more than its source is worth, whatever trust it states."""
    return _trust(one) < _trust(other)


def is_earlier_value(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Tell whether a memory is what filled the slot before the one that fills it: no less trusted, and older."""
    return is_same_slot(old, new) and _trust(old) == _trust(new) and not is_told_now and _moment(new) < _moment(old)


def _trust(entry: Entry) -> float:
    return min(entry.trust, TRUST[entry.source])


def _moment(entry: Entry) -> str:
    return max(entry.created_at, entry.updated_at)
