"""Events that come in as they happen, from a hook or a program: the same rules as for whole transcripts.

What nobody said is left out, a memory's own answers above all.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, tzinfo
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import GitError, MemError, UsageError
from ..formats.ids import parse_time, stamp
from ..formats.session_event import PROJECT, STATES, Event, load, moment, role_of, word
from ..language.foreign_text import recalls_memory
from ..results import Numbers, Result
from ..store.redaction import SECRET_FILE, Redacted, RedactedPlaces, redactor
from ..store.sessions import turn_buffer
from ..store.sessions.append import Appended, append
from ..store.sessions.event_file import recent_events
from ..store.sessions.sessions import Session, made
from ..store.sessions.turn_buffer import Taken, Turn
from ..store.workspace import Workspace
from .messages import call_id, is_header, is_record, record_events
from .transcript_format import Transcript

_HEARD = 20  # events before, among which the last message is
_SHAPE = 'write {"role": "user", "content": "…"}; a type is message, tool_call or tool_result'


@dataclass(frozen=True)
class NewEvent:
    """Something that was said just now, or a tool's call or answer."""

    role: str
    """user, assistant, system or tool."""
    text: str
    """What was said, or what the tool was given or answered."""
    tool: str = ""
    """The tool called, or with the role tool the one that answers."""
    timestamp: str = ""
    is_error: bool = False

    def record(self) -> dict[str, Any]:
        """Return the event as a record with a role and a content; raise UsageError for a wrong role or time."""
        if not role_of(self.role):
            raise UsageError(f"no role {self.role!r}", "use one of user, assistant, system, tool")
        if self.timestamp and not moment(self.timestamp):
            raise UsageError(f"the timestamp {self.timestamp!r} is no moment", "write 2026-11-21T20:15:03Z")
        answers = self.role in ("tool", "system") or self.is_error
        kind = "message" if not self.tool else "tool_result" if answers else "tool_call"
        data = {"type": kind, "role": self.role, "content": self.text, "timestamp": self.timestamp, "name": self.tool}
        return {key: value for key, value in (data | {"is_error": self.is_error}).items() if value or key == "content"}


@dataclass(frozen=True)
class AddedEvents(Appended, Result):
    """What became of events that came in."""

    ids: Annotated[tuple[str, ...], "the ids of the events that were added"] = ()
    skipped: Annotated[Numbers, "what was left out, by reason"] = field(default_factory=Counter)
    redacted: RedactedPlaces = ()
    remembered: Annotated[tuple[str, ...], "ids of the entries that say now what the user asked to remember"] = ()
    notices: tuple[str, ...] = ()


def add_events(
    workspace: Workspace,
    into: str,
    given: Sequence[Mapping[str, Any]],
    noise: bytes,
    fields: Mapping[str, Any],
) -> AddedEvents:
    """Add events given as JSON objects to a session, made if need be; those without a time are of now.

    Raise UsageError, and add nothing, where an object is no event.
    """
    session = made(workspace, into) if into else None
    before = recent_events(workspace.path(session.path)) if session else []
    events, skipped = spoken(given, before, workspace.zone)
    folder = word(session.metadata.metadata.get("cwd")) if session else ""
    cleaner = redactor(workspace, into or "the event", folder)
    fields = cleaner.fields(fields)
    for event in before[-_HEARD:]:
        cleaner.hear(event)
    done = append(workspace, into, cleaner.events(events), noise, fields)
    blanked = [Redacted(cleaner.name, 1, SECRET_FILE)] * done.blanked
    return AddedEvents(**vars(done), skipped=skipped, redacted=(*cleaner.found, *blanked))


