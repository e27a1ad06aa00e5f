"""Which messages wait to be consolidated, in archived parts of sessions too, and which sessions are to be compacted."""

from collections.abc import Iterator
from contextlib import contextmanager

from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.times import stamp
from ..store import file_steps
from ..store.journal import exclusive
from ..store.lock import locked
from ..store.sessions.event_file import read_events
from ..store.sessions.sessions import Session, counts, sessions
from ..store.settings import Settings
from ..store.workspace import Workspace

MARK = "[Conversation summary]"
SHARE = 0.8
"""Part of what the model takes in from which a session is compacted."""
SOFT, HARD = 100_000, 125_000
"""Tokens of a session, where the model's window is not known."""


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
    """Return the limits: as set, else by the model's window, else as most models have it."""
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


def is_summary(event: Event) -> bool:
    """Tell the message that stands for those that were compacted."""
    return event.type == "message" and event.role == "system" and event.text.startswith(MARK)


@contextmanager
def queue(workspace: Workspace, session: Session, wait: float) -> Iterator[None]:
    """Take a turn among those who think about conversations; others may write meanwhile.

    Raises BusyError when another one takes longer than `wait` seconds.
    """
    file_steps.make_folder(workspace.derived)
    command = f"mem consolidate {session.id}"
    with locked(workspace.derived / "queue", command=command, now=stamp(workspace.now), wait=wait):
        with exclusive(workspace, command):
            pass  # what a killed one left half done is finished before anything is read
        yield
