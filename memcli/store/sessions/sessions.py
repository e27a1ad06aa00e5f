"""Sessions on disk: a folder each, holding its events and its own page; found by id, and the page kept right.

Sessions are put away here too: into the archive as they are, begun anew under the same id, or deleted for good. What is
remembered of a session, and when it is made shorter, is decided elsewhere.
"""

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from ...dataclass import dataclass
from ...errors import AmbiguousError, NotFoundError, RefusedError, UsageError
from ...formats.session_event import SessionMetadata, folder_name, read_metadata, render_metadata, session_id
from .. import atomic_files
from ..journal import Change, exclusive
from ..layouts import SESSION_FOLDER as FOLDER
from ..lock import Held
from ..workspace import Workspace
from .event_file import EVENTS, METADATA, Counts, counted

_TRIES = 5
_LONGEST_ID = 1000


@dataclass(frozen=True)
class Session:
    """A conversation and where it lies."""

    id: str
    folder: str  # within the workspace
    metadata: SessionMetadata
    page: str | None = None  # the text of metadata.json; None where there is none
    problem: str = ""  # what is wrong with the page, which is then left alone
    is_archived: bool = False

    @property
    def path(self) -> str:
        """Return the file of its events."""
        return f"{self.folder}/{EVENTS}"

    @property
    def page_path(self) -> str:
        """Return the file of its page."""
        return f"{self.folder}/{METADATA}"

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what a person is to be told of the session."""
        return (f"{self.problem}: left as it is; what it would say is counted anew each time",) if self.problem else ()


def sessions(workspace: Workspace, *, archived: bool = False) -> list[Session]:
    """List the sessions by folder; with `archived` those in the archive instead."""
    base = f"{workspace.layout.archive if archived else ''}{FOLDER}"
    try:
        names = sorted(os.listdir(workspace.path(base)))
    except (FileNotFoundError, NotADirectoryError):
        return []
    # One that was just cleared has no events; in the archive that is one that was never filled.
    marks = (EVENTS,) if archived else (EVENTS, METADATA)
    listed = []
    for name in names:
        folder = workspace.root / base / name
        if not name.startswith(".") and any((folder / mark).is_file() for mark in marks):
            listed.append(at(workspace, f"{base}/{name}"))
    return listed


def at(workspace: Workspace, folder: str, name: str = "") -> Session:
    """Read what stands in a session's folder; `name` is its id where nothing there tells it."""
    base = folder.rpartition("/")[2]
    fallback = name or session_id(base) or base
    target = workspace.path(f"{folder}/{METADATA}")
    away = workspace.layout.is_archived(folder)
    if not target.exists():
        return Session(fallback, folder, SessionMetadata(fallback), is_archived=away)
    data = atomic_files.read(target)
    text = data.decode("utf-8", "replace")
    # A page without a byte is what a power cut leaves of a new one.
    page = read_metadata(text) if text.strip("\0 \n") else SessionMetadata(fallback)
    if page is None or text.encode() != data:
        problem = f"{folder}/{METADATA} is " + ("no JSON object" if page is None else "not UTF-8")
        return Session(fallback, folder, SessionMetadata(fallback), text, problem, away)
    page = page if page.id else replace(page, id=fallback)
    return Session(page.id, folder, page, text, "", away)


def find(workspace: Workspace, name: str, *, strict: bool = False) -> Session:
    """Find a session by its id or its folder's name, or by the beginning of its id unless `strict`.

    One that is only in the archive is found there, the latest part of it. Raises NotFoundError or AmbiguousError.
    """
    direct = f"{FOLDER}/{folder_name(name)}"
    if (workspace.root / direct).is_dir():
        session = at(workspace, direct, name)
        if session.id == name:
            return session
    live, archived = sessions(workspace), sessions(workspace, archived=True)
    for group in (live, sorted(archived, key=lambda session: session.metadata.updated_at, reverse=True)):
        named = [session for session in group if session.id == name] + [
            session for session in group if session.folder.endswith(f"/{name}")
        ]
        if named:
            return named[0]
    near = {
        session.id: session for session in [*archived, *live] if name and not strict and session.id.startswith(name)
    }
    if len(near) > 1:
        raise AmbiguousError(f"{name!r} begins {len(near)} ids: {', '.join(list(near)[:10])}", "give more of it")
    if not near:
        raise NotFoundError(f"no session {name!r}", "`mem session ls` lists them")
    return next(iter(near.values()))


def made(workspace: Workspace, name: str, others: Iterable[Session] | None = None) -> Session:
    """Find the session to write to, or settle where a new one will be; UsageError for what cannot be an id.

    `others` are those that may lie in a folder named otherwise; without it all are looked at.
    """
    name = name.strip()
    if not name or len(name) > _LONGEST_ID or not name.isprintable():
        raise UsageError(f"{name[:60]!r} cannot be a session's id", f"use up to {_LONGEST_ID:,} printable characters")
    direct = f"{FOLDER}/{folder_name(name)}"
    if not (workspace.root / direct).exists():
        from ..redaction import require_no_secret

        require_no_secret(workspace, name, "the session's id")
        # Another tool may keep it in a folder named otherwise.
        for session in sessions(workspace) if others is None else others:
            if name in (session.id, session.folder.removeprefix(f"{FOLDER}/")):
                return session
    return at(workspace, direct, name)


def counts(workspace: Workspace, session: Session) -> Counts:
    """Return the sums of a session as its file is now."""
    return counted(workspace, session.path, session.metadata.consolidated_to)


