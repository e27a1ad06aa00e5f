"""A new text of the long-term memory page, accepted only as far as nothing a person wrote is lost by it."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from .promoted import END_OF_KEEP, KEEP

MOST_LOST = 0.25
"""Share of the page's lines that an update may drop unless it was asked to make the page shorter."""

_KEPT = re.compile(rf"(?ms)^[ \t]*{re.escape(KEEP)}.*?{re.escape(END_OF_KEEP)}[ \t]*$")


@dataclass(frozen=True)
class Update:
    """The page as it is to be, and why it is not as proposed."""

    text: str
    remark: str = ""


def accepted(old: str, proposed: str, current: str, *, may_shrink: bool) -> Update:
    """Settle the page: `old` is what the proposal was made from, `current` what stands there now.

    An update that drops too much, or touches what is marked to be kept, only adds its new lines; so does one that meets
    a page somebody changed meanwhile.
    """
    newline = "\r\n" if "\r\n" in current else "\n"
    proposed = re.sub(r"\r?\n", newline, proposed.strip("\r\n")) + newline
    if current != old:
        return Update(_added(old, proposed, current), "the page was changed meanwhile: only new lines were added")
    lost = _lost(old, proposed)
    if lost > MOST_LOST and not may_shrink:
        return Update(
            _added(old, proposed, current),
            f"the update would drop {lost:.0%} of the page: only its new lines were added",
        )
    if any(part not in proposed for part in _KEPT.findall(old)):
        return Update(
            _added(old, proposed, current), "the update touches what is to be kept: only new lines were added"
        )
    return Update(("\ufeff" if old.startswith("\ufeff") else "") + proposed)


def _lost(old: str, new: str) -> float:
    lines = [line.strip() for line in old.splitlines() if line.strip()]
    standing = {line.strip() for line in new.splitlines()}
    return sum(line not in standing for line in lines) / len(lines) if lines else 0.0


def _added(old: str, proposed: str, current: str) -> str:
    """Put the lines that are new in the proposal into the current page, after the line they follow there."""
    base, new = old.splitlines(), proposed.splitlines()
    result = current.splitlines()
    standing = {line.strip() for line in result}
    newline = "\r\n" if "\r\n" in current else "\n"
    for tag, start, _, first, last in SequenceMatcher(None, base, new, autojunk=False).get_opcodes():
        if tag not in ("insert", "replace"):
            continue
        fresh = [line for line in new[first:last] if line.strip() and line.strip() not in standing]
        anchor = base[start - 1] if start else None
        place = _after(result, anchor)
        result[place:place] = fresh
        standing |= {line.strip() for line in fresh}
    return newline.join(result) + newline


def _after(lines: list[str], anchor: str | None) -> int:
    """Find the place behind a line; never within a part to be kept."""
    place = len(lines) if anchor not in lines else len(lines) - lines[::-1].index(anchor)
    kept = False
    for number, line in enumerate(lines):
        if line.strip() == KEEP:
            kept = True
        elif line.strip() == END_OF_KEEP:
            kept = False
            if number >= place > 0 and any(one.strip() == KEEP for one in lines[:place]) and _is_within(lines, place):
                return number + 1
    return len(lines) if kept and _is_within(lines, place) else place


def _is_within(lines: list[str], place: int) -> bool:
    marks = [line.strip() for line in lines[:place] if line.strip() in (KEEP, END_OF_KEEP)]
    return bool(marks) and marks[-1] == KEEP
