"""Recognise text that agents' harnesses and memory tools insert into a conversation, which must not be remembered.

The most important case is recalled memory: consolidated again from the prompt it was put into, it would grow with every
turn. The names of tags, and how whole messages of harnesses begin, are in `data/harness.toml`. Callers count what is
removed.
"""

import re
from collections.abc import Iterator
from functools import cache, cached_property, partial

from .. import data
from ..dataclass import dataclass

ASKED_BY_MEM = "[asked by mem]"
"""Begins every prompt that mem gives to an agent's command, so that a transcript of it can be recognised."""

MEMORY, REMINDER, COMMAND, SETTING = "recalled memory", "reminder", "command", "environment"

_FILE = "harness.toml"
_FENCE_END = re.compile(r"\[\[?(?:/|end (?:of )?)(?:relevant |recalled )?memory context\]\]?", re.IGNORECASE)
_LIKE_FENCE = re.compile(r"\[(?=\[?\s*/?\s*(?:end (?:of )?)?(?:relevant |recalled )?memory context\b)", re.IGNORECASE)
# Characters that drive a terminal, turn the text around, or say to a model what no person sees.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")
_RECALL_TOOL = re.compile(
    r"(?:^|_|\.|/)mem(?:ory|ories)?_(?:search|recall|read|ls|grep|get|query|view|context)$|^memory$"
    r"|__mem(?:ory)?__\w*(?:search|recall|read|open|ls|grep|get|view)"
)
_RECALL_COMMAND = re.compile(
    r"(?:^|[;&|(\n])[ \t]{0,20}(?:[\w.~/-]{0,200}/)?mem[ \t]+(?:-\S{1,80}[ \t]+){0,9}"
    r"(?:search|recall|read|ls|grep|hook|history\s+show|session\s+(?:show|recap))\b"
)


@cache
def _tags() -> dict[str, str]:
    return {name: reason for reason, names in data.table(_FILE)["tags"].items() for name in names.split()}


@cache
def _names() -> str:
    return "|".join(sorted(map(re.escape, _tags()), key=len, reverse=True))


@cache
def _opening() -> re.Pattern[str]:
    """Return the pattern of the beginning of an injection.

    A tag counts only at the beginning of a line or directly behind another tag: a sentence may mention one.
    """
    return re.compile(
        r"(?:^[ \t]*|(?<=>)[ \t]*)<(?P<tag>" + _names() + r")(?P<attributes>[ \t][^<>\n]*)?>(?P<rest>[^\n]*)"
        r"|<memory[ \t]+(?:id|source)=[^<>\n]*>"
        r"|^[ \t]*\[\[?(?:relevant |recalled )?memory context\b[^\]\n]*\]\]?[ \t]*(?=\n|$)",
        re.MULTILINE | re.IGNORECASE,
    )


@cache
def _like_tag() -> re.Pattern[str]:
    return re.compile(r"<(?=\s*/?\s*(?:" + _names() + r")\b)", re.IGNORECASE)


@dataclass(frozen=True)
class Injection:
    """A span of text that neither a person nor the model wrote."""

    start: int
    stop: int
    reason: str


def without_injected(text: str) -> str:
    """Return the text without its injections, unchanged if there are none."""
    spans = injections(text)
    if not spans:
        return text
    pieces, position = [], 0
    for injection in spans:
        pieces.append(text[position : injection.start])
        position = injection.stop
    pieces.append(text[position:])
    return "\n".join(piece for piece in (piece.strip() for piece in pieces) if piece)


def injections(text: str) -> list[Injection]:
    """Return the injected spans, in order and without overlap."""
    spans = list(_injections(text)) if "<" in text or "[" in text else []
    begin = 0
    for number in range(len(spans) + 1):  # until somebody has said something
        # What a harness writes about a command it ran goes on behind the command's tags.
        is_command = number > 0 and spans[number - 1].reason == COMMAND
        if reason := COMMAND if is_command and text[begin:].strip() else opened_by(text, begin):
            return [*spans[:number], Injection(begin, len(text), reason)]
        if number == len(spans) or text[begin : spans[number].start].strip():
            break
        begin = spans[number].stop
    return spans


def opened_by(text: str, begin: int = 0) -> str:
    """Return the reason for which a text that begins like this is a harness's; "" if a person may have written it."""
    reasons, opening = _openings()
    match = opening.match(text, begin)
    return reasons[match.lastindex - 1] if match and match.lastindex else ""


def quoted(text: str) -> str:
    """Return a text escaped for a block of recalled memory: nothing in it opens or closes one."""
    text = _UNSEEN.sub("", text.replace("\r\n", "\n"))
    return _LIKE_FENCE.sub("&#91;", _like_tag().sub("&lt;", text))


def recalls_memory(tool: str, command: str = "") -> bool:
    """Return whether a tool call reads memory, so that its result is nothing new."""
    return bool(_RECALL_TOOL.search(tool[-80:].lower()) or _RECALL_COMMAND.search(command[:2000]))


@cache
def _openings() -> tuple[tuple[str, ...], re.Pattern[str]]:
    """Return the reason of each opening, and the pattern in which it is the group of the same number."""
    texts = "\n".join(data.table(_FILE)["openings"].values())
    lines = [line.partition(" | ") for line in texts.splitlines()]
    each = (f"({re.escape(words)})".replace(r"\*", r"\w+") for _, _, words in lines)
    return tuple(reason for reason, _, _ in lines), re.compile(rf"[\ufeff\s]*(?:{'|'.join(each)})")


def _injections(text: str) -> Iterator[Injection]:
    position = 0
    endless: set[str] = set()  # tags that are never closed from here on: looked for once
    while opening := _opening().search(text, position):
        tag = (opening["tag"] or "").lower()
        fence = not tag and opening[0].lstrip().startswith("[")
        name = "[" if fence else tag or "memory"
        begin = opening.start("rest") if tag else opening.end()
        position = opening.end() if fence else begin
        if not fence and tag in ("memory", "memories") and not _is_fence(opening):
            continue
        stop = -1 if name in endless else _end_of(text, begin, name)
        reason = MEMORY if fence else _tags()[name]
        if stop < 0:
            endless.add(name)
            if fence:
                blank = _BLANK_LINE.search(text, begin)
                stop = blank.end() if blank else len(text)
            elif (
                reason in (MEMORY, REMINDER)
                and not text[text.rfind("\n", 0, opening.start()) + 1 : opening.start()].strip()
            ):
                stop = len(text)  # a block that a limit on length has cut off
            else:
                continue
        yield Injection(opening.start(), stop, reason)
        position = stop


def _is_fence(tag: re.Match[str]) -> bool:
    """Return whether a tag is mem's and not another of its name: it names an entry, or is alone on its line."""
    attributes = tag["attributes"] or ""
    if attributes.strip():
        return bool(re.match(r"[ \t]+(?:id|source|count|workspace)=", attributes))
    return not tag["rest"].strip()


def _end_of(text: str, begin: int, name: str) -> int:
    closing = _FENCE_END if name == "[" else re.compile(rf"</{re.escape(name)}[ \t]*>", re.IGNORECASE)
    end = closing.search(text, begin)
    return end.end() if end else -1


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
    joined: list[_Span] = []
    for start, stop in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(stop, joined[-1][1])
        elif start < stop:
            joined.append((start, stop))
    return tuple(joined)
