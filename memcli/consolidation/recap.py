"""The little that is told of a session that was begun before: to a person, to its own agent, at the next start.

A handoff is what another session, perhaps of another agent, needs to go on with the work of one, offered once. It lies
beside the session's events, which git ignores. Every line is what somebody said, or a file a tool wrote.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Annotated

from ..dataclass import dataclass
from ..errors import NotFoundError
from ..formats.ids import day_of, parse_time, stamp
from ..formats.session_event import Event
from ..formats.text_lines import blanked, shorten
from ..git.place import place_of
from ..language.foreign_text import quoted
from ..language.sentences import QUESTION_MARKS, is_question, sentences
from ..results import FilePath, Result, SessionId
from ..store.history import read_log
from ..store.layouts import HANDOFF, SESSION_FOLDER
from ..store.sessions.event_file import recent_events
from ..store.sessions.sessions import Session, at, counts, find, sessions
from ..store.workspace import Workspace
from .repairs import changed_files, listed_files, unfixed

PROMPTS, QUESTIONS = 3, 3
ROOM = 2000
"""Characters of the last messages that are told."""
_LENGTH = 200
_HISTORY_LENGTH = 600
_AFTER = timedelta(hours=1)
_TRIED = 5  # sessions in which nothing was asked, such as those of git, that are passed over
_RETOLD = 2500
"""Characters of a recap that its agent is told."""
_TELLING = 60  # characters of a line by which it is known again
TAKEN = "handoff-taken.txt"
LONGEST = 4000
"""Characters of a handoff."""
_EACH, _DECISIONS, _FILES, _FAILURES = 300, 8, 20, 4
_TO = "To: "


@dataclass(frozen=True)
class Said:
    """A message, cut short."""

    role: Annotated[str, "user or assistant"]
    text: Annotated[str, "the text, cut short"]


@dataclass(frozen=True)
class Recap(Result):
    """The little that is told of a session."""

    session: SessionId
    began: Annotated[str, "when the session began"]
    ended: Annotated[str, "when something was said last"]
    messages: Annotated[int, "how many messages"]
    history: Annotated[str, "what history says of it"] = ""
    open: Annotated[tuple[str, ...], "what was left open"] = ()
    prompts: Annotated[tuple[str, ...], "the last prompts"] = ()
    said: Annotated[tuple[Said, ...], "the last messages in their order"] = ()


def latest(workspace: Workspace, place: Path | None = None) -> Session | None:
    """Return the session in which something was said last, in a place or anywhere."""
    listed = [session for session in sessions(workspace) if place is None or is_of(workspace, session, place)]
    sessions_with_messages = [session for session in listed if counts(workspace, session).messages]
    return max(
        sessions_with_messages,
        key=lambda session: counts(workspace, session).last or session.metadata.updated_at,
        default=None,
    )


def recap(workspace: Workspace, session: Session, forgotten: Collection[str] | None = None) -> Recap:
    """Return what is worth knowing of a session; only the end of its file is read.

    What was forgotten is blanked out before anything is cut: `forgotten` are the texts, None: all there are here.
    """
    if forgotten is None:
        from ..beliefs.forgotten import all_forgotten

        forgotten = all_forgotten(workspace)
    spoken = [
        replace(event, text=blanked(event.text, forgotten))
        for event in recent_events(workspace.path(session.path))
        if event.type == "message" and event.role != "system" and event.text.strip()
    ]
    sums = counts(workspace, session)
    prompts = [shorten(event.text, _LENGTH) for event in spoken if event.role == "user"]
    return Recap(
        session.id,
        sums.first or session.metadata.created_at,
        sums.last or session.metadata.updated_at,
        sums.messages,
        shorten(blanked(_history(workspace, session, sums.last), forgotten), _HISTORY_LENGTH),
        tuple(_open(spoken)),
        tuple(list(dict.fromkeys(prompts))[-PROMPTS:]),
        _last(spoken),
    )


def last_session(workspace: Workspace, place: Path, besides: str, forgotten: Collection[str]) -> list[str]:
    """Return lines on where the last session of a place stood, but for the one named; nothing where there is none.

    A session of the user's own workspace is of the place whose folder it notes. `forgotten` texts are blanked out.
    """
    latest_first = sorted(sessions(workspace), key=lambda session: session.metadata.updated_at, reverse=True)
    # One by one: to find the place of a session looks for its repository.
    of_place = (session for session in latest_first if session.id != besides and is_of(workspace, session, place))
    for session in islice(of_place, _TRIED):
        recap_of = recap(workspace, session, forgotten)
        if not recap_of.prompts:
            continue
        said = next((message.text for message in reversed(recap_of.said) if message.role == "assistant"), "")
        files = changed_files(recent_events(workspace.path(session.path)))
        ended = parse_time(recap_of.ended)
        day = day_of(ended, workspace.zone).isoformat() if ended else ""
        lines = [
            f"Session {session.id}, {day}" if day else f"Session {session.id}",
            f"Asked: {shorten(recap_of.prompts[-1], _LENGTH)}",
            f"Done: {recap_of.history}" if recap_of.history else f"Answered: {said}" if said else "",
            f"Open: {'; '.join(recap_of.open)}" if recap_of.open else "",
            f"Files: {listed_files(files)}" if files else "",
        ]
        return [line for line in lines if line]
    return []


def is_of(workspace: Workspace, session: Session, place: Path) -> bool:
    """Tell whether a session is of a place, by the folder it notes; without one, where the workspace is a project's."""
    folder = session.metadata.metadata.get("cwd")
    if not isinstance(folder, str) or not folder:
        return not workspace.is_own
    return place_of(Path(folder)) == place


