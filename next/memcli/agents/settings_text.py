"""Add values to the text of a JSON settings file, and remove them again without a trace.

Settings files belong to people, so nothing is ever written anew: values are inserted after an
opening bracket, and cut out again. Comments, tabs, line endings and a missing newline at the end
survive. If the agent rewrites its file meanwhile, the values are still found and removed.

A container that mem creates starts with a line break. In an existing empty container, mem's first
value follows the bracket directly. So removal knows which containers to remove with their values.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

TOKEN = re.compile(
    r'(?P<gap>[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)|(?P<string>"(?:[^"\\\n]|\\.)*")'
    r"|(?P<bracket>[\[{])|(?P<word>[-+.\w]+)",
    re.DOTALL,
)
CLOSING = {"{": "}", "[": "]"}


class SettingsError(ValueError):
    """A text is not JSON, or a value is not of the kind that mem adds to."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


class Node(NamedTuple):
    """A value in a text. The children of an object start at their key."""

    value: Any
    start: int
    end: int
    key: str = ""
    children: Sequence["Node"] = ()
    bracket: int = 0  # the position of the opening one

    def find(self, key: str) -> "Node | None":
        return next((child for child in self.children if child.key == key), None)


class Parser:
    """Parses JSON with comments and trailing commas into nodes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def parse(self) -> Node | None:
        """Return the root, or None for a blank text."""
        self.skip_gaps()
        if self.position == len(self.text):
            return None
        root = self.parse_value()
        self.skip_gaps()
        if self.position < len(self.text):
            raise SettingsError(self.position, "more text after the end of the settings")
        return root

    def parse_value(self, key: str = "", start: int = -1) -> Node:
        match = TOKEN.match(self.text, self.position)
        if match is None or match.lastgroup == "gap":
            raise SettingsError(self.position, "a value is missing")
        first = match.start() if start < 0 else start
        self.position = match.end()
        if match.lastgroup == "bracket":
            return self.parse_container(match[0], key, first)
        try:
            return Node(json.loads(match[0], strict=False), first, match.end(), key)
        except ValueError:
            raise SettingsError(match.start(), f"{match[0][:40]} is not a value in JSON") from None

    def parse_container(self, bracket: str, key: str, start: int) -> Node:
        opening = self.position - 1
        children: list[Node] = []
        while True:
            self.skip_gaps()
            if self.skip(CLOSING[bracket]):
                break
            child = self.parse_member() if bracket == "{" else self.parse_value()
            if bracket == "{" and any(other.key == child.key for other in children):
                raise SettingsError(child.start, f'the key "{child.key}" occurs twice')
            children.append(child)
            self.skip_gaps()
            if (
                not self.skip(",")
                and self.text[self.position : self.position + 1] != CLOSING[bracket]
            ):
                raise SettingsError(self.position, f"a comma or {CLOSING[bracket]} is missing")
        value: Any = [child.value for child in children]
        if bracket == "{":
            value = {child.key: child.value for child in children}
        return Node(value, start, self.position, key, children, opening)

    def parse_member(self) -> Node:
        match = TOKEN.match(self.text, self.position)
        if match is None or match.lastgroup != "string":
            raise SettingsError(self.position, "a key in quotes is missing")
        self.position = match.end()
        self.skip_gaps()
        if not self.skip(":"):
            raise SettingsError(self.position, "a colon is missing")
        self.skip_gaps()
        return self.parse_value(json.loads(match[0], strict=False), match.start())

    def skip(self, character: str) -> bool:
        is_there = self.text.startswith(character, self.position)
        self.position += is_there
        return is_there

    def skip_gaps(self) -> None:
        while (match := TOKEN.match(self.text, self.position)) and match.lastgroup == "gap":
            self.position = match.end()


def parse_settings(text: str) -> Node | None:
    """Return the root of a settings text, or None if it is blank. Raises SettingsError."""
    try:
        root = Parser(text).parse()
    except RecursionError:
        raise SettingsError(0, "the settings are nested too deeply") from None
    if root is not None and not isinstance(root.value, dict):
        raise SettingsError(root.start, "the settings are not an object")
    return root


def add_values(text: str, values: Mapping[str, Any]) -> str:
    """Return a settings text with more values. Objects and lists in it are extended."""
    root = parse_settings(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    indented = re.search(r"\n([ \t]+)\S", text)
    layout = Layout(newline, indented[1] if indented else "  ")
    if root is None:
        return layout.render(values, 0) + text
    for position, inserted in sorted(layout.list_insertions(root, values, 1), reverse=True):
        text = text[:position] + inserted + text[position:]
    return text


class Layout(NamedTuple):
    """How a settings text is laid out."""

    newline: str
    indent: str

    def render(self, value: Any, depth: int) -> str:
        text = json.dumps(value, indent=self.indent, ensure_ascii=False)
        return text.replace("\n", self.newline + self.indent * depth)

    def list_insertions(self, node: Node, values: Any, depth: int) -> Iterator[tuple[int, str]]:
        """Yield positions and the texts to insert there."""
        if type(node.value) is not type(values):
            kind = "a list" if isinstance(values, list) else "an object"
            raise SettingsError(node.start, f'"{node.key}" is not {kind}')
        added = []
        if isinstance(values, list):
            added = [self.render(value, depth) for value in values]
        else:
            for key, value in values.items():
                child = node.find(key)
                if child is None:
                    added.append(f"{json.dumps(key)}: {self.render(value, depth)}")
                else:
                    yield from self.list_insertions(child, value, depth + 1)
        if added:
            margin = self.newline + self.indent * depth
            if node.children:
                yield node.bracket + 1, "".join(f"{margin}{item}," for item in added)
            else:
                yield node.bracket + 1, f",{margin}".join(added)


Finder = Callable[[Node], Sequence[Sequence[Node]]]
"""Finds values: for each one the nodes from the root to the value."""


def remove_values(text: str, find: Finder) -> str:
    """Return a settings text without the values that `find` finds, and without the containers
    that were created for them.
    """
    while True:
        root = parse_settings(text)
        paths = find(root) if root else ()
        if not paths:
            return text
        # The last one first: only then is the first one next to the bracket until the end.
        start, end = find_cut(text, paths[-1])
        text = text[:start] + text[end:]


def find_cut(text: str, path: Sequence[Node]) -> tuple[int, int]:
    """Return the span to cut out to remove the last node of a path."""
    for container, node in zip(path[-2::-1], path[:0:-1], strict=True):
        number = container.children.index(node)
        before = container.children[number - 1].end if number else container.bracket + 1
        if len(container.children) > number + 1:
            return len(text[: node.start].rstrip()), find_comma(text, node.end) + 1
        if number:
            return before, node.end
        if node.start == before:
            return node.start, node.end
    return path[0].start, path[0].end


def find_comma(text: str, position: int) -> int:
    """Return the position of the comma that follows a value."""
    parser = Parser(text)
    parser.position = position
    parser.skip_gaps()
    return parser.position
