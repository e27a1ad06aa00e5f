"""A handoff: what another session, perhaps of another agent, needs to go on with the work of one, offered once.

It lies beside the session's events, which git ignores. Every line is what somebody said, or a file a tool wrote.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from ..dataclass import dataclass
from ..errors import NotFoundError
from ..formats.text_lines import blanked, shorten
from ..results import FilePath, Result, SessionId
from ..store.journal import Change, apply, exclusive
from ..store.layouts import HANDOFF, SESSION_FOLDER
from ..store.redaction import redactor
from ..store.sessions.sessions import Session, at
from ..store.workspace import Workspace
from .backlog import all_events
from .batch import read_batch
from .recap import is_of, recap, session_block
from .repairs import unfixed
from .stages import extract

TAKEN = "handoff-taken.txt"
LONGEST = 4000
"""Characters of a handoff."""
_EACH, _DECISIONS, _FILES, _FAILURES = 300, 8, 20, 4
_TO = "To: "


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
