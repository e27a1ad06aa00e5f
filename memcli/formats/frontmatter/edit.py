"""Change single values of a frontmatter block in place; every byte that is not theirs stays.

Knows where things stand from the tree; whether the result says what it should is for the caller to verify.
"""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from ...errors import RefusedError
from .yaml_tree import Node, double_quoted, is_date, is_printable, single_quoted, write, write_key

Splice = tuple[int, int, str]  # what to put in place of the characters [start, end)


class Removed:
    """The value of a key that goes."""


REMOVED: Final = Removed()


def respell_lines(head: str, old: Mapping[str, Any], new: Mapping[str, Any], newline: str) -> str | None:
    """Change a block of simple lines without asking a YAML parser where values end.

    None where an old value is not spelled as it would be written here, or is quoted, as the new one then has to be.
    """
    lines = head.splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in lines]
    for key, value in new.items():
        if key not in old:
            lines.append(_line("", key, value, newline))
            continue
        spelled = _line("", key, old[key], "")
        if '"' in spelled or bare.count(spelled) != 1:
            return None
        lines[bare.index(spelled)] = "" if value is REMOVED else _line("", key, value, newline)
    return "".join(lines)


def respell(head: str, root: Node | None, old: Mapping[str, Any], new: Mapping[str, Any], newline: str) -> str:
    """Return the block changed so that the keys of `new` have their new values, or are gone (REMOVED)."""
    if root is None:
        return head + "".join(_line("", key, value, newline) for key, value in new.items())
    if root.style == "flow":
        raise RefusedError("the frontmatter is written as one {…} map", "write it as `key: value` lines first")
    if not root.items:
        raise RefusedError("the frontmatter is one value", "write it as `key: value` lines first")
    splices = _map_splices(head, root, old, new, newline)
    splices.sort(key=lambda splice: splice[:2])
    for start, end, text in reversed(splices):
        head = head[:start] + text + head[end:]
    return head


def _map_splices(head: str, node: Node, old: Mapping[str, Any], new: Mapping[str, Any], newline: str) -> list[Splice]:
    splices: list[Splice] = []
    for key, value in node.pairs:
        if key.text not in new or key.kind != "word":
            continue
        change = new[key.text]
        if change is REMOVED:
            splices.append((_line_start(head, key.start), _line_end(head, _end(head, value)), ""))
        else:
            splices += _value_splices(head, key, value, old[key.text], change, newline)
    added = {key: value for key, value in new.items() if key not in old and value is not REMOVED}
    if added:
        first, last = node.items[0], node.items[-1]
        indent = head[_line_start(head, first.start) : first.start]
        # A text that keeps its blank lines (`|+`) must keep them between itself and the new key.
        keeps_blanks = last.style in ("|", ">") and "+" in head[last.start : last.start + 3]
        position = last.end if keeps_blanks else _line_end(head, _end(head, last))
        splices.append(
            (position, position, "".join(_line(indent, key, value, newline) for key, value in added.items()))
        )
    return splices


def _value_splices(head: str, key: Node, node: Node, old: Any, new: Any, newline: str) -> list[Splice]:
    if node.kind == "alias":
        raise RefusedError(f"the value of {key.text!r} is a YAML alias (*)", "write the value out first")
    if node.style not in ("", "'", '"', "flow"):
        return [_block_text_splice(head, key, node, new)]
    if node.style == "" and node.kind == "map" and isinstance(new, dict) and new:
        changes = {name: REMOVED for name in old if name not in new}
        changes |= {name: value for name, value in new.items() if name not in old or not same(old[name], value)}
        return _map_splices(head, node, old, changes, newline)
    if node.style == "" and node.kind == "list" and isinstance(new, list) and new:
        splices = _item_splices(head, node, old, new, newline)
        if splices is not None:
            return splices
    if node.kind == "word" or node.style == "flow":
        spelled = _flow_list(head, node, old, new) or _styled(head, node, new)
        return [(node.start, node.end, spelled if node.start < node.end else f" {spelled}")]
    return [_collapsed(head, key, node, write(new))]


def _styled(head: str, node: Node, new: Any, *, flow: bool = False) -> str:
    """Spell a new value the way the old one is quoted."""
    if isinstance(new, str) and node.kind == "word":
        if node.style == "'" and (quoted := single_quoted(new)):
            return quoted
        if node.style in ("'", '"'):
            return double_quoted(new)
        if is_date(new) and is_date(head[node.start : node.end]):
            return new
    return write(new, flow=flow)


