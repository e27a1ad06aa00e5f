"""The lines of a JSONL file or pipe, one at a time: what each holds, or why it cannot be read. Never the whole file."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from .parcel import LARGEST

LONGEST = 2 * LARGEST + 64 * 1024
"""Bytes of a line that is read: as long as the longest that `packed` writes."""

_PIECE = 1024 * 1024


@dataclass(frozen=True)
class JsonLine:
    """One line: its number, and the object on it or what is wrong."""

    number: int
    record: dict[str, Any] | None
    fault: str = ""


def json_lines(stream: BinaryIO) -> Iterator[JsonLine]:
    """Yield every line that is not blank."""
    number = 0
    while data := stream.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST and not data.endswith(b"\n"):
            _pass_over(stream)
            yield JsonLine(number, None, f"longer than {LONGEST >> 20} MiB")
            continue
        data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
        if data.strip():
            yield _read(number, data)


def _read(number: int, data: bytes) -> JsonLine:
    try:
        record = json.loads(data.decode("utf-8"))
    except UnicodeDecodeError:
        return JsonLine(number, None, "not UTF-8")
    except json.JSONDecodeError as error:
        if not data.endswith(b"\n"):
            return JsonLine(number, None, "the file is cut off in this line: get the whole of it and import again")
        return JsonLine(number, None, f"not JSON ({error.msg}, column {error.colno})")
    except (ValueError, RecursionError):
        return JsonLine(number, None, "not JSON that can be read")
    if not isinstance(record, dict):
        return JsonLine(number, None, "no object with keys and values")
    return JsonLine(number, record)


def _pass_over(stream: BinaryIO) -> None:
    """Read on to the end of a line that is too long."""
    while (data := stream.readline(_PIECE)) and not data.endswith(b"\n"):
        pass
