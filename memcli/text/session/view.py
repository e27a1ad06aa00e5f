"""How a conversation reads: each event with its position, its time where the user lives, who speaks, and what."""

import json
from datetime import tzinfo

from ..times import parse_time
from . import Event

_GIVEN = ("input", "arguments", "args")
_VERBS = {"tool_call": "calls", "tool_result": "answered"}


def heading(event: Event, position: int, zone: tzinfo) -> str:
    """Give the words before an event's text: `#12 2026-11-20 10:31 user`."""
    moment = parse_time(event.timestamp)
    when = f"{moment.astimezone(zone):%Y-%m-%d %H:%M} " if moment else ""
    return f"#{position} {when}{_who(event)}"


def view(event: Event, position: int, zone: tzinfo, limit: int = 0) -> str:
    """Write an event to be read; what tools were given and answered is cut to `limit` characters, if there is one."""
    text = said(event)
    if limit and event.type != "message" and len(text) > limit:
        text = f"{text[:limit].rstrip()}… [{len(text) - limit:,} more characters]"
    return f"{heading(event, position, zone)}: {text}"


def said(event: Event) -> str:
    """Give an event's words; of a tool call what the tool was given."""
    if event.text or event.type == "message":
        return event.text
    given = next((event.extra[key] for key in _GIVEN if event.extra.get(key)), "")
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _who(event: Event) -> str:
    if event.type == "message":
        return event.name or event.role
    verb = "failed" if event.is_error or event.extra.get("isError") is True else _VERBS[event.type]
    tool = event.name or "a tool"
    return f"{event.role} {verb} {tool}" if event.type == "tool_call" else f"{tool} {verb}"
