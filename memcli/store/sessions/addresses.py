"""Name messages of a conversation, as `session:<id>#<first>:<last>`, and read the events that a name means."""

import re
from collections.abc import Iterator

from ...errors import NotFoundError, UsageError
from ...formats.session_event import Event
from ...formats.session_metadata import session_id
from ...formats.text_lines import Problem
from ..layouts import SESSION_FOLDER as FOLDER
from ..workspace import Workspace
from .event_file import read_events, standing_ids
from .sessions import Session, sessions

_SPAN = re.compile(r"(?P<first>[^:\s]*)(?P<colon>:)?(?P<last>[^:\s]*)")
# Every message's id has a digit, or `session_source` does without it; `session:slack#general` is a session's own name.
_NAMED = re.compile(r"session:(?P<id>.*?)(?:#(?P<span>(?:(?=[^#]*\d)[^\s#:]*:?[^\s#:]*)?))?", re.DOTALL)
_PLAIN = re.compile(r"(?=.*\d)[^\s#:]+")


def parse_name(name: str) -> tuple[str, str] | None:
    """Take `session:<id>#<span>` apart; None for the name of anything else. An id may hold `#` too."""
    found = _NAMED.fullmatch(name)
    return (found["id"], found["span"] or "") if found else None


def session_source(name: str, first: str, last: str = "") -> str:
    """Return the name of the messages of a session that a memory comes from, by their ids."""
    ids = dict.fromkeys((first, last or first))
    if all(_PLAIN.fullmatch(one) for one in ids) and not first.isdecimal():
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
    found = _SPAN.fullmatch(span)
    first, last = (found["first"], found["last"] if found["colon"] else found["first"]) if found else ("?", "")
    numbers = all(not part or part.isdecimal() for part in (first, last))
    if not found or span == ":" or (numbers and not 1 <= int(first or 1) <= int(last or 10**12)):
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
        raise NotFoundError(f"no event {first} in session {session.id}", f"`mem session show {session.id}`")


def _between(
    workspace: Workspace, session: Session, first: str, last: str, problems: list[Problem] | None
) -> Iterator[tuple[int, Event]]:
    parts = [one for one in sessions(workspace, archived=True) if one.id == session.id]
    parts.sort(key=lambda one: (len(one.folder), one.folder))  # a, a-2, a-10: the order they were put away in
    files = [workspace.path(one.path) for one in (*parts, session)]
    standing = standing_ids(files, {first, last} - {""})
    for wanted in (first, last):
        if wanted and wanted not in standing:
            raise NotFoundError(f"no message {wanted} in session {session.id}", f"`mem session show {session.id}`")
    begun = not first
    for file in dict.fromkeys(files):
        for position, event in read_events(file, problems=problems):
            begun = begun or event.id == first
            if begun:
                yield position, event
            if begun and event.id == last:
                return
