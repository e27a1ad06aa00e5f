"""Read the frontmatter that `mem` itself and most people write, a line at a time; decline everything else.

What is not declined means the same to YAML: this is the quick way in, never a second dialect.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from .scalar import WORDS, read_plain

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
        fields, rest = _map(0, next(lines, END), lines)
    except _Declined:
        return None
    return fields if rest is END else None


def takes_lines(head: str) -> bool:
    """Tell whether a new key can stand in a line below a block, without asking a YAML parser where its values end."""
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
        key, colon, rest = line[1].partition(":")
        if not colon or key in fields or not _is_key(key):
            raise _Declined
        line = next(lines, END)
        if rest and rest[0] != " ":
            raise _Declined
        rest = rest.lstrip(" ")
        if rest and rest[0] != "#":
            fields[key] = _flow_list(rest) if rest[0] == "[" else _value(rest)
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
