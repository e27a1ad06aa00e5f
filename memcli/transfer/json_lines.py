"""The lines of a JSONL file or pipe, one at a time: what each holds, or why it cannot be read.

The whole file is read only where its first line is no JSON but the beginning of a document written over many lines.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO

from ..formats.history import day_in
from ..store.layouts import ARCHIVES, Layout, is_archived
from .bundle import LARGEST, Parcel
from .export import SESSION_DATA
from .foreign_memories import records_in

LONGEST = 2 * LARGEST + 64 * 1024
"""Bytes of a line that is read: as long as the longest that `packed` writes."""

_PIECE = 1024 * 1024
_BLANK = b"\xef\xbb\xbf \t\r\n"


@dataclass(frozen=True)
class JsonLine:
    """One line, or one record of a document: its number, and the object or what is wrong."""

    number: int
    record: dict[str, Any] | None
    fault: str = ""


def json_lines(stream: BinaryIO) -> Iterator[JsonLine]:
    """Yield every line that is not blank; of a document with many records each of them, by its number."""
    lines = _Lines(stream)
    first = lines.first()
    if first.strip(_BLANK)[:1] in (b"{", b"[") and first.endswith(b"\n") and _is_begun(first):
        found = lines.document()
        if isinstance(found, list):
            yield from (JsonLine(number, record) for number, record in enumerate(found, 1))
            return
        if first.strip(_BLANK) in (b"{", b"["):
            yield JsonLine(1, None, f"no lines of JSON, and no document with memories ({found})")
            return
    number = 0
    while data := lines.readline(LONGEST + 1):
        number += 1
        if len(data) > LONGEST and not data.endswith(b"\n"):
            _pass_over(lines)
            yield JsonLine(number, None, f"longer than {LONGEST >> 20} MiB")
            continue
        data = data.removeprefix(b"\xef\xbb\xbf") if number == 1 else data
        if data.strip():
            yield from _read(number, data)


class _Lines:
    """The lines of a stream that may be looked at before they are read."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._ahead = b""

    def first(self) -> bytes:
        """Give the first line that says something."""
        while data := self._stream.readline(LONGEST + 1):
            self._ahead += data
            if data.strip(_BLANK):
                return data
        return b""

    def document(self) -> list[dict[str, Any]] | str:
        """Give the records of the whole stream as one document, or say what it is instead."""
        self._ahead += self._stream.read(LARGEST)
        try:
            found = records_in(json.loads(self._ahead.removeprefix(b"\xef\xbb\xbf").decode("utf-8")))
        except RecursionError:
            return "nested too deeply"
        except ValueError as error:
            return f"{error}"
        return "it is one, without a list of them" if found is None else found

    def readline(self, most: int) -> bytes:
        """Read a line, or as much of it."""
        end = self._ahead.find(b"\n", 0, most) + 1 or min(most, len(self._ahead))
        line, self._ahead = self._ahead[:end], self._ahead[end:]
        return line if line.endswith(b"\n") or len(line) == most else line + self._stream.readline(most - len(line))


def _is_begun(line: bytes) -> bool:
    """Tell whether a line is no JSON by itself."""
    try:
        json.loads(line.strip(_BLANK))
    except (ValueError, RecursionError):
        return True
    return False


def _read(number: int, data: bytes) -> list[JsonLine]:
    try:
        record = json.loads(data.decode("utf-8"))
        found = records_in(record)
    except UnicodeDecodeError:
        return [JsonLine(number, None, "not UTF-8")]
    except json.JSONDecodeError as error:
        if not data.endswith(b"\n"):
            fault = "the file is cut off in this line: get the whole of it and import again"
            return [JsonLine(number, None, fault)]
        return [JsonLine(number, None, f"not JSON ({error.msg}, column {error.colno})")]
    except (ValueError, RecursionError):
        return [JsonLine(number, None, "not JSON that can be read")]
    if found is not None:
        return [JsonLine(number, one) for one in found]
    if not isinstance(record, dict):
        return [JsonLine(number, None, "no object with keys and values")]
    return [JsonLine(number, record)]


def _pass_over(stream: _Lines) -> None:
    """Read on to the end of a line that is too long."""
    while (data := stream.readline(_PIECE)) and not data.endswith(b"\n"):
        pass


def place_in(layout: Layout, parcel: Parcel) -> str:
    """Give the path a file has in a layout: its own where that fits, else the one its kind has there.

    Raises ValueError where there is none.
    """
    prefix = layout.archive if is_archived(parcel.path) else ""
    inner = parcel.path
    for archive in ARCHIVES:
        inner = inner.removeprefix(archive)
    folder, _, name = inner.rpartition("/")
    kind = layout.kind_of(f"{folder}/session.jsonl" if name == SESSION_DATA else inner)
    if kind and parcel.kind in ("", kind):
        return prefix + inner
    for path, wanted in _candidates(layout, parcel.kind or "entry", inner.removeprefix("memory/"), name):
        if layout.kind_of(path) == wanted:
            return prefix + path
    raise ValueError(f"{parcel.path} has no place in the layout {layout.name}")


def is_another_tools_store(layout: Layout, parcel: Parcel) -> bool:
    """Tell whether a file is a store of another tool's own form, which only its own layout reads in place."""
    name = parcel.path.rpartition("/")[2]
    is_store = name.endswith((".json", ".jsonl")) and name not in ("session.jsonl", SESSION_DATA)
    return is_store and parcel.kind in ("note", "session") and layout.kind_of(parcel.path) is None


def _candidates(layout: Layout, kind: str, inner: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield where a file of another layout might go, with the kind it would have there."""
    day = day_in(name)
    if kind == "memory" and name.casefold() == "memory.md":
        yield layout.memory, kind
    if kind == "note" and day:
        yield f"{layout.notes.rpartition('/')[0]}/{name}".lstrip("/"), kind
        yield layout.notes.format(date=day), kind
    if kind == "history":
        yield f"{layout.history.rpartition('/')[0]}/{name}".lstrip("/"), kind
    if kind in ("entry", "memory", "note"):
        yield f"{layout.entries}/{inner}".lstrip("/"), "entry"
