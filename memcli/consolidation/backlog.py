"""Which sessions are consolidated: those in which messages wait, or what was asked for by name; and which compacted."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ..errors import NotFoundError, UsageError
from ..formats.session_event import Event, folder_name
from ..store.journal import finish_first
from ..store.lock import queued
from ..store.sessions.event_file import read_events
from ..store.sessions.sessions import Session, at, counts, find, sessions
from ..store.settings import Settings
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..transcripts.session_import import ImportedSession

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
    going_on = {session.id for session in live}
    parts = [session for session in sessions(workspace, archived=True) if session.id in going_on]
    # What was put away was said first.
    parts.sort(key=lambda session: (len(session.folder), session.folder))
    due_sessions = [session for session in [*parts, *live] if not session.problem]
    sums = [(session, counts(workspace, session)) for session in due_sessions]
    return [
        session for session, sum_ in sums if sum_.waiting > (0 if is_over(session) else window) and sum_.last >= since
    ]


def is_over(session: Session) -> bool:
    """Tell whether no more messages are to come."""
    return session.is_archived or session.metadata.state == "TERMINATED"


def limits(settings: Settings) -> tuple[int, int, int | None]:
    """Return the tokens from which old messages are compacted, and past which the oldest are archived; and the window.

    They are as set, else by the window, which is what the model takes in where that is known, else as most have it.
    """
    soft, hard = settings["session.soft_limit"], settings["session.hard_limit"]
    window = None
    model = settings.values.get("llm.model", "")
    if model and not (soft and hard):
        from ..llm.client import context_window

        window = context_window(model)
    return soft or int(SHARE * window if window else SOFT), hard or window or HARD, window


def is_long(workspace: Workspace, session: Session) -> bool:
    """Tell whether a session is past its soft limit."""
    return counts(workspace, session).tokens > limits(workspace.settings)[0]


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
    command = f"mem consolidate {session.id}"
    with queued(workspace, command, wait):
        finish_first(workspace, command)
        yield


def chosen_sessions(
    workspace: Workspace, names: Sequence[str | BinaryIO], commits: str, since: str
) -> tuple[list[Session], "tuple[tuple[str, ImportedSession], ...]", tuple[str, ...]]:
    """Return the sessions asked for, the transcripts that became one first by name, and what was passed over."""
    if commits:
        from ..transcripts.live_events import append_commits
        from ..transcripts.live_events import commits as read_commits

        commits_read = read_commits(commits, workspace.folder, workspace.root)
        return [append_commits(workspace, *commits_read)] if commits_read[2] else [], (), ()
    if not names:
        broken = tuple(
            f"{session.problem}: {session.id} is passed over" for session in sessions(workspace) if session.problem
        )
        return due(workspace, since=since), (), broken
    chosen: list[Session] = []
    imported: list[tuple[str, ImportedSession]] = []
    for name in names:
        session = _known(workspace, name)
        if session is None:
            label, transcript = _brought_in(workspace, name)
            imported.append((label, transcript))
            session = transcript.session
        chosen.append(session)
    return chosen, tuple(imported), ()


def previewed_sessions(
    workspace: Workspace, names: Sequence[str | BinaryIO], commits: str, since: str
) -> Iterator[tuple[Session, Sequence[Event] | None]]:
    """Find what is asked for without writing; what is in no session yet comes with its events."""
    if commits:
        from ..transcripts.live_events import commits as read_commits

        identifier, top, events = read_commits(commits, workspace.folder, workspace.root)
        new = at(workspace, f"sessions/{folder_name(identifier)}", identifier)
        yield replace(new, metadata=replace(new.metadata, channel_type="git", channel_id=top)), events
    for name in names:
        session = _known(workspace, name)
        if session:
            yield session, None
            continue
        from ..store.redaction import redactor
        from ..transcripts.reader import read_transcript

        with _transcript(name) as (file, label):
            transcript = read_transcript(file, label, workspace.zone)
            guard = redactor(workspace, label)
            events = guard.events(list(transcript.events))
        yield at(workspace, f"sessions/{folder_name(transcript.session_id)}", transcript.session_id), events
    if not names and not commits:
        yield from ((session, None) for session in due(workspace, since=since))


def _known(workspace: Workspace, name: str | BinaryIO) -> Session | None:
    """Find a session by name; None where a transcript is meant."""
    if not isinstance(name, str):
        return None
    try:
        return find(workspace, name)
    except NotFoundError:
        if Path(name).expanduser().is_dir():
            fix = "name a transcript in it, or a session: `mem session ls` lists them"
            raise UsageError(f"{name} is a folder", fix) from None
        if not Path(name).expanduser().is_file():
            raise NotFoundError(f"no session and no file {name!r}", "`mem session ls` lists the sessions") from None
        return None


def _brought_in(workspace: Workspace, name: str | BinaryIO) -> "tuple[str, ImportedSession]":
    from ..transcripts.session_import import import_transcript, own_id

    with _transcript(name) as (file, label):
        into = own_id(Path(name)) if isinstance(name, str) else ""
        return label, import_transcript(workspace, file, label, into)


@contextmanager
def _transcript(name: str | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:
    from ..transcripts.session_import import STANDARD_INPUT

    if not isinstance(name, str):
        yield name, STANDARD_INPUT
        return
    from ..store.privacy import open_named

    with open_named(name) as file:
        yield file, Path(name).name
