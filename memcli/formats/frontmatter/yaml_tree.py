"""What stands where in a block of YAML, built from the parser's events, and the plain data it says.

Refuses what is no data (foreign tags), what would be lost (a key twice) and what would not end (nests, alias bombs).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

from ...errors import RefusedError

WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# YAML 1.1 reads these as booleans, 1.2 as words; `=` and `<<` have a meaning of their own in 1.1.
AMBIGUOUS = {*WORDS, "=", "<<", "y", "n", "yes", "no", "on", "off"}
# As patterns, not compiled: only a command that writes pays for them.
NUMBERLIKE = r"[-+]?[0-9_.]+|[-+]?\.?[0-9][0-9a-fA-FxXob_.,:+-]*|[-+]?\.(?:inf|Inf|INF|nan|NaN|NAN)|0o[0-7]+"
DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
DATELIKE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9].*)?"
RFC_3339 = DATE + r"T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
UNPRINTABLE = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def read_plain(text: str) -> object:
    """Turn an unquoted word into the value it stands for."""
    if text in WORDS:
        return WORDS[text]
    if text[0] in "-0123456789" and text[-1] in "0123456789":
        digits = text[1:] if text[0] == "-" else text
        if digits.isdecimal():
            return int(text) if len(digits) <= 16 and str(int(text)) == text else text
        try:
            number = float(text)
        except ValueError:
            return text
        return number if repr(number) == text else text
    return text


def write(value: object, *, flow: bool = False) -> str:
    """Spell a value on one line; with `flow`, so that it can stand between brackets."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return value if is_plain(value, flow=flow) else double_quoted(value)
        case int() | float():
            return _number(value)
        case Mapping():
            pairs = (f"{write_key(key, flow=True)}: {write(item, flow=True)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        case list() | tuple():
            return "[" + ", ".join(write(item, flow=True) for item in value) + "]"
    raise TypeError(f"frontmatter holds text, numbers, lists and maps, not {type(value).__name__}")


def write_key(key: object, *, flow: bool = False) -> str:
    """Spell the name of a field."""
    if not isinstance(key, str):
        raise RefusedError(f"a frontmatter key must be text, not {key!r}")
    return key if is_plain(key, flow=flow) and ":" not in key else double_quoted(key)


def is_plain(text: str, *, flow: bool = False) -> bool:
    """Return whether YAML 1.1, YAML 1.2 and we ourselves read the unquoted text back as this same text."""
    if not text or text != text.strip() or not is_printable(text):
        return False
    if text[0] in "-?:,[]{}#&*!|>'\"%@`" or text[-1] == ":" or ": " in text or " #" in text:
        return False
    if text in WORDS or text.lower() in AMBIGUOUS or text.startswith("..."):
        return False
    if flow and not {*",[]{}:?"}.isdisjoint(text):
        # Timestamps are the exception: every reader takes their colons between brackets.
        return bool(re.fullmatch(RFC_3339, text))
    if re.fullmatch(DATELIKE, text):
        return bool(re.fullmatch(RFC_3339, text))
    return not re.fullmatch(NUMBERLIKE, text)


def is_printable(text: str) -> bool:
    """Return whether YAML takes every character of the line as it is."""
    # Python's own rule is stricter and costs nothing; the pattern is only made for texts that fail it.
    return text.isprintable() or not re.search(UNPRINTABLE, text)


def is_date(text: str) -> bool:
    """Return whether the text is a bare day, which only stays unquoted where the user writes it so."""
    return bool(re.fullmatch(DATE, text))


def double_quoted(text: str) -> str:
    """Quote a text with the escapes that JSON and YAML share where they do."""
    if re.search(r"[\ud800-\udfff]", text):
        raise RefusedError("a text with half a character (a lone surrogate) cannot be stored")
    return '"' + re.sub(rf'["\\]|{UNPRINTABLE}', _escape, text) + '"'


def single_quoted(text: str) -> str | None:
    """Quote a text without escapes; None when it needs some."""
    return "'" + text.replace("'", "''") + "'" if is_printable(text) else None


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if char in ESCAPES:
        return ESCAPES[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _number(value: int | float) -> str:
    spelled = repr(value)
    if type(read_plain(spelled)) is not type(value):
        raise RefusedError(f"the number {spelled} would not come back as it is", "give it as text")
    return spelled


# libyaml's own tree builder overruns the C stack at some ten thousand levels.
DEEPEST = 64
# Each node reached through an alias costs one, and one more per 256 characters.
ALIAS_BUDGET = 1000
CORE = "tag:yaml.org,2002:"

Kind = Literal["word", "list", "map", "alias"]


class Unreadable(Exception):
    """Correct YAML that is not the data of a frontmatter."""

    def __init__(self, index: int, reason: str) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason


class Node:
    """A value and where it stands: `[start, end)` in characters, to the last thing it contains."""

    __slots__ = ("end", "items", "kind", "start", "style", "tag", "text")

    def __init__(self, kind: Kind, start: int, end: int, tag: str | None = None) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.tag = tag
        self.text = ""  # of a word
        self.style = ""  # of a word: its quote or block sign; of a list or map: "flow" or nothing
        self.items: list[Node] = []  # of a map: key, value, key, value; of an alias: what it stands for

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys and values of a map."""
        return zip(self.items[::2], self.items[1::2], strict=True)


def build(next_event: Callable[[], Any]) -> Node | None:
    """Build the tree of a stream of one document, or None when it says nothing."""
    next_event()
    if not _is(event := next_event(), "DocumentStart"):
        return None
    root = _node(next_event(), next_event, {}, 0)
    next_event()
    if not _is(event := next_event(), "StreamEnd"):
        raise Unreadable(event.start_mark.index, "a second document begins here; remove the `---`")
    return root


def data(root: Node) -> object:
    """Turn the tree into text, numbers, lists and maps."""
    return _Reader().value(root)


def _is(event: Any, name: str) -> bool:
    return type(event).__name__ == name + "Event"


def _node(event: Any, next_event: Callable[[], Any], anchors: dict[str, Node], depth: int) -> Node:
    start, end = event.start_mark.index, event.end_mark.index
    if depth > DEEPEST:
        raise Unreadable(start, f"nested more than {DEEPEST} levels deep")
    name = type(event).__name__
    if name == "AliasEvent":
        if event.anchor not in anchors:
            raise Unreadable(start, f"`*{event.anchor}` stands for nothing; quote the value if it is text")
        node = Node("alias", start, end)
        node.items = [anchors[event.anchor]]
        return node
    if name == "ScalarEvent":
        plain = event.implicit[0] and event.tag is None
        node = Node("word", start, end, event.tag or ("" if plain else None))
        node.text = event.value
        node.style = event.style or ""
    else:
        node = _collection(event, next_event, anchors, depth)
    if event.anchor is not None:
        anchors[event.anchor] = node
    return node


def _collection(event: Any, next_event: Callable[[], Any], anchors: dict[str, Node], depth: int) -> Node:
    kind: Kind = "map" if _is(event, "MappingStart") else "list"
    node = Node(kind, event.start_mark.index, event.end_mark.index, event.tag)
    node.style = "flow" if event.flow_style else ""
    while not (_is(event := next_event(), "MappingEnd") or _is(event, "SequenceEnd")):
        node.items.append(_node(event, next_event, anchors, depth + 1))
    # A block ends for the parser where the next thing begins, for a reader with its last word.
    node.end = event.end_mark.index if node.style or not node.items else node.items[-1].end
    return node


class _Reader:
    """Counts what aliases multiply while turning nodes into data."""

    def __init__(self) -> None:
        self.spent = 0
        self.inside_alias = 0

    def value(self, node: Node) -> object:
        if self.inside_alias:
            self.spent += 1 + len(node.text) // 256
            if self.spent > ALIAS_BUDGET:
                raise Unreadable(self.inside_alias - 1, "aliases (`*name`) multiply into too much; write it out")
        if node.kind == "word":
            return _word(node)
        if node.kind == "alias":
            return self._alias(node)
        if node.tag not in (None, "!", CORE + ("seq" if node.kind == "list" else "map")):
            raise _foreign(node)
        if node.kind == "list":
            return [self.value(item) for item in node.items]
        return self._map(node)

    def _alias(self, node: Node) -> object:
        outer, self.inside_alias = self.inside_alias, self.inside_alias or node.start + 1
        value = self.value(node.items[0])
        self.inside_alias = outer
        return value

    def _map(self, node: Node) -> dict[str, object]:
        fields: dict[str, object] = {}
        for key, item in node.pairs:
            name = self.value(key)
            if not isinstance(name, str):
                raise Unreadable(key.start, _no_key(key, name))
            if name in fields:
                raise Unreadable(key.start, f"the key {name!r} is there twice; keep one")
            fields[name] = self.value(item)
        return fields


def _word(node: Node) -> object:
    if node.tag == "":
        return read_plain(node.text)
    if node.tag in (None, "!", CORE + "str"):
        return node.text
    value = read_plain(node.text)
    if node.tag not in {CORE + name for name in ("int", "float", "bool", "null")}:
        raise _foreign(node)
    if isinstance(value, str):
        raise Unreadable(node.start, f"{value!r} is not what its tag says; remove the tag")
    return value


def _foreign(node: Node) -> Unreadable:
    tag = (node.tag or "").replace(CORE, "!!")
    return Unreadable(node.start, f"the tag {tag!r} is not plain data; remove it, or quote the value")


def _no_key(node: Node, value: object) -> str:
    if isinstance(value, list | dict):
        return 'a list or map cannot be a key; quote the value if it is text, as in "{{date}}"'
    return f'a key must be text; quote it: "{node.text}"'
