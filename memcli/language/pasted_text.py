"""Find the parts of a prompt that are not the user's own words: what was pasted, quoted or forwarded.

They are recognised by the marks around them alone, never by their content. Nothing in them counts as the user's word.
"""

import re
from collections.abc import Iterator
from functools import cached_property, partial

from .. import data
from ..dataclass import dataclass

_pattern = partial(data.pattern, "foreign_text.toml")

LONG, PARAGRAPHS = 600, 3
"""A prompt with more characters or paragraphs was probably not typed by hand."""

_SHARE = 0.5  # of a sentence; with more of it foreign, the sentence is
_QUOTED_WORDS = 5  # a shorter quotation is part of what the user says

_Span = tuple[int, int]


_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TRIPLE = re.compile(r"(\"{3}|'{3}).*?(?:\1|\Z)", re.DOTALL)
_TAG = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_FIELD = re.compile(r"\s*[\w.-]+:(?:\s|$)|\s*[{}]")
_BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True)
class Prompt:
    """A message of the user's, read for what of it is theirs."""

    text: str

    @cached_property
    def foreign(self) -> tuple[_Span, ...]:
        """Return the spans that are not the user's words, in order and without overlap."""
        text = self.text
        spans = [match.span() for mark in (_FENCE, _TRIPLE, _QUOTED_LINE) for match in mark.finditer(text)]
        spans += [match.span() for match in _pattern("quotation").finditer(text) if _is_long(match[0])]
        spans += _tagged(text)
        head = _pattern("heads").search(text)
        spans += [(head.start(), len(text))] if head else []
        spans += _led_in(text)
        return _joined(spans)

    @cached_property
    def is_long(self) -> bool:
        """Return whether it is too long to have been typed: what it states has the source `observed`."""
        return len(self.text) > LONG or len(_BREAK.split(self.text.strip())) > PARAGRAPHS

    @cached_property
    def first_stop(self) -> int:
        """Return where its first paragraph ends."""
        gap = _BREAK.search(self.text, len(self.text) - len(self.text.lstrip()))
        return gap.start() if gap else len(self.text)

    @cached_property
    def last_start(self) -> int:
        """Return where its last line begins."""
        return self.text.rstrip().rfind("\n") + 1

    def stated(self, name: str) -> str:
        """Return what the user's last line `name: value` says; one between others of its kind was pasted."""
        lines = re.compile(rf"^[ \t]*{name}:[ \t]*(\w[^\n]{{0,99}})$", re.IGNORECASE | re.MULTILINE)
        for line in reversed([*lines.finditer(self.text)]):
            around = self.text[: line.start()].rstrip("\n").split("\n")[-1], self.text[line.end() + 1 :].split("\n")[0]
            if not self.is_foreign(*line.span()) and not all(map(_FIELD.match, around)):
                return line[1].strip()
        return ""

    def is_foreign(self, start: int, stop: int) -> bool:
        """Return whether more than half of a span is not the user's words."""
        overlap = sum(max(0, min(stop, end) - max(start, begin)) for begin, end in self.foreign)
        return overlap > _SHARE * (stop - start)

    def may_ask(self, start: int, stop: int) -> bool:
        """Return whether a request to remember is the user's: in the first paragraph or the last line, unquoted."""
        at_an_end = start < self.first_stop or start >= self.last_start
        return at_an_end and not any(begin < stop and start < end for begin, end in self.foreign)


def _is_long(quoted: str) -> bool:
    return "\n" in quoted or len(quoted.split()) >= _QUOTED_WORDS or (quoted[0] == "「" and len(quoted) > 14)


def _tagged(text: str) -> Iterator[_Span]:
    """Yield each `<tag>…</tag>`; a tag alone on its line that is never closed holds all that follows."""
    position = 0
    endless: set[str] = set()
    while tag := _TAG.search(text, position):
        name, position = tag[1], tag.end()
        stop = -1 if name in endless else text.find(f"</{name}", position)
        if stop >= 0:
            close = text.find(">", stop)
            position = len(text) if close < 0 else close + 1
            yield tag.start(), position
        elif text[text.rfind("\n", 0, tag.start()) + 1 : text.find("\n", position) % (len(text) + 1)].strip() == tag[0]:
            yield tag.start(), len(text)
            return
        else:
            endless.add(name)


def _led_in(text: str) -> Iterator[_Span]:
    """Yield what follows a line that announces another's words: the quotation there, else the text after it."""
    start = 0
    for line in text.splitlines(keepends=True):
        stop = start + len(line)
        words = line.rstrip()
        is_lead = words.endswith(":") and _pattern("lead_line").search(words[-160:-1])
        if is_lead or _pattern("announced").search(words[-160:].rstrip(".")):
            yield stop, _stop(text, stop)
        elif (colon := words.find(": ")) >= 0 and _pattern("lead_inline").search(words[max(0, colon - 100) : colon]):
            yield start + colon + 1, _stop(text, start + colon + 1)
        start = stop


def _stop(text: str, start: int) -> int:
    """Return where the announced words that begin here end: with their quotation or fence, or with the text."""
    begin = start + len(text[start:]) - len(text[start:].lstrip())
    for mark in (_FENCE, _TRIPLE, _pattern("quotation")):
        if end := mark.match(text, begin):
            return end.end()
    if text.startswith(">", begin):
        lines = re.compile(r"(?:[ \t]*>.*\n?)+").match(text, begin)
        return lines.end() if lines else len(text)
    return len(text)


def _joined(spans: list[_Span]) -> tuple[_Span, ...]:
    """Return the spans with those joined that overlap."""
    joined: list[_Span] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        elif start < stop:
            joined.append((start, stop))
    return tuple(joined)
