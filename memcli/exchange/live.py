"""Events that come in as they happen, from a hook or a program: the same rules as for whole transcripts.

What nobody said is left out, a memory's own answers above all.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any

from ..errors import UsageError
from ..store.redaction import Redacted, redactor
from ..store.sessions import made
from ..store.sessions.append import Appended, Noise, append
from ..store.sessions.file import recent_events
from ..store.workspace import Workspace
from ..text.injected import recalls_memory
from ..text.session import Event, load
from .message import call_id
from .own import is_header
from .reading import Reading
from .records import is_record, record_events

_HEARD = 20  # events before, among which the last message is
_SHAPE = 'write {"role": "user", "content": "…"}; a type is message, tool_call or tool_result'


@dataclass(frozen=True)
class Taken(Appended):
    """What became of events that came in."""

    skipped: Mapping[str, int] = field(default_factory=Counter)
    redacted: tuple[Redacted, ...] = ()


def add_events(
    workspace: Workspace,
    into: str,
    given: Sequence[Mapping[str, Any]],
    noise: Noise,
    told: Mapping[str, Any] | None = None,
) -> Taken:
    """Add events given as JSON objects to a session, made if need be; those without a time are of now.

    Raises UsageError, and adds nothing, where an object is no event.
    """
    before = recent_events(workspace.path(made(workspace, into).path)) if into else []
    events, skipped = spoken(given, before, workspace.zone)
    cleaner = redactor(workspace, into or "the event")
    told = cleaner.fields(told or {})
    for event in before[-_HEARD:]:
        cleaner.hear(event)
    done = append(workspace, into, [cleaner.event(event) for event in events], noise, told)
    return Taken(**vars(done), skipped=skipped, redacted=tuple(cleaner.found))


def spoken(
    given: Iterable[Mapping[str, Any]], before: Sequence[Event], zone: tzinfo
) -> tuple[list[Event], Counter[str]]:
    """Make events of JSON objects, and count what is left out; `before` is what was said last in the session."""
    reading = Reading(zone=zone)
    for event in before:
        if event.type == "tool_call":
            reading.call(call_id(event.extra).get("call_id", ""), event.name, event.text)
    events: list[Event] = []
    for number, data in enumerate(given, 1):
        if is_header(data):
            reading.skip("line about the session")
            continue
        if not is_record(data):
            raise UsageError(f"event {number} has no role and content of one", _SHAPE)
        for event in record_events(data, reading, number):
            if event.type == "tool_result" and recalls_memory(event.name):
                reading.skip("recalled memory")
            else:
                events.append(event)
    return events, reading.skipped


def objects(text: str) -> list[Mapping[str, Any]]:
    """Read one JSON object, a list of them, a conversation with its messages, or one a line.

    UsageError names the line that is none.
    """
    whole = load(text)
    if isinstance(whole, Mapping):
        if not isinstance(whole.get("messages"), list) or is_record(whole):
            return [whole]
        whole = whole["messages"]
    lines = enumerate(whole, 1) if isinstance(whole, list) else _lines(text)
    found = []
    for number, data in lines:
        if not isinstance(data, Mapping):
            raise UsageError(f"line {number} of the event is no JSON object", f"give a text with --text, or {_SHAPE}")
        found.append(data)
    if not found:
        raise UsageError("there is no event", _SHAPE)
    return found


def _lines(text: str) -> Iterable[tuple[int, Any]]:
    return ((number, load(line)) for number, line in enumerate(text.split("\n"), 1) if line.strip())
