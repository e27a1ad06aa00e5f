"""Whether what a tool shows of many files shows lines of one that is shut out of memory.

A search over a folder names each file before its line (`./.env:3:KEY=…`) or on a line above; a diff and `head` of
several files do in headings.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...formats.session_event import load
from ..privacy import ExcludedFiles

_LONGEST_PATH = 1000
_MOST_KNOWN = 20_000
_COLOR = re.compile(r"\x1b\[[\d;]*[mK]")
_PATH = re.compile(r"[^\s:\"'=<>|;,{}$`\0][^:\"'=<>|;,{}$`\0]{0,400}")
_NUMBERED = re.compile(r"-\d+-")
_DIFFED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|\S+")


class ExcludedLines:
    """Knows the lines of files that are shut out by the paths before them."""

    def __init__(self, files: ExcludedFiles) -> None:
        """Begin with the files that are shut out."""
        self.files = files
        self._known: dict[tuple[str, tuple[str, ...]], bool] = {}  # lines begin with the same paths again and again

    def are_in(self, text: str, folders: Sequence[str]) -> bool:
        """Return whether a text shows lines of a file that is shut out; paths in it may be relative to the folders."""
        inner = load(text) if text[:1] in ("{", "[") else None
        if isinstance(inner, Mapping | list):
            return any(self.are_in(part, folders) for part in texts_in(inner))
        lines = (_COLOR.sub("", text) if "\x1b" in text else text).replace("\r\n", "\n").split("\n")
        bases = tuple(folders)
        return any(
            line[:1] > " "
            and (":" in line or "-" in line or line[:1] == "=" or not number or not lines[number - 1].strip())
            and self._shows(lines, number, bases)
            for number, line in enumerate(lines)
        )

    def _shows(self, lines: Sequence[str], number: int, folders: tuple[str, ...]) -> bool:
        """Return whether a line is of such a file, or the heading of what is."""
        line = lines[number][:_LONGEST_PATH]
        if line.startswith("diff -"):
            half = line.partition(" ")[2].partition(" ")[2]
            middle = len(half) // 2
            named = [*_DIFFED.findall(line)[1:], half[:middle], half[middle + 1 :]]
            bare = [path.strip('"') for path in named]
            return any(self._is_excluded(each, folders) for path in bare for each in (path, path[2:]))
        if line.startswith("==> "):
            return self._is_excluded(line[4:].removesuffix(" <=="), folders)
        first, colon, more = line.partition(":")
        paths = list(_before_numbers(line))
        if colon and more.strip():
            paths += (first, more.partition(":")[0].strip()) if first == "File" or more[:1] != " " else (first,)
        elif colon or number == 0 or not lines[number - 1].strip():
            below = next((lines[at] for at in range(number + 1, len(lines)) if lines[at].strip()), "").strip()
            paths += (first,) if below and (colon or not self._is_file(below, folders)) else ()
        return any(self._is_excluded(path, folders) for path in paths)

    def _is_excluded(self, path: str, folders: tuple[str, ...]) -> bool:
        """Return whether what stands where a path may is one that is shut out; words are none without such a file."""
        if (path, folders) not in self._known:
            if len(self._known) >= _MOST_KNOWN:  # nearly every line of some begins in its own way
                self._known.clear()
            is_path, is_plain = "." in path or "/" in path, not set(" \t") & set(path)
            is_one = bool(_PATH.fullmatch(path)) and (is_path or is_plain)
            is_one = is_one and (is_path == is_plain or self._is_file(path, folders))
            self._known[path, folders] = is_one and bool(self.files.reason(path, folders=folders))
        return self._known[path, folders]

    def _is_file(self, path: str, folders: Sequence[str]) -> bool:
        bases = () if not path or path.isdigit() else (*self.files.folders, *folders)
        return any(os.path.isfile(os.path.join(folder, path[:_LONGEST_PATH])) for folder in bases)


def _before_numbers(line: str) -> Iterator[str]:
    """Yield what may be the path before the number of a line of context, as in `.env-3-KEY=…`."""
    for number in _NUMBERED.finditer(line) if "-" in line else ():
        yield line[: number.start()]


def texts_in(value: Any) -> Iterator[str]:
    """Yield the texts in a JSON value."""
    waiting = [value]
    while waiting:  # no recursion: JSON may nest deeper than calls can
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
