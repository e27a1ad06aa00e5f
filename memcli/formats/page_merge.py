"""Merge long-term memory: two branches of it, or a proposed text, so that nothing a person wrote is lost."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher

from ..dataclass import dataclass
from ..results import number_of
from .memory_page import CLOSING, END_OF_KEEP, HEADINGS, KEEP, OPENING, promoted_line, read_promoted, with_lines
from .text_lines import BOM, lines
from .three_way import MARKER, Merged, chunks, common_ends, matches, merge_texts

_Pages = Sequence[Mapping[str, str]]
"""The promoted lines by id of base, ours and theirs."""


def merge_page(base: str, ours: str, theirs: str, size: int = MARKER) -> Merged:
    """Merge a page that two branches changed: promoted lines by id, the rest by lines.

    What both sides put into one place, without changing what stood there, is all kept.
    """
    pages = [{name: line for name, (_, line) in _promoted(lines(text)).items()} for text in (base, ours, theirs)]
    result = merge_texts(base, ours, theirs, size, lambda *parts: _both(pages, *parts))
    if result.clashes or base in (ours, theirs) or ours == theirs or read_promoted(result.text).problem:
        return result
    # A line that a side put elsewhere is new there and gone here, whatever the other side made of it.
    statements = [{line.id: line.statement for line in read_promoted(text).lines} for text in (base, ours, theirs)]
    ids = {line.id for line in read_promoted(result.text).lines}
    put = {
        name: _chosen([page[name] for page in statements if name in page])
        for name in ids & {*statements[1]} & {*statements[2]}
    }
    return Merged(with_lines(result.text, put, [name for name in ids if _is_gone(pages, name)]))


def _chosen(statements: Sequence[str]) -> str:
    """Return the statement of a line that stands on both sides; the base's is the first of three."""
    *base, left, right = statements
    return right if [left] == base else left if [right] == base else max(left, right)


def _is_gone(pages: _Pages, name: str) -> bool:
    base, *sides = (page.get(name) for page in pages)
    return base is not None and None in sides and base in sides


def _both(pages: _Pages, base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str] | None:
    """Merge lines that both sides changed; return None if a person's line was changed, or replaced by another one."""
    if not all(map(_is_ours, base)):
        if any(line and _is_ours(line) for line in base):
            return None
        both = (_taken_and_added(base, left, right) for left, right in ((ours, theirs), (theirs, ours)))
        return next((merged_lines for merged_lines in both if merged_lines is not None), None)
    start, end = common_ends(ours, theirs)
    parts = sorted([list(ours[start : len(ours) - end]), list(theirs[start : len(theirs) - end])], reverse=True)
    if all(_is_ours(line) for part in parts for line in part):
        grouped = _by_heading(pages, parts)
        if grouped is None:
            return None
        middle = grouped
    elif base:
        return None
    else:
        is_list = all(re.match(r"\s*(?:[-*+]|\d+[.)])\s", line) for part in parts for line in part)
        gap = [] if is_list or not all(parts) or not parts[0][-1].strip() else [""]
        middle = [*parts[0], *gap, *parts[1]]
    return [*ours[:start], *middle, *ours[len(ours) - end :]]


def _taken_and_added(base: Sequence[str], fewer: Sequence[str], more: Sequence[str]) -> list[str] | None:
    """Return what one side added without the lines that the other one took away; None where they did anything else."""
    in_fewer, in_more = matches(base, fewer), matches(base, more)
    if len(in_fewer) < len(fewer) or len(in_more) < len(base):
        return None
    deleted = {in_more[number] for number in range(len(base)) if number not in in_fewer}
    return [line for number, line in enumerate(more) if number not in deleted]


def _is_ours(line: str) -> bool:
    """Return whether a line is of the kind that mem puts on the page."""
    return line in ("", *HEADINGS, OPENING, CLOSING) or bool(promoted_line(line)[0])


def _by_heading(pages: _Pages, parts: Sequence[list[str]]) -> list[str] | None:
    """Put the promoted lines of two sides under their headings; None where a person changed one on each side."""
    if any((OPENING in part) != (CLOSING in part) for part in parts):
        return None
    left, right = map(_promoted, parts)
    groups: dict[str, list[str]] = {"": [], **{heading: [] for heading in HEADINGS}}
    for name in (name for name in dict.fromkeys((*left, *right)) if not _is_gone(pages, name)):
        sides = [side[name] for side in (left, right) if name in side]
        changed = [side for side in sides if side[1] != pages[0].get(name)]
        changed = [side for side in changed if not promoted_line(side[1])[1]] or changed or sides
        if len({line for _, line in changed}) > 1 and not promoted_line(changed[0][1])[1]:
            return None
        heading, line = max(changed, key=lambda side: side[1])
        groups[heading].append(line)
    result: list[str] = []
    for heading, group in groups.items():
        if heading and group:
            result += [*([""] if result else []), heading, ""]
        result += group
    if result and any(OPENING in part for part in parts):
        result = [OPENING, *result, CLOSING]
    is_after_gap = any(part and not part[0] for part in parts) and not groups[""]
    is_before_gap = any(part and not part[-1] for part in parts)
    return [*([""] if is_after_gap else []), *result, *([""] if is_before_gap and result else [])]


