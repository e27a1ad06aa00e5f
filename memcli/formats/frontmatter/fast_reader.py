"""Read the frontmatter that `mem` itself and most people write, a line at a time; decline everything else.

What is not declined means the same to YAML: this is the quick way in, never a second dialect.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ...data import table
from .yaml_tree import UNPRINTABLE, WORDS, read_plain

BEGINS_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_/.(+$")
FLOW_WORD = re.compile(r"[\w./][\w ./+-]*")
LONGEST_KEY = 100
DEEPEST = 8

Line = tuple[int, str]  # how far it is indented, and the rest
END: Line = (-1, "")


class _Declined(Exception):
    """This takes a real YAML parser."""


def read_lines(head: str) -> dict[str, object] | None:
    """Return the fields of a block of simple lines, or None when it takes a YAML parser."""
    if "\r" in head:
        head = head.replace("\r\n", "\n")
    # Tabs, carriage returns and all that YAML forbids or takes for line ends; some harmless signs too.
    if not head.replace("\n", "").isprintable():
        return None
    lines = _lines(head)
    try:
        fields, line_after = _map(0, next(lines, END), lines)
    except _Declined:
        return None
    return fields if line_after is END else None


def takes_lines(head: str) -> bool:
    """Return whether a new key can stand in a line below a block, without asking a YAML parser where its values end."""
    last = head.rstrip("\r\n").rpartition("\n")[2].strip(" ")
    is_ended = head.endswith("\n") and not head.endswith(("\n\n", "\n\r\n"))
    return is_ended and last[:1] not in ("", "#") and read_lines(head) is not None


def _lines(head: str) -> Iterator[Line]:
    return iter(
        [
            (len(line) - len(line.lstrip(" ")) if line[0] == " " else 0, text)
            for line in head.split("\n")
            if (text := line.strip(" ")) and text[0] != "#"
        ]
    )


def _map(indent: int, line: Line, lines: Iterator[Line]) -> tuple[dict[str, object], Line]:
    """Read the keys that are indented so far; return them and the line after."""
    if indent > DEEPEST:
        raise _Declined
    fields: dict[str, object] = {}
    while line[0] == indent:
        key, colon, value = line[1].partition(":")
        if not colon or key in fields or not _is_key(key):
            raise _Declined
        line = next(lines, END)
        if value and value[0] != " ":
            raise _Declined
        value = value.lstrip(" ")
        if value and value[0] != "#":
            fields[key] = _flow_list(value) if value[0] == "[" else _value(value)
        elif line[1][:2] == "- " and line[0] >= indent:
            fields[key], line = _list(line[0], line, lines)
        elif line[0] > indent:
            fields[key], line = _map(line[0], line, lines)
        else:
            fields[key] = None
    # Deeper than its neighbours: the value above goes on.
    if line[0] > indent:
        raise _Declined
    return fields, line


def _list(indent: int, line: Line, lines: Iterator[Line]) -> tuple[list[object], Line]:
    items = []
    while line[0] == indent and line[1][:2] == "- ":
        items.append(_value(line[1][2:].lstrip(" ")))
        line = next(lines, END)
    if line[0] > indent:
        raise _Declined
    return items, line


@lru_cache(maxsize=256)
def _is_key(key: str) -> bool:
    name = key.replace("-", "_")
    sound = name.isidentifier() and key[0] != "-" and key.isascii() and len(key) <= LONGEST_KEY
    return sound and key not in WORDS


def _value(text: str) -> object:
    first = text[:1]
    if first in ("'", '"'):
        return _quoted(text)
    if not (first in BEGINS_PLAIN or first > "\xa0" or (first == "-" and text[1:2].isdigit())):
        raise _Declined
    if " #" in text:
        text = text[: text.index(" #")].rstrip(" ")
    if text[-1] == ":" or ": " in text:
        raise _Declined
    return read_plain(text)


def _quoted(text: str) -> str:
    quote = text[0]
    if len(text) < 2 or text[-1] != quote or text.count(quote) != 2 or "\\" in text:
        raise _Declined
    return text[1:-1]


def _flow_list(text: str) -> list[object]:
    if text[-1] != "]":
        raise _Declined
    inner = text[1:-1].strip(" ")
    return [_flow_item(item.strip(" ")) for item in inner.split(",")] if inner else []


def _flow_item(text: str) -> object:
    if text[:1] in ("'", '"'):
        return _quoted(text)
    if not FLOW_WORD.fullmatch(text):
        raise _Declined
    return read_plain(text)


def complaint(error: Exception, head: str) -> tuple[int, str]:
    """Return where in the block an error of the YAML parser points, and the reason in plain words."""
    conflict = re.search(r"^<<<<<<< ", head, re.MULTILINE)
    if conflict:
        return conflict.start(), "a git conflict begins here; resolve it"
    odd = re.search(rf"(?![\n\r\t\x85\u2028\u2029\ufeff]){UNPRINTABLE}", head)
    if odd:
        return odd.start(), f"character U+{ord(odd.group()):04X} cannot stand in frontmatter; remove it"
    message = f"{getattr(error, 'context', '')} {getattr(error, 'problem', '')}"
    errors = table("yaml_errors.toml")["errors"]
    described = next(
        (error for error in errors if error["part"] in message), {"where": "problem", "reason": message.strip()}
    )
    where, reason = described["where"], described["reason"]
    last = len(head.rstrip()) - 1
    index = max(0, min(_index(error, where), last))
    if "mapping values" in message:
        return _second_colon(head, index, reason)
    if "block mapping" in message and head[index - 1 : index] in ("'", '"'):
        return index, "the quotes end before the value does; write inner quotes as \\\" or ''"
    if "block mapping" in message and head[index] in "]}":
        return index, f"one {head[index]} too many; quote the value if it is text"
    char = head[index : index + 1]
    if char == "\t":
        return index, "a tab cannot stand here; indent with spaces"
    shown = {"`": "a backtick"}.get(char, f"`{char}`") if char.strip() else "what comes next"
    return index, reason.format(char=shown)


def _second_colon(head: str, index: int, reason: str) -> tuple[int, str]:
    """Return where a second colon on a line is, and why: within a value, or on a line that follows no key."""
    line = head[head.rfind("\n", 0, index) + 1 : index]
    if re.fullmatch(r"[ \t]+[\w-]+", line):
        return index, "indented deeper, but the line above has its value already"
    if re.fullmatch(r"[\w-]+", line):
        above = len(head[: index - len(line)].rstrip())
        return max(0, above - 1), "this line is not `key: value`; mind the space after the colon"
    return index, reason


def _index(error: Any, where: str) -> int:
    marks = [getattr(error, "problem_mark", None), getattr(error, "context_mark", None)]
    if where == "context":
        marks.reverse()
    return next((mark.index for mark in marks if mark is not None), 0)
