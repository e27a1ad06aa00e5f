"""Transcripts with a message a line: mem's own sessions and every log whose lines have a role and a content.

The first line may be about the session instead of a message.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..text.session import Event
from .feed import Line
from .reading import Reading, records
from .records import header, is_record, record_events, tells_of_session


def is_header(data: Mapping[str, Any]) -> bool:
    """Tell a first line about the session from a message."""
    kind = data.get("_type", data.get("type"))
    return kind in ("metadata", "session", "session_meta", "meta", "header") or data.get("__meta__") is True


def read(lines: Iterator[Line], reading: Reading) -> Iterator[Event]:
    """Yield the events of a transcript."""
    first = True
    for number, data in records(lines, reading):
        if is_header(data) or (first and not is_record(data) and tells_of_session(data)):
            header(data, reading)
        else:
            yield from record_events(data, reading, number)
        first = False