def _promoted(page: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return promoted lines by id, each with the heading above it; without one for what stands above the first."""
    by_id, heading = {}, ""
    for line in map(str.rstrip, page):
        heading = line if line in HEADINGS else heading
        if name := promoted_line(line)[0]:
            by_id[name] = heading, line
    return by_id


def merged(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """Bring the changes of `theirs` into `ours`; where both changed the same lines, ours stay and new ones follow."""
    return [line for parts in chunks(base, ours, theirs) for line in _settled(*parts)]


def _settled(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Sequence[str]:
    if ours == base:
        return theirs
    if theirs in (base, ours):
        return ours
    existing = {line.strip() for line in (*base, *ours)}
    return [*ours, *(line for line in theirs if line.strip() not in existing)]


MOST_LOST = 0.25
"""Share of the page's lines that an update may drop unless it was asked to make the page shorter."""
LEAST_LEFT = 0.2
"""Share of the size asked for below which a shortened page is not believed."""

_HEADING = re.compile(r"\s{0,3}#{1,6}(\s|$)")
_CHANGED = 0.5  # share of its words that a line keeps which was changed and not dropped
_ENDS = {KEEP: END_OF_KEEP, OPENING: CLOSING}


@dataclass(frozen=True)
class Update:
    """The page as it should be written, and why that is not what was proposed."""

    text: str
    remark: str = ""


def accepted(
    shown: str, proposed: str, current: str, *, shrink_to: int = 0, is_borne_out: Callable[[str], bool] = bool
) -> Update:
    """Return the page to write: `shown` is what the proposal was made from, `current` the page as it is now.

    A line may be added where it `is_borne_out`, and changed, but not dropped unless the proposal was asked to shorten
    the page to `shrink_to` bytes. Of a proposal that drops too much, or touches `mem:keep` and what mem itself put on
    the page, what it changes and adds is taken. What differs between `shown` and `current` stays as it is in `current`.
    """
    newline = "\r\n" if "\r\n" in current else "\n"
    base, new, now = (_plain(text) for text in (shown, proposed, current))
    existing = {line.strip() for line in base}
    fresh = [line for line in new if line.strip(" -*+") and line.strip() not in existing and not _is_heading(line)]
    unsaid = [line for line in fresh if not is_borne_out(line)]
    supported = [line for line in new if line not in unsaid]
    remark = _objection(base, new, shrink_to)
    if remark:
        new = _grown(base, supported)
    elif shrink_to:
        new = supported
    else:
        put_back = _with_dropped(base, new)[1]
        stay = number_of(put_back, "line", "stays", "stay")
        remark = f"{stay} on the page that the update would have dropped" if put_back else ""
        new = _with_dropped(base, supported)[0]
    if unsaid:
        left_out = f"{number_of(len(unsaid), 'line', 'was', 'were')} left out that nobody's own words bear out"
        remark = f"{remark}; {left_out}" if remark else left_out
    if base != now:
        both = merged(base, now, new)
        # Each side may have dropped another copy of a line that both of them keep.
        new = [*both, *(line for line in dict.fromkeys(now) if line.strip() and line in new and line not in both)]
    written = _written(new, current, newline)
    return Update(current if _plain(written) == now else written, remark)


def lines_lost(before: str, after: str) -> int:
    """Return how many lines of a page do not stand on another one."""
    existing = {line.strip() for line in _plain(after)}
    return sum(bool(line.strip()) and line.strip() not in existing for line in _plain(before))


def _with_dropped(base: Sequence[str], new: Sequence[str]) -> tuple[list[str], int]:
    """Put back the lines that a proposal drops without another in their place; return the page and their number.

    A heading that goes is put back where a line below it is.
    """
    existing = {line.strip() for line in new}
    changed = _changed(base, new)
    result: list[str] = []
    put_back = 0
    for tag, start, end, first, last in SequenceMatcher(None, base, new, autojunk=False).get_opcodes():
        heading = ""
        for number in range(start, end) if tag in ("delete", "replace") else ():
            line = base[number]
            if not line.strip() or line.strip() in existing or number in changed:
                continue
            if _is_heading(line):
                heading = line
                continue
            result += [heading, line] if heading else [line]
            heading = ""
            put_back += 1
        result += new[first:last]
    return result, put_back


def _changed(base: Sequence[str], new: Sequence[str]) -> dict[int, str]:
    """Map the numbers of the lines that a proposal words anew to their new words, wherever these stand."""
    existing = {line.strip() for line in new}
    base_lines = {line.strip() for line in base}
    fresh = [line for line in new if line.strip() and line.strip() not in base_lines and not _is_mark(line)]
    changed: dict[int, str] = {}
    for number, line in enumerate(base):
        if line.strip() and line.strip() not in existing and not _is_mark(line):
            successor = max(fresh, key=lambda other: _likeness(line, other), default="")
            if successor and _is_heading(successor) == _is_heading(line) and _likeness(line, successor) >= _CHANGED:
                fresh.remove(successor)
                changed[number] = successor
    return changed


def _is_mark(line: str) -> bool:
    return line.lstrip().startswith("<!--")


def _likeness(line: str, other: str) -> float:
    ours, theirs = (text.casefold().strip(" \t-*+#").split() for text in (line, other))
    return SequenceMatcher(None, ours, theirs, autojunk=False).ratio()


def _is_heading(line: str) -> bool:
    return _HEADING.match(line) is not None


def _objection(base: Sequence[str], new: Sequence[str], shrink_to: int) -> str:
    """Return why a proposal cannot be taken as it is; empty if it can."""
    lost = _lost(base, new)
    if shrink_to:
        left = sum(len(line.encode()) + 1 for line in new)
        if left < min(LEAST_LEFT * shrink_to, sum(len(line.encode()) + 1 for line in base)):
            return f"the update would leave {left:,} bytes of the page: only what it changes and adds was taken"
    elif lost > MOST_LOST:
        return f"the update would drop {lost:.0%} of the page: only what it changes and adds was taken"
    whole = "\n".join(new)
    for start, end in _guarded(base):
        if "\n".join(base[start:end]) not in whole:
            return "the update touches what is to be kept: only what it changes and adds was taken"
    return ""


def _plain(text: str) -> list[str]:
    """Return the lines without their ends, the byte order mark and blank lines at the end."""
    result = [line.rstrip("\r\n") for line in lines(text.removeprefix(BOM))]
    while result and not result[-1].strip():
        result.pop()
    return result


def _written(new: Sequence[str], current: str, newline: str) -> str:
    """Write the lines with the ends they have in the current page, where those lines stand there."""
    existing = list(lines(current.removeprefix(BOM)))
    ends = {line.rstrip("\r\n"): line[len(line.rstrip("\r\n")) :] or newline for line in reversed(existing)}
    text = "".join(line + ends.get(line, newline) for line in new)
    return (BOM if current.startswith(BOM) else "") + text


def _lost(base: Sequence[str], new: Sequence[str]) -> float:
    """Return the share of the lines that a proposal drops; one that it words anew is not dropped."""
    existing = {line.strip() for line in new}
    changed = _changed(base, new)
    content = {number: line.strip() for number, line in enumerate(base) if line.strip() and not _is_heading(line)}
    lost = sum(line not in existing and number not in changed for number, line in content.items())
    return lost / max(1, len(content))


def _grown(base: Sequence[str], new: Sequence[str]) -> list[str]:
    """Put the lines that are new in the proposal into the page, or in the place of those it words anew; drop none."""
    held = {number for start, end in _guarded(base) for number in range(start, end)}
    changed = {number: line for number, line in _changed(base, new).items() if number not in held}
    base = [changed.get(number, line) for number, line in enumerate(base)]
    existing = {line.strip() for line in base if line.strip()} | _ENDS.keys() | {*_ENDS.values()}
    fresh: dict[int, list[str]] = {}
    for tag, _, end, first, last in SequenceMatcher(None, base, new, autojunk=False).get_opcodes():
        if tag not in ("insert", "replace"):
            continue
        target = next((stop for start, stop in _guarded(base) if start < end < stop), end)
        added = [line for line in new[first:last] if line.strip() not in existing]
        if any(line.strip() for line in added):
            fresh.setdefault(target, []).extend(added)
            existing |= {line.strip() for line in added if line.strip()}
    return [line for number in range(len(base) + 1) for line in (*fresh.get(number, ()), *base[number : number + 1])]


def _guarded(page: Sequence[str]) -> list[tuple[int, int]]:
    """Return the parts between marks, which no proposal may change; one that is not closed reaches to the end."""
    spans = []
    start, closing = 0, ""
    for number, line in enumerate(page):
        mark = line.strip()
        if not closing and mark in _ENDS:
            start, closing = number, _ENDS[mark]
        elif closing and mark == closing:
            spans.append((start, number + 1))
            closing = ""
    return [*spans, (start, len(page))] if closing else spans
