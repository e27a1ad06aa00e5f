"""Sessions: a conversation as a file of events, one JSON object a line, whatever a crash or another tool did to it.

Lines are read one by one and a line that is no event is named, never a reason to stop. Where a session lies and how
it is written to disk is the store's; what is worth keeping of it is decided by consolidation.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field, fields
from datetime import UTC, datetime, tzinfo
from typing import Any

from ..dataclass import dataclass
from ..results import number_of
from .ids import blake2b, parse_time, stamp
from .text_lines import Problem

TYPES = ("message", "tool_call", "tool_result")
ROLES = ("user", "assistant", "system")
OVERHEAD_TOKENS = 8000
CHARACTERS_PER_TOKEN = 3.5
KEPT = 2000
"""Characters kept of what a tool was given or answered."""

_ROLES = {
    **{role: role for role in ROLES},
    **dict.fromkeys(("human", "customer", "you", "me"), "user"),
    **dict.fromkeys(
        ("ai", "bot", "model", "agent", "gpt", "chatgpt", "claude", "gemini", "copilot", "codex", "cursor"), "assistant"
    ),
    **dict.fromkeys(("developer", "tool", "function", "toolresult"), "system"),
}
_RESULT_ROLES = ("tool", "function", "toolresult")
_ROLE_OF_TYPE = {"message": "user", "tool_call": "assistant", "tool_result": "system"}
CALL_IDS = ("tool_use_id", "toolUseId", "call_id", "callId", "tool_call_id", "toolCallId")
"""Keys under which a tool's call and its answer have the id that ties them together."""
_EVENT_KEYS = ("id", "type", "role", "content", "timestamp", "name", "is_error")
NAMES = ("name", "toolName", "tool_name", "tool")
"""Keys under which an event has its tool."""
_GIVEN = {"tool_call": ("args", "arguments", "input", "params"), "tool_result": ("result", "output", "error")}
"""Keys under which other tools keep what a tool was given and what it answered."""
_DECODER = json.JSONDecoder(parse_constant=lambda _: None)  # NaN is no JSON
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")
_NUMBER = re.compile(r"\d{9,19}(?:\.\d+)?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


@dataclass(frozen=True)
class Event:
    """One thing that happened in a conversation: something said, a tool called, what the tool answered."""

    id: str
    type: str = "message"
    role: str = "user"  # who said it; a tool's answer is the system's, never the user's
    text: str = ""
    timestamp: str = ""  # RFC 3339, UTC; empty where it is not known
    name: str = ""  # the tool, or the speaker of a message where the transcript names one
    is_error: bool = False
    line: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)  # keys that are not ours, written back as they came
    arguments: Any = None  # what a tool was given, or answered where that was cut, whole; never written


def parse_event(line: str) -> Event | None:
    """Read one line; None where it is no event."""
    data = load(line)
    return event_of(data) if isinstance(data, dict) else None


def read_item(line: str, number: int, *, last: bool) -> Event | Problem:
    """Read one line that is not blank: its event, or what is wrong with it; `last` when no newline ends it."""
    data = load(line)
    if data is None:
        return Problem(number, "cut off in the middle: the rest is read" if last else "not JSON: passed over")
    if not isinstance(data, dict):
        return Problem(number, "not a JSON object: passed over")
    return event_of(data, number) or Problem(number, "not an event (no type and role of one): passed over")


def load(line: str) -> Any:
    """Read one line of JSON; None where it is none, however it is broken."""
    try:
        return _DECODER.decode(line.strip("\ufeff\x00 \t\r\n"))
    except (ValueError, RecursionError):
        return None


def event_of(data: Mapping[str, Any], line: int = 0) -> Event | None:
    """Make an event of a JSON object; None where it has neither a role nor the type of an event."""
    stated, role_word = data.get("type"), data.get("role")
    if stated not in TYPES and (stated is not None or not isinstance(role_word, str)):
        return None
    content = data.get("content", data.get("text"))
    if content is None and stated in _GIVEN:
        content = written(next((data[key] for key in _GIVEN[stated] if data.get(key) is not None), None))
    if content is None and not ("content" in data or stated in TYPES):
        return None
    kind = stated if stated in TYPES else "tool_result" if is_result_role(role_word) else "message"
    extra = {key: value for key, value in data.items() if key not in _EVENT_KEYS}
    if "content" not in data:
        extra.pop("text", None)
    if content is not None and not isinstance(content, str):
        extra["content"] = content  # written back as it came: the text below is only its words
    return Event(
        id=word(data.get("id")),
        type=kind,
        role=role_of(role_word) or _ROLE_OF_TYPE[kind],
        text=sound(content if isinstance(content, str) else words_of(content)),
        timestamp=moment(data.get("timestamp")),
        name=word_at(data, NAMES),
        is_error=data.get("is_error") is True or (kind == "tool_result" and failed(data)),
        line=line,
        extra=extra,
    )


