"""From what was found in a conversation to memories that ask to be let in: made fit to be written, dated, and named.

Knows what of a conversation is kept already. Decides nothing about what stands, and writes nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..store.redaction import Redactor
from ..store.sessions import Session
from ..store.sessions.span import session_source
from ..store.workspace import Workspace
from ..text.blake import blake2b
from ..text.session import Event
from ..text.times import parse_time, stamp
from .admission import Draft
from .findings import Finding, Findings, asked_to_keep
from .reply import clean_text

FALLBACK_TO = "fallbackTo"
"""Key of a session's page: up to where the fallback has kept it."""

_CONFLICT = re.compile(r"^(?=[<=>|]{7}(?:\s|$))", re.MULTILINE)


def sound(findings: Findings, guard: Redactor) -> Findings:
    """Make findings fit to be written: no secrets, no control characters, no lines that git would take for its own."""

    def plain(text: str) -> str:
        return guard.text(unconflicted(clean_text(text)))

    return Findings(
        plain(findings.history),
        None if findings.page is None else plain(findings.page),
        tuple(
            replace(
                one,
                text=text,
                files=tuple(map(plain, one.files)),
                tags=tuple(plain(" ".join(tag.split())) for tag in one.tags),
            )
            for one in findings.memories
            if (text := plain(one.text))
        ),
    )


def unconflicted(text: str) -> str:
    """Indent what git would take for a conflict marker."""
    return _CONFLICT.sub(" ", text)


def fresh(session: Session, events: Sequence[Event], findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Leave out what is kept of these events already, and what was found twice in the same place."""
    once = {(one.text, one.type, one.message): one for one in reversed(findings)}
    return tuple(one for one in reversed(once.values()) if not _is_kept_already(session, events, one))


def drafts(workspace: Workspace, session: Session, events: Sequence[Event], found: Sequence[Finding]) -> list[Draft]:
    """Make a draft of each finding: when it was said and where is told, its id follows from that."""
    moments = {event.id: event.timestamp for event in events}
    return [
        Draft(
            {
                "type": one.type,
                "tags": one.tags,
                "source": one.source,
                "files": one.files,
                "sources": (source_of(session, events, one.message),),
                "created_at": said_at(workspace, moments.get(one.message) or events[-1].timestamp),
            },
            one.text,
            _noises(session, events[-1], one.text),
        )
        for one in found
    ]


def source_of(session: Session, events: Sequence[Event], message: str = "") -> str:
    """Name where in a conversation something was said."""
    return session_source(session.id, message) if message else session_source(session.id, events[0].id, events[-1].id)


def noise(session: Session, event: Event, what: str) -> bytes:
    """Give the random source of an id, the same for the same words of the same conversation."""
    return blake2b(f"{session.id}\0{event.id}\0{what}".encode("utf-8", "replace"), digest_size=8).digest()


def _noises(session: Session, event: Event, text: str) -> Callable[[int], bytes]:
    return lambda attempt: noise(session, event, f"{text}\0{attempt}" if attempt else text)


def said_at(workspace: Workspace, timestamp: str) -> str | None:
    """Give the moment something was said; None where nobody knows, so that it counts as told now."""
    moment = parse_time(timestamp)
    return None if moment is None else stamp(min(moment, workspace.now))


def _is_kept_already(session: Session, events: Sequence[Event], finding: Finding) -> bool:
    """Tell whether an earlier fallback has kept what a user asked to be remembered."""
    names = [event.id for event in events]
    done = str(session.metadata.metadata.get(FALLBACK_TO, ""))
    if not finding.message or done not in names:
        return False
    asked = asked_to_keep(events[: names.index(done) + 1])
    return any(one.message == finding.message and finding.text.startswith(one.text[:40]) for one in asked)
