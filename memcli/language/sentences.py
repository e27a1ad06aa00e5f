"""Split prose into sentences, each with its position in the text, so that what somebody said can be quoted whole.

Owns: where a line is prose and where a sentence ends, in chat as in careful writing. Never splits inside a condition
("unless", "if", "because"): a piece that begins with one belongs to the sentence before it. Refuses to judge content.
"""

import re
from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..dataclass import dataclass

_pattern = partial(data.pattern, "sentences.toml")

READ = 20_000
"""Characters of a message that are read; what comes after was pasted and not typed."""

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1`*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_MARK = re.compile(r"\s*(?:[-*+•]\s+(?:\[.\]\s+)?|\d{1,3}[.)]\s+|#{1,6}\s+)?")
_SYMBOLS = re.compile(r"[{}<>=|\\;()\[\]$&*_^~]")
_END = re.compile(r"(?<=[.!?…])[\"'”’)*_`]*[ \t]+(?=\S)|(?<=[。！？])(?=\S)")
_ALONE = re.compile(r"[^.!?\n]*,")
_CLOSING = " \t\r\n\"'“”’»」)*_`"  # what may stand after the mark a text ends in
QUESTION_MARKS = ("?", "？", "؟")
_WRAPPED = range(55, 101)  # characters of a line that was broken by an editor and not by who wrote it


@cache
def breaks(also: str = "") -> re.Pattern[str]:
    """Return a pattern of what stands between sentences: blanks behind a mark that ends one or of `also`, or newlines.

    For texts of which every part counts; `sentences` reads a message, and knows abbreviations, lists and what is no
    prose.
    """
    return re.compile(rf"(?<=[.!?。！？{also}])\s+|\n+")


@dataclass(frozen=True)
class Sentence:
    """A sentence and where it stands."""

    text: str
    start: int
    stop: int
    line: int  # which paragraph of the message it stands in, from 0; lines of a chat are paragraphs


def is_question(text: str) -> bool:
    """Return whether a text ends in a question mark, of any script, whatever quotation or emphasis closes after it."""
    return text.rstrip(_CLOSING).endswith(QUESTION_MARKS)


def sentences(text: str) -> list[Sentence]:
    """Return the sentences of a message in order; fenced code, logs, quoted lines and tables are passed over."""
    text = text[:READ]
    result: list[Sentence] = []
    for line, (start, stop) in enumerate(_paragraphs(text)):
        first = len(result)
        for begin, end in _pieces(text, start, stop):
            goes_on = _is_condition(text, begin) or _pattern("emphasis").fullmatch(text, begin, end)
            if len(result) > first and goes_on and _may_be_conditioned(result[-1].text):
                begin = result.pop().start
            result.append(Sentence(text[begin:end], begin, end, line))
    return result


def _pieces(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    begin = start
    for end in _END.finditer(text, start, stop):
        mark = end.start()
        if text[mark - 1] == "." and _pattern("abbreviated").search(text, max(begin, mark - 12), mark):
            continue
        if text.count("(", begin, mark) > text.count(")", begin, mark):
            continue
        yield from _trimmed(text, begin, mark + len(end[0].rstrip()))
        begin = end.end()
    yield from _trimmed(text, begin, stop)


def _is_condition(text: str, begin: int) -> bool:
    hangs = _pattern("condition").match(text, begin) or _pattern("condition_wide").match(text, begin)
    return bool(hangs or (_pattern("ambiguous_condition").match(text, begin) and not _ALONE.match(text, begin)))


def _may_be_conditioned(sentence: str) -> bool:
    return not is_question(sentence) and (len(sentence.split()) > 3 or not sentence.isascii())


def _trimmed(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    piece = text[start:stop]
    start += len(piece) - len(piece.lstrip())
    stop -= len(piece) - len(piece.rstrip())
    if start < stop and any(map(str.isalpha, piece)):
        yield start, stop


def _paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Yield the stretches of prose: a line each, or the lines that an editor wrapped."""
    fences = [match.span() for match in _FENCE.finditer(text)][::-1]
    open_start, open_stop = -1, -1
    start = 0
    for raw in text.splitlines(keepends=True):
        stop = start + len(raw.rstrip())
        mark = _MARK.match(raw)
        begin = start + (mark.end() if mark else 0)
        while fences and fences[-1][1] <= start:
            fences.pop()
        fenced = bool(fences) and fences[-1][0] <= start
        prose = begin < stop and not fenced and not _is_pasted(text[begin:stop]) and not raw.startswith(("    ", "\t"))
        goes_on = prose and open_start >= 0 and _goes_on(text, open_stop, start, begin, stop)
        if open_start >= 0 and not goes_on:
            yield open_start, open_stop
            open_start = -1
        if prose:
            open_start, open_stop = open_start if goes_on else begin, stop
        start += len(raw)
    if open_start >= 0:
        yield open_start, open_stop


def _goes_on(text: str, stop: int, start: int, begin: int, end: int) -> bool:
    """Return whether a line continues the one that ended at `stop`: its sentence is open, or a condition follows.

    The prose of the line begins at `begin`: behind the mark of a list only a condition belongs to the item before.
    """
    if text[start:begin].strip():
        return bool(_pattern("condition").match(text, begin))
    if text[stop - 1] in ",(–—-" or _pattern("condition").match(text, begin):
        return True
    if text[stop - 1] not in ".!?:;…" and _pattern("ambiguous_condition").match(text, begin):
        return True
    last = text[text.rfind("\n", 0, stop) + 1 : stop]
    if text[stop - 1] in ".!?:;…。！？" or not text[start:end].lstrip()[:1].islower():
        return False
    return len(last) in _WRAPPED and (last[:1].isupper() or bool(_pattern("open_end").search(last)))


def _is_pasted(line: str) -> bool:
    return bool(_pattern("pasted").match(line)) or len(_SYMBOLS.findall(line)) > max(4, len(line) // 8)
