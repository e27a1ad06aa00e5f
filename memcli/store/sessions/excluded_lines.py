"""The lines of files that are shut out of memory, in what a tool shows of many files, are blanked out; the others stay.

A search over a folder names each file before its line (`./.env:3:KEY=…`) or on a line above; a diff and `head` of
several files do in headings.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any

from ...formats.session_event import cut, ends, load
from ..privacy import ExcludedFiles

MARK = "[REDACTED:secret-file]"
"""All that stays of what a tool was given or answered, or of a line."""

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
_LINE_NUMBER = re.compile(r"\d+[:-](?:\d+:)?")
_LINE_END = re.compile(r"(?m)$")
_HEADED_END = re.compile(r"(?m)^(?:---)?[ \t\r]*$")
_ENDS = {"diff": re.compile(r"(?m)^(?:diff -|commit [0-9a-f]{7})"), "file": re.compile(r"(?m)^==> "), "line": _LINE_END}
_DIFFED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|\S+")


class ExcludedLines:
    """Knows the lines of files that are shut out by the paths before them."""

    def __init__(self, files: ExcludedFiles) -> None:
        """Begin with the files that are shut out."""
        self.files = files
        self._harmless: dict[tuple[str, ...], set[str]] = {}  # by these folders what lines begin with

    def clean_ends(self, whole: str, folders: Sequence[str]) -> str:
        """Return both ends of a long text without the lines of files that are shut out.

        What the end begins with may be of a file that is named before it, in what is left out.
        """
        if whole[:1] in ("{", "[") and isinstance(load(whole), Mapping | list):
            return cut(self.clean(whole, folders))
        head, note, tail = ends(whole)
        begin = len(whole) - len(tail)
        starts = _block_starts(whole, begin)
        lines = (whole[start : start + _LONGEST_PATH].partition("\n")[0] for start in starts)
        if not self._may_show_excluded("\n".join((*lines, head, tail)), tuple(folders)):
            return f"{head}{note}{tail}"
        spans = (self._span(match, folders) for start in starts if (match := _SHOWN.match(whole, start)))
        stop = max(span[1] if span else 0 for span in (*spans, (0, begin)))
        if stop > begin:
            gap = "" if whole.startswith("\n", stop) else "\n"
            tail = f"{MARK}{gap}{whole[stop:]}"
        return f"{self.clean(head, folders)}{note}{self.clean(tail, folders)}"

    def clean(self, text: str, folders: Sequence[str]) -> str:
        """Return a text without the lines of files that are shut out."""
        if "\n" not in text and ":" not in text and "-" not in text:
            return text
        inner = load(text) if text[:1] in ("{", "[") else None
        if isinstance(inner, Mapping | list):
            clean = partial(self.clean, folders=folders)
            is_clean = all(clean(part) == part for part in texts_in(inner))
            return text if is_clean else json.dumps(with_texts(inner, clean), ensure_ascii=False)
        if not self._may_show_excluded(text, tuple(folders)):
            return text
        pieces, done = [], 0
        for start, end in self._excluded_spans(text, folders):
            pieces += [text[done:start], MARK, "\n" if text[end - 1] == "\n" else ""]
            done = end
        return "".join((*pieces, text[done:])) if pieces else text

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

    def _excluded_spans(self, text: str, folders: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield where a text shows the lines of files that are shut out, in their order and apart."""
        done = 0
        for match in _SHOWN.finditer(text):
            span = self._span(match, folders) if match.start() >= done else None
            if span:
                done = span[1]
                if text[slice(*span)].strip():
                    yield span

    def _span(self, match: re.Match[str], folders: Sequence[str]) -> tuple[int, int] | None:
        """Return where the lines of the file begin and end that a line names; None for one that is not shut out."""
        kind, start, text = match.lastgroup or "", match.end(), match.string
        if kind == "line":
            start = self._end_of_excluded(match, folders)
        elif not any(self._is_excluded_path(path, folders) for path in _shown_paths(match)):
            return None
        elif kind == "heading" and self._is_file(text[start : start + _LONGEST_PATH].partition("\n")[0], folders):
            return None  # a listing of files, not the lines of one
        if not start:
            return None
        end = _ENDS.get(kind, _HEADED_END).search(text, start)
        return start, end.start() if end else len(text)

    def _end_of_excluded(self, match: re.Match[str], folders: Sequence[str]) -> int:
        """Return where the path of a file that is shut out ends, with what separates it from its line; 0 for others.

        A name may hold a number between hyphens, and stand behind a revision.
        """
        first = begin = match.start("line")
        line_end = match.string.find("\n", first)
        limit = min(first + _LONGEST_PATH, line_end if line_end >= 0 else len(match.string))
        for separator in islice(_SEPARATOR.finditer(match.string, first, limit), 6):
            if self._is_excluded_path(match.string[begin : separator.start()], folders):
                number = _LINE_NUMBER.match(match.string, separator.end(), limit)
                return number.end() if number else separator.end()
            if separator[0][0] != "-":
                if begin > first:
                    break
                begin = separator.end()
        return 0

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


def _block_starts(text: str, position: int) -> set[int]:
    """Return where the line begins that a place of a text is in, and the last lines before it that may head others."""
    headed = (text.rfind(mark, 0, position) + 1 for mark in ("\ndiff -", "\n==> ", "\nFile: "))
    blank = text.rfind("\n\n", 0, position) + 2
    folded = text.rfind("\n", 0, max(text.rfind(":\n", 0, position), 0)) + 1
    return {0, text.rfind("\n", 0, position) + 1, *headed, blank if blank > 1 else 0, folded}


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


def with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a JSON value with its texts changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: with_texts(inner, change) for key, inner in value.items()}
    return [with_texts(inner, change) for inner in value] if isinstance(value, list) else value
