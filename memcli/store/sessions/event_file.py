"""A session's file of events: read as a stream whatever its length, and looked up by id.

Readers take no lock: a file that is being added to is read as far as it goes.
"""

import json
import mmap
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, fields, replace
from pathlib import Path
from typing import BinaryIO

from ...dataclass import dataclass
from ...formats.ids import blake2b
from ...formats.json_stream import bounded_lines, closings
from ...formats.session_event import (
    CHARACTERS_PER_TOKEN,
    OVERHEAD_TOKENS,
    Event,
    SessionMetadata,
    event_of,
    load,
    parse_event,
    read_item,
    render_event,
)
from ...formats.text_lines import Problem
from .. import atomic_files, file_steps
from ..lock import Held
from ..privacy import make_derived, write_private
from ..workspace import Workspace

EVENTS, METADATA = "session.jsonl", "metadata.json"  # of a session, in its folder
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one is named and passed over."""
RECENT = 256 * 1024
"""Bytes at the end of a file that are looked at for what was said last."""

_BEGUN = r'"(?:id|type|role)"\s*:\s*"[^"]*"'
_NOTHING_SAID = re.compile(rf'\{{(?:\s*{_BEGUN},)*\s*(?:"\w*|"\w*"\s*:?\s*|{_BEGUN}?)?')
_BLANK = b"\xef\xbb\xbf\x00 \t\r\n"


def read_items(path: Path) -> Iterator[Event | Problem]:
    """Yield every line that says something: its event, or what is wrong with it. A missing file is an empty one."""
    with file_steps.naming("read", path):
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        with file:
            yield from _items(file)


def ended(line: str) -> str | None:
    """Return a line that a crash cut off, ended where it breaks off; empty where it says nothing yet, None for others.

    What was being said then ends in "…"; a key that was cut off is left out.
    """
    if load(line) is not None or not line.lstrip("\ufeff\x00 \t").startswith("{"):
        return None
    if _NOTHING_SAID.fullmatch(line.strip("\ufeff\x00 \t\r\n")):
        return ""
    for whole in closings(line.strip("\ufeff\x00 \t\r\n")):
        data = load(whole)
        if not isinstance(data, dict):
            continue
        others = [value for key, value in data.items() if key not in ("content", "text")]
        if event_of(data) and not any(str(value).endswith("…") for value in others):
            return whole
    return None


def cut_off_lines(path: Path) -> set[int]:
    """Return the numbers of the lines that `ended` can end; none of another tool's file."""
    if path.name != EVENTS:
        return set()
    with suppress(OSError), _opened(path) as file:
        lines = ((line.number, line.content.decode("utf-8", "ignore")) for line in bounded_lines(file, LONGEST_LINE))
        return {number for number, line in lines if line.strip() and ended(line) is not None}
    return set()


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
    """Return the events at the end of a file, as many as a quarter of a megabyte holds."""
    with file_steps.naming("read", path):
        try:
            file = _opened(path)
        except (FileNotFoundError, NotADirectoryError):
            return []
        with file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(size - RECENT, 0))
            if size > RECENT:
                file.readline(LONGEST_LINE)  # begins in the middle
            return [item for item in _items(file) if isinstance(item, Event)]


def standing_ids(paths: Sequence[Path], asked: Collection[str] | None = None) -> set[str]:
    """Return the ids of the events in some files; with `asked` only those among them, without reading every line."""
    if asked is None:
        return {item.id for path in paths for item in read_items(path) if isinstance(item, Event)}
    ids: set[str] = set()
    for path in paths:
        with file_steps.naming("read", path):
            ids.update(_among(path, asked))
    return ids


def _opened(path: Path) -> BinaryIO:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        file_steps.require_regular(path, os.fstat(descriptor))
        return open(descriptor, "rb", buffering=1 << 16)
    except BaseException:
        os.close(descriptor)
        raise


def _items(file: BinaryIO) -> Iterator[Event | Problem]:
    for line in bounded_lines(file, LONGEST_LINE - 1):
        if line.is_too_long:
            yield Problem(line.number, f"longer than {LONGEST_LINE >> 20} MiB: passed over")
        elif line.content.strip(_BLANK):
            yield read_item(line.content.decode("utf-8", "replace"), line.number, last=not line.is_whole)


def _among(path: Path, asked: Collection[str]) -> Iterator[str]:
    """Find ids by their bytes, then read the lines that hold them to be sure."""
    with mapped(path) as data:
        yield from (identifier for identifier in asked if identifier and _holds(data, identifier))


