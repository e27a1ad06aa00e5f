"""The block of YAML that a markdown file begins with: read it, change single lines of it, make a new one.

Never raises on what a user wrote, never turns text into something else (dates, `yes`, `007` stay text), and
refuses every change whose result does not say exactly what was asked for.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...data import table
from ...errors import RefusedError
from ..text_lines import BOM, Problem
from .yaml_tree import UNPRINTABLE, WORDS, read_plain

if TYPE_CHECKING:
    from .yaml_tree import Node

__all__ = ["Document", "edit", "load_mapping", "parse", "render"]


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


OPENING = re.compile(r"---[ \t]*(?:\r?\n|\Z)")
CLOSING = re.compile(r"\n(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)")
LARGEST = 256 * 1024


class Document(NamedTuple):
    """A file's text, taken apart: BOM, opening fence, head, closing fence and body make the whole again."""

    bom: bool
    newline: str  # of the first line
    head: str | None  # between the fences, as it stands; None without frontmatter
    head_line: int  # 1-based, 0 without frontmatter
    body: str  # everything after the closing fence's line
    body_line: int
    fields: dict[str, object]
    problem: Problem | None


def parse(text: str) -> Document:
    """Take a file's text apart; what cannot be understood is a Problem, and the body is there all the same."""
    bom = text.startswith(BOM)
    end = text.find("\n")
    newline = "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"
    opening = OPENING.match(text, int(bom))
    closing = CLOSING.search(text, opening.end() - 1) if opening else None
    if opening is None or closing is None:
        problem = Problem(1, "`---` opens frontmatter that no later `---` line closes") if opening else None
        return Document(bom, newline, None, 0, text[int(bom) :], 1, {}, problem)
    head = text[opening.end() : closing.start() + 1]
    body_line = 2 + head.count("\n") + closing.group().count("\n", 1)
    fields, problem = _read(head, 2)
    return Document(bom, newline, head, 2, text[closing.end() :], body_line, fields, problem)


def load_mapping(text: str) -> tuple[dict[str, object], Problem | None]:
    """Read a YAML file of `key: value` lines by the same rules."""
    return _read(text.removeprefix(BOM), 1)


def edit(text: str, changes: Mapping[str, object]) -> str:
    """Return the text with keys set, or removed where the value is None, and every other byte as it was.

    Raises RefusedError where the frontmatter does not parse, or where nothing but a rewrite would do.
    """
    from .edit import REMOVED, plain_data, respell, respell_lines, same

    document = parse(text)
    if document.problem:
        raise RefusedError(
            f"the frontmatter does not parse (line {document.problem.line}: {document.problem.reason})",
            "mend that line first",
        )
    old = document.fields
    wanted = {key: plain_data(value) for key, value in changes.items() if value is not None}
    new = {key: value for key, value in wanted.items() if key not in old or not same(old[key], value)}
    new |= {key: REMOVED for key in changes if key not in wanted and key in old}
    if not new:
        return text
    expected = {key: value for key, value in (old | new).items() if value is not REMOVED}
    body = document.body
    if document.head is None:
        separated = re.match(r"[ \t]*(?:\r?\n|\Z)", body)
        body = body if separated else document.newline + body
        result = text[: int(document.bom)] + render(expected, "", document.newline) + body
    else:
        start = text.index("\n") + 1
        head = respell_lines(document.head, old, new, document.newline) if takes_lines(document.head) else None
        if head is None:
            head = respell(document.head, _tree(document.head), old, new, document.newline)
        result = text[:start] + head + text[start + len(document.head) :]
    after = parse(result)
    if after.problem or after.body != body or not same(after.fields, expected):
        names = ", ".join(map(repr, new))
        raise RefusedError(
            f"cannot change {names} without disturbing the rest of the frontmatter", "edit the file by hand"
        )
    return result


def render(fields: Mapping[str, object], body: str, newline: str = "\n") -> str:
    """Make the text of a new file; a field whose value is None is left out."""
    from .yaml_tree import write, write_key

    lines = [f"{write_key(key)}: {write(value)}" for key, value in fields.items() if value is not None]
    head = newline.join(["---", *lines, "---", ""])
    body = body.strip("\r\n")
    if newline != "\n":
        body = re.sub(r"\r?\n", newline, body)
    return f"{head}{newline}{body}{newline}" if body else head


def _read(head: str, first_line: int) -> tuple[dict[str, object], Problem | None]:
    if len(head) > LARGEST:
        return {}, Problem(first_line, f"larger than {LARGEST // 1024} kB; this is no frontmatter")
    fields = read_lines(head)
    if fields is not None:
        return fields, None
    from .yaml_tree import Unreadable, data

    try:
        root = _tree(head)
        values = data(root) if root else {}
    except Unreadable as error:
        return {}, Problem(first_line + head.count("\n", 0, error.index), error.reason)
    if values is None or isinstance(values, dict):
        return values or {}, None
    kind = "a list" if isinstance(values, list) else "plain text"
    return {}, Problem(first_line, f"this is {kind}; frontmatter is made of `key: value` lines")


def _tree(head: str) -> "Node | None":
    """Return the tree of a block of YAML; raise Unreadable with the reason in plain words."""
    from frontmatter.default_handlers import YAMLHandler
    from yaml import YAMLError

    from .yaml_tree import Unreadable

    if head.startswith(BOM):  # the parser passes over it, and all its marks are off by one
        raise Unreadable(0, "character U+FEFF cannot stand in frontmatter; remove it")
    try:
        root: Node | None = YAMLHandler().load(head, Loader=_loader())
    except (YAMLError, UnicodeError) as error:
        raise Unreadable(*complaint(error, head)) from None
    return root


@cache
def _loader() -> Any:
    """Make the loader that turns PyYAML's events into our tree, with libyaml where PyYAML has it."""
    import yaml

    from .yaml_tree import build

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    return type("TreeLoader", (base,), {"get_single_data": lambda loader: build(loader.get_event)})
