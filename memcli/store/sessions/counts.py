"""What a session amounts to: its messages, its tokens, how many wait to be remembered.

The sums are kept in `.mem/` for as long as the file is as it was; in doubt they are counted anew.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple, fields, replace
from pathlib import Path

from ...dataclass import dataclass
from ...formats.ids import blake2b
from ...formats.session_event import CHARACTERS_PER_TOKEN, OVERHEAD_TOKENS, Event
from ...formats.session_metadata import SessionMetadata
from ..privacy import make_derived, write_private
from ..workspace import Workspace
from .event_file import read_items

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
    known = _kept(workspace, path, stat, consolidated_to)
    if known is not None:
        return known
    found = count_events(read_items(target), consolidated_to)
    if _stat(target) == stat:
        _keep(workspace, path, stat, consolidated_to, found)
    return found


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
        _keep(workspace, path, stat, consolidated_to, sums)


def _stat(target: Path) -> list[int] | None:
    try:
        seen = os.stat(target)
    except OSError:
        return None
    return [seen.st_mtime_ns, seen.st_ctime_ns, seen.st_size, seen.st_ino]


def _place(workspace: Workspace, path: str) -> Path:
    name = blake2b(path.encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()
    return workspace.derived / _FOLDER / f"{name}.json"


def _kept(workspace: Workspace, path: str, stat: list[int], consolidated_to: str) -> Counts | None:
    try:
        kept = json.loads(_place(workspace, path).read_bytes())
        if kept["of"] == [path, stat, consolidated_to]:
            *numbers, tools = kept["sums"]
            return replace(Counts(*numbers), tools=tuple(tools))
    except (OSError, ValueError, KeyError, TypeError):  # never written, cut off, or somebody else's
        pass
    return None


def _keep(workspace: Workspace, path: str, stat: list[int], consolidated_to: str, found: Counts) -> None:
    place = _place(workspace, path)
    with suppress(OSError):  # derived: where it cannot be kept it is counted again
        make_derived(place.parent)
        noted = {"of": [path, stat, consolidated_to], "sums": astuple(found)}
        write_private(place, json.dumps(noted))