@contextmanager
def mapped(path: Path) -> Iterator[mmap.mmap | bytes]:
    """Map a file into memory; a missing file is an empty one."""
    try:
        file = _opened(path)
    except (FileNotFoundError, NotADirectoryError):
        yield b""
        return
    with file:
        if not os.fstat(file.fileno()).st_size:
            yield b""
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            yield data


def _holds(data: mmap.mmap | bytes, identifier: str) -> bool:
    events = (parse_event(data[start:end].decode("utf-8", "replace")) for start, end in lines_with(data, identifier))
    return any(event and event.id == identifier for event in events)


def lines_with(data: mmap.mmap | bytes, identifier: str) -> Iterator[tuple[int, int]]:
    """Yield where the lines begin and end that hold an id as a text of JSON."""
    for needle in {json.dumps(identifier, ensure_ascii=way).encode("utf-8", "replace") for way in (False, True)}:
        position = data.find(needle)
        while position >= 0:
            end = data.find(b"\n", position)
            end = len(data) if end < 0 else end
            yield data.rfind(b"\n", 0, position) + 1, end
            position = data.find(needle, end)


def lines_of(target: Path) -> list[bytes]:
    """Read the lines of a file, each with its end; the last one has none, and is empty where the file ends a line."""
    *lines, last = atomic_files.read(target).split(b"\n")
    return [*(line + b"\n" for line in lines), last]


def replace_lines(target: Path, held: Held, old: list[bytes], new: list[bytes]) -> bool:
    """Replace the lines of a file under the lock; return whether they differ. Raise RefusedError if it has others."""
    if new == old:
        return False
    held.check()
    atomic_files.replace(target, b"".join(new), atomic_files.digest(b"".join(old)))
    return True


_BATCHES = "batches"
_ABANDONED = 30 * 86400.0  # seconds after which nobody tries again


@dataclass(frozen=True)
class EventBatch:
    """Events that are written together, and the session and ids they got when that was first tried.

    They are kept in `.mem/batches/` while the batch is written, so that a retry goes on where a failed write stopped:
    events that come without ids get new ones, and nothing else would tell a retry from the same words said again.
    """

    file: Path | None  # None where a retry needs no help
    session: str = ""
    ids: tuple[str, ...] = ()

    def begin(self, session: str, events: Sequence[Event]) -> None:
        """Write down the session and the ids of the events, before the first of them is written."""
        if self.file is None or self.ids:
            return
        with file_steps.naming("write", self.file):
            make_derived(self.file.parent)
        _remove_abandoned(self.file.parent)
        file_steps.discard(self.file)  # one that could not be read
        atomic_files.create(self.file, json.dumps([session, [event.id for event in events]]).encode())

    def end(self) -> None:
        """Forget the batch: all of it stands."""
        if self.file is not None:
            file_steps.discard(self.file)


def batch_of(workspace: Workspace, session: str, events: Sequence[Event]) -> EventBatch:
    """Return the batch of these events, with what an earlier try settled for it.

    A single event is written whole or not at all, and events with ids in a named session are recognized by those.
    """
    if len(events) < 2 or (session and all(event.id for event in events)):
        return EventBatch(None)
    digest = blake2b(session.encode("utf-8", "surrogateescape"), digest_size=16)
    for event in events:
        digest.update(f"\n{event.id}\t{render_event(replace(event, id=''))}".encode("utf-8", "surrogatepass"))
    file = workspace.derived / _BATCHES / f"{digest.hexdigest()}.json"
    try:
        stamp, ids = json.loads(file.read_bytes())
        if (
            isinstance(stamp, str)
            and len(ids) == len(events)
            and all(isinstance(identifier, str) and identifier for identifier in ids)
        ):
            return EventBatch(file, stamp, tuple(ids))
    except (OSError, ValueError, TypeError):  # the first try, or one that failed before anything was written
        pass
    return EventBatch(file)


