"""Where a memory came from: the messages of a session, a commit, shown as they are read."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from ..dataclass import dataclass
from ..errors import GitError, MemError
from ..formats.session_event import Event, said, view
from ..git import run
from ..results import FilePath, Id, Result
from ..store.sessions.reading import QUOTE, parse_name, span_events
from ..store.sessions.sessions import Session, at, find
from ..store.workspace import Workspace

_COMMIT = re.compile(r"commit:([0-9a-fA-F]{4,64})")


@dataclass(frozen=True)
class Origin:
    """One source of a memory with its text, or with the reason why it cannot be shown."""

    source: Annotated[str, "the message or commit it was taken from"]
    text: Annotated[str, "the text"] = ""
    problem: Annotated[str, "why it cannot be shown; empty where it can"] = ""
    place: Annotated[
        str, "of several messages the one that says most of it, as `session:ID#POSITION`; or the commit"
    ] = ""
    at: Annotated[str, "when that was, RFC 3339; empty where nobody knows"] = ""
    by: Annotated[str, "who said it: user, assistant or a name; the author of the commit"] = ""
    said: Annotated[str, "its words; of a commit its subject"] = ""


@dataclass(frozen=True)
class Origins(Result):
    """What an entry was taken from."""

    id: Id
    path: FilePath
    sources: Annotated[tuple[Origin, ...], "what it was taken from"]  # each with its text, or why it cannot be shown
    notices: tuple[str, ...] = ()


def origins(workspace: Workspace, sources: Sequence[str], about: str = "") -> Iterator[Origin]:
    """Yield each source with its text, in their order; a source that no longer exists has a problem instead.

    Of several messages the one that shares the most words with `about` gives the place, the first of them in doubt.
    """
    for source in sources:
        try:
            named, commit = parse_name(source), _COMMIT.fullmatch(source)
            if named is not None:
                session = find(workspace, named[0], strict=True)
                yield _messages(workspace, source, session, named[1], about)
            elif commit:
                yield _commit(workspace, source, commit[1])
            elif source.startswith(QUOTE):
                yield Origin(source, f"{source}\n", by="user", said=source.removeprefix(QUOTE))
            else:
                yield Origin(source, problem="is not in the workspace")
        except MemError as error:
            yield Origin(source, problem=str(error))


def said_at(workspace: Workspace, path: str, span: str) -> str:
    """Return the messages in a span of the session in a file, as text to be read."""
    return _shown(workspace, span_events(workspace, at(workspace, path.rpartition("/")[0]), span))


def _shown(workspace: Workspace, events: Iterable[tuple[int, Event]]) -> str:
    return "".join(f"{view(event, position, workspace.zone)}\n" for position, event in events)


def _messages(workspace: Workspace, source: str, session: Session, span: str, about: str) -> Origin:
    events = list(span_events(workspace, session, span))
    if not events:
        return Origin(source)
    words = _words(about)
    position, event = max(events, key=lambda message: len(words & _words(said(message[1]))))
    address = f"session:{session.id}#{position}"
    who = event.name or event.role
    return Origin(source, _shown(workspace, events), "", address, event.timestamp, who, said(event))


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _commit(workspace: Workspace, source: str, commit: str) -> Origin:
    try:
        shown = run.text(workspace.root, "show", "--stat", "--format=medium", commit, "--")
        header = run.text(workspace.root, "show", "--no-patch", "--format=%aI%x00%an%x00%s", commit, "--")
    except GitError as error:
        return Origin(source, problem=f"is not in this repository ({error})")
    timestamp, author, subject = header.rstrip("\n").split("\0")
    return Origin(source, shown, "", source, timestamp, author, subject)
