"""The block of YAML that a markdown file begins with: read it, change single lines of it, make a new one.

Never raises on what a user wrote, never turns text into something else (dates, `yes`, `007` stay text), and
refuses every change whose result does not say exactly what was asked for.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import RefusedError
from ..text_lines import BOM, Problem
from .fast_reader import read_lines, takes_lines

if TYPE_CHECKING:
    from .yaml_tree import Node

__all__ = ["Document", "edit", "load_mapping", "parse", "render"]

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

    from .fast_reader import complaint
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
