"""Merge blocks of `key: value` lines by key: the head of an entry, or the settings of a workspace.

A key whose value one side changed keeps the bytes of that side, its comments included. What a value becomes that both
changed is for the caller to say.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...errors import RefusedError
from ..three_way import Merged, merge_texts, plain_sides
from .document import edit, load_mapping, parse
from .edit import Removed, same

_REMARK = re.compile(r"(?<=[ \t])#[^\"'\n]*(?=\n?\Z)")
"""What stands behind a value, without any quote, so that it is no part of one."""
MISSING: Final = Removed()
"""The value of a key that a side does not have."""
Rule = Callable[[str, Any, Any, Any], Any]
"""Takes a key and its values in base, newer and older side; both sides changed it, perhaps to the same."""

_KEY = re.compile(r"(?![ \t\r\n#-]|\.\.\.)(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\"'\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)")


def merge_values(
    base: Mapping[str, Any], newer: Mapping[str, Any], older: Mapping[str, Any], rule: Rule
) -> dict[str, Any]:
    """Return the merged values by key, in the order of the newer side."""
    found = {}
    for key in dict.fromkeys((*newer, *older)):
        old, one, other = (side.get(key, MISSING) for side in (base, newer, older))
        if _same(other, old):
            value = one
        elif _same(one, old):
            value = other
        else:
            value = rule(key, old, one, other)
        if value is not MISSING:
            found[key] = value
    return found


def merge_lists(base: list[Any], newer: list[Any], older: list[Any]) -> list[Any]:
    """Return what stands in either list, but what one side took away and the other left as it was."""
    old, one, other = ([repr(item) for item in side] for side in (base, newer, older))
    kept = [item for item, name in zip(newer, one, strict=True) if name not in old or name in other]
    return kept + [item for item, name in zip(older, other, strict=True) if name not in one and name not in old]


Head = tuple[str, Mapping[str, Any]]
"""A block of lines and the fields that it says."""


def merge_heads(base: Head, newer: Head, older: Head, values: Mapping[str, Any]) -> str:
    """Return a head that says these values, as far as possible in the bytes of the sides; lines end in a newline."""
    blocks = [_blocks(*side) for side in (base, newer, older)]
    if any(one is None for one in blocks):
        return newer[0]
    old, one, other = (found or {} for found in blocks)
    order = [key for key in one if key in values or not key]
    before = ""
    for key in other:
        if key in values and key not in one:
            order.insert(order.index(before) + 1 if before in order else 0, key)
        before = key
    return "".join(_block(key, old.get(key), one.get(key), other.get(key), values.get(key)) for key in order)


def _block(key: str, base: str | None, newer: str | None, older: str | None, value: object) -> str:
    """Return the lines of a key from the side whose value they have; where both have it, from the one that changed."""
    sides = [side for side in (newer, older) if side is not None]
    if len({*sides}) == 1:
        return sides[0] if sides[0].endswith("\n") else f"{sides[0]}\n"
    told = [side for side in sides if not key or _says(side, key, value)] or sides
    changed = [side for side in told if side != base] or told
    text = changed[0] if changed[0].endswith("\n") else f"{changed[0]}\n"
    return _with_remark(text, base, next((side for side in sides if side != changed[0]), None))


def _with_remark(text: str, base: str | None, other: str | None) -> str:
    """Return the lines of a key with the comment that the other side put, or changed, behind its value."""
    known, here, there = ((_REMARK.search(side or "") or [""])[0] for side in (base, text, other))
    if text.count("\n") > 1 or not there or there in (known, here):
        return text
    if here == known:
        return f"{text.rstrip()[: len(text.rstrip()) - len(here)].rstrip()}  {there.strip()}\n"
    return f"{text.rstrip()}; {there.strip().lstrip('# ')}\n"


def _says(block: str, key: str, value: object) -> bool:
    fields, problem = load_mapping(block)
    return problem is None and key in fields and same(fields[key], value)


def _blocks(head: str, fields: Mapping[str, Any]) -> dict[str, str] | None:
    """Cut a head into the lines of each key, comments above it included; None where no lines belong to one key alone.

    What stands below the last key belongs to it; a head of comments alone has one block without a key.
    """
    found: dict[str, str] = {}
    key, lead = "", ""
    for line in head.splitlines(keepends=True):
        mark = _KEY.match(line)
        if mark:
            key = next(name for name in mark.groups() if name is not None)
            if key in found:
                return None
            found[key], lead = lead + line, ""
        elif line.startswith("#") or not key:
            lead += line
        else:
            found[key], lead = found[key] + lead + line, ""
    if lead:
        found[key] = found.get(key, "") + lead
    return found if [*fields] == [name for name in found if name] else None


def merge_settings(base: str, ours: str, theirs: str) -> Merged:
    """Merge settings, a key a line; of a setting that both changed one value stays, the other as a comment above it.

    Lists are joined. Which value stays does not depend on the side it comes from. What does not parse is merged by
    lines.
    """
    if base in (ours, theirs) or ours == theirs:
        return merge_texts(base, ours, theirs)
    sides, written = plain_sides(base, ours, theirs)
    read = [load_mapping(side) for side in sides]
    if any(problem for _, problem in read):
        return merge_texts(base, ours, theirs)
    old, one, other = (fields for fields, _ in read)
    newer, older = sorted(((sides[1], one), (sides[2], other)), reverse=True, key=lambda side: side[0])
    lost: dict[str, Any] = {}

    def settle(key: str, was: Any, value: Any, else_value: Any) -> Any:
        if isinstance(value, list) and isinstance(else_value, list):
            return merge_lists(was if isinstance(was, list) else [], value, else_value)
        if MISSING in (value, else_value) or same(value, else_value):
            return else_value if value is MISSING else value
        lost[key] = else_value
        return value

    values = merge_values(old, newer[1], older[1], settle)
    head = with_values(merge_heads((sides[0], old), newer, older, values), values)
    if head is None:
        return merge_texts(base, ours, theirs)
    for key, value in lost.items():
        start = re.search(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*:", head, re.MULTILINE)
        place = start.start() if start else len(head)
        head = f"{head[:place]}# another machine had set {key}: {value!r}\n{head[place:]}"
    return Merged(written(head))


def with_values(head: str, values: Mapping[str, Any]) -> str | None:
    """Return a head changed where it does not say these values; None where no single lines can be changed."""
    fields, problem = load_mapping(head)
    if problem is None and same(fields, dict(values)):
        return head
    told = {key: values.get(key) for key in (*fields, *values) if not _same(fields.get(key), values.get(key))}
    try:
        text = edit(f"---\n{head}---\n", told)
    except RefusedError:
        return None
    return parse(text).head if same(parse(text).fields, dict(values)) else None


def _same(one: object, other: object) -> bool:
    return one is other or same(one, other)
