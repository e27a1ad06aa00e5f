"""Exact text search over every file, as grep does it, on the text the index keeps."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from time import monotonic
from typing import Any

from ..dataclass import dataclass
from ..errors import UsageError
from ..formats.text_lines import ONLY_BEGINNING, FileProblem, decoded
from ..index.filters import Filter
from ..index.index import Index
from ..store.addresses import is_items

LONGEST = 64 * 1024 * 1024
"""Bytes of a file that are looked through at most."""
_BEYOND = re.compile(r"\(\?(?!:)|\\[AZGKRX]|[*+?}]\+")
"""Marks of an expression that may match a line and not the text it stands in."""
_SPECIAL = re.compile(r"[^\w ,;:'\"/=<>@%!-]")
"""What may mean something in an expression but itself."""


@dataclass(frozen=True)
class GrepLine:
    """One line of output: a match, or context beside one."""

    path: str
    line: int
    text: str
    is_match: bool = True


@dataclass(frozen=True)
class Pattern:
    """What to look for; a regular expression may work for `seconds` on all the files together."""

    text: str
    fixed: bool = False
    ignore_case: bool = False
    words: bool = False
    seconds: float = 5.0

    @property
    def part(self) -> str:
        """Return a text that is in all it matches; empty where none is known."""
        is_literal = self.fixed or not _SPECIAL.search(self.text)
        return self.text if is_literal and not self.ignore_case else ""


def grep(
    index: Index, pattern: Pattern, wanted: Filter, context: int = 0, late: list[FileProblem] | None = None
) -> Iterator[GrepLine]:
    """Yield the matching lines with `context` lines around each, file by file; files not read whole go to `late`."""
    for path, text, numbers in _matches(index, pattern, wanted, [] if late is None else late):
        hidden = _hidden_lines(index, path)
        yield from _lines(path, text, [number for number in numbers if number not in hidden], context, hidden)


def _matches(
    index: Index, pattern: Pattern, wanted: Filter, late: list[FileProblem]
) -> Iterator[tuple[str, str, list[int]]]:
    """Yield path, text and matching lines of each file that has some."""
    matches = finder(pattern)
    for path, text in _texts(index, wanted, pattern.part, late):
        try:
            numbers = matches(text)
        except TimeoutError:
            reason = f"{pattern.text!r} took too long in it: simplify it, or raise the setting grep.timeout"
            late.append(FileProblem(path, 1, reason))
            continue
        if numbers:
            yield path, text, numbers


def first_matches(lines: Iterable[GrepLine], most: int | None, context: int) -> tuple[list[GrepLine], bool]:
    """Return the first `most` matches with the context of each, all for None, and whether there are more."""
    taken: list[GrepLine] = []
    end, last = 0, GrepLine("", -context, "")  # how many belong to the matches so far, and the latest of these
    left = most
    for line in lines:
        if line.is_match:
            if left == 0:
                return taken[:end], True
            left, last = None if left is None else left - 1, line
        taken.append(line)
        if line.path == last.path and line.line <= last.line + context:
            end = len(taken)
    return taken, False


def _hidden_lines(index: Index, path: str) -> frozenset[int]:
    """Return the lines, counted from 0, of another tool's memories that were forgotten here."""
    if not is_items(path, index.workspace.layout.kind_of(path)):
        return frozenset()
    from ..formats.foreign_record import items
    from ..index.file_reader import try_bytes
    from ..index.file_updater import own_names

    archived = own_names(index, index.workspace.layout.archive, "archived")
    data = try_bytes(index.workspace, path)
    if not archived or isinstance(data, str):
        return frozenset()
    memories = items(path, data[0].decode("utf-8", "replace"), index.workspace.now)
    return frozenset(item.line - 1 for item in memories if archived & {item.entry.id, f"{path}#{item.anchor}"})


