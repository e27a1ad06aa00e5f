"""What is shown of a session: what it amounts to, and what was said in it."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ...dataclass import dataclass
from ...formats.session_event import Event, view
from ...formats.text_lines import Problem
from ..workspace import Workspace
from .addresses import span_events
from .sessions import Session, counts


@dataclass(frozen=True)
class SessionSummary:
    """A session and what it amounts to."""

    id: str
    state: str
    """`ACTIVE`, `PAUSED` or `TERMINATED`."""
    channel_type: str
    channel_id: str
    user_id: str
    messages: int
    events: int
    tokens: int
    """About what the session costs a model."""
    waiting: int
    """Messages that are still to be consolidated."""
    created_at: str
    updated_at: str
    consolidated_to: str
    """Id of the last message that was consolidated."""
    path: str
    """The session's folder within the workspace."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        return asdict(self)


def summary_of(where: Workspace, session: Session) -> SessionSummary:
    """Return what a session amounts to."""
    sums, page = counts(where, session), session.metadata
    return SessionSummary(
        id=session.id,
        state=page.state,
        channel_type=page.channel_type,
        channel_id=page.channel_id,
        user_id=page.user_id,
        messages=sums.messages,
        events=sums.events,
        tokens=sums.tokens,
        waiting=sums.waiting,
        created_at=page.created_at or sums.first,
        updated_at=page.updated_at or sums.last,
        consolidated_to=page.consolidated_to,
        path=session.folder,
    )


@dataclass(frozen=True)
class SessionList:
    """Sessions with the workspace each is in, the latest first."""

    sessions: tuple[tuple[Workspace, SessionSummary], ...]
    notices: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        return {"sessions": [{**one.as_dict(), "scope": where.scope} for where, one in self.sessions]}


@dataclass(frozen=True)
class SessionStats:
    """How long a session is, against its limits in tokens."""

    summary: SessionSummary
    soft_limit: int
    """From here on old messages are compacted."""
    hard_limit: int
    """Past it the oldest are archived."""
    context_window: int | None
    """What the configured model takes in, where that is known."""
    unreadable: int
    """Lines that are no event."""
    notices: tuple[str, ...] = ()

    @property
    def passed(self) -> str:
        """Return which limit is passed: `hard`, `soft` or none."""
        tokens = self.summary.tokens
        return "hard" if tokens > self.hard_limit else "soft" if tokens > self.soft_limit else ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        names = ("soft_limit", "hard_limit", "context_window", "unreadable")
        return {**self.summary.as_dict(), **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class ShownSession:
    """What was said in a session, or in a part of it."""

    workspace: Workspace
    session: Session
    events: tuple[tuple[int, Event], ...]
    """Positions in the session, from 1, and what stands there."""
    problems: tuple[Problem, ...] = ()
    """Lines that could not be read."""

    def texts(self, tool_limit: int = 0) -> Iterator[str]:
        """Yield each event as a person reads it; of what tools were given and answered no more than
        `tool_limit` characters, where that is given.
        """
        return (view(event, position, self.workspace.zone, tool_limit) for position, event in self.events)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        rows = [
            {
                "position": position,
                "id": one.id,
                "type": one.type,
                "role": one.role,
                "content": one.text,
                "timestamp": one.timestamp,
                "name": one.name,
                "is_error": one.is_error,
                **{key: value for key, value in one.extra.items() if key != "content"},
            }
            for position, one in self.events
        ]
        path = self.session.path
        wrong = [{"path": path, "line": one.line, "reason": one.reason} for one in self.problems]
        return {"id": self.session.id, "path": path, "events": rows, "problems": wrong}


def shown_session(workspace: Workspace, session: Session, span: str = "") -> ShownSession:
    """Return the events of a session, or of a span of it; raise UsageError for what is no span."""
    problems: list[Problem] = []
    events = tuple(span_events(workspace, session, span, problems))
    return ShownSession(workspace, session, events, tuple(problems))
