"""What is read of a session: the messages that a name means, as `session:<id>#<first>:<last>`, and what is shown."""

import re
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Annotated, Any

from ...dataclass import dataclass
from ...errors import NotFoundError, UsageError
from ...formats.session_event import PROJECT, Event, folder_name, session_id, view, word
from ...formats.text_lines import FileProblem, FileProblems, Problem
from ...language.foreign_text import Prompt
from ...results import CreatedAt, FilePath, Id, Result, Scope, SessionId, UpdatedAt
from ..layouts import SESSION_FOLDER as FOLDER
from ..redaction import Redacted
from ..workspace import Workspace
from .event_file import read_events, standing_ids
from .sessions import Session, at, counts, sessions

PROJECT_LINE = "projectLine"
"""Key of a session's page: the project that a line of its messages named."""
_SPAN = re.compile(r"(?P<first>[^:\s]*)(?P<colon>:)?(?P<last>[^:\s]*)")
# Every message's id has a digit, or `session_source` does without it; `session:slack#general` is a session's own name.
_NAMED = re.compile(r"session:(?P<id>.*?)(?:#(?P<span>(?:(?=[^#]*\d)[^\s#:]*:?[^\s#:]*)?))?", re.DOTALL)
_PLAIN = re.compile(r"(?=.*\d)[^\s#:]+")


QUOTE = "user: "
"""How a source begins that is a sentence of the user, which a memory says in other words."""


def parse_name(name: str) -> tuple[str, str] | None:
    """Take `session:<id>#<span>` apart; None for the name of anything else. An id may hold `#` too."""
    match = _NAMED.fullmatch(name)
    return (match["id"], match["span"] or "") if match else None


def session_source(name: str, first: str, last: str = "") -> str:
    """Return the name of the messages of a session that a memory comes from, by their ids."""
    ids = dict.fromkeys((first, last or first))
    if all(_PLAIN.fullmatch(identifier) for identifier in ids) and not first.isdecimal():
        return f"session:{name}#{':'.join(ids)}"
    return f"session:{name}{'#' if '#' in name else ''}"


def session_address(path: str, anchor: str) -> str:
    """Return the name by which `mem read` finds an event of a session's file."""
    folder = path.rpartition("/")[0]
    name = session_id(folder.rpartition("/")[2]) or folder.rpartition("/")[2]
    return f"session:{name}#{anchor}" if folder.startswith(f"{FOLDER}/") else f"{path}#{anchor}"


def span_events(
    workspace: Workspace, session: Session, span: str = "", problems: list[Problem] | None = None
) -> Iterator[tuple[int, Event]]:
    """Yield the events of a span with their positions: `12`, `10:20`, `10:`, or ids of messages in their place.

    Positions are those of the session's file; ids are found in what the archive has of the session too. Raises
    UsageError for what is no span, NotFoundError where it begins nowhere.
    """
    match = _SPAN.fullmatch(span)
    first, last = (match["first"], match["last"] if match["colon"] else match["first"]) if match else ("?", "")
    numbers = all(not part or part.isdecimal() for part in (first, last))
    if not match or span == ":" or (numbers and not 1 <= int(first or 1) <= int(last or 10**12)):
        raise UsageError(f"{span!r} is no part of a conversation", "write 12, 10:20 or the ids of messages")
    if numbers:
        return _counted(workspace, session, int(first or 1), int(last) if last else None, problems)
    return _between(workspace, session, first, last, problems)


def _counted(
    workspace: Workspace, session: Session, first: int, last: int | None, problems: list[Problem] | None
) -> Iterator[tuple[int, Event]]:
    events = read_events(workspace.path(session.path), first, last, problems)
    begins = next(events, None)
    if begins is not None:
        yield begins
        yield from events
    elif first > 1:
        raise NotFoundError(f"no event {first} in session {session.id}", f"`mem session show {quote(session.id)}`")


def _between(
    workspace: Workspace, session: Session, first: str, last: str, problems: list[Problem] | None
) -> Iterator[tuple[int, Event]]:
    parts = [part for part in sessions(workspace, archived=True) if part.id == session.id]
    parts.sort(key=lambda part: (len(part.folder), part.folder))  # a, a-2, a-10: the order they were put away in
    files = [workspace.path(part.path) for part in (*parts, session)]
    existing = standing_ids(files, {first, last} - {""})
    for wanted in (first, last):
        if wanted and wanted not in existing:
            raise NotFoundError(
                f"no message {wanted} in session {session.id}", f"`mem session show {quote(session.id)}`"
            )
    has_begun = not first
    for file in dict.fromkeys(files):
        for position, event in read_events(file, problems=problems):
            has_begun = has_begun or event.id == first
            if has_begun:
                yield position, event
            if has_begun and event.id == last:
                return


def project_line(events: Sequence[Event]) -> str:
    """Return the project that the last line `project: NAME` said to the assistant names; empty for none."""
    texts = [event.text for event in events if event.type == "message" and event.role != "assistant"]
    lines = (Prompt(text).stated(PROJECT) for text in reversed(texts) if f"{PROJECT}:" in text.lower())
    return next(filter(None, lines), "")


def projects_of(session: Session) -> tuple[str, str]:
    """Return the project that a session's page states, and the one that a line of its earlier messages named."""
    page = session.metadata.metadata
    return word(page.get(PROJECT)), word(page.get(PROJECT_LINE))


