"""Conversations, named by id or its beginning: add, import, look at them, make them shorter, put them away."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ..errors import NotFoundError, UsageError
from ..formats.session_event import STATES
from ..store.conversation_keeper import keeper
from ..store.sessions.event_file import recent_events
from ..store.sessions.reading import (
    ClearedSession,
    DeletedSession,
    ListedSession,
    SessionList,
    SessionStats,
    ShownSession,
    shown_session,
    summary_of,
)
from ..store.sessions.sessions import Session as Session
from ..store.sessions.sessions import archive, counts, find, reset, sessions
from ..store.sessions.sessions import purge as purged
from .workspace import Workspace, Workspaces, every, open_named, recorded

if TYPE_CHECKING:
    from ..consolidation.compaction import Compacted as Compacted
    from ..consolidation.compaction import CompactReport as CompactReport
    from ..consolidation.recap import Handoff as Handoff
    from ..consolidation.recap import Recap as Recap
    from ..transcripts.import_all import ImportReport as ImportReport
    from ..transcripts.live_events import AddedEvents as AddedEvents
    from ..transcripts.live_events import NewEvent as NewEvent
    from ..transcripts.session_import import ImportedSession as ImportedSession
else:

    def __getattr__(name: str) -> object:
        """Import `NewEvent` when it is first asked for."""
        if name != "NewEvent":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from ..transcripts.live_events import NewEvent

        return NewEvent


_CLEAR_WAIT, _CLEAR_PARTS = 60.0, 3
"""Seconds that `clear` waits for its turn to consolidate, and parts of a conversation it has an LLM look at."""


@recorded("session append")
def append(
    workspace: Workspace,
    events: "NewEvent | str | Sequence[Mapping[str, Any]]",
    session: str = "",
    *,
    channel: str = "",
    user: str = "",
    project: str = "",
    state: str = "",
) -> "AddedEvents":
    """Add events to a session; without its id a new one is made.

    `events` is one `NewEvent`, records with a role and a content, or text with such records as JSON: one, a list, or
    one a line. `channel` (`TYPE:ID`) and `user` are where a new session takes place, and with whom; `project` is
    that of what comes of the session from now on, and `state`, one of `STATES`, is its own then. An event whose id
    stands there is not added again; recalled memory and what harnesses put into prompts are left out; secrets are
    blanked out; what the user asks to remember becomes memory at once. Raise UsageError, with nothing added, where
    something is no event; RefusedError for another tool's session.
    """
    from ..consolidation.requests import asking, may_ask
    from ..transcripts.live_events import NewEvent, add_events, objects, session_fields

    if isinstance(events, NewEvent):
        given: Sequence[Mapping[str, Any]] = [events.record()]
        seed = events.text
    else:
        given = objects(events) if isinstance(events, str) else events
        seed = events if isinstance(events, str) else str(events)
    fields = session_fields(workspace, channel, user, project, state)
    if channel and user and workspace.layout.new_session:
        session = session or workspace.layout.new_session.format(channel=fields["channel_id"], user=user)
    added = add_events(workspace, session, given, workspace.noise(f"{session}\n{seed}"), fields)
    recent = recent_events(workspace.path(added.session.path)) if added.added and may_ask(seed) else []
    messages = asking(event for event in recent if event.id in added.ids)
    if not messages:
        return added
    from ..consolidation.consolidate import keep_requests

    remembered, notices = keep_requests(workspace, added.session, messages)
    return replace(added, remembered=remembered, notices=notices)


def holds_many(workspace: Workspace, path: str | Path) -> bool:
    """Tell whether a path is a folder, or a file that holds many conversations."""
    from ..transcripts.sources import holds_many as is_export

    file = workspace.folder / Path(path).expanduser()
    return file.is_dir() or (file.is_file() and is_export(file))


@recorded("session import")
def import_transcript(
    workspace: Workspace, file: str | Path | BinaryIO, session: str = "", *, name: str = "", allow_secret: bool = False
) -> "ImportedSession":
    """Bring one conversation in, into the session named or that of its own id; what is known is left alone.

    A stream is named by `name`. Raise UnknownTranscriptError where the content is no conversation that can be read,
    RefusedError where a `.secretsignore` names the file and not `allow_secret`.
    """
    from ..transcripts import session_import as below

    if not isinstance(file, (str, Path)):
        return below.import_transcript(workspace, file, name or below.STANDARD_INPUT, session)
    path = workspace.folder / Path(file).expanduser()
    with open_named(file, allow_secret=allow_secret, folder=workspace.folder) as stream:
        return below.import_transcript(workspace, stream, name or path.name, session or below.own_id(path))


@recorded("session import")
def import_sessions(
    workspace: Workspace,
    path: str | Path = "",
    *,
    since: str = "",
    projects: Sequence[str | Path] = (),
    dry_run: bool = False,
    allow_secret: bool = False,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> "ImportReport":
    """Bring in what is new of many conversations: below a folder, in a file of many, or all that tools keep in HOME.

    A conversation belongs into the workspace of the folder it took place in; the others are left out and counted.
    `projects` takes those of these folders instead, `since` (a date as a person writes it) only what was said from
    then on. What cannot be read is named in the report and stops none of the rest.
    """
    from ..transcripts.import_all import import_all

    moment = workspace.moment("since", since)
    return import_all(workspace, path, moment, projects, progress, dry_run=dry_run, allow_secret=allow_secret)


def find_session(workspaces: Workspaces, name: str, *, strict: bool = False) -> tuple[Workspace, Session]:
    """Return a session and the first workspace that has it; `strict` takes no beginning of an id.

    Raise NotFoundError or AmbiguousError.
    """
    missing: NotFoundError | None = None
    for where in every(workspaces):
        try:
            return where, find(where, name, strict=strict)
        except NotFoundError as error:
            missing = missing or error
    raise missing or NotFoundError(f"no session {name!r}")


def list_sessions(workspaces: Workspaces, *, state: str = "", archived: bool = False) -> SessionList:
    """List sessions, only those of a state where one is given; `archived` lists those in the archive instead.

    Raise UsageError for a state that there is not.
    """
    if state and state.upper() not in STATES:
        raise UsageError(f"no state {state!r}", f"use one of {', '.join(STATES)}")
    listed: list[ListedSession] = []
    notices: list[str] = []
    for where in every(workspaces):
        for session in sessions(where, archived=archived):
            notices += session.notices
            if not state or session.metadata.state == state.upper():
                listed.append(ListedSession(**vars(summary_of(where, session)), workspace=where))
    listed.sort(key=lambda session: session.updated_at, reverse=True)
    return SessionList(tuple(listed), tuple(notices))


def show(workspaces: Workspaces, name: str, *, span: str = "") -> ShownSession:
    """Return what was said in a session; `span` is a part of it, by positions or ids of messages: `12`, `10:20`.

    Raise NotFoundError, AmbiguousError, or UsageError for what is no span.
    """
    return shown_session(*find_session(workspaces, name), span)


def stats(workspaces: Workspaces, name: str) -> SessionStats:
    """Return how long a session is and how much of it waits; raise NotFoundError or AmbiguousError."""
    from ..consolidation.backlog import limits

    where, session = find_session(workspaces, name)
    soft, hard, window = limits(where.settings)
    return SessionStats(
        **vars(summary_of(where, session)),
        soft_limit=soft,
        hard_limit=hard,
        context_window=window,
        unreadable=counts(where, session).unreadable,
        notices=session.notices,
    )


def recap(workspaces: Workspaces, name: str = "") -> "Recap":
    """Return what a new session should be told of an earlier one; without a name, of the one used last.

    Raise NotFoundError where there is none, or AmbiguousError.
    """
    from ..consolidation import recap as recaps

    if name:
        return recaps.recap(*find_session(workspaces, name))
    opened = every(workspaces)
    where = keeper(opened) or opened[0]
    last = recaps.latest(where)
    if last is None:
        raise NotFoundError("there is no session yet", "`mem session append` or `mem session import` begins one")
    return recaps.recap(where, last)


@recorded("session handoff")
def hand_off(workspaces: Workspaces, name: str = "", to: str = "") -> "Handoff":
    """Write what another session needs to go on with one, by default with the one used last; return it.

    The next session of an agent in that place is offered it once; `to` names the agent it is for. Raise NotFoundError
    where there is no such session, or nothing was said in it.
    """
    from ..beliefs.forgotten import forgotten_in
    from ..consolidation.recap import hand_off as written
    from ..consolidation.recap import latest
    from ..git.place import place_of
    from ..transcripts.live_events import flush

    opened = every(workspaces)
    where = keeper(opened) or opened[0]
    flush(where)
    forgotten = forgotten_in(opened)
    if name:
        return written(*find_session(workspaces, name), to, forgotten)
    session = latest(where, place_of(where.folder.absolute()))
    if session is None:
        raise NotFoundError("there is no session yet", "`mem session append` or `mem session import` begins one")
    return written(where, session, to, forgotten)


@recorded("session compact")
def compact(
    workspaces: Workspaces,
    name: str = "",
    *,
    keep: int = 20,
    force: bool = False,
    on_done: "Callable[[Workspace, Compacted], object]" = lambda workspace, done: None,
) -> "CompactReport":
    """Make a session shorter, or every one past its soft limit; return what became of each, told to `on_done` as it is.

    Old messages become one summary and move to the archive; at least the last `keep` messages stay. `force` does it to
    a session that is not past its limit too. Raise NotFoundError, RefusedError or BusyError.
    """
    from ..consolidation.backlog import is_long
    from ..consolidation.compaction import CompactReport
    from ..consolidation.compaction import compact as shorten
    from ..llm import chosen_llm

    if keep < 0:
        raise UsageError(f"keep {keep}", "give 0 or more")
    if name:
        where, session = find_session(workspaces, name, strict=True)
        chosen = [session]
    else:
        where = every(workspaces)[0]
        chosen = [session for session in sessions(where) if not session.problem and is_long(where, session)]
    llm = chosen_llm(where.settings)
    done = []
    for session in chosen:
        done.append(shorten(where, session, llm, keep=keep, force=force))
        on_done(where, done[-1])
    return CompactReport(tuple(done))


@recorded("session clear")
def clear(workspaces: Workspaces, name: str) -> ClearedSession:
    """Begin a session anew under its id; what was said is consolidated, or stays due, and goes to the archive."""
    from ..consolidation.compaction import consolidate_before

    where, session = find_session(workspaces, name, strict=True)
    redacted, notices = consolidate_before(where, session, wait=_CLEAR_WAIT, most=_CLEAR_PARTS)
    return ClearedSession(where, session.id, reset(where, session) or None, redacted, notices)


@recorded("session delete")
def delete(workspaces: Workspaces, name: str, *, purge: bool = False) -> DeletedSession:
    """Move a session to the archive; `purge` deletes it for good, archived parts too.

    Raise NotFoundError, or RefusedError for another tool's session or one that is archived already.
    """
    where, session = find_session(workspaces, name, strict=True)
    places = purged(where, session) if purge else [archive(where, session)]
    return DeletedSession(where, session.id, "purged" if purge else "archived", tuple(places))