def session_fields(workspace: Workspace, channel: str, user: str, project: str, state: str) -> dict[str, str]:
    """Return the fields of a session's page for these values; raise UsageError for an unknown state.

    A channel is `TYPE:ID`; where sessions are named by it, its type is a part of its id, as their own tool has it.
    """
    if state and state.upper() not in STATES:
        raise UsageError(f"no state {state!r}", f"use one of {', '.join(STATES)}")
    kind, _, identifier = channel.partition(":")
    if workspace.layout.new_session:
        identifier = channel.replace(":", "_")
    fields = {"channel_type": kind, "channel_id": identifier, "user_id": user, PROJECT: project.strip()}
    return fields | ({"state": state.upper()} if state else {})


def spoken(
    given: Iterable[Mapping[str, Any]], before: Sequence[Event], zone: tzinfo
) -> tuple[list[Event], Counter[str]]:
    """Return the events of JSON objects, and counts of what is left out; `before` are the session's last events."""
    reading = Transcript(zone=zone)
    for event in before:
        if event.type == "tool_call":
            reading.call(call_id(event.extra).get("call_id", ""), event.name, event.text)
    events: list[Event] = []
    for number, data in enumerate(given, 1):
        if is_header(data):
            reading.skip("line about the session")
            continue
        if not is_record(data):
            raise UsageError(f"event {number} has no role and content of one", _SHAPE)
        for event in record_events(data, reading, number):
            if event.type == "tool_result" and recalls_memory(event.name):
                reading.skip("recalled memory")
            else:
                events.append(event)
    return events, reading.skipped


def objects(text: str) -> list[Mapping[str, Any]]:
    """Read one JSON object, a list of them, a conversation with its messages, or one a line.

    UsageError names the line that is none.
    """
    whole = load(text)
    if isinstance(whole, Mapping):
        if not isinstance(whole.get("messages"), list) or is_record(whole):
            return [whole]
        whole = whole["messages"]
    lines = enumerate(whole, 1) if isinstance(whole, list) else _lines(text)
    events = []
    for number, data in lines:
        if not isinstance(data, Mapping):
            raise UsageError(f"line {number} of the event is no JSON object", f"give a text with --text, or {_SHAPE}")
        events.append(data)
    if not events:
        raise UsageError("there is no event", _SHAPE)
    return events