def project_by_id(workspace: Workspace, name: str) -> str:
    """Return the project of the session that lies where its id says; empty where there is none."""
    return next(filter(None, projects_of(at(workspace, f"{FOLDER}/{folder_name(name)}", name))), "")


_EVENT_FIELDS = ("id", "type", "role", "content", "timestamp", "name", "is_error")


@dataclass(frozen=True)
class SessionSummary:
    """A session and what it amounts to."""

    id: Id
    state: Annotated[str, "ACTIVE, PAUSED or TERMINATED"]
    channel_type: Annotated[str, "what kind of place that is"]
    channel_id: Annotated[str, "where the conversation takes place"]
    user_id: Annotated[str, "with whom"]
    messages: Annotated[int, "how many messages"]
    events: Annotated[int, "how many events"]
    tokens: Annotated[int, "what the session costs a model: characters / 3.5 + 8,000"]
    message_tokens: Annotated[int, "what was said alone: characters / 3.5"]
    tools_used: Annotated[tuple[str, ...], "names of the tools, in the order of their first use"]
    project: Annotated[str, "the project of what comes of it; empty where it is not said"]
    waiting: Annotated[int, "messages that wait to be consolidated"]
    created_at: CreatedAt
    updated_at: UpdatedAt
    consolidated_to: Annotated[str, "the last event that is consolidated"]
    path: FilePath  # of its folder


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
        message_tokens=sums.event_tokens,
        tools_used=sums.on_page(page).tools_used,
        project=next(filter(None, projects_of(session)), ""),
        waiting=sums.waiting,
        created_at=page.created_at or sums.first,
        updated_at=page.updated_at or sums.last,
        consolidated_to=page.consolidated_to,
        path=session.folder,
    )


@dataclass(frozen=True)
class ListedSession(SessionSummary):
    """A session with the workspace it is in."""

    workspace: Workspace

    @property
    def scope(self) -> Scope:
        """Return the scope of its workspace."""
        return self.workspace.scope


@dataclass(frozen=True)
class SessionList(Result):
    """Sessions, the latest first."""

    sessions: Annotated[tuple[ListedSession, ...], "the sessions"]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class SessionStats(SessionSummary, Result):
    """How long a session is, against its limits in tokens."""

    soft_limit: Annotated[int, "tokens past which it is compacted"]
    hard_limit: Annotated[int, "tokens past which more than usual is compacted"]
    context_window: Annotated[int | None, "tokens the model takes; null where not set"]
    unreadable: Annotated[int, "parts that could not be read"]
    notices: tuple[str, ...] = ()

    @property
    def passed(self) -> str:
        """Return which limit is passed: `hard`, `soft` or none."""
        return "hard" if self.tokens > self.hard_limit else "soft" if self.tokens > self.soft_limit else ""


@dataclass(frozen=True)
class ClearedSession(Result):
    """A session that begins anew."""

    workspace: Workspace
    session: SessionId
    archived: Annotated[str | None, "where the session went; null where nothing was said"]
    redacted: tuple[Redacted, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeletedSession(Result):
    """A session that was put away, or deleted for good."""

    workspace: Workspace
    session: SessionId
    action: Annotated[str, "archived or purged"]
    paths: Annotated[tuple[str, ...], "paths of the files"]  # where it is now, or what is gone


class EventRow(dict[str, Any]):
    """An event as JSON has it, with what else its line says."""

    has_more = True
    position: Annotated[int, "its number in the session, from 1"]
    id: Id
    type: Annotated[str, "message, tool_call or tool_result"]
    role: Annotated[str, "user, assistant, system or tool"]
    content: Annotated[str, "the text"]
    timestamp: Annotated[str, "when it was, RFC 3339"]
    name: Annotated[str, "its name"]
    is_error: Annotated[bool, "whether it failed"]


@dataclass(frozen=True)
class ShownSession(Result):
    """What was said in a session, or in a part of it."""

    workspace: Workspace
    session: Session
    numbered: tuple[tuple[int, Event], ...]  # positions in the session, from 1, and what stands there
    problems: FileProblems = ()  # lines that could not be read

    @property
    def id(self) -> Id:
        """Return the id of the session."""
        return self.session.id

    @property
    def path(self) -> FilePath:
        """Return the file of the session."""
        return self.session.path

    @property
    def events(self) -> Annotated[list[EventRow], "what was said and done, in order"]:
        """Return what was said and done."""
        rows = []
        for position, event in self.numbered:
            row = {name: getattr(event, "text" if name == "content" else name) for name in _EVENT_FIELDS}
            others = {name: value for name, value in event.extra.items() if name != "content"}
            rows.append(EventRow(position=position, **row, **others))
        return rows

    def texts(self, tool_limit: int = 0) -> Iterator[str]:
        """Yield each event as a person reads it; of what tools were given and answered no more than
        `tool_limit` characters, where that is given.
        """
        return (view(event, position, self.workspace.zone, tool_limit) for position, event in self.numbered)


def shown_session(workspace: Workspace, session: Session, span: str = "") -> ShownSession:
    """Return the events of a session, or of a span of it; raise UsageError for what is no span."""
    problems: list[Problem] = []
    events = tuple(span_events(workspace, session, span, problems))
    faults = tuple(FileProblem(session.path, problem.line, problem.reason) for problem in problems)
    return ShownSession(workspace, session, events, faults)