def render_event(event: Event) -> str:
    """Write an event as one line of JSON without its newline; what says nothing is left out."""
    data: dict[str, Any] = {
        "id": event.id,
        "type": event.type,
        "role": event.role,
        "content": event.extra.get("content", event.text),
        "timestamp": event.timestamp,
    }
    if event.name:
        data["name"] = event.name
    if event.is_error:
        data["is_error"] = True
    data.update((key, value) for key, value in event.extra.items() if key not in data)
    return sound(json.dumps(data, ensure_ascii=False))


def role_of(stated: object) -> str:
    """Return our role for what another tool calls the speaker; empty for a word that is none."""
    return _ROLES.get(stated.strip().lower(), "") if isinstance(stated, str) else ""


def is_result_role(stated: object) -> bool:
    """Return whether a role stands for a tool that answers."""
    return isinstance(stated, str) and stated.strip().lower() in _RESULT_ROLES


def moment(stated: object, zone: tzinfo = UTC) -> str:
    """Write any spelling of an instant as RFC 3339 in UTC; seconds and milliseconds since 1970 too; empty for none."""
    if isinstance(stated, str) and _UTC.fullmatch(stated):
        return stated if parse_time(stated) else ""
    instant = since_1970(stated) or (parse_time(stated, zone) if isinstance(stated, str) else None)
    return _written(instant) if instant else ""


def since_1970(stated: object) -> datetime | None:
    """Return the instant of a number of seconds since 1970, or of thousandths to billionths of one; None for none."""
    if isinstance(stated, bool) or not isinstance(stated, str | int | float):
        return None
    number = float(stated) if not isinstance(stated, str) or _NUMBER.fullmatch(stated.strip()) else 0.0
    if not 1e8 < number < 1e20:
        return None
    while number >= 1e11:
        number /= 1000
    return datetime.fromtimestamp(number, UTC)


def word(stated: object) -> str:
    """Return a value that names something as text: ids may be numbers."""
    if isinstance(stated, bool) or not isinstance(stated, str | int):
        return ""
    return sound(str(stated)).strip()


def word_at(data: Mapping[str, Any], keys: Iterable[str]) -> str:
    """Return the first word that stands under one of some keys; empty where there is none."""
    return next((text for key in keys if (text := word(data.get(key)))), "")


def moment_at(data: Mapping[str, Any], keys: Iterable[str], zone: tzinfo = UTC) -> str:
    """Return the first instant that stands under one of some keys; empty where there is none."""
    return next((instant for key in keys if (instant := moment(data.get(key), zone))), "")


def failed(data: Mapping[str, Any]) -> bool:
    """Return whether a tool's answer says that it failed, as tools other than mem spell it."""
    return data.get("isError") is True or (bool(data.get("error")) and data.get("result") is None)


def written(value: object) -> str | None:
    """Write what a tool was given or answered as text: a text as it is, anything else as JSON; None for nothing."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def words_of(content: object) -> str:
    """Return the words of a message whose content is a list of parts."""
    texts: list[str] = []
    waiting = [content]
    while waiting:  # no recursion: JSON may nest deeper than calls can
        part = waiting.pop()
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            waiting.append(part.get("text"))
        elif isinstance(part, list):
            waiting.extend(reversed(part))
    return "\n\n".join(text for text in texts if text)


def cut(text: str, limit: int = KEPT) -> str:
    """Keep both ends of a text that is too long: errors stand at the end."""
    if len(text) <= limit:
        return text
    note = f"\n… [{len(text) - limit} characters left out] …\n"
    head = (limit - len(note)) * 3 // 4
    return f"{text[:head]}{note}{text[len(text) - (limit - len(note) - head) :]}"


def sound(text: str) -> str:
    """Replace halves of characters, which JSON can spell and no file can hold."""
    return _SURROGATE.sub("\ufffd", text)


def _written(instant: datetime) -> str:
    whole = stamp(instant)
    return f"{whole[:-1]}.{instant.microsecond // 1000:03}Z" if instant.microsecond >= 1000 else whole


_SHOWN_ARGUMENTS = ("input", "arguments", "args")
_VERBS = {"tool_call": "calls", "tool_result": "answered"}


def heading(event: Event, position: int, zone: tzinfo) -> str:
    """Return the words before an event's text: `#12 2026-11-20 10:31 user`."""
    moment = parse_time(event.timestamp)
    when = f"{moment.astimezone(zone):%Y-%m-%d %H:%M} " if moment else ""
    return f"#{position} {when}{_who(event)}"


def view(event: Event, position: int, zone: tzinfo, limit: int = 0) -> str:
    """Write an event to be read; what tools were given and answered is cut to `limit` characters, if there is one."""
    text = said(event)
    if limit and event.type != "message" and len(text) > limit:
        text = f"{text[:limit].rstrip()}… [{number_of(len(text) - limit, 'more character')}]"
    return f"{heading(event, position, zone)}: {text}"