def retold_session(workspace: Workspace, name: str, told_already: str, forgotten: Collection[str]) -> str:
    """Write the recap of a session for its agent, without what was told already; empty for an unknown session."""
    try:
        recap_of = recap(workspace, find(workspace, name, strict=True), forgotten)
    except NotFoundError:
        return ""
    lines = [f"- Done: {recap_of.history}"] if recap_of.history else []
    fresh = [
        message
        for message in recap_of.said
        if quoted(message.text)[:_TELLING] not in told_already and message.text not in recap_of.open
    ]
    lines += [f"- {'Asked' if message.role == 'user' else 'Answered'}: {message.text}" for message in fresh]
    lines += [f"- Open: {question}" for question in recap_of.open]
    if not lines:
        return ""
    return session_block("This Session So Far", recap_of.session, "\n".join(lines), _RETOLD)


def session_block(heading: str, session: str, text: str, characters: int) -> str:
    """Return what is told of a session to an agent, as a block of recalled memory, cut to so many characters."""
    name = "".join(letter for letter in session if letter.isalnum() or letter in "-_")[:80]
    body = quoted(text).replace("<", "&lt;")[:characters]
    return f'## {heading}\n\n<memory id="session:{name}" source="observed">\n{body}\n</memory>'


def _last(spoken: Sequence[Event]) -> tuple[Said, ...]:
    """Return the last messages, as many as there is room for."""
    last_messages: list[Said] = []
    room = ROOM
    for event in reversed(spoken):
        text = shorten(event.text, _LENGTH)
        room -= len(text)
        if room < 0:
            break
        last_messages.append(Said(event.role, text))
    return tuple(reversed(last_messages))


def _open(spoken: Sequence[Event]) -> list[str]:
    """Return what waits for an answer: the prompt nobody answered, unless it only tells something, or what it asks."""
    if not spoken:
        return []
    if spoken[-1].role == "user":
        return [shorten(spoken[-1].text, _LENGTH)] if _wants_something(spoken[-1].text) else []
    texts = [sentence.text for sentence in sentences(spoken[-1].text)]
    asked = [sentence for sentence in texts if is_question(sentence)]
    return [shorten(sentence, _LENGTH) for sentence in asked[-QUESTIONS:]]


def _wants_something(text: str) -> bool:
    from ..search.query import parse_query  # late: most sessions end with an answer

    return any(mark in text for mark in (*QUESTION_MARKS, "please", "Please")) or not parse_query(text).is_statement


def _history(workspace: Workspace, session: Session, last: str) -> str:
    """Find the last record of a session: the one its page names, else the last one written while it went on."""
    records = read_log(workspace).records
    named = session.metadata.metadata.get("history")
    for record in records:
        if named and record.record.id == named:
            return record.record.text
    ended = parse_time(last or session.metadata.updated_at)
    if ended is None:
        return ""
    begin, end = session.metadata.created_at, stamp(ended + _AFTER)
    within = [record.record.text for record in records if begin <= record.record.timestamp <= end]
    return within[-1] if within else ""


