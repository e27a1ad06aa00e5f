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


def are_of_one_kind(left: str, right: str) -> bool:
    """Return whether memories of two types can be one: the same types, or a fact and a more exact type."""
    return left == right or (_PLAIN in (left, right) and kind_of(left) == kind_of(right))


def kind_of(name: str) -> str:
    """Return what the types of memories that can be one have in common; a correction is an event of its own."""
    return "semantic" if name in SEMANTIC and name != "correction" else name


def says(entry: Entry, text: str) -> bool:
    """Return whether an entry has a text already, as its body or as another wording."""
    return any(are_twins(wording, text) for wording in (entry.body, *entry.wordings))


def sharing(texts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Group the paths whose texts may say the same; `texts` are the text and the wordings of each path."""
    by_form: dict[str, dict[str, None]] = defaultdict(dict)  # paths in order
    for path, wordings in texts.items():
        for text in wordings:
            by_form[normalized(text)][path] = None
    return [list(paths) for form, paths in by_form.items() if form and len(paths) > 1]


def has_same_values(old: str, new: str) -> bool:
    """Return whether two texts have the same numbers and the same words with a capital inside a sentence."""
    return all(set(pattern.findall(old)) == set(pattern.findall(new)) for pattern in (_NUMBER, _NAME))


def told_anew(old: Entry, new: Entry) -> tuple[dict[str, Any], str | None]:
    """Return the fields, and the body if another is to be shown, that change when a memory is said again.

    Both wordings stay: the body is the newest of those of the highest trust, and the other one goes to `wordings`. The
    old entry keeps its id, its time of creation and, unless the new one's says more, its type. Empty where it only
    counts.
    """
    fields: dict[str, Any] = {}
    body = None
    if not says(old, new.body):
        is_newest = is_trusted_less(old, new) or (not is_trusted_less(new, old) and _moment(new) >= _moment(old))
        body = new.body if is_newest else None
        fields["wordings"] = [*old.wordings, old.body if is_newest else new.body]
    fields |= _wordings_of(old, new, fields.get("wordings", old.wordings), body or old.body)
    if old.type == _PLAIN != new.type:
        fields["type"] = new.type
    fields |= _merged(old, new, JOINED, lambda was, more: was + tuple(value for value in more if value not in was))
    if new.cited:  # the same lines as they are now, in the place of what they were
        cited_lines = {_place(citation) for citation in new.cited}
        fields["cited"] = [*(citation for citation in old.cited if _place(citation) not in cited_lines), *new.cited]
    if is_trusted_less(old, new):
        fields |= {"trust": new.trust, "source": new.source}
    return fields | _merged(old, new, MOST, _most) | _merged(old, new, FILLED, _filled), body


def _place(citation: str) -> str:
    return citation.rpartition("@")[0] or citation


def _wordings_of(old: Entry, new: Entry, wordings: Any, body: str) -> dict[str, Any]:
    """Return the wordings of an entry with those of a new one that are not among them."""
    wordings = list(wordings)
    wordings += [
        wording for wording in new.wordings if not any(are_twins(wording, existing) for existing in (body, *wordings))
    ]
    return {"wordings": wordings} if wordings != list(old.wordings) else {}


def _merged(old: Entry, new: Entry, rule: str, merge: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the fields of a rule whose value is another one after the merge."""
    fields = {}
    for key in (name for name, field in FIELDS.items() if field.merge == rule):
        value = merge(getattr(old, key), getattr(new, key))
        if value != getattr(old, key):
            fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


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
    """Return whether two memories are about different things by name, or were found distinct, whatever they say."""
    if is_same_slot(old, new):
        return False
    if new.id in old.distinct or old.id in new.distinct:
        return True
    names = (old.title, new.title), (old.project, new.project), (slot_of(old)[0], slot_of(new)[0])
    return any(all(pair) and normalized(pair[0]) != normalized(pair[1]) for pair in names)


def is_same_slot(old: Entry, new: Entry) -> bool:
    """Return whether two memories fill the same slot: the same key in the same project."""
    return bool(new.key) and slot_of(old) == slot_of(new)


def may_replace(old: Entry, new: Entry) -> bool:
    """Return whether one may take the other's place: what holds for one project or title need not for another."""
    return is_same_slot(old, new) or (old.project == new.project and normalized(old.title) == normalized(new.title))


def is_believed_over(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Return whether the new memory is believed: a user's correction wins, else higher trust, else the newer one.

    What is told now without a date of its own is the newer one, whatever the clocks of the two say.
    """
    if new.source == "user" and (new.type == "correction" or correction_in(new.body)):
        return True
    if old.source == "user" and old.type == "correction" and new.source != "user":
        return False
    if is_trusted_less(new, old) or is_trusted_less(old, new):
        return is_trusted_less(old, new)
    return is_told_now or _moment(new) >= _moment(old)


def is_trusted_less(left: Entry, right: Entry) -> bool:
    """Return whether a memory is trusted less: no more than its source is worth, whatever trust it states."""
    return _trust(left) < _trust(right)


def is_earlier_value(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Return whether a memory is what filled the slot before the one that fills it: no less trusted, and older."""
    return is_same_slot(old, new) and _trust(old) == _trust(new) and not is_told_now and _moment(new) < _moment(old)


def _trust(entry: Entry) -> float:
    return min(entry.trust, TRUST[entry.source])


def _moment(entry: Entry) -> str:
    return max(entry.created_at, entry.updated_at)
