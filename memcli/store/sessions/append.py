"""Add to a session: whole lines at the end of its file, each event once, and the page's sums after them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Annotated, Any

from ...dataclass import dataclass
from ...errors import RefusedError
from ...formats.ids import blake2b, drawn, new_id, parse_time
from ...formats.session_event import (
    PROJECT,
    Event,
    SessionMetadata,
    folder_name,
    moment,
    parse_event,
    render_event,
    word,
)
from ...formats.text_lines import decoded
from ...results import SessionId
from .. import atomic_files
from ..journal import exclusive
from ..layouts import SESSION_FOLDER as FOLDER
from ..lock import Held
from ..workspace import Workspace
from .call_filter import CallFilter, call_filter, events_of_calls, without_excluded
from .event_file import Counts, batch_of, counts_of, ended, lines_of, note_added, replace_lines, standing_ids
from .sessions import Listing, Session, counts, made, sessions, update, with_counts

PIECE = 4 << 20
"""Characters written at once where more than that comes in."""


@dataclass(frozen=True)
class EventLine:
    """An event as it is written, with what it adds to the sums."""

    id: str
    text: str  # without its newline
    counts: Counts


@dataclass(frozen=True)
class Appended:
    """What was added to a session."""

    session: Session
    added: Annotated[int, "how many were new"]
    known: Annotated[int, "how many were there already"]
    counts: Counts  # of the whole session now
    ids: tuple[str, ...] = ()  # of the events added, where they were few
    blanked: int = 0  # calls and results that touched a file shut out, besides those that came in without it

    @property
    def session_(self) -> SessionId:
        """Return its id."""
        return self.session.id

    @property
    def messages(self) -> Annotated[int, "how many messages"]:
        """Count what was said in the session."""
        return self.counts.messages

    @property
    def tokens(self) -> Annotated[int, "what the session costs a model: characters / 3.5 + 8,000"]:
        """Estimate its size."""
        return self.counts.tokens

    @property
    def waiting(self) -> Annotated[int, "messages that wait to be consolidated"]:
        """Count what waits."""
        return self.counts.waiting


def append(
    workspace: Workspace, name: str, events: Sequence[Event], noise: bytes, fields: Mapping[str, Any] | None = None
) -> Appended:
    """Add events to a session, making it if need be; without a name it gets an id of its own.

    An event without an id gets one, with `noise` as its random part, and one without a time is of now; one whose
    id stands there is left out. Events whose writing failed half way are given again to have the rest of them added.
    `fields` are fields of the session's page, which fill what is empty there; its `project` and `state` are set anew.
    """
    now = moment(workspace.now.isoformat())
    with exclusive(workspace, "mem session append") as held:
        batch = batch_of(workspace, name, events)
        session = made(workspace, batch.session or name or _free_id(workspace, noise))
        places = _files_of(workspace, session)
        if batch.ids:
            named = [replace(event, id=identifier) for event, identifier in zip(events, batch.ids, strict=True)]
        else:
            named = _named(workspace, events, places, noise)
        calls = call_filter(workspace, word(session.metadata.metadata.get("cwd")))
        named, blanked = without_excluded(calls, workspace.path(session.path), places, named, held)
        taken = standing_ids(places, {event.id for event in named})
        lines = [event_line(event if event.timestamp else replace(event, timestamp=now)) for event in named]
        fresh = tuple(dict.fromkeys(line.id for line in lines if line.id not in taken))
        batch.begin(session.id, named)
        appended = _add(workspace, session, lines, taken, {"state": "ACTIVE", **(fields or {})}, held)
        batch.end()
    return replace(appended, ids=fresh, blanked=blanked)


def take_in(
    workspace: Workspace,
    name: str,
    lines: Iterable[EventLine],
    fields: Mapping[str, Any],
    calls: CallFilter,
    listing: Listing | None = None,
) -> Appended:
    """Add those events of a whole conversation that do not stand there yet, whatever their number.

    They went through the filter of `calls`; it learns of calls that stand there. Who takes in many gives a listing.
    """
    with exclusive(workspace, "mem session import") as held:
        session = made(workspace, name, listing.elsewhere if listing else None)
        paths = _files_of(workspace, session, listing)
        for event in events_of_calls(paths, calls.unanswerable()) if calls.unanswerable() else ():
            calls.withholds(event)
        taken = standing_ids(paths)
        return _add(workspace, session, lines, taken, fields, held)


def event_line(event: Event) -> EventLine:
    """Write an event as its file has it."""
    return EventLine(event.id, render_event(event), counts_of(event))


def _add(
    workspace: Workspace,
    session: Session,
    lines: Iterable[EventLine],
    taken: set[str],
    fields: Mapping[str, Any],
    held: Held,
) -> Appended:
    """Write the lines whose ids are not taken, then what they add up to."""
    target = workspace.path(session.path)
    sums, size = counts(workspace, session), _size(target)
    added = already_there = 0
    piece: list[str] = []
    room = PIECE

    def write() -> None:
        nonlocal size, room
        data = "".join(f"{text}\n" for text in piece).encode()
        held.check()
        atomic_files.append(target, data)
        size, room = size + len(data), PIECE
        piece.clear()

    for line in lines:
        if line.id in taken:
            already_there += 1
            continue
        taken.add(line.id)
        added += 1
        sums += line.counts
        piece.append(line.text)
        room -= len(line.text)
        if room <= 0:
            write()
    if piece or not target.exists():
        write()
    note_added(workspace, session.path, session.metadata.consolidated_to, sums, size)
    now = workspace.stamp
    try:
        session = update(
            workspace, session, lambda page: with_counts(_filled(page, fields, sums, now), sums, now), held
        )
    except RefusedError as error:
        if not added:
            raise
        # What was said is kept, and the page only sums it up: who is told it failed would say it again.
        session = replace(session, problem=error.message)
    return Appended(session, added, already_there, sums)


def _filled(page: SessionMetadata, given: Mapping[str, Any], sums: Counts, now: str) -> SessionMetadata:
    """Fill what a page does not say yet; only its state and its project are set anew."""
    project, fields = given.get(PROJECT), {name: value for name, value in given.items() if value and name != PROJECT}
    fresh = {name: value for name, value in fields.items() if name == "state" or not getattr(page, name)}
    if project:
        fresh["metadata"] = {**page.metadata, **fields.get("metadata", {}), PROJECT: project}
    return replace(page, **{"created_at": page.created_at or sums.first or now, **fresh})


def _files_of(workspace: Workspace, session: Session, listing: Listing | None = None) -> list[Path]:
    """Return the files a session's events stand in: its own and what was moved to the archive.

    For one event more, the archive counts only while the session goes on.
    """
    own = workspace.path(session.path)
    if listing is None and not own.parent.exists():
        return []
    if listing is None:
        moved = [part for part in sessions(workspace, archived=True) if part.id == session.id]
    else:
        moved = listing.archived(session.id)
    return [own, *(workspace.path(part.path) for part in moved)]


def _named(workspace: Workspace, events: Sequence[Event], places: Sequence[Path], noise: bytes) -> list[Event]:
    """Return ids to those events that have none, all at once: each look at what stands there reads whole files."""
    named = list(events)
    used = {event.id for event in events}
    draws = count()
    while True:
        ids = {
            number: new_id("msg", workspace.now, drawn(noise, next(draws)))
            for number, event in enumerate(named)
            if not event.id
        }
        if not ids:
            return named
        used |= standing_ids(places, set(ids.values()))
        for number, identifier in ids.items():
            if identifier not in used:
                named[number] = replace(named[number], id=identifier)
                used.add(identifier)


def _free_id(workspace: Workspace, noise: bytes) -> str:
    names = (new_id("ses", workspace.now, drawn(noise, attempt)) for attempt in count())
    return next(name for name in names if not (workspace.root / FOLDER / folder_name(name)).exists())


def _size(target: Path) -> int:
    try:
        return os.stat(target).st_size
    except FileNotFoundError:
        return 0


def identified(session: str, events: Sequence[Event]) -> list[Event]:
    """Return the events with an id each, the same at every reading of the same file."""
    taken = {event.id for event in events}
    seen: set[str] = set()
    identified_events = []
    for position, event in enumerate(events, 1):
        if not event.id or event.id in seen:
            event = replace(event, id=next(name for name in _names(session, event, position) if name not in taken))
            taken.add(event.id)
        seen.add(event.id)
        identified_events.append(event)
    return identified_events


def settle_ids(workspace: Workspace, session: Session) -> bool:
    """Write the ids that are missing into a session's file, every other line as it is; return whether any were."""
    target = workspace.path(session.path)
    if not target.is_file():
        return False
    with exclusive(workspace, f"mem session {session.id}") as held:
        old = lines_of(target)
        new = list(old)
        read = {number: parse_event(line.decode("utf-8", "replace")) for number, line in enumerate(old)}
        events = {number: event for number, event in read.items() if event}
        named = identified(session.id, list(events.values()))
        for (number, before), event in zip(events.items(), named, strict=True):
            if event.id != before.id:
                new[number] = _with_id(old[number], event)
        return replace_lines(target, held, old, new)


