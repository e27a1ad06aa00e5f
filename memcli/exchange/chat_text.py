"""Chats written as plain text: pasted from a window, or exported by a messenger."""

import re
from collections.abc import Iterator

from ..text.session import Event
from .chat_styles import Opening, Style, day_line, is_day_first, opening, when
from .feed import Line
from .reading import Reading
from .wording import clean

LONGEST = 1_000_000
"""Characters of one message; what follows is left out until somebody else speaks."""

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_RULE = re.compile(r"\s*^-{3,}\s*\Z", re.MULTILINE)
_MEDIA = re.compile(r"(?i)\u200e?(?:<(?:media|image|video) omitted>|(?:image|sticker|video|audio) omitted)")


def read(lines: Iterator[Line], reading: Reading, style: Style, head: list[str]) -> Iterator[Event]:
    """Yield the messages of a chat written in one style."""
    day_first = is_day_first(head, style)
    message: _Message | None = None
    fenced = False
    for line in lines:
        if line.too_long:
            reading.skip("line too long")
            continue
        # A conversation about conversations quotes their headers in code.
        fenced = fenced != bool(_FENCE.match(line.text)) if not style.timed else False
        made = None if fenced else opening(line.text, style)
        day = "" if fenced else day_line(line.text)
        if made or day:
            if message:
                yield from message.events(reading)
                message = None
            reading.day = day or reading.day
        if made:
            reading.day, timestamp = when(made, reading.day, day_first, reading.zone)
            message = _Message(made, timestamp, line.number)
        elif message and not day:
            message.add(line.text)
        elif line.text.strip() and not day:
            reading.skip("before the first message")
    if message:
        yield from message.events(reading)


class _Message:
    """One message while its lines come in."""

    def __init__(self, made: Opening, timestamp: str, line: int) -> None:
        self.made = made
        self.timestamp = timestamp
        self.line = line
        self.lines = [made.text]
        self.length = len(made.text)

    def add(self, text: str) -> None:
        """Take another line of the message."""
        self.length += len(text) + 1
        if self.length <= LONGEST:
            self.lines.append(text)

    def events(self, reading: Reading) -> Iterator[Event]:
        """Yield the message, if it says anything."""
        if self.length > LONGEST:
            reading.skip("message cut")
        text = reading.said(clean("\n".join(self.lines))).strip()
        if not self.made.text:
            text = _RULE.sub("", text)  # the line between two messages that have headings
        if text:
            text = _MEDIA.sub("[image]", text)
            yield Event("", "message", self.made.role, text, self.timestamp, self.made.speaker, line=self.line)
        else:
            reading.skip("no text")