def said(event: Event) -> str:
    """Return an event's words; of a tool call what the tool was given."""
    if event.text or event.type == "message":
        return event.text
    given = next((event.extra[key] for key in _SHOWN_ARGUMENTS if event.extra.get(key)), "")
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)


def _who(event: Event) -> str:
    if event.type == "message":
        return event.name or event.role
    verb = "failed" if event.is_error or event.extra.get("isError") is True else _VERBS[event.type]
    tool = event.name or "a tool"
    return f"{event.role} {verb} {tool}" if event.type == "tool_call" else f"{tool} {verb}"


PROJECT = "project"
"""Key of a session's metadata: the project of what comes of it."""
STATES = ("ACTIVE", "PAUSED", "TERMINATED")


@dataclass(frozen=True)
class SessionMetadata:
    """A session's own page: who talks where, since when, and up to which message it is remembered."""

    id: str
    channel_id: str = ""
    channel_type: str = ""
    user_id: str = ""
    state: str = "ACTIVE"
    message_count: int = 0
    token_count: int = 0  # what the session costs a model: characters / 3.5 + 8,000, as golemcore reckons
    message_tokens: int = 0  # what was said in it alone
    tools_used: tuple[str, ...] = ()  # in the order they were first used
    created_at: str = ""  # RFC 3339, UTC; survives every rewrite
    updated_at: str = ""
    consolidated_to: str = ""  # the id of the last message consolidated, which compaction cannot shift
    metadata: Mapping[str, Any] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict, compare=False)  # the file as it was read


_KEYS = {
    named.name: re.sub(r"_(\w)", lambda match: match[1].upper(), named.name)
    for named in fields(SessionMetadata)
    if named.name != "raw"
}
"""By field the key that a file has for it, in the order of a new one."""


def read_metadata(text: str) -> SessionMetadata | None:
    """Read a session's metadata; None where the file is no JSON object, and a wrong value is its default."""
    data = load(text)
    return SessionMetadata(**_fields(data), raw=data) if isinstance(data, dict) else None


def render_metadata(session: SessionMetadata) -> str:
    """Write a session's metadata: unknown keys, key order and the spelling of what did not change are kept."""
    before = _fields(session.raw)
    data = dict(session.raw)
    for name, key in _KEYS.items():
        value = getattr(session, name)
        if key not in data or value != before[name]:
            data[key] = dict(value) if isinstance(value, Mapping) else value
    return sound(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: data.get(key) for name, key in _KEYS.items()}
    state = word(values["state"]).upper()
    return {
        **{name: word(values[name]) for name in ("id", "channel_id", "channel_type", "user_id")},
        "state": state if state in STATES else "ACTIVE",
        **{name: _count(values[name]) for name in ("message_count", "token_count", "message_tokens")},
        "tools_used": _names(values["tools_used"]),
        **{name: moment(values[name]) for name in ("created_at", "updated_at")},
        "consolidated_to": word(values["consolidated_to"]),
        "metadata": values["metadata"] if isinstance(values["metadata"], Mapping) else {},
    }


def _count(stated: object) -> int:
    return stated if isinstance(stated, int) and not isinstance(stated, bool) and stated >= 0 else 0


def _names(stated: object) -> tuple[str, ...]:
    return tuple(name for name in stated if isinstance(name, str)) if isinstance(stated, list) else ()


LONGEST = 120
"""Characters of a folder's name at most; Windows allows 260 for the whole path."""

_PLAIN = re.compile(r"[a-z0-9._@+=-]")
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.DOTALL)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_CUT_ESCAPE = re.compile(r"%.?$")


def folder_name(session_id: str) -> str:
    """Write a session's id as a folder name: `telegram:12345` is `telegram%3A12345`.

    Capital letters are escaped too, since some file systems take `A` and `a` for the same folder. An id that is
    too long keeps its beginning and a digest; only its `metadata.json` tells it whole.
    """
    name = "".join(character if _PLAIN.match(character) else _escape(character) for character in session_id)
    if name[:1] in (".", "-") or _RESERVED.fullmatch(name):
        name = _escape(name[0]) + name[1:]
    if name.endswith("."):
        name = name[:-1] + _escape(".")
    if len(name) > LONGEST:
        digest = blake2b(session_id.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
        return _CUT_ESCAPE.sub("", name[: LONGEST - len(digest) - 1]) + "~" + digest
    return name or "%"


def session_id(folder: str) -> str | None:
    """Read the id back from a folder's name; None where the name is only a beginning and a digest.

    A folder made by hand stands for its own name.
    """
    if folder == "%":
        return ""
    if re.search(r"~[0-9a-f]{16}$", folder):
        return None
    return _ESCAPES.sub(_unescape, folder)


def _escape(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))


def _unescape(match: re.Match[str]) -> str:
    data = bytes.fromhex(match[0].replace("%", ""))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return match[0]
