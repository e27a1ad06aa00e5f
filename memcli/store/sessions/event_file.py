"""A session's file of events: read as a stream whatever its length, and looked up by id.

Readers take no lock: a file that is being added to is read as far as it goes.
"""

import json
import mmap
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ...formats.jsonl import messages_of
from ...formats.session_event import Event, event_of, load, parse_event, read_item
from ...formats.text_lines import Problem
from .. import file_steps

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one is named and passed over."""
RECENT = 256 * 1024
"""Bytes at the end of a file that are looked at for what was said last."""

_BLANK = b"\xef\xbb\xbf\x00 \t\r\n"


def read_items(path: Path) -> Iterator[Event | Problem]:
    """Yield every line that says something: its event, or what is wrong with it. A missing file is an empty one."""
    with file_steps.naming("read", path):
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        with file:
            yield from _document_items(file) if path.suffix == ".json" else _items(file)


def read_events(
    path: Path, first: int = 1, last: int | None = None, problems: list[Problem] | None = None
) -> Iterator[tuple[int, Event]]:
    """Yield events with their positions, counted from 1, the last one included; what is no event goes to `problems`."""
    position = 0
    for item in read_items(path):
        if isinstance(item, Problem):
            if problems is not None:
                problems.append(item)
            continue
        position += 1
        if position >= first:
            yield position, item
        if position == last:
            return


def recent_events(path: Path) -> list[Event]:
    """Give the events at the end of a file, as many as a quarter of a megabyte holds."""
    with file_steps.naming("read", path):
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        with file:
            if path.suffix == ".json":
                return [item for item in _document_items(file) if isinstance(item, Event)]
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - RECENT, 0))
            if size > RECENT:
                file.readline(LONGEST_LINE)  # begins in the middle
            return [item for item in _items(file) if isinstance(item, Event)]


def standing_ids(paths: Sequence[Path], asked: Collection[str] | None = None) -> set[str]:
    """Give the ids of the events in some files; with `asked` only those among them, without reading every line."""
    if asked is None:
        return {item.id for path in paths for item in read_items(path) if isinstance(item, Event)}
    return {identifier for path in paths for identifier in _among(path, asked)}


def _opened(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        file_steps.require_regular(path, os.fstat(descriptor))
        return open(descriptor, "rb", buffering=1 << 16)
    except BaseException:
        os.close(descriptor)
        raise


def _items(file: BinaryIO) -> Iterator[Event | Problem]:
    number = 0
    # Only a newline ends a line: splitlines would also cut at U+2028 and others, which JSON leaves in strings.
    while line := file.readline(LONGEST_LINE):
        number += 1
        whole = line.endswith(b"\n")
        if not whole and len(line) == LONGEST_LINE:
            while (rest := file.readline(1 << 20)) and not rest.endswith(b"\n"):
                pass
            yield Problem(number, f"longer than {LONGEST_LINE >> 20} MiB: passed over")
        elif line.strip(_BLANK):
            yield read_item(line.decode("utf-8", "replace"), number, last=not whole)


def _document_items(file: BinaryIO) -> Iterator[Event | Problem]:
    """Yield the messages of a conversation that is one JSON document; one without an id is named by its place."""
    data = file.read(LONGEST_LINE + 1)
    if len(data) > LONGEST_LINE:
        yield Problem(1, f"longer than {LONGEST_LINE >> 20} MiB: `mem session import` takes it")
        return
    messages = messages_of(load(data.decode("utf-8", "replace")))
    if messages is None:
        yield Problem(1, "no JSON document with a list of messages: passed over")
        return
    for number, one in enumerate(messages, 1):
        event = event_of(one, number) if isinstance(one, Mapping) else None
        if event is None:
            yield Problem(1, f"message {number} is no event (no role and content of one): passed over")
        else:
            yield event if event.id else replace(event, id=f"L{number}")


def _among(path: Path, asked: Collection[str]) -> Iterator[str]:
    """Find ids by their bytes, then read the lines that hold them to be sure."""
    if path.suffix == ".json":
        yield from {item.id for item in read_items(path) if isinstance(item, Event)}.intersection(asked)
        return
    try:
        file = _opened(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    with file:
        if not os.fstat(file.fileno()).st_size:
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield from (identifier for identifier in asked if identifier and _holds(data, identifier))


def _holds(data: mmap.mmap, identifier: str) -> bool:
    for needle in {json.dumps(identifier, ensure_ascii=way).encode("utf-8", "replace") for way in (False, True)}:
        at = data.find(needle)
        while at >= 0:
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            event = parse_event(data[data.rfind(b"\n", 0, at) + 1 : end].decode("utf-8", "replace"))
            if event and event.id == identifier:
                return True
            at = data.find(needle, end)
    return False
