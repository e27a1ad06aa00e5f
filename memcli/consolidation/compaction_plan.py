"""The steps of a compaction: the archived part, its summary as an entry, and the shorter session."""

import os
from collections.abc import Sequence
from dataclasses import replace

from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.frontmatter import document
from ..formats.ids import blake2b, new_id
from ..formats.session_event import Event, parse_event, render_event
from ..formats.session_metadata import SessionMetadata, render_metadata
from ..store import atomic_files
from ..store.entries import decoded, entry_text
from ..store.journal import Change, Step
from ..store.sessions.counts import count_events
from ..store.sessions.event_file import EVENTS, METADATA
from ..store.sessions.reading import session_source
from ..store.sessions.sessions import Session
from ..store.workspace import Workspace
from .backlog import MARK
from .remember_requests import FALLBACK_TO

SUMMARY = "summary"
"""Key of a session's page: the entry that tells what was compacted last."""


@dataclass(frozen=True)
class CompactionPlan:
    """What a compaction changes, and what comes of it."""

    steps: tuple[Step, ...]
    place: str  # the archive's folder
    tokens: int  # of the session that stays
    entry: str  # path of the summary


def plan_compaction(
    workspace: Workspace, session: Session, old: Sequence[Event], summary: Event, how: str
) -> CompactionPlan:
    """Return the steps that put the `old` events of a session away behind their summary, told by `how`.

    Raises RefusedError where these events are not in the session's file any more.
    """
    text = decoded(session.path, atomic_files.read(workspace.path(session.path)))
    first, rest = _cut(text, old[-1].id)
    if not first:
        raise RefusedError(f"{session.id} was changed meanwhile", "run the command again")
    place = _free_place(workspace, session)
    kept = f"{render_event(summary)}\n{rest}"
    steps: list[Step] = [Change(f"{place}/{EVENTS}", None, first)]
    page = _archived_page(session.metadata, old, rest)
    steps.append(Change(f"{place}/{METADATA}", None, render_metadata(page)))
    entry, made = _entry(workspace, session, old, summary, how)
    steps += made
    steps.append(Change(session.path, text, kept))
    sums = count_events(filter(None, map(parse_event, kept.split("\n"))), session.metadata.consolidated_to)
    marked = {**session.metadata.metadata, SUMMARY: entry}
    new = replace(sums.on_page(session.metadata), metadata=marked, updated_at=workspace.stamp)
    steps.append(Change(session.page_path, session.page, render_metadata(new)))
    return CompactionPlan(tuple(steps), place, sums.tokens, entry)


def summary_event(workspace: Workspace, session: Session, old: Sequence[Event], told: str) -> Event:
    """Return the message that stands for the `old` ones, with the time of the last of them."""
    noise = blake2b(f"{session.id}\0{old[-1].id}\0summary".encode(), digest_size=8).digest()
    moment = next((event.timestamp for event in reversed(old) if event.timestamp), workspace.stamp)
    return Event(new_id("msg", workspace.now, noise), "message", "system", f"{MARK} {told}", moment)


def _cut(text: str, last: str) -> tuple[str, str]:
    """Cut a session's file behind an event; lines that are no events go with those before them."""
    end = 0
    for line in text.split("\n"):
        end += len(line) + 1
        event = parse_event(line)
        if event and event.id == last:
            return text[:end].rstrip("\n") + "\n", text[end:]
    return "", text


def _free_place(workspace: Workspace, session: Session) -> str:
    number = 1
    base = f"{workspace.layout.archive}{session.folder}"
    while os.path.lexists(workspace.root / (place := f"{base}{f'-{number}' if number > 1 else ''}")):
        number += 1
    return place


def _archived_page(page: SessionMetadata, old: Sequence[Event], rest: str) -> SessionMetadata:
    """Make the page of the archived part: consolidated as far as the session is, and no further than itself."""
    staying = {event.id for line in rest.split("\n") if (event := parse_event(line))}

    def within(name: str) -> str:
        return old[-1].id if name in staying else name

    marked = dict(page.metadata)
    if FALLBACK_TO in marked:
        marked[FALLBACK_TO] = within(str(marked[FALLBACK_TO]))
    sums = count_events(old, page.consolidated_to)
    to = within(page.consolidated_to)
    return replace(sums.on_page(page), state="TERMINATED", consolidated_to=to, metadata=marked)


def _entry(
    workspace: Workspace, session: Session, old: Sequence[Event], summary: Event, how: str
) -> tuple[str, list[Step]]:
    """Keep the summary as an entry; it takes the place of the one before, which tells less."""
    told = {
        "type": "summary",
        "title": f"Conversation {session.id}",
        "source": "inferred" if how == "llm" else "observed",
        "sources": (session_source(session.id, old[0].id, old[-1].id),),
    }
    noise = blake2b(f"{session.id}\0{old[-1].id}\0entry".encode(), digest_size=8).digest()
    body = summary.text.removeprefix(MARK).strip()
    identifier, path, text = entry_text(workspace, told, body, noise, folder="conversations")
    steps: list[Step] = [Change(path, None, text)]
    earlier = str(session.metadata.metadata.get(SUMMARY, ""))
    if earlier and workspace.layout.kind_of(earlier) == "entry" and workspace.path(earlier).is_file():
        try:
            before = atomic_files.read(workspace.path(earlier)).decode("utf-8")
            after = document.edit(before, {"status": "superseded", "superseded_by": identifier})
        except (UnicodeDecodeError, RefusedError):
            return path, steps  # what cannot be read is left as it is
        steps.append(Change(earlier, before, after))
    return path, steps