def _lines(text: str) -> Iterable[tuple[int, Any]]:
    return ((number, load(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip())


SECONDS = 60
_FIX = "name commits of the repository you are in, such as HEAD~5..HEAD"
_FORMAT = "%x01%H%x00%aI%x00%an%x00%B%x02"


def commits(span: str, folder: Path, workspace: Path) -> tuple[str, str, list[Event]]:
    """Return a range of commits as messages, behind the id of the repository's session and its folder.

    Raise UsageError where it is none. Those that change nothing but files of the workspace are left out: to commit
    memory would make new memory.
    """
    top = _git(folder, "rev-parse", "--show-toplevel").strip()
    inside = os.path.relpath(workspace.resolve(), Path(top).resolve())
    log = _git(folder, "log", "--reverse", "--name-only", "-z", f"--format={_FORMAT}", "--end-of-options", span)
    events = []
    records = log.split("\x01")[1:]
    for record in records:
        head, _, names = record.partition("\x02")
        parts = head.split("\0")
        files = [name for name in names.strip("\n").split("\0") if name.strip("\n")]
        if len(parts) != 4 or (files and all(_is_below(name.lstrip("\n"), inside) for name in files)):
            continue
        commit, when, author, message = parts
        instant = parse_time(when)
        text = f"{message.strip()}\n\n(commit {commit[:12]})"
        events.append(
            Event(f"commit_{commit[:12]}", "message", "user", text, stamp(instant) if instant else "", author)
        )
    if not records:
        raise UsageError(f"no commits in {span}", "name a range such as HEAD~5..HEAD")
    return f"git:{Path(top).name}", top, events


def _is_below(name: str, folder: str) -> bool:
    return folder == "." or name.startswith(f"{folder}/")


def append_commits(workspace: Workspace, name: str, top: str, commits: Sequence[Event]) -> Session:
    """Put commits into the session of the repository in a folder; those that are there already stay as they are."""
    fields = {"channel_type": "git", "channel_id": top}
    return append(workspace, name, redactor(workspace, name).events(commits), b"", fields).session


def _git(folder: Path, *words: str) -> str:
    from ..git import run  # late: few hooks ask for commits

    try:
        return run.text(folder, *words, seconds=SECONDS)
    except GitError as error:
        raise UsageError(f"git: {error.message}", error.fix or _FIX) from None


LARGEST_TRANSCRIPT = 64 << 20
"""Bytes of a transcript that is read whole at the end of a session."""
_END = 1 << 20  # bytes of a transcript that hold the last answer


def flush(workspace: Workspace, session: str = "") -> None:
    """Bring in the turns that wait, of one session or of all.

    What cannot be brought in waits on; the error that prevented it is raised when the rest is done.
    """
    fault: MemError | None = None
    taken: dict[str, list[Taken]] = {}
    for file in turn_buffer.take(workspace, session):
        taken.setdefault(file.turns[0]["session"] if file.turns else "", []).append(file)
    for name, files in taken.items():
        turns = [turn for file in files for turn in file.turns]
        settle = turn_buffer.give_back
        try:
            if turns:
                _bring_in(workspace, name, turns)
            settle = turn_buffer.drop
        except MemError as error:
            fault = error
        finally:
            for file in files:
                settle(file)
    if fault:
        raise fault


def _bring_in(workspace: Workspace, session: str, turns: Sequence[Turn]) -> None:
    given = [{"type": "message"} | {key: turn[key] for key in turn if key not in ("session", "cwd")} for turn in turns]
    folder = turns[-1].get("cwd")
    fields = {"metadata": {"cwd": folder}} if folder else {}
    done = add_events(workspace, session, given, workspace.noise("".join(turn["content"] for turn in turns)), fields)
    for user, assistant, when in _exchanges(turns):
        _note(workspace, user, assistant, when, once=done.known > 0)


def _exchanges(turns: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """Return each prompt with the last answer to it and the time it was asked."""
    exchanges: list[tuple[str, str, str]] = []
    for turn in turns:
        if turn["role"] == "user":
            exchanges.append((turn["content"], "", turn["timestamp"]))
        elif exchanges:
            exchanges[-1] = (exchanges[-1][0], turn["content"], exchanges[-1][2])
        else:
            exchanges.append(("", turn["content"], turn["timestamp"]))
    return exchanges


def _note(workspace: Workspace, user: str, assistant: str, when: str, *, once: bool) -> None:
    """Note an exchange, only `once` where somebody who was killed may have done so."""
    from ..formats.history import exchange
    from ..language.foreign_text import without_injected
    from ..store.history import add_note

    guard = redactor(workspace, "the note")
    # Before it is cut: half a secret is one too, and no rule would see it.
    line = exchange(guard.text(without_injected(user)), guard.text(without_injected(assistant)))
    if line:
        add_note(replace(workspace, now=datetime.fromisoformat(when)), line, once=once)


def last_answer(transcript: Path, zone: tzinfo) -> str:
    """Return an agent's answer to the last prompt, from the end of its transcript; "" if there is none."""
    from .reader import read_transcript

    with transcript.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - _END))
        if size > _END:
            file.readline()
        events = read_transcript(BytesIO(file.read()), transcript.name, zone).events
    messages = [event for event in events if event.type == "message" and event.text.strip()]
    return messages[-1].text if messages and messages[-1].role == "assistant" else ""


def session_from_transcript(workspace: Workspace, session: str, transcript: Path) -> Session | None:
    """Import an agent's transcript into a session; None if there is none or it is too large."""
    from .session_import import import_transcript

    if not transcript.is_file() or transcript.stat().st_size > LARGEST_TRANSCRIPT:
        return None
    with transcript.open("rb") as file:
        return import_transcript(workspace, file, str(transcript), session).session
