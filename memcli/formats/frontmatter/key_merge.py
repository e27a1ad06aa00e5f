"""Merge blocks of `key: value` lines by key: the head of an entry, or the settings of a workspace.

A key whose value one side changed keeps the bytes of that side, its comments included. What a value becomes that both
changed is for the caller to say.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ...errors import RefusedError
from ..text_lines import lines
from ..three_way import Merged, merge_lines, merge_texts, plain_sides
from .document import edit, load_mapping, parse
from .edit import Removed, same

_REMARK = re.compile(r"\A[ \t]*#.*|(?<=[ \t])#[^\"'\n]*(?=\n?\Z)")
"""A comment on a line of a value of several: alone, or behind it without any quote, so that it is no part of one."""
MISSING: Final = Removed()
"""The value of a key that a side does not have."""
Rule = Callable[[str, Any, Any, Any], Any]
"""Takes a key and its values in base, newer and older side; both sides changed it, perhaps to the same."""

_KEY = re.compile(r"(?![ \t\r\n#-]|\.\.\.)(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\"'\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)")


def merge_values(
    base: Mapping[str, Any], newer: Mapping[str, Any], older: Mapping[str, Any], rule: Rule
) -> dict[str, Any]:
    """Return the merged values by key, in the order of the newer side."""
    merged = {}
    for key in dict.fromkeys((*newer, *older)):
        old, left, right = (side.get(key, MISSING) for side in (base, newer, older))
        if _same(right, old):
            value = left
        elif _same(left, old):
            value = right
        else:
            value = rule(key, old, left, right)
        if value is not MISSING:
            merged[key] = value
    return merged


def merge_lists(base: Sequence[Any], newer: Sequence[Any], older: Sequence[Any]) -> list[Any]:
    """Return the items of both lists, without those that one side removed and the other left as they were."""
    old, left, right = ([repr(item) for item in side] for side in (base, newer, older))
    remaining = [item for item, name in zip(newer, left, strict=True) if name not in old or name in right]
    return remaining + [item for item, name in zip(older, right, strict=True) if name not in left and name not in old]


Head = tuple[str, Mapping[str, Any]]
"""A block of lines and the fields that it says."""


class _Block(NamedTuple):
    """The lines of a key; without a key what stands below the last one."""

    lead: tuple[str, ...] = ()  # comments above it, and the blank lines between
    text: str = ""  # the key and its value


def merge_heads(base: Head, newer: Head, older: Head, values: Mapping[str, Any]) -> str:
    """Return a head that says these values, as far as possible in the bytes of the sides; lines end in a newline.

    Comments are merged by lines, those above each key apart from its value; of a key that goes they stand above the
    next one.
    """
    cut = [_blocks(*side) for side in (base, newer, older)]
    if any(blocks is None for blocks in cut):
        present = {*lines(base[0]), *lines(newer[0])}
        return "".join((*(line for line in lines(older[0]) if line[0] == "#" and line not in present), newer[0]))
    old, left, right = (blocks or {} for blocks in cut)
    order, before = [*left], ""
    for key in right:
        if key not in left:
            order.insert(order.index(before) + 1 if before in order else 0, key)
        before = key
    merged: list[str] = []
    stood = {line for block in old.values() for line in block.lead if line[0] == "#"}
    for key in sorted(order, key=lambda key: not key):
        was, *sides = (blocks.get(key, _Block()) for blocks in (old, left, right))
        if sides[0] == sides[1] and key in values:
            merged += [*sides[0].lead, sides[0].text]
            continue
        text, remarks = _text(key, was.text, [side.text for side in sides if side.text], values)
        above = [side.lead for side in sides]
        lead = merge_lines(was.lead, above[0], above[1], settle=merge_lists)[0] if any(above) else []
        if key not in old:  # what stood at the end stands above the first of the keys that both sides put below it
            lead = [line for line in lead if line not in stood or line not in merged]
        present = {*lead, *_remarks(was.text), *_remarks(text)}
        merged += [*lead, *dict.fromkeys(remark for remark in remarks if remark not in present), text]
    return "".join(merged)


def _text(key: str, base: str, sides: Sequence[str], values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the lines of a key, and comments of the sides for which these have no place.

    They are from the side whose value they have; where both have it, from the one that changed.
    """
    matching = [side for side in sides if key in values and _says(side, key, values[key])] or sides
    text = next((side for side in matching if side != base), matching[0]) if key in values else ""
    others = [side for side in sides if side != text]
    if text and all(side.count("\n") == 1 for side in sides):
        return _with_remark(text, base, "".join(others)), []
    return text, [remark for side in others for remark in _remarks(side)]


