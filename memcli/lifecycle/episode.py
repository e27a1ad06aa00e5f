"""An episode: what happened in one conversation, told so that it can be found again."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from ..store.sessions.span import session_source
from ..text.session import Event
from ..text.summary import first_line, shorten
from ..text.times import parse_time
from .findings import Findings

_TITLE, _LINE, _DECISIONS = 60, 120, 5
_DECIDED = ("constraint", "correction", "preference", "procedure", "lesson")


def episode(
    session: str, events: Sequence[Event], findings: Findings, history: str, now: datetime, zone: tzinfo
) -> tuple[str, str, tuple[str, ...], str]:
    """Give title, text, tags and day of the episode of a conversation."""
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or now
    day = f"{moment.astimezone(zone):%Y-%m-%d}"
    asked = [event.text for event in events if event.type == "message" and event.role == "user"]
    answers = [event.text for event in events if event.type == "message" and event.role == "assistant"]
    title = shorten(first_line(asked[0]) if asked else session, _TITLE)
    topic = shorten(first_line(asked[-1]), _TITLE) if asked else title
    told = history.partition("] ")[2] or history
    tags = tuple(dict.fromkeys(tag for one in findings.memories for tag in one.tags))[:6]
    decisions = [one.text for one in findings.memories if one.type in _DECIDED][:_DECISIONS]
    open_questions = _open(events)
    # History and the entries tell it in full: here is what it is found by.
    lines = [
        f"Title: {title}",
        f"Date: {day}",
        *([f"Topic: {topic}"] if topic != title else []),
        *([f"Outcome: {shorten(first_line(answers[-1]), _LINE)}"] if answers else []),
        f"Refs: {session_source(session, events[0].id, events[-1].id)}",
        *([f"Tags: {', '.join(tags)}"] if tags else []),
        "",
        f"Summary: {shorten(told, _LINE)}",
    ]
    if decisions:
        lines += ["", "Key decisions:", *(f"- {shorten(text, _LINE)}" for text in decisions)]
    if open_questions:
        lines += ["", "Open questions:", *(f"- {text}" for text in open_questions)]
    return title, "\n".join(lines), tags, day


def _open(events: Sequence[Event]) -> list[str]:
    """Find what the user asked last and nobody answered."""
    found: list[str] = []
    for event in reversed(events):
        if event.type != "message":
            continue
        if event.role == "assistant":
            break
        if event.text.rstrip().endswith("?"):
            found.append(shorten(event.text, _LINE))
    return found[::-1]
