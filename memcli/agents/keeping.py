"""Bring what was said into memory: the day's notes, the session, and history when enough of it waits."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from io import SEEK_END, BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MemError
from ..store.workspace import Workspace
from . import turns
from .turns import Taken, Turn

if TYPE_CHECKING:
    from ..lifecycle.llm import Llm
    from ..store.sessions import Session

Noise = Callable[[str], Callable[[int], bytes]]
LARGEST_TRANSCRIPT = 64 << 20
_END = 1 << 20  # bytes of a transcript that hold the last answer


def hasty(workspace: Workspace, seconds: float) -> Workspace:
    """Give the workspace with less patience for others who write."""
    values = {**workspace.settings.values, "lock.wait": min(seconds, workspace.settings["lock.wait"])}
    return replace(workspace, settings=replace(workspace.settings, values=values))


def flush(workspace: Workspace, noise: Noise, session: str = "") -> None:
    """Bring the turns that wait into the notes of their day and into their sessions.

    What cannot be brought in waits on; why it could not is raised when the rest is done.
    """
    fault: MemError | None = None
    taken: dict[str, list[Taken]] = {}
    for one in turns.take(workspace, session):
        taken.setdefault(one.turns[0]["session"] if one.turns else "", []).append(one)
    for name, files in taken.items():
        said = [turn for one in files for turn in one.turns]
        settle = turns.give_back
        try:
            if said:
                _bring_in(workspace, name, said, noise)
            settle = turns.drop
        except MemError as error:
            fault = error
        finally:
            for one in files:
                settle(one)
    if fault:
        raise fault


def close(
    workspace: Workspace, session: str, llm: "Llm | None", noise: Noise, *, keep: int = 0, transcript: str = ""
) -> None:
    """Bring in all that waits and consolidate a session, unless another consolidation runs.

    A session that memory knows nothing of is read from its transcript, where there is one.
    """
    from ..store.sessions import made
    from ..store.sessions.counting import is_due
    from ..store.sessions.file import recent_events

    if workspace.settings["hooks.notes"]:
        flush(workspace, noise)
    if not session or not workspace.settings["consolidate.enabled"]:
        return
    known = made(workspace, session)
    if not any(is_due(event) for event in recent_events(workspace.path(known.path))):
        found = _from_transcript(workspace, session, transcript) if workspace.settings["hooks.notes"] else None
        if found is None:
            return
        known = found
    from ..lifecycle.consolidate import consolidate

    consolidate(workspace, known, llm, keep=keep, wait=0.0)


def waiting(workspace: Workspace, session: str) -> int:
    """Count the messages of a session that wait to be consolidated."""
    from ..store.sessions import counts, made

    return counts(workspace, made(workspace, session)).waiting


def _bring_in(workspace: Workspace, session: str, said: Sequence[Turn], noise: Noise) -> None:
    from ..exchange.live import add_events

    given = [{"type": "message"} | {key: turn[key] for key in turn if key != "session"} for turn in said]
    done = add_events(workspace, session, given, noise("".join(turn["content"] for turn in said)))
    for user, assistant, when in _exchanges(said):
        _note(workspace, user, assistant, when, once=done.known > 0)


def _exchanges(said: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """Put each prompt and the last answer to it together, with the time it was asked."""
    found: list[tuple[str, str, str]] = []
    for turn in said:
        if turn["role"] == "user":
            found.append((turn["content"], "", turn["timestamp"]))
        elif found:
            found[-1] = (found[-1][0], turn["content"], found[-1][2])
        else:
            found.append(("", turn["content"], turn["timestamp"]))
    return found


def _note(workspace: Workspace, user: str, assistant: str, when: str, *, once: bool) -> None:
    """Note an exchange, only `once` where somebody who was killed may have done so."""
    from ..store.notes import add_note
    from ..store.redaction import redactor
    from ..text.injected import without_injected
    from ..text.note import exchange

    guard = redactor(workspace, "the note")
    # Before it is cut: half a secret is one too, and no rule would see it.
    line = exchange(guard.text(without_injected(user)), guard.text(without_injected(assistant)))
    if line:
        add_note(replace(workspace, now=datetime.fromisoformat(when)), line, once=once)


def last_answer(transcript: Path, zone: tzinfo) -> str:
    """Read what an agent said last, after the last prompt, from the end of its transcript; "" where there is none."""
    from ..exchange.transcripts import read_transcript

    with transcript.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - _END))
        if size > _END:
            file.readline()
        events = read_transcript(BytesIO(file.read()), transcript.name, zone).events
    said = [one for one in events if one.type == "message" and one.text.strip()]
    return said[-1].text if said and said[-1].role == "assistant" else ""


def _from_transcript(workspace: Workspace, session: str, transcript: str) -> "Session | None":
    from ..exchange.conversation import bring_in

    path = Path(transcript)
    if not transcript or not path.is_file() or path.stat().st_size > LARGEST_TRANSCRIPT:
        return None
    with path.open("rb") as file:
        return bring_in(workspace, file, str(path), session).session
