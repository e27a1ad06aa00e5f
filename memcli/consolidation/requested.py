"""Find the sessions to consolidate: by name, from a transcript or commits, or all in which messages wait."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from ..dataclass import dataclass
from ..errors import NotFoundError, UsageError
from ..formats.session_event import Event
from ..formats.session_metadata import folder_name
from ..store.privacy import open_named
from ..store.redaction import Redacted, redactor
from ..store.sessions.sessions import Session, at, find, sessions
from ..store.workspace import Workspace
from .backlog import due


@dataclass(frozen=True)
class ImportedTranscript:
    """A transcript that became a session before it was consolidated."""

    name: str
    redacted: tuple[Redacted, ...]
    unreadable: int  # parts of it


def chosen_sessions(
    workspace: Workspace, names: Sequence[str | BinaryIO], commits: str, since: str
) -> tuple[list[Session], tuple[ImportedTranscript, ...], tuple[str, ...]]:
    """Return the sessions asked for, the transcripts that became one first, and what was passed over."""

    if commits:
        from ..transcripts.live_events import commits as read_commits

        found = read_commits(commits, workspace.folder, workspace.root)
        from ..transcripts.live_events import append_commits

        return [append_commits(workspace, found)] if found.events else [], (), ()
    if not names:
        broken = tuple(f"{one.problem}: {one.id} is passed over" for one in sessions(workspace) if one.problem)
        return due(workspace, since=since), (), broken
    chosen: list[Session] = []
    imported: list[ImportedTranscript] = []
    for name in names:
        session = _known(workspace, name)
        if session is None:
            session, one = _brought_in(workspace, name)
            imported.append(one)
        chosen.append(session)
    return chosen, tuple(imported), ()


def previewed_sessions(
    workspace: Workspace, names: Sequence[str | BinaryIO], commits: str, since: str
) -> Iterator[tuple[Session, Sequence[Event] | None]]:
    """Find what is asked for without writing; what is in no session yet comes with its events."""

    if commits:
        from ..transcripts.live_events import commits as read_commits

        found = read_commits(commits, workspace.folder, workspace.root)
        new = at(workspace, f"sessions/{folder_name(found.session)}", found.session)
        yield replace(new, metadata=replace(new.metadata, channel_type="git", channel_id=found.top)), found.events
    for name in names:
        session = _known(workspace, name)
        if session:
            yield session, None
            continue
        from ..transcripts.reader import read_transcript

        with _transcript(name) as (file, label):
            transcript = read_transcript(file, label, workspace.zone)
            guard = redactor(workspace, label)
            events = [guard.event(event) for event in transcript.events]
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


def _brought_in(workspace: Workspace, name: str | BinaryIO) -> tuple[Session, ImportedTranscript]:

    from ..transcripts.session_import import import_transcript, own_id

    with _transcript(name) as (file, label):
        done = import_transcript(workspace, file, label, own_id(Path(name)) if isinstance(name, str) else "")
    return done.session, ImportedTranscript(label, tuple(done.redacted), done.unreadable)


@contextmanager
def _transcript(name: str | BinaryIO) -> Iterator[tuple[BinaryIO, str]]:

    from ..transcripts.session_import import STANDARD_INPUT

    if not isinstance(name, str):
        yield name, STANDARD_INPUT
        return
    with open_named(name) as file:
        yield file, Path(name).name