def _texts(index: Index, wanted: Filter, part: str, late: list[FileProblem]) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file with a part, those of which the index has only the beginning from the disk.

    A conversation is read from its own file, a line for every line of it.
    """
    layout = index.workspace.layout
    has_talk = not wanted.kinds or "session" in wanted.kinds
    cut = {problem.path for problem in index.problems(wanted) if problem.reason.endswith(ONLY_BEGINNING)}
    for path, text in index.texts(wanted, part):
        if has_talk and layout.kind_of(path) == "session":
            from ..index.file_reader import opened, plain

            with suppress(OSError), opened(index.workspace, path) as file:  # reported by the refresh
                yield path, plain(file)
        elif path in cut:
            yield path, _whole(index, path, late)
        else:
            yield path, text


def _whole(index: Index, path: str, late: list[FileProblem]) -> str:
    """Read a large file up to the limit, as the index would; add what is not read of it to `late`."""
    from ..index.file_reader import opened

    try:
        with opened(index.workspace, path) as file:
            data = file.read(LONGEST + 1)
    except OSError as error:
        late.append(FileProblem(path, 1, f"cannot be read: {error.strerror}", left_out=True))
        return ""
    if len(data) > LONGEST:
        reason = f"larger than {LONGEST >> 20} MiB: only its beginning is looked through"
        late.append(FileProblem(path, 1, reason, left_out=True))
    return decoded(data[:LONGEST])[0]


def finder(pattern: Pattern) -> Callable[[str], list[int]]:
    """Return a function that lists the lines of a text that match, counted from 0, and raises TimeoutError in time.

    Raise UsageError for a bad expression. Only a fixed text may match across a line end; its first line counts.
    """
    is_fixed = pattern.fixed or (pattern.part and not pattern.words)  # \w is another thing in the other engine
    expression = re.escape(pattern.text) if is_fixed else pattern.text
    if pattern.words:
        expression = rf"(?<!\w)(?:{expression})(?!\w)"
    if is_fixed:
        literal = re.compile(expression, re.IGNORECASE if pattern.ignore_case else 0)
        return lambda text: _numbers(text, (match.start() for match in literal.finditer(text)))
    # The standard library's engine cannot be stopped; a bad expression would hang an agent for good.
    import regex

    flags = regex.MULTILINE | (regex.IGNORECASE if pattern.ignore_case else 0)
    try:
        compiled = regex.compile(expression, flags)
    except regex.error as error:
        raise UsageError(
            f"{pattern.text!r} is not a regular expression ({error})",
            "use -F to look for the text as it stands",
        ) from None
    return _Bounded(compiled, pattern, is_plain=not _BEYOND.search(pattern.text)).numbers


class _Bounded:
    """An expression with the time it may still take, on all the texts together; one text takes half of it at most."""

    def __init__(self, compiled: Any, pattern: Pattern, *, is_plain: bool) -> None:
        self._compiled = compiled
        self._pattern = pattern
        self._is_plain = is_plain
        self._left = pattern.seconds
        self._until = 0.0
        self._end = monotonic() + 4 * pattern.seconds  # overdrawn or not

    def numbers(self, text: str) -> list[int]:
        """List the lines that match, each looked at alone, since `[^a]` and `\\s` would match its end."""
        started = monotonic()
        if started > self._end:
            raise TimeoutError
        share = self._left / 2
        self._until = started + share
        try:
            text = text.replace("\r\n", "\n")
            if self._is_plain:
                return list(self._quickly(text))
            return [number for number, line in enumerate(_split(text)) if self._search(line, 0)]
        finally:
            # The engine looks at its clock seldom: what one text overdrew is not taken from the next.
            self._left -= min(monotonic() - started, share)

    def _quickly(self, text: str) -> Iterator[int]:
        """Yield the lines that match, by a search of the whole text, whose matches may go on beyond a line."""
        number = begin = 0
        while begin < len(text) and (match := self._search(text, begin)):
            number += text.count("\n", begin, match.start())
            begin = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.start())
            end = len(text) if end < 0 else end
            if begin < len(text) and (match.end() <= end or self._search(text[begin:end], 0)):
                yield number
            number, begin = number + 1, end + 1

    def _search(self, text: str, begin: int) -> Any:
        left = self._until - monotonic()
        if left <= 0:
            raise TimeoutError
        return self._compiled.search(text, begin, timeout=left)


def _numbers(text: str, starts: Iterator[int]) -> list[int]:
    """Turn offsets into the numbers of their lines, each once."""
    numbers: list[int] = []
    offset = number = 0
    for start in starts:
        number += text.count("\n", offset, start)
        offset = start
        if not numbers or numbers[-1] != number:
            numbers.append(number)
    return numbers


def _lines(path: str, text: str, numbers: list[int], context: int, hidden: Collection[int] = ()) -> Iterator[GrepLine]:
    """Show the lines of these numbers with the lines around them, each once."""
    lines = _split(text)
    matched = set(numbers)
    shown = -1
    for number in numbers:
        for near in range(max(number - context, shown + 1), min(number + context + 1, len(lines))):
            shown = near
            if near in hidden:
                continue
            yield GrepLine(path, near + 1, lines[near], near in matched)


def _split(text: str) -> list[str]:
    """Return the lines without their ends; after the last newline comes no further line."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
