"""What is known of a session besides its events: `metadata.json`, of which only what changed is written anew."""

import json
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ..dataclass import dataclass
from .ids import blake2b
from .session_event import load, moment, sound, word

PROJECT = "project"
"""Key of a session's metadata: the project of what comes of it."""
STATES = ("ACTIVE", "PAUSED", "TERMINATED")

# Keys in the order a new file has them, our field, and what another tool calls the same thing.
_KEYS: dict[str, tuple[str, str]] = {
    "id": ("id", "sessionId"),
    "channelId": ("channel_id", "chatId"),
    "channelType": ("channel_type", "channel_type"),
    "userId": ("user_id", "user_id"),
    "state": ("state", "state"),
    "messageCount": ("message_count", "message_count"),
    "tokenCount": ("token_count", "token_count"),
    "messageTokens": ("message_tokens", "message_tokens"),
    "toolsUsed": ("tools_used", "tools_used"),
    "createdAt": ("created_at", "created_at"),
    "updatedAt": ("updated_at", "updated_at"),
    "consolidatedTo": ("consolidated_to", "consolidated_to"),
    "metadata": ("metadata", "metadata"),
}


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


def read_metadata(text: str) -> SessionMetadata | None:
    """Read a session's metadata; None where the file is no JSON object, and a wrong value is its default."""
    data = load(text)
    return SessionMetadata(**_fields(data), raw=data) if isinstance(data, dict) else None


def render_metadata(session: SessionMetadata) -> str:
    """Write a session's metadata: unknown keys, key order and the spelling of what did not change are kept."""
    before = _fields(session.raw)
    data = dict(session.raw)
    for key, (name, other) in _KEYS.items():
        value = getattr(session, name)
        spelled = key if key in data or other not in data else other
        if spelled not in data or value != before[name]:
            data[spelled] = dict(value) if isinstance(value, Mapping) else value
    return sound(json.dumps(data, ensure_ascii=False, indent=2)) + "\n"


def _fields(data: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: data.get(key, data.get(other)) for key, (name, other) in _KEYS.items()}
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