def update(
    workspace: Workspace, session: Session, change: Callable[[SessionMetadata], SessionMetadata], held: Held
) -> Session:
    """Change a session's page through a function, under the lock; a page that cannot be read is left alone."""
    for tries in range(_TRIES):
        session = at(workspace, session.folder, session.id)
        if session.problem:
            return session
        text = render_metadata(change(session.metadata))
        held.check()
        try:
            if session.page is None:
                atomic_files.create(workspace.path(session.page_path), text.encode())
            elif text != session.page:
                atomic_files.replace(
                    workspace.path(session.page_path), text.encode(), atomic_files.digest(session.page.encode())
                )
        except (FileExistsError, RefusedError):
            # Another program has written the page meanwhile, or it cannot be written at all.
            if tries == _TRIES - 1:
                raise
            continue
        break
    return at(workspace, session.folder, session.id)


def with_counts(page: SessionMetadata, sums: Counts, now: str) -> SessionMetadata:
    """Put a session's sums on its page."""
    latest = max(sums.last or now, page.updated_at)
    return replace(sums.on_page(page), updated_at=latest)


def page_change(workspace: Workspace, session: Session, **fields: Any) -> Change:
    """Return the step of a plan that sets fields of a session's page, such as `consolidated_to`.

    Made under the lock the plan is applied under, since every message that comes in changes the page too.
    """
    session = at(workspace, session.folder, session.id)
    if session.problem:
        raise RefusedError(session.problem, "mend it or move it away")
    return Change(session.page_path, session.page, render_metadata(replace(session.metadata, **fields)))


def compacted(workspace: Workspace) -> tuple[str, ...]:
    """Return the files in the archive that are parts of sessions which are not put away themselves."""
    return tuple(part.path for part in sessions(workspace, archived=True) if _goes_on(workspace, part))


def _goes_on(workspace: Workspace, part: Session) -> bool:
    folder = part.folder.removeprefix(workspace.layout.archive)
    places = (f"{FOLDER}/{folder_name(part.id)}", folder, re.sub(r"-\d+$", "", folder))
    return any((workspace.root / path).is_dir() and at(workspace, path).id == part.id for path in places)


class Listing:
    """The sessions that cannot be found by their name alone."""

    def __init__(self, workspace: Workspace) -> None:
        """Look at the live ones; what others add meanwhile lies where its name says."""
        self._workspace = workspace
        self._archived: list[Session] = []
        self._seen = -1
        self.elsewhere = [
            session for session in sessions(workspace) if session.folder != f"{FOLDER}/{folder_name(session.id)}"
        ]

    def archived(self, name: str) -> list[Session]:
        """Return the parts of a session in the archive, read again where something was put there meanwhile."""
        try:
            now = os.stat(self._workspace.root / self._workspace.layout.archive / FOLDER).st_mtime_ns
        except OSError:
            now = 0
        if now != self._seen:
            self._archived, self._seen = sessions(self._workspace, archived=True), now
        return [part for part in self._archived if part.id == name]


def archive(workspace: Workspace, session: Session) -> str:
    """Move a session into the archive as it is; return its new folder."""
    if session.is_archived:
        raise RefusedError(f"{session.folder} is in the archive already", "--purge deletes it for good")
    with exclusive(workspace, "mem session delete") as held:
        folder = free_place(workspace, session)
        held.check()
        atomic_files.move(workspace.path(session.folder), workspace.path(folder))
    return folder


def reset(workspace: Workspace, session: Session) -> str:
    """Move what was said so far into the archive and begin anew under the same id; return the archive's folder.

    Empty where nothing was said. Cut off by a crash, it is finished by being run again.
    """
    with exclusive(workspace, "mem session clear") as held:
        session = at(workspace, session.folder, session.id)
        target = workspace.path(session.path)
        folder = ""
        if target.is_file() and target.stat().st_size:
            folder = free_place(workspace, session, half_made=True)
            page = workspace.path(f"{folder}/{METADATA}")
            if not page.exists():
                atomic_files.create(page, render_metadata(replace(session.metadata, state="TERMINATED")).encode())
            held.check()
            atomic_files.move(target, workspace.path(f"{folder}/{EVENTS}"))
        elif not session.metadata.message_count:
            return ""
        update(workspace, session, lambda page: with_counts(page, Counts(), workspace.stamp), held)
    return folder


def purge(workspace: Workspace, session: Session) -> list[str]:
    """Delete a session and what the archive has of it, for good; return the folders."""
    with exclusive(workspace, "mem session delete --purge") as held:
        parts = [session, *(part for part in sessions(workspace, archived=True) if part.id == session.id)]
        folders = list(dict.fromkeys(part.folder for part in parts))
        for folder in folders:
            held.check()
            atomic_files.remove_folder(workspace.path(folder))
    return folders


def free_place(workspace: Workspace, session: Session, *, half_made: bool = False) -> str:
    """Return a folder of the archive that is free, or one that an earlier try began and did not fill."""
    for number in count(1):
        path = f"{workspace.layout.archive}{session.folder}{f'-{number}' if number > 1 else ''}"
        folder = workspace.root / path
        if not os.path.lexists(folder) or (half_made and _is_unfilled(folder / EVENTS, workspace.path(session.path))):
            return path
    raise AssertionError("unreachable")


def _is_unfilled(path: Path, events: Path) -> bool:
    """Return whether a place has no events yet, or has them under both names because a move was cut off."""
    return not os.path.lexists(path) or (path.is_file() and path.samefile(events))
