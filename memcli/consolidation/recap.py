"""What a new session should be told of an older one: what history says of it, what is open, what was said last.

Takes only words that were said, and few of them.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated

from ..dataclass import dataclass
from ..errors import NotFoundError
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..formats.times import parse_time, stamp
from ..language.harness_text import quoted
from ..language.sentences import QUESTION_MARKS, is_question, sentences
from ..results import Result, SessionId
from ..search.query import parse_query
from ..store.history import read_log
from ..store.sessions.event_file import recent_events
from ..store.sessions.sessions import Session, counts, find, sessions
from ..store.workspace import Workspace

PROMPTS, QUESTIONS = 3, 3
ROOM = 2000
"""Characters of the last messages that are told."""
_LENGTH = 200
_HISTORY_LENGTH = 600
_AFTER = timedelta(hours=1)
_RETOLD = 2500
"""Characters of a recap that its agent is told."""
_TELLING = 60  # characters of a line by which it is known again


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


def latest(workspace: Workspace) -> Session | None:
    """Return the session in which something was said last."""
    said = [one for one in sessions(workspace) if counts(workspace, one).messages]
    return max(said, key=lambda one: counts(workspace, one).last or one.metadata.updated_at, default=None)


def recap(workspace: Workspace, session: Session) -> Recap:
    """Return what is worth knowing of a session; only the end of its file is read."""
    said = [
        event
        for event in recent_events(workspace.path(session.path))
        if event.type == "message" and event.role != "system" and event.text.strip()
    ]
    sums = counts(workspace, session)
    prompts = [shorten(event.text, _LENGTH) for event in said if event.role == "user"]
    return Recap(
        session.id,
        sums.first or session.metadata.created_at,
        sums.last or session.metadata.updated_at,
        sums.messages,
        _history(workspace, session, sums.last),
        tuple(_open(said)),
        tuple(list(dict.fromkeys(prompts))[-PROMPTS:]),
        _last(said),
    )


def retold_session(workspace: Workspace, name: str, told_already: str = "") -> str:
    """Write the recap of a session for its agent, without what was told already; empty for an unknown session."""
    try:
        told = recap(workspace, find(workspace, name, strict=True))
    except NotFoundError:
        return ""
    lines = [f"- Done: {told.history}"] if told.history else []
    fresh = [one for one in told.said if quoted(one.text)[:_TELLING] not in told_already and one.text not in told.open]
    lines += [f"- {'Asked' if one.role == 'user' else 'Answered'}: {one.text}" for one in fresh]
    lines += [f"- Open: {question}" for question in told.open]
    if not lines:
        return ""
    text = quoted("\n".join(lines))[:_RETOLD].replace("<", "&lt;")
    mark = "".join(letter for letter in told.session if letter.isalnum() or letter in "-_")[:80]
    return f'## This Session So Far\n\n<memory id="session:{mark}" source="observed">\n{text}\n</memory>'


def _last(said: Sequence[Event]) -> tuple[Said, ...]:
    """Return the last messages, as many as there is room for."""
    kept: list[Said] = []
    room = ROOM
    for event in reversed(said):
        text = shorten(event.text, _LENGTH)
        room -= len(text)
        if room < 0:
            break
        kept.append(Said(event.role, text))
    return tuple(reversed(kept))


def _open(said: Sequence[Event]) -> list[str]:
    """Return what waits for an answer: the prompt nobody answered, unless it only tells something, or what it asks."""
    if not said:
        return []
    if said[-1].role == "user":
        return [shorten(said[-1].text, _LENGTH)] if _wants_something(said[-1].text) else []
    told = [one.text for one in sentences(said[-1].text)]
    asked = [sentence for sentence in told if is_question(sentence)]
    return [shorten(sentence, _LENGTH) for sentence in asked[-QUESTIONS:]]


def _wants_something(text: str) -> bool:
    return any(mark in text for mark in (*QUESTION_MARKS, "please", "Please")) or not parse_query(text).is_statement


def _history(workspace: Workspace, session: Session, last: str) -> str:
    """Find the last record of a session: the one its page names, else the last one written while it went on."""
    told = read_log(workspace).records
    named = session.metadata.metadata.get("history")
    for one in told:
        if named and one.record.id == named:
            return shorten(one.record.text, _HISTORY_LENGTH)
    ended = parse_time(last or session.metadata.updated_at)
    if ended is None:
        return ""
    begin, end = session.metadata.created_at, stamp(ended + _AFTER)
    within = [one.record.text for one in told if begin <= one.record.timestamp <= end]
    return shorten(within[-1], _HISTORY_LENGTH) if within else ""
