"""Add values to a JSON settings file of the user, and remove them again without a trace.

Settings files belong to people, so the text is never formatted again: values are inserted after an
opening bracket, and cut out later. Comments, tabs, line endings and a missing newline at the end
survive. If the agent rewrites its file in between, the values are still found and removed.

A container that mem creates starts with a line break. In an existing empty container, mem's first
value follows the bracket directly. So removal knows which containers to remove with their values.

The file itself is read, written, deleted, and hidden from git here too.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import MemError, RejectedError
from ..store import add_lines, find_repository, run_git, write_atomically

STRING = r'"(?:[^"\\\n]|\\.)*"'
# Both match strings first, so that neither `"https://…"` nor `"a,]"` is changed.
COMMENT = re.compile(rf"({STRING})|//[^\n]*|/\*.*?\*/", re.DOTALL)
LAST_COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])", re.DOTALL)
DECODER = json.JSONDecoder(strict=False)


class SettingsError(ValueError):
    """A text is not JSON, or a value is not of the kind that mem adds to."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


class Node:
    """A value in a text. The value of a key starts at the key."""

    def __init__(self, plain: str, start: int, position: int, key: str = "") -> None:
        self.plain = plain  # the text without comments
        self.start = start
        self.bracket = position  # of a list or an object
        self.key = key
        self.value: Any
        self.value, self.end = DECODER.raw_decode(plain, position)

    @cached_property
    def children(self) -> "list[Node]":
        children: list[Node] = []
        if not isinstance(self.value, dict | list):
            return children
        position = skip_blanks(self.plain, self.bracket + 1)
        while position < self.end - 1:
            start, key = position, ""
            if isinstance(self.value, dict):
                key, position = DECODER.raw_decode(self.plain, position)
                position = skip_blanks(self.plain, skip_blanks(self.plain, position) + 1)
                # The agent reads only one of them, and mem cannot know which.
                if any(child.key == key for child in children):
                    raise SettingsError(start, f'the key "{key}" occurs twice')
            child = Node(self.plain, start, position, key)
            children.append(child)
            # Skip the comma, if there is one.
            position = skip_blanks(self.plain, skip_blanks(self.plain, child.end) + 1)
        return children

    def find(self, key: str) -> "Node | None":
        return next((child for child in self.children if child.key == key), None)


Finder = Callable[[Node], Sequence[Sequence[Node]]]
"""Finds values: for each one the nodes from the root to the value."""


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


def remove_values(text: str, find: Finder) -> str:
    """Return a settings text without the values that `find` finds.

    The containers that were created for them are removed too.
    """
    while True:
        root = parse_settings(text)
        paths = find(root) if root else ()
        if not paths:
            return text
        # From the last value to the first, so that the first stays next to its bracket until then.
        start, end = find_cut(text, paths[-1])
        text = text[:start] + text[end:]


def find_cut(text: str, path: Sequence[Node]) -> tuple[int, int]:
    """Return the span to cut out to remove the last node of a path."""
    for container, node in zip(path[-2::-1], path[:0:-1], strict=True):
        number = container.children.index(node)
        before = container.children[number - 1].end if number else container.bracket + 1
        if len(container.children) > number + 1:
            comma = skip_blanks(node.plain, node.end)
            return len(text[: node.start].rstrip()), comma + 1
        if number:
            return before, node.end
        if node.start == before:
            return node.start, node.end
    return path[0].start, path[0].end


def parse_settings(text: str) -> Node | None:
    """Return the root of a settings text, or None if it is blank. Raises SettingsError."""
    # The replacements are as long as the text, so positions are the same in both. Some editors on
    # Windows begin a file with a byte order mark.
    plain = LAST_COMMA.sub(blank, COMMENT.sub(blank, text.replace("\ufeff", " ", 1)))
    start = skip_blanks(plain, 0)
    if start == len(plain):
        return None
    try:
        root = Node(plain, start, start)
    except json.JSONDecodeError as error:
        raise SettingsError(error.pos, error.msg[:1].lower() + error.msg[1:]) from None
    except RecursionError:
        raise SettingsError(0, "the settings are nested too deeply") from None
    if not isinstance(root.value, dict) or plain[root.end :].strip():
        raise SettingsError(root.end, "the settings are not one object")
    return root


