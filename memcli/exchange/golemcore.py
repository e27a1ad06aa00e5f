"""Conversations kept as one JSON document with a list of messages: golemcore's `{type}:{id}.json`, and plain lists.

The document is read piece by piece, so that a long conversation is never in memory as a whole.
"""

from collections.abc import Iterator
from typing import TextIO

from ..text.session import Event
from ..transcripts.json_stream import CutOffError, JsonStream
from .reading import Reading
from .records import header, record_events


def read(stream: TextIO, reading: Reading) -> Iterator[Event]:
    """Yield the events of a document; what it says of itself besides its messages is noted."""
    scanner = JsonStream(stream)
    try:
        yield from _events(scanner, reading)
        if scanner.peek():
            reading.skip("after the end of the document")
    except CutOffError:
        reading.skip("the rest is cut off or not JSON")


def _events(scanner: JsonStream, reading: Reading) -> Iterator[Event]:
    if scanner.peek() == "[":
        yield from _messages(scanner, reading)
        return
    for key in scanner.members():
        if key == "messages" and scanner.peek() == "[":
            yield from _messages(scanner, reading)
        else:
            header({key: scanner.value()}, reading)


def _messages(scanner: JsonStream, reading: Reading) -> Iterator[Event]:
    for value in scanner.items():
        if isinstance(value, dict):
            yield from record_events(value, reading)
        else:
            reading.skip("not an object")
