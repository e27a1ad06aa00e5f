"""Bring the turns that hooks kept into the notes of their day and into their sessions."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from io import SEEK_END, BytesIO
from pathlib import Path

from ..errors import MemError
from ..store.redaction import redactor
from ..store.sessions import turn_buffer
from ..store.sessions.sessions import Session
from ..store.sessions.turn_buffer import Taken, Turn
from ..store.workspace import Workspace

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
    from .live_events import add_events

    given = [{"type": "message"} | {key: turn[key] for key in turn if key != "session"} for turn in turns]
    done = add_events(workspace, session, given, workspace.noise("".join(turn["content"] for turn in turns)))
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
    from ..language.harness_text import without_injected
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
