"""Give ids to the events of a session that have none, or share one: what is remembered is counted by them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from ...text.blake import blake2b
from ...text.ids import new_id
from ...text.session import Event, parse_event, render_event
from ...text.times import parse_time
from ...text.utf8 import decoded
from .. import files
from ..journal import exclusive
from ..workspace import Workspace
from . import Session


def identified(session: str, events: Sequence[Event]) -> list[Event]:
    """Name every event: the same at every reading of the same file."""
    taken = {event.id for event in events}
    seen: set[str] = set()
    found = []
    for position, event in enumerate(events, 1):
        if not event.id or event.id in seen:
            event = replace(event, id=next(name for name in _names(session, event, position) if name not in taken))
            taken.add(event.id)
        seen.add(event.id)
        found.append(event)
    return found


def settle_ids(workspace: Workspace, session: Session) -> bool:
    """Write the ids that are missing into a session's file, every other line as it is; tell whether any were."""
    target = workspace.path(session.path)
    if session.document or not target.is_file():
        return False
    with exclusive(workspace, f"mem session {session.id}") as held:
        data = files.read(target)
        written = [line + b"\n" for line in data.split(b"\n")]
        written[-1] = written[-1][:-1]
        read = {place: parse_event(line.decode("utf-8", "replace")) for place, line in enumerate(written)}
        events = {place: event for place, event in read.items() if event}
        named = identified(session.id, list(events.values()))
        for (place, before), event in zip(events.items(), named, strict=True):
            if event.id != before.id:
                written[place] = _with_id(written[place], event)
        changed = b"".join(written)
        if changed == data:
            return False
        held.check()
        files.replace(target, changed, files.digest(data))
    return True


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
