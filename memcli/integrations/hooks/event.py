"""What an agent's harness says on standard input when a hook runs, read from JSON that may hold anything.

Claude Code and Codex send the same envelope; a field that is missing, null or of another type is empty here.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import Any, BinaryIO

from ...api.agents import Workspace, keeper, session_name
from ...dataclass import dataclass
from ...errors import UsageError

LARGEST = 8 << 20
"""Bytes of an event; a prompt with whole files pasted in is far smaller."""
_PIECE = 1 << 20
PATIENCE = 1.0
"""Seconds of silence after which nothing more is waited for: the end of a session leaves a second and a half."""
_ERROR = 500  # characters at the end of an error, which say what went wrong


@dataclass(frozen=True)
class HookEvent:
    """One event of a conversation."""

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    answer: str = ""  # the assistant's last message
    source: str = ""  # of a session's start: startup, resume, clear, compact, fork
    transcript: str = ""
    error: str = ""  # what a tool call failed with


def read_all(stream: BinaryIO, patience: float = PATIENCE) -> bytes:
    """Read an event to its end, whatever its size, keeping no more than shows that it is too large.

    A harness that forgets to close its end is not waited for: what came until it fell silent is the event.
    """
    data = bytearray()
    for piece in iter(lambda: _piece(stream, patience), b""):
        if len(data) <= LARGEST:  # the rest is read all the same, or a harness would get a broken pipe
            data += piece
    return bytes(data)


def _piece(stream: BinaryIO, patience: float) -> bytes:
    from select import select

    try:
        fd = stream.fileno()
    except OSError:  # no file at all
        return stream.read(_PIECE)
    return os.read(fd, _PIECE) if select([fd], [], [], patience)[0] else b""


def parse(data: bytes) -> HookEvent:
    """Read an event; raise UsageError saying what is wrong with it."""
    if len(data) > LARGEST:
        raise UsageError(f"the event has more than {LARGEST >> 20} MB")
    if not data.strip():
        raise UsageError("no event on standard input")
    try:
        given = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event is not JSON ({str(error)[:100]})") from None
    if not isinstance(given, Mapping):
        raise UsageError("the event is no JSON object")
    return HookEvent(
        name=_word(given, "hook_event_name"),
        session=session_name(_word(given, "session_id")),
        folder=_word(given, "cwd"),
        prompt=_word(given, "prompt"),
        answer=_word(given, "last_assistant_message"),
        source=_word(given, "source"),
        transcript=_word(given, "transcript_path"),
        error=_error(given)[-_ERROR:],
    )


def _word(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate could not be written


def _error(given: Mapping[str, Any]) -> str:
    """Find what a failed tool call said; empty where it did not fail."""
    said = _word(given, "error")
    if said:
        return said
    answer = given.get("tool_response")
    if not isinstance(answer, Mapping):
        return ""
    code = next((answer[key] for key in ("exit_code", "exitCode", "code") if isinstance(answer.get(key), int)), 0)
    if not code and not any(answer.get(key) is True for key in ("is_error", "isError")):
        return ""
    return next((text for key in ("stderr", "error", "output", "stdout") if (text := _word(answer, key))), "")


Detach = Callable[[Workspace, Sequence[str], float], bool]
"""Starts `mem` with some words in a process of its own, no more often than every so many seconds."""
Behind = Callable[[Callable[[], None]], None]
"""Does work for which the agent need not wait."""


@dataclass(frozen=True)
class HookContext:
    """An event, the workspaces it concerns, and what its hook may use."""

    workspaces: Sequence[Workspace]
    event: HookEvent
    detach: Detach
    behind: Behind
    began: float  # when the process began, on the monotonic clock

    @property
    def workspace(self) -> Workspace:
        """Return the workspace that is asked first, and gets what the user asks to remember."""
        return self.workspaces[0]

    @property
    def left(self) -> float:
        """Return the seconds the agent may still be kept waiting, counted from the start of the process."""
        within: float = self.workspace.settings["hooks.within"]
        return max(0.0, self.began + within / 1000 - monotonic())

    @cached_property
    def keeper(self) -> Workspace | None:
        """Return the workspace that keeps what is said; None if nothing is kept."""
        kept_by = keeper(self.workspaces) if self.event.session else None
        if kept_by is None or not self.workspace.settings["hooks.notes"]:
            return None
        return kept_by if kept_by.settings["hooks.notes"] else None


@dataclass(frozen=True)
class HookAnswer:
    """What the agent is given."""

    event: str = ""
    context: str = ""
    is_late: bool = False  # threads may be busy still: leave the process without waiting for them

    def written(self) -> str:
        """Write the document both agents read, with no key that one of them does not know; nothing for no context."""
        if not self.context.strip():
            return ""
        told = {"hookEventName": self.event, "additionalContext": self.context}
        return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False)