def _remove_abandoned(folder: Path) -> None:
    """Remove batches that nobody tried again; `time.time` is the clock that stamped the files."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED:
                file_steps.discard(entry.path)


_FOLDER = "sessions"
_MOST_TOOLS = 100


@dataclass(frozen=True)
class Counts:
    """The sums of a session's events."""

    events: int = 0
    messages: int = 0  # said by anybody, instructions included
    waiting: int = 0  # messages of user and assistant behind the last one consolidated
    characters: int = 0
    unreadable: int = 0  # lines that are no event
    first: str = ""  # the earliest and the latest time an event states
    last: str = ""
    tools: tuple[str, ...] = ()  # names of the tools used, in the order of their first use

    @property
    def tokens(self) -> int:
        """Estimate what the session costs a model."""
        return self.event_tokens + OVERHEAD_TOKENS

    @property
    def event_tokens(self) -> int:
        """Estimate the tokens of the events alone."""
        return int(self.characters / CHARACTERS_PER_TOKEN)

    def __add__(self, other: "Counts") -> "Counts":
        """Count what follows too."""
        numbers = {name: getattr(self, name) + getattr(other, name) for name in _NUMBERS}
        times = sorted(time for time in (self.first, self.last, other.first, other.last) if time)
        tools = tuple(dict.fromkeys((*self.tools, *other.tools)))[:_MOST_TOOLS]
        return Counts(**numbers, first=times[0] if times else "", last=times[-1] if times else "", tools=tools)

    def on_page(self, page: SessionMetadata) -> SessionMetadata:
        """Return a session's page with these sums; while it goes on, the tools of what was put away stay on it."""
        tools = tuple(dict.fromkeys((*page.tools_used, *self.tools))) if self.events else ()
        return replace(
            page,
            message_count=self.messages,
            token_count=self.tokens,
            message_tokens=self.event_tokens,
            tools_used=tools[:_MOST_TOOLS],
        )


_NUMBERS = tuple(field.name for field in fields(Counts) if field.type is int)


def counts_of(event: Event) -> Counts:
    """Count one event."""
    is_message = event.type == "message"
    return Counts(
        1,
        int(is_message),
        int(is_due(event)),
        len(event.text),
        0,
        event.timestamp,
        event.timestamp,
        tools_of(event),
    )


def tools_of(event: Event) -> tuple[str, ...]:
    """Return the tool that an event calls, or that answers in it."""
    return (event.name,) if event.name and event.type in ("tool_call", "tool_result") else ()


def is_due(event: Event) -> bool:
    """Return whether consolidation waits for an event: something said by a user or an assistant."""
    return event.type == "message" and event.role != "system"


def counted(workspace: Workspace, path: str, consolidated_to: str) -> Counts:
    """Count the events of a session's file, or look up what was counted when the file was as it is now."""
    target = workspace.path(path)
    stat = _stat(target)
    if stat is None:
        return Counts()
    stored = _stored_counts(workspace, path, stat, consolidated_to)
    if stored is not None:
        return stored
    counts = count_events(read_items(target), consolidated_to)
    if _stat(target) == stat:
        _store_counts(workspace, path, stat, consolidated_to, counts)
    return counts


def count_events(items: Iterable[object], consolidated_to: str) -> Counts:
    """Count events; an id that is not among them means that all of them wait."""
    events = messages = waiting = characters = unreadable = 0
    first = last = ""
    tools: dict[str, None] = {}
    for item in items:
        if not isinstance(item, Event):
            unreadable += 1
            continue
        events += 1
        characters += len(item.text)
        tools.update(dict.fromkeys(tools_of(item)))
        if item.type == "message":
            messages += 1
            waiting += item.role != "system"
        if consolidated_to and item.id == consolidated_to:
            waiting = 0
        if item.timestamp:
            first = min(first, item.timestamp) if first else item.timestamp
            last = max(last, item.timestamp)
    return Counts(events, messages, waiting, characters, unreadable, first, last, tuple(tools)[:_MOST_TOOLS])


def note_added(workspace: Workspace, path: str, consolidated_to: str, sums: Counts, size: int) -> None:
    """Keep the sums of a file that was just added to, unless it is not as long as it should be then.

    A byte more is the newline that closed off a line cut off by a crash.
    """
    stat = _stat(workspace.path(path))
    if stat is not None and stat[2] - size in (0, 1):
        _store_counts(workspace, path, stat, consolidated_to, sums)


def _stat(target: Path) -> list[int] | None:
    try:
        seen = os.stat(target)
    except OSError:
        return None
    return [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]


def _counts_file(workspace: Workspace, path: str) -> Path:
    name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return workspace.derived / _FOLDER / f"{name}.json"


def _stored_counts(workspace: Workspace, path: str, stat: list[int], consolidated_to: str) -> Counts | None:
    try:
        noted = json.loads(_counts_file(workspace, path).read_bytes())
        if noted["of"] == [path, stat, consolidated_to]:
            *numbers, tools = noted["sums"]
            return replace(Counts(*numbers), tools=tuple(tools))
    except (OSError, ValueError, KeyError, TypeError):  # never written, cut off, or somebody else's
        pass
    return None


def _store_counts(workspace: Workspace, path: str, stat: list[int], consolidated_to: str, counts: Counts) -> None:
    file = _counts_file(workspace, path)
    with suppress(OSError):  # derived: where it cannot be kept it is counted again
        make_derived(file.parent)
        noted = {"of": [path, stat, consolidated_to], "sums": astuple(counts)}
        write_private(file, json.dumps(noted))