def end_cut_off(workspace: Workspace, path: str) -> bool:
    """End the lines of a session's file that crashes cut off; one that was added again whole, or said nothing, goes.

    Return whether there were any.
    """
    target = workspace.path(path)
    with exclusive(workspace, "mem check --fix") as held:
        old = lines_of(target)
        new = list(old)
        events = [parse_event(line.decode("utf-8", "replace")) for line in old]
        texts = {event.id: event.text for event in events if event and event.id}
        for number, line in enumerate(old):
            end = ended(line.decode("utf-8", "ignore")) if line.strip() else None
            event = parse_event(end or "")
            if end is not None:
                is_there = event is None or texts.get(event.id, "").startswith(event.text.removesuffix("…"))
                new[number] = b"" if is_there and (event is None or event.id in texts) else f"{end}\n".encode()
        return replace_lines(target, held, old, new)


def _with_id(line: bytes, event: Event) -> bytes:
    """Write an event with its id; a line that is not UTF-8 keeps its bytes, and the last of two keys holds."""
    body = line.rstrip()
    if decoded(line)[1] and body.endswith(b"}"):
        return b'%s, "id": "%s"}%s' % (body[:-1], event.id.encode(), line[len(body) :])
    return render_event(event).encode() + (b"\n" if line.endswith(b"\n") else b"")


def _names(session: str, event: Event, position: int) -> Iterator[str]:
    moment = parse_time(event.timestamp) or datetime.fromtimestamp(position / 1000, UTC)
    attempt = 0
    while True:
        noise = f"{session}\n{position}\n{attempt}\n{event.type}\n{event.role}\n{event.text}"
        yield new_id("msg", moment, blake2b(noise.encode("utf-8", "replace"), digest_size=8).digest())
        attempt += 1
