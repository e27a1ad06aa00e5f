"""An episode: what happened in one conversation, told so that it can be found again."""

from collections.abc import Sequence
from datetime import datetime, tzinfo

from ..store.session_span import session_source
from ..text.session import Event
from ..text.summary import first_line, shorten
from ..text.times import parse_time
from .findings import Findings

_DECIDED = ("constraint", "correction", "preference", "procedure", "lesson")


def episode(
    session: str, events: Sequence[Event], findings: Findings, history: str, now: datetime, zone: tzinfo
) -> tuple[str, str, tuple[str, ...], str]:
    """Give title, text, tags and day of the episode of a conversation."""
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or now
    day = f"{moment.astimezone(zone):%Y-%m-%d}"
    asked = [event.text for event in events if event.type == "message" and event.role == "user"]
    answers = [event.text for event in events if event.type == "message" and event.role == "assistant"]
    topic = shorten(first_line(asked[0]) if asked else session, 120)
    told = history.partition("] ")[2] or history
    tags = tuple(dict.fromkeys(tag for one in findings.memories for tag in one.tags))[:6]
    decisions = [one.text for one in findings.memories if one.type in _DECIDED][:8]
    open_questions = _open(events)
    lines = [
        f"Title: {shorten(topic, 80)}",
        f"Date: {day}",
        f"Topic: {topic}",
        f"Outcome: {shorten(first_line(answers[-1]), 160) if answers else 'none'}",
        f"Refs: {session_source(session, events[0].id, events[-1].id)}",
        f"Tags: {', '.join(tags) or 'none'}",
        "",
        f"Summary: {told}",
    ]
    if decisions:
        lines += ["", "Key decisions:", *(f"- {shorten(text, 200)}" for text in decisions)]
    if open_questions:
        lines += ["", "Open questions:", *(f"- {text}" for text in open_questions)]
    return shorten(topic, 80), "\n".join(lines), tags, day


def _open(events: Sequence[Event]) -> list[str]:
    """Find what the user asked last and nobody answered."""
    found: list[str] = []
    for event in reversed(events):
        if event.type != "message":
            continue
        if event.role == "assistant":
            break
        if event.text.rstrip().endswith("?"):
            found.append(shorten(event.text, 160))
    return found[::-1]
