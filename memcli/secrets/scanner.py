"""Find and blank out secrets in text: credentials, passwords, and personal data when asked.

A miss is preferred to a false alarm: digests, UUIDs, git's object names and placeholders pass, and so does a password
that is an ordinary word.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable
from typing import Literal

from .. import data
from ..data import compiled
from ..dataclass import dataclass
from .value_classifier import Span, is_hex, is_password, is_random, is_reference, is_stand_in, is_uuid

__all__ = ["PERSONAL", "Finding", "env_values", "redact", "scan", "unsaid"]

PERSONAL = ("card-number", "national-id", "iban", "email", "phone")
"""The rules of personal data."""
_ENOUGH = 10_000  # findings, after which a text is hostile and is not looked at again
_MARK = r"\[REDACTED:[a-z0-9-]{1,40}\]"


@dataclass(frozen=True)
class Finding:
    """A place in a text that should not be kept, and the rule that says so."""

    line: int  # of the start, from 1
    start: int  # offsets into the text
    end: int
    rule: str
    group: Literal["secret", "personal"]


def scan(text: str, *, personal: Collection[str] = (), values: Collection[str] = ()) -> list[Finding]:
    """Return the secrets of a text in order.

    `personal` are names of rules of personal data to apply; `values` are literal secrets, from .env files nearby.
    """
    spans = _distinct(_once(text, personal, values))
    more = spans
    while more and len(spans) <= _ENOUGH:
        # Blanking one secret can lay bare its neighbour, so look again until nothing is left.
        masked, places = _masked(text, spans)
        more = [(*_original(places, start, end), rule) for start, end, rule in _once(masked, personal, values)]
        spans = _distinct([*spans, *more])
    findings, line, last = [], 1, 0
    for start, end, rule in spans:
        line += text.count("\n", last, start)
        last = start
        findings.append(Finding(line, start, end, rule, "personal" if rule in PERSONAL else "secret"))
    return findings


def redact(text: str, findings: Iterable[Finding]) -> str:
    """Return the text with `[REDACTED:rule]` in place of each finding; overlapping ones become one."""
    return _masked(text, [(finding.start, finding.end, finding.rule) for finding in findings])[0]


def unsaid(text: str, words: Iterable[str]) -> str:
    """Return a message without its secrets, also those that it quotes in part from the words of a command."""
    for word in {part for argument in words for part in (argument, argument.lstrip("-"), argument.partition("=")[2])}:
        for finding in scan(word, personal=PERSONAL[:3]):
            text = _without(text, word[finding.start : finding.end], f"[REDACTED:{finding.rule}]")
    return redact(text, scan(text, personal=PERSONAL[:3]))


_PIECE = 12
"""Characters of a secret in a row that are one in a message too, which may quote its middle with other line ends."""
_BETWEEN_LINES = r"(?:(?>\\+(?:[nrt]|x[0-9a-f]{2})?)|[\s>#*|\"',]|(?>[A-Za-z0-9+/=]{1,15})(?![A-Za-z0-9+/=]))*"
_CUT_OFF = r"(?:(?>\\+[nr])|\s)+[A-Za-z0-9+/=-]{1,11}(?=['\"…]|$)"


def _without(text: str, secret: str, mark: str) -> str:
    """Return a message with a mark for each stretch that has 12 characters or more in a row of a line of a secret.

    Between the lines of a secret the message may have what it likes, such as escaped line ends; a shorter secret is
    looked for as a whole.
    """
    lines = compiled(r"\s*[\r\n]\s*|\\+[nr]").split(secret)
    pieces = {line[start : start + _PIECE] for line in lines for start in range(len(line) - _PIECE + 1)}
    if not pieces:
        return text.replace(secret, mark)
    starts = [start for start in range(len(text) - _PIECE + 1) if text[start : start + _PIECE] in pieces]
    spans: list[list[int]] = []
    for start in starts:
        if spans and (
            start <= spans[-1][1]
            or (len(lines) > 1 and compiled(_BETWEEN_LINES).fullmatch(text, spans[-1][1], start) is not None)
        ):
            spans[-1][1] = start + _PIECE
        else:
            spans.append([start, start + _PIECE])
    for start, stop in reversed(spans):
        # A line that the message cuts off shows fewer characters than a piece has.
        cut_off = compiled(_CUT_OFF).match(text, stop) if len(lines) > 1 else None
        text = f"{text[:start]}{mark}{text[cut_off.end() if cut_off else stop :]}"
    return text


def env_values(text: str) -> frozenset[str]:
    """Return the values of a .env file that must not turn up elsewhere, without the ordinary ones."""
    values = set()
    for line in text.splitlines():
        match = compiled(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*(.*)").match(line)
        if match is None:
            continue
        name, value = match.groups()
        if value[:1] in ("'", '"'):
            value = value[1:].rpartition(value[0])[0] or value[1:]
        else:
            value = value.split(" #")[0].strip()
        if _is_guarded(name, value):
            values.add(value)
        values.update(value[finding.start : finding.end] for finding in scan(value))
    return frozenset(values)


def _is_guarded(name: str, value: str) -> bool:
    """Return whether a value would be a leak wherever it stood, and its removal leaves ordinary text alone."""
    from .assignments import announces_secret

    is_common = value.lower() in data.words("secrets.toml", "common_values")
    if is_common or is_stand_in(value) or is_reference(value) or value.isdigit():
        return False
    if announces_secret(name):
        return is_password(value) or (len(value) >= 16 and not compiled(r"[.~]{0,2}/.*|\w+://.*").fullmatch(value))
    return is_random(value) and not is_uuid(value) and not is_hex(value)


def _once(text: str, personal: Collection[str], values: Collection[str]) -> list[Span]:
    """Return what one pass finds outside the marks of earlier redactions."""
    # Many commands import this module and scan nothing.
    from .assignments import assignments, command_passwords, exported_passwords, http_credentials
    from .personal_data import codes, seed_phrases
    from .prose_passwords import answered_passwords, prose_passwords
    from .token_patterns import tokens

    low = text.lower()
    if len(low) != len(text):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    # Of two rules that find the same, the first one names it.
    spans = [
        *tokens(text),
        *http_credentials(text, low),
        *assignments(text, low),
        *prose_passwords(text, low),
        *command_passwords(text, low),
        *answered_passwords(text),
        *codes(text, low),
        *exported_passwords(text, low),
        *seed_phrases(text, low),
    ]
    for value in values:
        if value and value in text:
            whole = compiled(
                r"(?<![A-Za-z0-9])" * value[0].isalnum() + re.escape(value) + "(?![A-Za-z0-9])" * value[-1].isalnum()
            )
            spans += [(*match.span(), "env-value") for match in whole.finditer(text)]
    if personal:
        from .personal_data import personal_data

        spans += [span for span in personal_data(text, low) if span[2] in personal]
    if not spans or "[REDACTED:" not in text:
        return spans
    marks = [match.span() for match in compiled(_MARK).finditer(text)]
    return [item for item in spans if not _is_inside(marks, item[0], item[1])]


def _is_inside(marks: list[tuple[int, int]], start: int, end: int) -> bool:
    index = bisect_right(marks, start, key=lambda mark: mark[0]) - 1
    return index >= 0 and end <= marks[index][1]


def _distinct(spans: list[Span]) -> list[Span]:
    """Return spans sorted by position, without those inside another; of two of one position the first stays."""
    distinct: list[Span] = []
    for item in sorted(spans, key=lambda item: (item[0], -item[1])):
        if distinct and item[1] <= distinct[-1][1]:
            continue
        distinct.append(item)
    return distinct


def _masked(text: str, spans: Iterable[Span]) -> tuple[str, list[tuple[int, int, int, int]]]:
    """Return the text with marks, and for each mark its place there and in the original."""
    pieces: list[str] = []
    places: list[tuple[int, int, int, int]] = []
    done = size = 0
    for start, end, rule in _merged(spans):
        pieces += [text[done:start], f"[REDACTED:{rule}]"]
        size += start - done
        places.append((size, size + len(pieces[-1]), start, end))
        size += len(pieces[-1])
        done = end
    return "".join([*pieces, text[done:]]), places


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end, rule in sorted(spans, key=lambda item: (item[0], -item[1])):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        elif start < end:
            merged.append((start, end, rule))
    return merged


def _original(places: list[tuple[int, int, int, int]], start: int, end: int) -> tuple[int, int]:
    """Return the span in the original of a span in the masked text; a mark that is touched is included whole."""

    def back(offset: int, *, is_end: bool) -> int:
        index = bisect_right(places, offset - is_end, key=lambda mark: mark[0]) - 1
        if index < 0:
            return offset
        _, mask_end, begin, stop = places[index]
        if offset - is_end < mask_end:
            return stop if is_end else begin
        return offset - mask_end + stop

    return back(start, is_end=False), back(end, is_end=True)