@dataclass(frozen=True)
class Handoff(Result):
    """A handoff that was written."""

    session: SessionId
    to: Annotated[str, "the agent it is for; empty for any"]
    path: FilePath
    text: Annotated[str, "what the next session is given"]


def hand_off(workspace: Workspace, session: Session, to: str, forgotten: Collection[str]) -> Handoff:
    """Write the handoff of a session, in the place of an earlier one; raise NotFoundError where nothing was said.

    `forgotten` texts are blanked out.
    """
    text = _text(workspace, session, forgotten)
    if not text:
        raise NotFoundError(f"nothing was said in {session.id}", "`mem session ls` lists others")
    from ..store.journal import Change, apply, exclusive

    path = f"{session.folder}/{HANDOFF}"
    target = workspace.path(path)
    before = target.read_text("utf-8", "replace") if target.is_file() else None
    document = f"{_TO}{to}\n\n{text}\n"
    with exclusive(workspace, "mem session handoff") as held:
        apply(workspace, [Change(path, before, document)], held)
    return Handoff(session.id, to, path, text)


def waiting_handoff(
    workspace: Workspace, place: Path, agent: str, besides: str, forgotten: Collection[str]
) -> tuple[str, Path] | None:
    """Return the last handoff of a place that is for an agent, for its context, and the file; None for none.

    Nothing of the session named is offered, and nothing in a workspace that is not trusted. Who gives it to an agent
    takes it by `is_taken`.
    """
    if not workspace.is_trusted:
        return None
    for session, path in sorted(_waiting(workspace), key=lambda pair: -pair[1].stat().st_mtime):
        if session.id == besides or not is_of(workspace, session, place):
            continue
        with suppress(OSError):
            head, _, text = path.read_text("utf-8", "replace").partition("\n\n")
            if head.removeprefix(_TO).strip() not in ("", agent):
                continue
            return session_block("Handed Over", session.id, blanked(text.strip(), forgotten), LONGEST), path
    return None


def is_taken(path: Path) -> bool:
    """Mark a handoff as taken; return False where another session has it already."""
    try:
        os.rename(path, path.with_name(TAKEN))
    except OSError:
        return False
    return True


def _waiting(workspace: Workspace) -> Iterator[tuple[Session, Path]]:
    for path in (workspace.root / SESSION_FOLDER).glob(f"*/{HANDOFF}"):
        if path.is_file() and not path.is_symlink() and not path.parent.is_symlink():
            yield at(workspace, f"{SESSION_FOLDER}/{path.parent.name}"), path


def _text(workspace: Workspace, session: Session, forgotten: Collection[str]) -> str:
    from ..store.redaction import redactor  # late, with what is below: a start tells the end of a session alone
    from .backlog import all_events
    from .batch import read_batch
    from .stages import extract

    events = [event for event in all_events(workspace, session) if event.text.strip() or event.type != "message"]
    if not any(event.type == "message" for event in events):
        return ""
    batch = read_batch(workspace, session, events, events, with_page=False)
    summary = extract(batch, None).summary.mapped(lambda text: blanked(text, forgotten))
    recap_of = recap(workspace, session, forgotten)
    lines = [
        f"Handoff of session {session.id}, {recap_of.ended[:10]}",
        f"Asked: {shorten(summary.goal, _EACH)}" if summary.goal else "",
        f"Done: {shorten(summary.outcome, _EACH)}" if summary.outcome else "",
        *_listed("Decided", summary.decisions[:_DECISIONS]),
        *_listed("Failed and not solved", [blanked(text, forgotten) for text in unfixed(batch.events)[-_FAILURES:]]),
        *_listed("Open", recap_of.open),
        f"Files: {', '.join(batch.changed_files[:_FILES])}" if batch.changed_files else "",
        "Said last:",
    ]
    head = "\n".join(line for line in lines if line)
    turns: list[str] = []
    for message in reversed(recap_of.said):
        line = f"- {message.role}: {message.text}"
        if len(head) + sum(len(turn) + 1 for turn in turns) + len(line) + 1 > LONGEST:
            break
        turns.insert(0, line)
    text = redactor(workspace, "the handoff").text("\n".join([head, *turns]))
    return text[:LONGEST]


def _listed(label: str, texts: tuple[str, ...] | list[str]) -> list[str]:
    return [f"{label}:", *(f"- {shorten(text, _EACH)}" for text in texts)] if texts else []