def blank(match: re.Match[str]) -> str:
    """Return a matched string unchanged, and blanks in the place of a comment or comma."""
    return match[1] or re.sub(r"[^\n]", " ", match[0])


def skip_blanks(text: str, position: int) -> int:
    while text[position : position + 1].isspace():
        position += 1
    return position


def read_settings(path: Path) -> str:
    """Return the text of a settings file or page; empty if there is none."""
    if not path.exists():
        return ""
    if not path.is_file():
        raise RejectedError(f"{path} is not a file")
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        hint = "convert it, for example with iconv; nothing was changed"
        raise RejectedError(f"{path}:{line}: not UTF-8", hint) from None


def save_text(path: Path, text: str | None, base: Path, top: Path | None = None) -> list[str]:
    """Write a settings file, or delete it if there is no text. Return the changed paths.

    A link must lead into `base`. Empty folders below `top`, by default `base`, are removed.

    Users keep settings in a repository of dotfiles and link to them, so a link stays a link.
    """
    check_inside(path, base)
    target = path.resolve()
    try:
        if text is not None:
            write_atomically(target, text.encode())
        else:
            target.unlink()
            remove_empty_folders(target.parent, (top or base).resolve())
    except OSError as error:
        raise RejectedError(f"cannot write {path}: {error.strerror}") from None
    return [str(path)]


@contextmanager
def report_line(path: Path, text: str) -> Iterator[None]:
    """Turn a SettingsError in the block into a RejectedError that names the line."""
    try:
        yield
    except SettingsError as error:
        line = text.count("\n", 0, error.position) + 1
        raise RejectedError(
            f"{path}:{line}: {error.reason}", "fix this line and try again; nothing was changed"
        ) from None


def check_inside(path: Path, base: Path) -> None:
    """Refuse a link in a cloned project that leads to a file outside of `base`."""
    target = path.resolve()
    if not target.is_relative_to(base.resolve()):
        raise RejectedError(f"{path} is a link to {target}", "change that file yourself")


def remove_empty_folders(folder: Path, top: Path) -> None:
    """Remove the empty folders below `top`, which mem may have created."""
    with suppress(OSError):
        while folder != top and folder.is_relative_to(top):
            folder.rmdir()
            folder = folder.parent


def hide_from_git(project: Path, path: Path) -> None:
    """Make git ignore the settings of a project. Raises RejectedError if git tracks them."""
    inner = path.relative_to(project).as_posix()
    repository = find_repository(project)
    if repository is None or is_git_success(project, "check-ignore", "-q", "--", inner):
        return
    if is_tracked(project, inner):
        hint = "leave out --project: then mem writes to your own settings"
        raise RejectedError(f"git tracks {inner}, so the path of your mem would be committed", hint)
    # Not in .gitignore, which git tracks.
    add_lines(repository.git_folder / "info" / "exclude", [f"/{inner}"])


def show_to_git(project: Path, path: Path) -> None:
    repository = find_repository(project)
    exclude = repository.git_folder / "info" / "exclude" if repository else None
    if exclude and exclude.is_file() and not path.exists():
        line = f"/{path.relative_to(project).as_posix()}\n"
        text = exclude.read_text("utf-8", "surrogateescape")
        if line in text:
            write_atomically(exclude, text.replace(line, "").encode("utf-8", "surrogateescape"))


def is_tracked(project: Path, inner: str) -> bool:
    return is_git_success(project, "ls-files", "--error-unmatch", "--", inner)


def is_git_success(project: Path, *arguments: str) -> bool:
    try:
        run_git(project, *arguments)
    except MemError:
        return False
    return True
