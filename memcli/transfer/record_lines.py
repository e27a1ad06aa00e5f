"""The records of a file or pipe to import, one at a time: what each line holds, or why it cannot be read.

The whole file is read only where its first line is no JSON but the beginning of a document written over many lines.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..formats.json_stream import StreamLine, bounded_lines, rejoined
from .bundle import LARGEST
from .foreign_memories import records_in

LONGEST = 2 * LARGEST + 64 * 1024
"""Bytes of a line that is read: as long as the longest that `packed` writes."""

_MARK = b"\xef\xbb\xbf"
_BLANK = _MARK + b" \t\r\n"


@dataclass(frozen=True)
class RecordLine:
    """One line, or one record of a document: its number, and the object or what is wrong."""

    number: int
    record: dict[str, Any] | None
    fault: str = ""


def record_lines(stream: BinaryIO) -> Iterator[RecordLine]:
    """Yield every line that is not blank; of a document with many records each of them, by its number."""
    ahead = first = b""
    while not first.strip(_BLANK) and (first := stream.readline(LONGEST + 1)):
        ahead += first
    if first.strip(_BLANK)[:1] in (b"{", b"[") and first.endswith(b"\n") and _is_begun(first):
        ahead += stream.read(LARGEST)
        found = _document(ahead)
        if isinstance(found, list):
            yield from (RecordLine(number, record) for number, record in enumerate(found, 1))
            return
        if first.strip(_BLANK) in (b"{", b"["):
            yield RecordLine(1, None, f"no lines of JSON, and no document with memories ({found})")
            return
    for line in bounded_lines(rejoined(ahead, stream), LONGEST):
        if line.is_too_long:
            yield RecordLine(line.number, None, f"longer than {LONGEST >> 20} MiB")
            continue
        content = line.content.removeprefix(_MARK) if line.number == 1 else line.content
        if content.strip():
            yield from _records(line._replace(content=content))


def _document(data: bytes) -> list[dict[str, Any]] | str:
    """Return the records of one document, or say what it is instead."""
    try:
        found = records_in(json.loads(data.removeprefix(_MARK).decode("utf-8")))
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return f"{error}"
    return "it is one, without a list of them" if found is None else found


def _is_begun(line: bytes) -> bool:
    """Tell whether a line is no JSON by itself."""
    try:
        json.loads(line.strip(_BLANK))
    except (ValueError, RecursionError):
        return True
    return False


def _records(line: StreamLine[bytes]) -> list[RecordLine]:
    number = line.number
    try:
        record = json.loads(line.content.decode("utf-8"))
        found = records_in(record)
    except UnicodeDecodeError:
        return [RecordLine(number, None, "not UTF-8")]
    except json.JSONDecodeError as error:
        if not line.is_whole:
            fault = "the file is cut off in this line: get the whole of it and import again"
            return [RecordLine(number, None, fault)]
        return [RecordLine(number, None, f"not JSON ({error.msg}, column {error.colno})")]
    except (ValueError, RecursionError):
        return [RecordLine(number, None, "not JSON that can be read")]
    if found is not None:
        return [RecordLine(number, one) for one in found]
    if not isinstance(record, dict):
        return [RecordLine(number, None, "no object with keys and values")]
    return [RecordLine(number, record)]
