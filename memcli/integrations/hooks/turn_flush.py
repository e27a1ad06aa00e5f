"""Bring what was said into memory: the day's notes, the session, and history when enough of it waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from io import SEEK_END, BytesIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import MemError
from ...formats.times import day_of
from ...store.redaction import redactor
from ...store.workspace import Workspace
from . import turn_buffer
from .turn_buffer import Taken, Turn

if TYPE_CHECKING:
    from ...beliefs.drafts import Draft
    from ...llm.client import Llm
    from ...store.sessions.sessions import Session


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
    for one in turn_buffer.take(workspace, session):
        taken.setdefault(one.turns[0]["session"] if one.turns else "", []).append(one)
    for name, files in taken.items():
        said = [turn for one in files for turn in one.turns]
        settle = turn_buffer.give_back
        try:
            if said:
                _bring_in(workspace, name, said, noise)
            settle = turn_buffer.drop
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
    from ...store.sessions.counts import is_due
    from ...store.sessions.event_file import recent_events
    from ...store.sessions.sessions import made

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
    from ...consolidation.consolidate import consolidate

    consolidate(workspace, known, llm, keep=keep, wait=0.0)


def waiting(workspace: Workspace, session: str) -> int:
    """Count the messages of a session that wait to be consolidated."""
    from ...store.sessions.sessions import counts, made

    return counts(workspace, made(workspace, session)).waiting


def _bring_in(workspace: Workspace, session: str, said: Sequence[Turn], noise: Noise) -> None:
    from ...transcripts.live_events import add_events

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
    from ...formats.history import exchange
    from ...language.harness_text import without_injected
    from ...store.history import add_note

    guard = redactor(workspace, "the note")
    # Before it is cut: half a secret is one too, and no rule would see it.
    line = exchange(guard.text(without_injected(user)), guard.text(without_injected(assistant)))
    if line:
        add_note(replace(workspace, now=datetime.fromisoformat(when)), line, once=once)


def last_answer(transcript: Path, zone: tzinfo) -> str:
    """Read what an agent said last, after the last prompt, from the end of its transcript; "" where there is none."""
    from ...transcripts.reader import read_transcript

    with transcript.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - _END))
        if size > _END:
            file.readline()
        events = read_transcript(BytesIO(file.read()), transcript.name, zone).events
    said = [one for one in events if one.type == "message" and one.text.strip()]
    return said[-1].text if said and said[-1].role == "assistant" else ""


def _from_transcript(workspace: Workspace, session: str, transcript: str) -> "Session | None":
    from ...transcripts.session_import import bring_in

    path = Path(transcript)
    if not transcript or not path.is_file() or path.stat().st_size > LARGEST_TRANSCRIPT:
        return None
    with path.open("rb") as file:
        return bring_in(workspace, file, str(path), session).session


_LONGEST = 200  # characters told back


@dataclass(frozen=True)
class Kept:
    """What became of it: the id of the memory that says it now, what the agent is told, and whether time is over."""

    id: str
    said: str
    is_late: bool = False  # a thread may be busy still


def remember(
    workspace: Workspace, session: str, text: str, source: str, noise: Callable[[int], bytes], seconds: float
) -> Kept:
    """Keep what a user asked to remember; MemError where not even a plain file could be written."""
    from ...beliefs.drafts import Draft
    from ...consolidation.drafts import paths
    from ...consolidation.standing_rules import plain_type
    from ...language.dates import dated

    guard = redactor(workspace, "the prompt")
    text = dated(guard.text(text), day_of(workspace.now, workspace.zone))
    told = {"type": plain_type(text), "source": source, "files": list(paths(text)) or None}
    told["sources"] = [f"session:{session}"] if session else None
    draft = Draft({key: value for key, value in told.items() if value}, text, noise)
    blanked = " A secret in it was blanked out." if guard.found else ""
    kept = _admitted(workspace, draft, seconds)
    return Kept(kept.id, f"{kept.said}{blanked}", kept.is_late)


def _admitted(workspace: Workspace, draft: "Draft", seconds: float) -> Kept:
    """Let it in by the rules within the time, or else as it is."""
    from ...beliefs.admission import admit
    from ...formats.text_lines import shorten
    from ...recall.deadline import Race
    from ...store import entries

    text = shorten(draft.body, _LONGEST)
    race: Race[tuple[str, str]] = Race(monotonic() + seconds)

    def let_in() -> tuple[str, str]:
        (one,) = admit(workspace, [draft], "mem hook run").admitted
        if one.action == "merged":
            return one.id, f"Known already as {one.id}, confirmed {one.strength} times now: {text}"
        places = (
            ("It takes the place of {}.", one.supersedes),
            ("Believed in its place is {}.", (one.superseded_by,) if one.superseded_by else ()),
            (
                "It may contradict {}: both are kept.",
                [name for name in one.conflicts_with if name not in one.likely_same],
            ),
            ("It probably says the same as {}: both are kept.", one.likely_same),
        )
        also = "".join(f" {said.format(', '.join(ids))}" for said, ids in places if ids)
        return one.id, f"Kept in memory as {one.id}: {text}{also}"

    race.enter(let_in)
    done = race.first()
    if done:
        return Kept(*done)
    written = entries.write(workspace, draft.told, draft.body, draft.noise)
    return Kept(written.id, f"Kept in memory as {written.id}: {text}", race.is_busy)
