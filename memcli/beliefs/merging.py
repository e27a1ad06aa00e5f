"""Which of two memories is believed, and one memory made of two that say the same.

Precedence goes by what they are about by name, who said them, and when. Merging loses nothing of either: what is said
again is counted beside the file, and what it brings along (another wording, tags, files) goes into the file.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..formats.entry import FIELDS, SEMANTIC, TRUST, Entry, same_key
from ..formats.entry_values import FILLED, JOINED, MOST
from .comparison import are_twins, correction_in, normalized

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#/-]*\w")
_PLAIN = "fact"  # what a memory is where nobody says more exactly


def are_of_one_kind(one: str, other: str) -> bool:
    """Tell whether memories of two types can be one: types are the same, or one is a fact and the other says more."""
    return one == other or (_PLAIN in (one, other) and kind_of(one) == kind_of(other))


def kind_of(name: str) -> str:
    """Return what the types of memories that can be one have in common; a correction is an event of its own."""
    return "semantic" if name in SEMANTIC and name != "correction" else name


def says(entry: Entry, text: str) -> bool:
    """Tell whether an entry has a text already, as its body or as another wording."""
    return any(are_twins(one, text) for one in (entry.body, *entry.wordings))


def sharing(texts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Group the paths whose texts may say the same; `texts` are the text and the wordings of each path."""
    by_form: dict[str, dict[str, None]] = defaultdict(dict)  # paths in order
    for path, said in texts.items():
        for text in said:
            by_form[normalized(text)][path] = None
    return [list(paths) for form, paths in by_form.items() if form and len(paths) > 1]


def has_same_values(old: str, new: str) -> bool:
    """Tell whether two texts have the same numbers and the same words with a capital inside a sentence."""
    return all(set(pattern.findall(old)) == set(pattern.findall(new)) for pattern in (_NUMBER, _NAME))


def told_anew(old: Entry, new: Entry) -> tuple[dict[str, Any], str | None]:
    """Return the fields, and the body where it is another one, that change when a memory is said again.

    Both wordings stay: the body is the newest of those of the highest trust, and the other one goes to `wordings`. The
    old entry keeps its id, its time of creation and, unless the new one's says more, its type. Empty where it only
    counts.
    """
    told: dict[str, Any] = {}
    body = None
    if not says(old, new.body):
        is_newest = is_trusted_less(old, new) or (not is_trusted_less(new, old) and _moment(new) >= _moment(old))
        body = new.body if is_newest else None
        told["wordings"] = [*old.wordings, old.body if is_newest else new.body]
    told |= _wordings_of(old, new, told.get("wordings", old.wordings), body or old.body)
    if old.type == _PLAIN != new.type:
        told["type"] = new.type
    told |= _merged(old, new, JOINED, lambda was, more: was + tuple(one for one in more if one not in was))
    if new.cited:  # the same lines as they are now, in the place of what they were
        places = {_place(one) for one in new.cited}
        told["cited"] = [*(one for one in old.cited if _place(one) not in places), *new.cited]
    if is_trusted_less(old, new):
        told |= {"trust": new.trust, "source": new.source}
    return told | _merged(old, new, MOST, _most) | _merged(old, new, FILLED, _filled), body


def _place(citation: str) -> str:
    return citation.rpartition("@")[0] or citation


def _wordings_of(old: Entry, new: Entry, known: Any, body: str) -> dict[str, Any]:
    """Return the wordings with those of the new one."""
    found = list(known)
    found += [one for one in new.wordings if not any(are_twins(one, other) for other in (body, *found))]
    return {"wordings": found} if found != list(old.wordings) else {}


def _merged(old: Entry, new: Entry, rule: str, merge: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the fields of a rule whose value is another one after the merge."""
    found = {}
    for key in (name for name, one in FIELDS.items() if one.merge == rule):
        value = merge(getattr(old, key), getattr(new, key))
        if value != getattr(old, key):
            found[key] = list(value) if isinstance(value, tuple) else value
    return found


def _most(old: Any, new: Any) -> Any:
    return new if new is not None and (old is None or new > old) else old


def _filled(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping):
        return {**old, **{key: value for key, value in new.items() if key not in old}}
    return old or new


def slot_of(entry: Entry) -> tuple[str, str]:
    """Return key and project of an entry, by which two fill the same slot."""
    return same_key(entry.key), entry.project


def are_apart(old: Entry, new: Entry) -> bool:
    """Tell whether two memories are about different things by name, or were found distinct, whatever they say."""
    if is_same_slot(old, new):
        return False
    if new.id in old.distinct or old.id in new.distinct:
        return True
    names = (old.title, new.title), (old.project, new.project), (slot_of(old)[0], slot_of(new)[0])
    return any(all(pair) and normalized(pair[0]) != normalized(pair[1]) for pair in names)


def is_same_slot(old: Entry, new: Entry) -> bool:
    """Tell whether two memories fill the same slot: the same key in the same project."""
    return bool(new.key) and slot_of(old) == slot_of(new)


def may_replace(old: Entry, new: Entry) -> bool:
    """Tell whether one may take the other's place: what holds for one project or title need not for the rest."""
    return is_same_slot(old, new) or (old.project == new.project and normalized(old.title) == normalized(new.title))


def is_believed_over(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Tell whether the new memory is believed: a user's correction wins, else higher trust, else the newer one.

    What is told now without a date of its own is the newer one, whatever the clocks of the two say.
    """
    if new.source == "user" and (new.type == "correction" or correction_in(new.body)):
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