def _remarks(text: str) -> list[str]:
    """Return the comments among the lines of a key, each a line of its own."""
    rows = list(lines(text)) if "#" in text else []
    remarks = [_remark(text)] if len(rows) == 1 else [mark[0].strip() for mark in map(_REMARK.search, rows) if mark]
    return [f"{remark}\n" for remark in remarks if remark]


def comments(head: str, fields: Mapping[str, Any]) -> set[str]:
    """Return the comments of a head; none where no lines belong to one key alone."""
    blocks = (_blocks(head, fields) or {}).values()
    return {line for block in blocks for line in (*block.lead, *_remarks(block.text)) if line.strip()}


def _with_remark(text: str, base: str, other: str) -> str:
    """Return the line of a key with the comment that the other side put, or changed, behind its value."""
    base_remark, own_remark, other_remark = (_remark(side) for side in (base, text, other))
    if not other_remark or other_remark in (base_remark, own_remark):
        return text
    if own_remark == base_remark:
        return f"{text.rstrip().removesuffix(own_remark).rstrip()}  {other_remark}\n"
    return f"{text.rstrip()}; {other_remark.lstrip('# ')}\n"


def _remark(line: str) -> str:
    """Return the comment behind a value: what the line says the same without."""
    stated = load_mapping(line)[0] if "#" in line else {}
    for mark in re.finditer(r"(?<=[ \t])#", line):
        fields, problem = load_mapping(line[: mark.start()])
        if problem is None and same(fields, stated):
            return line[mark.start() :].strip()
    return ""


def _says(block: str, key: str, value: object) -> bool:
    fields, problem = load_mapping(block)
    return problem is None and key in fields and same(fields[key], value)


def _blocks(head: str, fields: Mapping[str, Any]) -> dict[str, _Block] | None:
    """Cut a head into the lines of each key; None where no lines belong to one key alone."""
    blocks: dict[str, _Block] = {}
    key, lead = "", list[str]()
    for line in lines(head if head.endswith("\n") or not head else f"{head}\n"):
        mark = _KEY.match(line)
        if mark:
            key = next(name for name in mark.groups() if name is not None)
            if key in blocks:
                return None
            blocks[key], lead = _Block(tuple(lead), line), []
        elif not key or line.startswith("#") or (lead and not line.strip()):
            lead.append(line)
        else:
            blocks[key], lead = blocks[key]._replace(text="".join((blocks[key].text, *lead, line))), []
    blocks[""] = _Block(tuple(lead))
    return blocks if [*fields] == [name for name in blocks if name] else None


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
    old, left, right = (fields for fields, _ in read)
    newer, older = sorted(((sides[1], left), (sides[2], right)), reverse=True, key=lambda side: side[0])
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
        position = start.start() if start else len(head)
        head = f"{head[:position]}# another machine had set {key}: {value!r}\n{head[position:]}"
    return Merged(written(head))


def with_values(head: str, values: Mapping[str, Any]) -> str | None:
    """Return a head changed where it does not say these values; None where no single lines can be changed."""
    fields, problem = load_mapping(head)
    if problem is None and same(fields, dict(values)):
        return head
    changes = {key: values.get(key) for key in (*fields, *values) if not _same(fields.get(key), values.get(key))}
    try:
        text = edit(f"---\n{head}---\n", changes)
    except RefusedError:
        return None
    return parse(text).head if same(parse(text).fields, dict(values)) else None


def _same(left: object, right: object) -> bool:
    return left is right or same(left, right)