def _flow_list(head: str, node: Node, old: Any, new: Any) -> str | None:
    """Spell a list in brackets with the old one's spacing, quotes and unchanged items."""
    items = node.items
    if node.kind != "list" or not isinstance(new, list) or not new or not items:
        return None
    gaps = [head[left.end : right.start] for left, right in pairwise(items)]
    opening, closing = head[node.start : items[0].start], head[items[-1].end : node.end]
    if any("#" in gap for gap in (opening, closing, *gaps)):
        return None
    unchanged = {
        repr(value): head[item.start : item.end] for value, item in zip(old, items, strict=True) if item.kind == "word"
    }
    spelled = [unchanged.get(repr(value)) or _styled(head, items[0], value, flow=True) for value in new]
    return opening + (gaps[0] if gaps else ", ").join(spelled) + closing


def _item_splices(head: str, node: Node, old: list[Any], new: list[Any], newline: str) -> list[Splice] | None:
    """Change the lines of a block list that must; None when its items do not stand on lines of their own."""
    from difflib import SequenceMatcher

    spans = [(_line_start(head, item.start), _line_end(head, _end(head, item))) for item in node.items]
    signs = [head[start : item.start] for (start, _), item in zip(spans, node.items, strict=True)]
    if not all(re.fullmatch(r"[ \t]*-[ \t]*", sign) for sign in signs):
        return None
    sign = signs[0].rstrip() + " " if signs[0][-1] == "-" else signs[0]

    def lines(values: list[Any]) -> str:
        return "".join(f"{sign}{_styled(head, node.items[0], value)}{newline}" for value in values)

    splices: list[Splice] = []
    matcher = SequenceMatcher(None, [repr(value) for value in old], [repr(value) for value in new], autojunk=False)
    for change, first, last, begin, finish in matcher.get_opcodes():
        if change == "equal":
            continue
        paired = min(last - first, finish - begin)
        for offset in range(paired):
            item, value = node.items[first + offset], new[begin + offset]
            start, end = spans[first + offset]
            if item.start < item.end and (item.style in ("'", '"', "flow") or (item.kind, item.style) == ("word", "")):
                splices.append((item.start, item.end, _styled(head, item, value)))
            else:
                splices.append((start, end, lines([value])))
        splices += [(*spans[index], "") for index in range(first + paired, last)]
        if begin + paired < finish:
            position = spans[first + paired - 1][1] if first + paired else spans[0][0]
            splices.append((position, position, lines(new[begin + paired : finish])))
    return splices


def _block_text_splice(head: str, key: Node, node: Node, new: Any) -> Splice:
    """Replace a text under `|` by one under `|` where it can be, any other by one on the key's line."""
    sign = re.compile(r"\|(-?)(\r?\n)( +)(?=[^ \r\n])").match(head, node.start)
    if sign and isinstance(new, str):
        clipped, newline, indent = sign.groups()
        lines = (new + "\n" if clipped else new).split("\n")
        fits = lines.pop() == "" and lines and lines[0][:1] not in ("", " ") and lines[-1]
        if fits and is_printable("".join(lines)):
            text = newline.join(indent + line if line else "" for line in lines)
            return node.start, _end(head, node), f"|{clipped}{newline}{text}"
    return _collapsed(head, key, node, write(new))


def _collapsed(head: str, key: Node, node: Node, spelled: str) -> Splice:
    """Put a value on its key's line in place of one that hangs below, keeping that line's comment."""
    colon = head.index(":", key.end) + 1
    comment = re.search(r"[ \t]+#[^\r\n]*", head[colon : _line_end(head, colon)])
    end = _line_end(head, _end(head, node))
    end -= len(head[:end]) - len(head[:end].rstrip("\r\n"))
    return colon, end, f" {spelled}{comment[0] if comment else ''}"


def plain_data(value: Any) -> Any:
    """Copy a value into the exact types that reading gives."""
    match value:
        case None | bool():
            return value
        case str():
            return str.__str__(value)
        case int():
            return int(value)
        case float():
            return float(value)
        case Mapping():
            return {plain_data(key): plain_data(item) for key, item in value.items()}
        case list() | tuple():
            return [plain_data(item) for item in value]
    raise TypeError(f"frontmatter holds text, numbers, lists and maps, not {type(value).__name__}")


def same(left: object, right: object) -> bool:
    """Return whether data is the same: 1, 1.0 and true differ, and the order of keys does not matter."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


def _line(indent: str, key: str, value: object, newline: str) -> str:
    return f"{indent}{write_key(key)}: {write(value)}{newline}"


def _end(head: str, node: Node) -> int:
    """Return the end of a value's last word: for the parser, block texts run on to the next thing."""
    return max(node.start, len(head[node.start : node.end].rstrip()) + node.start)


def _line_start(head: str, index: int) -> int:
    return head.rfind("\n", 0, index) + 1


def _line_end(head: str, index: int) -> int:
    return head.find("\n", index) + 1 or len(head)
