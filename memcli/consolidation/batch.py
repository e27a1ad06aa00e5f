"""The messages of a session that are consolidated together, and the drafts made of their words: dated, named, redacted.

Owns: which messages wait, where in a conversation a draft comes from and when it was said, and its id, the same each
time. Decides nothing about what stands; writes nothing but the ids of events that had none.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from ..beliefs.plan import Draft, read_page
from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from ..formats.ids import blake2b, day_of, parse_time, stamp
from ..formats.session_event import Event, word
from ..formats.text_lines import clean_text, unconflicted
from ..git.place import place_of
from ..store.redaction import Redacted, Redactor, redactor
from ..store.sessions.append import identified, settle_ids
from ..store.sessions.event_file import is_due, standing_ids
from ..store.sessions.reading import project_line, projects_of, session_source
from ..store.sessions.sessions import Session, at, sessions
from ..store.workspace import Workspace
from .backlog import all_events, is_summary

_NO_EVENT = Event("")
_PATH = re.compile(r"(?<![\w/:.@-])(?:\.{0,2}/)?(?:[\w.@-]+/)*[\w-][\w.-]*\.[A-Za-z]\w{0,6}\b(?!\.\w|/)")
_FILE_ENDING = re.compile(
    r"pyi?|[jt]sx?|mjs|go|rs|rb|java|kt|swift|[ch](?:pp)?|cc|cs|php|lua|sh|sql|md|rst|txt|jsonl?|ya?ml|toml|ini|cfg|conf|env"
    r"|lock|xml|html|s?css|[ct]sv|ipynb"
)


@dataclass(frozen=True)
class Batch:
    """The messages of a session that are consolidated together; they hold no secrets any more."""

    workspace: Workspace
    session: Session
    events: Sequence[Event]
    page: str = ""  # long-term memory as it is shown to an LLM
    waiting: Sequence[Event] = ()  # all that wait in the session, those of the batch among them
    redacted: tuple[Redacted, ...] = ()  # the secrets that were blanked out
    before: Sequence[str] = ()  # what is kept of conversations that become memory with this one, in no file yet

    @property
    def messages(self) -> int:
        """Count the messages that are consolidated."""
        return sum(map(is_due, self.events))

    def messages_behind(self, last: str) -> list[Event]:
        """Return the messages that stand behind an event of those that wait; all where it is none of them."""
        places = {event.id: position for position, event in enumerate(self.waiting)}
        start = places.get(last, -1)
        return [event for event in self.events if places[event.id] > start and is_due(event)]

    def event(self, message: str) -> Event:
        """Return the event of an id; an empty one where there is none."""
        return self._by_id.get(message, _NO_EVENT)

    @cached_property
    def repairs(self) -> Sequence[tuple[str, str]]:
        """Return what made a failing command work, in the order it was learnt, and the id of the event that worked."""
        if all(event.type != "tool_call" for event in self.events):
            return ()
        from .repairs import repairs

        return repairs(self.events)

    @cached_property
    def changed_files(self) -> tuple[str, ...]:
        """Return the files that tools wrote, each once, in the order they were first written."""
        if all(event.type != "tool_call" for event in self.events):
            return ()
        from .repairs import changed_files

        return changed_files(self.events)

    @cached_property
    def project_line(self) -> str:
        """Return the project that a line of its messages names, see `project_line`."""
        return project_line(self.events)

    @property
    def project(self) -> str:
        """Return the project of what comes of it: as the session says, else as a line of it or of messages before."""
        stated, earlier = projects_of(self.session)
        return stated or self.project_line or earlier

    @cached_property
    def _place(self) -> str:
        """Return the name of the repository of a conversation that the user's own workspace keeps; empty for none.

        What was said in one is nothing of another's, but for what the user prefers.
        """
        folder = word(self.session.metadata.metadata.get("cwd")) if self.workspace.is_own else ""
        return place_of(Path(folder)).name if folder else ""

    @cached_property
    def _by_id(self) -> dict[str, Event]:
        return {event.id: event for event in self.events}

    def draft(
        self,
        text: str,
        *,
        type: str,
        source: str,
        message: str,
        files: Sequence[str] | None = None,
        tags: Sequence[str] = (),
        key: str = "",
    ) -> Draft:
        """Return a draft of words said in a message, or somewhere in the batch."""
        fields: Mapping[str, Any] = {
            "type": type,
            "tags": tuple(tags),
            "key": key,
            "source": source,
            "files": paths(text) if files is None else tuple(files),
            "sources": (self.source_of(message),),
            "created_at": self.said_at(self.event(message).timestamp or self.events[-1].timestamp),
        }
        if project := self.project or ("" if type == "preference" else self._place):
            fields = {**fields, "project": project}
        return Draft(fields, text, self.noise(text))

    def day_of(self, message: str) -> date | None:
        """Return the day a message was said on, where the user is; None where it states no time."""
        moment = parse_time(self.event(message).timestamp)
        return day_of(moment, self.workspace.zone) if moment else None

    def source_of(self, message: str = "") -> str:
        """Return the address of where in the conversation something was said."""
        first, last = (message, message) if message else (self.events[0].id, self.events[-1].id)
        return session_source(self.session.id, first, last)

    def said_at(self, timestamp: str) -> str | None:
        """Return the moment something was said; None where nobody knows, so that it counts as told now."""
        moment = parse_time(timestamp) if timestamp else None
        return None if moment is None else stamp(min(moment, self.workspace.now))

    def noise(self, what: str) -> bytes:
        """Return the random part of an id, the same for the same words of the same conversation."""
        seed = f"{self.session.id}\0{self.events[-1].id}\0{what}"
        return blake2b(seed.encode("utf-8", "replace"), digest_size=8).digest()


_BEFORE = 1000  # events before a batch among which are the calls of results in it
SHOWN = 60_000
"""Characters of conversation an LLM is shown at once; the rest is the next batch."""
LONGEST_MESSAGE = 4000
"""Characters of a message that are shown; tool results are cut to a tenth of that."""


def read_waiting(workspace: Workspace, session: Session) -> tuple[Session, list[Event]]:
    """Return a session as it is now, and the events that wait in it, each with an id; raise RefusedError for a bad one.

    Ids that are missing are written into the session's file.
    """
    session = at(workspace, session.folder, session.id)
    if session.problem:
        raise RefusedError(session.problem, "mend it or move it away")
    events = all_events(workspace, session)
    if any(before is not after for before, after in zip(events, identified(session.id, events), strict=True)):
        settle_ids(workspace, session)
        events = all_events(workspace, session)
    return session, behind(events, session.metadata.consolidated_to)


def waiting_as_read(workspace: Workspace, session: Session, events: Sequence[Event] | None) -> list[Event]:
    """Return the events that wait in a session, or of some that are in none yet, each with an id; write nothing."""
    waiting = identified(session.id, all_events(workspace, session) if events is None else events)
    return behind(waiting, session.metadata.consolidated_to)


def read_batch(
    workspace: Workspace,
    session: Session,
    waiting: Sequence[Event],
    events: Sequence[Event],
    *,
    with_page: bool,
    before: Sequence[str] = (),
) -> Batch:
    """Return some of the events that wait, without their secrets; `with_page` reads long-term memory for an LLM too.

    `before` is what is kept of conversations that become memory with it.
    """
    guard = redactor(workspace, session.path, word(session.metadata.metadata.get("cwd")))
    for event in waiting[: waiting.index(events[0])][-_BEFORE:] if events and events[0] in waiting else ():
        guard.calls.withholds(event)
    clean = guard.events(events)
    page = redactor(workspace, workspace.layout.memory).text(read_page(workspace).text) if with_page else ""
    return Batch(workspace, session, clean, page, waiting, tuple(guard.found), before)


def parts(waiting: Sequence[Event], keep: int, *, for_llm: bool, upto: str = "") -> Iterator[list[Event]]:
    """Yield the events of each batch, the last `keep` messages left out; all are one where no LLM is shown them.

    `upto` is `FIRST..LAST`, ids of the first event that waits and of the last to be taken; raise UsageError where FIRST
    is no longer the first, since numbers are counted from it, or LAST does not wait.
    """
    if upto:
        last = next((event for event in waiting if f"{waiting[0].id}..{event.id}" == upto), None)
        if last is None:
            remark = f"{upto!r} is not what waits in this session: it was consolidated or changed since it was asked"
            raise UsageError(remark, "ask anew: `mem consolidate SESSION --ask`")
        waiting = waiting[: waiting.index(last) + 1]
    events = but_for(waiting, keep)
    if for_llm:
        yield from batches(events)
    elif events:
        yield events


def behind(events: Sequence[Event], last: str) -> list[Event]:
    """Return the events behind the last one consolidated; all of them where that one was put away.

    A summary of what was compacted is left out: memory must not feed on itself.
    """
    position = next((position for position, event in enumerate(events) if last and event.id == last), -1)
    return [event for event in events[position + 1 :] if not is_summary(event)]


def but_for(events: Sequence[Event], keep: int) -> list[Event]:
    """Leave out the last `keep` messages; nothing where no message is left."""
    messages = [position for position, event in enumerate(events) if is_due(event)]
    if keep:
        events = events[: messages[-keep]] if len(messages) > keep else []
    return list(events) if any(map(is_due, events)) else []


def batches(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Cut a long conversation where a user speaks, or where it must be."""
    batch: list[Event] = []
    size = 0
    for event in events:
        length = shown_length(event)
        asks = is_due(event) and event.role == "user"
        if batch and size + length > SHOWN and (asks or size + length > SHOWN * 3 // 2):
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += length
    if batch:
        yield batch


def home(workspace: Workspace, session: Session, event: str) -> Session | None:
    """Find where an event lies now: its session may have been cleared or compacted meanwhile; None where it is gone."""
    now = at(workspace, session.folder, session.id)
    if standing_ids([workspace.path(now.path)], {event}):
        return now
    others = [*sessions(workspace), *sessions(workspace, archived=True)]
    parts = (part for part in others if part.id == session.id and part.folder != session.folder)
    return next((part for part in parts if standing_ids([workspace.path(part.path)], {event})), None)


def shown_length(event: Event) -> int:
    """Estimate the characters an event takes in a prompt."""
    return min(len(event.text), shown_room(event)) + 40


def shown_room(event: Event) -> int:
    """Return the characters of an event's text that an LLM is shown."""
    return LONGEST_MESSAGE if event.type == "message" else LONGEST_MESSAGE // 10


def message_of(draft: Draft) -> str:
    """Return the id of the one message a draft comes from; empty where it comes from several."""
    span = str(draft.told["sources"][0]).rpartition("#")[2]
    return "" if ":" in span else span


def sound(drafts: Sequence[Draft], guard: Redactor) -> list[Draft]:
    """Make drafts fit to be written; those of which nothing is left are dropped."""
    safe_drafts = []
    for draft in drafts:
        files = tuple(safe_text(path, guard) for path in draft.told["files"])
        tags = tuple(safe_text(" ".join(tag.split()), guard) for tag in draft.told["tags"])
        if text := safe_text(draft.body, guard):
            key = guard.text(str(draft.told["key"]))
            safe_drafts.append(replace(draft, body=text, told={**draft.told, "files": files, "tags": tags, "key": key}))
    return safe_drafts


def safe_text(text: str, guard: Redactor) -> str:
    """Return a text without secrets, control characters, or lines that git would take for its own."""
    return guard.text(unconflicted(clean_text(text)))


def paths(text: str) -> tuple[str, ...]:
    """Return the names of the files that a text mentions, each once."""
    names = (match[0] for match in _PATH.finditer(text))
    named = (path for path in names if _FILE_ENDING.fullmatch(path.rpartition(".")[2].lower()))
    return tuple(dict.fromkeys(path for path in named if "/" in path or not path[0].isupper()))
