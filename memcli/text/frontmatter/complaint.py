"""Say what a YAML parser's error means to a person who does not know YAML well."""

import re
from typing import Any

from .scalar import UNPRINTABLE

# A part of the parser's words, whether to point at the problem or at what it is in, and our words.
MEANINGS = (
    ("mapping values are not allowed", "problem", "mapping values are not allowed here; quote the value"),
    ("quoted scalar found unknown escape", "problem", "a \\ between double quotes begins an escape; write \\\\"),
    ("quoted scalar did not find", "problem", "a \\ between double quotes begins an escape; write \\\\"),
    ("scanning a quoted scalar", "context", "a quote is opened here and not closed"),
    ("cannot start any token", "problem", "{char} cannot begin a value; quote the value"),
    ("parsing a flow sequence", "context", "a list is opened here with [ and not closed with ]"),
    ("parsing a flow mapping", "context", "a map is opened here with {{ and not closed with }}"),
    ("parsing a flow node", "problem", "between brackets something is missing here, or they are not closed"),
    ("simple key", "context", "this line is not `key: value`; mind the space after the colon"),
    ("scanning a block scalar", "problem", "the text after | or > must begin on the next line, indented"),
    ("scanning an alias", "context", "* begins an alias; quote the value"),
    ("scanning an anchor", "context", "& begins an anchor; quote the value"),
    ("directive", "context", "% cannot begin a line; quote it"),
    ("tag", "problem", "! begins a tag; quote the value"),
    ("sequence entries are not allowed", "problem", "- begins a list; quote the value, or give the list its own lines"),
    ("parsing a block collection", "problem", "indented unlike the list items above"),
    ("parsing a block mapping", "problem", "does not fit here; mend the indentation, or quote the whole value"),
    ("parsing a block node", "problem", "{char} cannot begin a value; quote the value"),
    ("expected <document start>", "problem", "does not fit here; mend the indentation, or quote the whole value"),
)  # fmt: skip


def complaint(error: Exception, head: str) -> tuple[int, str]:
    """Return where in the block an error of the YAML parser points, and the reason in plain words."""
    conflict = re.search(r"^<<<<<<< ", head, re.MULTILINE)
    if conflict:
        return conflict.start(), "a git conflict begins here; resolve it"
    odd = re.search(rf"(?![\n\r\t\x85\u2028\u2029\ufeff]){UNPRINTABLE}", head)
    if odd:
        return odd.start(), f"character U+{ord(odd.group()):04X} cannot stand in frontmatter; remove it"
    told = f"{getattr(error, 'context', '')} {getattr(error, 'problem', '')}"
    where, reason = next((rest for words, *rest in MEANINGS if words in told), ("problem", told.strip()))
    last = len(head.rstrip()) - 1
    index = max(0, min(_index(error, where), last))
    if "mapping values" in told:
        return _second_colon(head, index, reason)
    if "block mapping" in told and head[index - 1 : index] in ("'", '"'):
        return index, "the quotes end before the value does; write inner quotes as \\\" or ''"
    if "block mapping" in told and head[index] in "]}":
        return index, f"one {head[index]} too many; quote the value if it is text"
    char = head[index : index + 1]
    if char == "\t":
        return index, "a tab cannot stand here; indent with spaces"
    shown = {"`": "a backtick"}.get(char, f"`{char}`") if char.strip() else "what comes next"
    return index, reason.format(char=shown)


def _second_colon(head: str, index: int, reason: str) -> tuple[int, str]:
    """Tell a colon within a value from one whose line does not follow on the line above."""
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
