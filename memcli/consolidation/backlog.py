"""Which messages wait to be consolidated, in archived parts of sessions too, and which sessions are to be compacted."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..formats.session_event import Event
from ..store.sessions.counts import is_due
from ..store.sessions.event_file import read_events, standing_ids
from ..store.sessions.sessions import Session, at, counts, sessions
from ..store.settings import Settings
from ..store.workspace import Workspace

MARK = "[Conversation summary]"
SHARE = 0.8
"""Part of what the model takes in from which a session is compacted."""
SOFT, HARD = 100_000, 125_000
"""Tokens of a session, where the model's window is not known."""
BATCH = 60_000
"""Characters of conversation an LLM is shown at once; the rest is the next batch."""


def due(workspace: Workspace, window: int = 0, since: str = "") -> list[Session]:
    """Find the sessions in which more than `window` messages wait, and those that are over or put away with any at all.

    With `since` only those in which something was said then or later. Archived are only parts of sessions that go on:
    what was deleted is nobody's memory.
    """
    live = sessions(workspace)
    going_on = {one.id for one in live}
    parts = [one for one in sessions(workspace, archived=True) if one.id in going_on]
    # What was put away was said first.
    parts.sort(key=lambda one: (len(one.folder), one.folder))
    found = [one for one in [*parts, *live] if not one.problem]
    sums = [(one, counts(workspace, one)) for one in found]
    return [one for one, sum_ in sums if sum_.waiting > (0 if is_over(one) else window) and sum_.last >= since]


def is_over(session: Session) -> bool:
    """Tell whether no more messages are to come."""
    return session.is_archived or session.metadata.state == "TERMINATED"


@dataclass(frozen=True)
class CompactionLimits:
    """Tokens: from `soft` on old messages are compacted, past `hard` the oldest are archived."""

    soft: int
    hard: int
    window: int | None = None  # what the model takes in, where that is known


def limits(settings: Settings) -> CompactionLimits:
    """Settle the limits: as set, else by the model's window, else as most models have it."""
    soft, hard = settings["session.soft_limit"], settings["session.hard_limit"]
    window = None
    model = settings.values.get("llm.model", "")
    if model and not (soft and hard):
        from ..llm.client import context_window

        window = context_window(model)
    return CompactionLimits(soft or int(SHARE * window if window else SOFT), hard or window or HARD, window)


def is_long(workspace: Workspace, session: Session) -> bool:
    """Tell whether a session is past its soft limit."""
    return not session.document and counts(workspace, session).tokens > limits(workspace.settings).soft


def all_events(workspace: Workspace, session: Session) -> list[Event]:
    """Read what stands in a session's file."""
    return [event for _, event in read_events(workspace.path(session.path))]


def behind(events: Sequence[Event], last: str) -> list[Event]:
    """Give the events behind the last one consolidated; all of them where that one was put away.

    A summary of what was compacted is left out: memory must not feed on itself.
    """
    place = next((place for place, event in enumerate(events) if last and event.id == last), -1)
    return [event for event in events[place + 1 :] if not is_summary(event)]


def is_summary(event: Event) -> bool:
    """Tell the message that stands for those that were compacted."""
    return event.type == "message" and event.role == "system" and event.text.startswith(MARK)


def but_for(events: Sequence[Event], keep: int) -> list[Event]:
    """Leave out the last `keep` messages; nothing where no message is left."""
    messages = [place for place, event in enumerate(events) if is_due(event)]
    if keep:
        events = events[: messages[-keep]] if len(messages) > keep else []
    return list(events) if any(map(is_due, events)) else []


def batches(events: Sequence[Event], room: int = BATCH) -> Iterator[list[Event]]:
    """Cut a long conversation where a user speaks, or where it must be."""
    from .llm_extractor import shown_length  # the backlog is counted far more often than it is worked off

    batch: list[Event] = []
    size = 0
    for event in events:
        length = shown_length(event)
        asks = is_due(event) and event.role == "user"
        if batch and size + length > room and (asks or size + length > room * 3 // 2):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += length
    if batch:
        yield batch


def home(workspace: Workspace, session: Session, event: str) -> Session | None:
    """Find where an event lies now: its session may have been cleared or compacted meanwhile; None where it is gone."""
    now = at(workspace, session.folder, session.id)
    if standing_ids([workspace.path(now.path)], {event}):
        return now
    others = [*sessions(workspace), *sessions(workspace, archived=True)]
    parts = (one for one in others if one.id == session.id and one.folder != session.folder)
    return next((one for one in parts if standing_ids([workspace.path(one.path)], {event})), None)
