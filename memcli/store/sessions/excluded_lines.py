"""Whether what a tool shows of many files shows lines of one that is shut out of memory.

A search over a folder names each file before its line (`./.env:3:KEY=…`) or on a line above; a diff and `head` of
several files do in headings.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from ...formats.session_event import load
from ..privacy import ExcludedFiles

_LONGEST_PATH = 1000
_MOST_HARMLESS = 20_000
_COLOR = r"(?:\x1b\[[\d;]*[mK])*"
_PATH = r"[^\s:\"'=<>|;,{}$`\0\x1b][^:\"'=<>|;,{}$`\n\0\x1b]{0,400}?"
_SHOWN = re.compile(
    r"(?m)^(?:diff -\S+ (?P<diff>[^\n]+)\n"
    r"|==> (?P<file>[^\n]{1,400}) <==\r?\n"
    rf"|(?:(?:(?<=\n\n)|(?<=\n\r\n)|\A){_COLOR}(?P<heading>{_PATH}){_COLOR}"
    rf"|File: (?P<titled>{_PATH})|(?P<folded>{_PATH}):)[ \t\r]*\n"
    rf"|{_COLOR}(?P<line>{_PATH}){_COLOR}(?:[:\0]|-\d+-))"
)
"""How results name the file that lines are of: diffs, `head` of several files, searches with a heading, and by line."""
_HEADS = ("diff -", "==> ", "File", "\x1b")
_IS_PATH = re.compile(rf"{_PATH}\r?")
_NUMBERED = re.compile(r"-\d+-")
_SEPARATOR = re.compile(r"[:\0]|-\d+-")
_DIFFED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|\S+")


class ExcludedLines:
    """Knows the lines of files that are shut out by the paths before them."""

    def __init__(self, files: ExcludedFiles) -> None:
        """Begin with the files that are shut out."""
        self.files = files
        self._harmless: dict[tuple[str, ...], set[str]] = {}  # by these folders what lines begin with

    def are_in(self, text: str, folders: Sequence[str]) -> bool:
        """Return whether a text shows lines of a file that is shut out; paths in it may be relative to the folders."""
        if "\n" not in text and ":" not in text and "-" not in text:
            return False
        inner = load(text) if text[:1] in ("{", "[") else None
        if isinstance(inner, Mapping | list):
            return any(self.are_in(part, folders) for part in texts_in(inner))
        return self._may_show_excluded(text, tuple(folders)) and any(
            self._shows_excluded(match, folders) for match in _SHOWN.finditer(text)
        )

    def _may_show_excluded(self, text: str, folders: tuple[str, ...]) -> bool:
        """Return whether a line begins with a path that is shut out, or may be of a heading: most texts have none."""
        heads: set[str] = set()
        for line in text.split("\n"):
            if line and line[0] not in " \t\r":
                head, colon, more = line.partition(":")
                if colon:
                    heads.add(head)
                    if more[:1] != " ":
                        heads.add(more.partition(":")[0])  # behind a revision
                elif head.startswith(_HEADS):
                    return True
                elif (word := head.partition(" ")[0]) == head or "-" in word:
                    heads.add(word)
                elif "/" in word:
                    heads.add(head)
        harmless = self._harmless.setdefault(folders, set())
        heads -= harmless
        if any(self._tells_excluded(head, folders) for head in heads):
            return True
        if len(harmless) < _MOST_HARMLESS:
            harmless |= heads
        return False

    def _tells_excluded(self, head: str, folders: Sequence[str]) -> bool:
        if head.startswith(_HEADS):
            return True
        if not _IS_PATH.fullmatch(head):
            return False
        names = (head, *(head[: number.start()] for number in _NUMBERED.finditer(head))) if "-" in head else (head,)
        return any(self._is_excluded_path(name, folders) for name in names)

    def _shows_excluded(self, match: re.Match[str], folders: Sequence[str]) -> bool:
        """Return whether lines of a file that is shut out stand where a line names a file."""
        if match.lastgroup == "line":
            return self._begins_excluded(match, folders)
        shown = match.string[match.end() :]
        if not shown.strip() or not any(self._is_excluded_path(path, folders) for path in _shown_paths(match)):
            return False
        # A path below a path is of a listing of files.
        return match.lastgroup != "heading" or not self._is_file(shown[:_LONGEST_PATH].partition("\n")[0], folders)

    def _begins_excluded(self, match: re.Match[str], folders: Sequence[str]) -> bool:
        """Return whether a line begins with the path of a file that is shut out.

        Its name may hold a number between hyphens, and stand behind a revision.
        """
        first = begin = match.start("line")
        line_end = match.string.find("\n", first)
        limit = min(first + _LONGEST_PATH, line_end if line_end >= 0 else len(match.string))
        for separator in islice(_SEPARATOR.finditer(match.string, first, limit), 6):
            if self._is_excluded_path(match.string[begin : separator.start()], folders):
                return bool(match.string[separator.end() : limit].strip())
            if separator[0][0] != "-":
                if begin > first:
                    break
                begin = separator.end()
        return False

    def _is_excluded_path(self, path: str, folders: Sequence[str]) -> bool:
        """Return whether what stands where a path may is one that is shut out; words are none without such a file."""
        path = (re.sub(_COLOR, "", path) if "\x1b" in path else path).rstrip("\r")
        is_path, is_plain = "." in path or "/" in path, not set(" \t") & set(path)
        if is_path != is_plain and not (self._is_file(path, folders)):
            return False
        return (is_path or is_plain) and bool(self.files.reason(path, folders=folders))

    def _is_file(self, path: str, folders: Sequence[str]) -> bool:
        bases = () if not path or path.isdigit() else (*self.files.folders, *folders)
        return any(os.path.isfile(os.path.join(folder, path)) for folder in bases)


def _shown_paths(match: re.Match[str]) -> Iterator[str]:
    """Yield what may be the paths in the heading of some lines."""
    named = match[match.lastgroup or 0]
    if match.lastgroup != "diff":
        yield named
        return
    half = len(named) // 2
    for path in (*_DIFFED.findall(named), named[:half], named[half + 1 :]):
        bare = path.strip('"')
        yield bare
        yield bare[2:] if bare[1:2] == "/" else bare


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
