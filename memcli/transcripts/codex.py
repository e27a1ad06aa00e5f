"""Codex's rollouts: what the model saw and what the screen showed, in one file; older ones have only the first.

What the model saw as said by the user is partly not said by anybody: instructions, the environment. A prompt that a
person typed is shown on the screen too, so where a rollout has the screen's log, that is where prompts are read.
"""

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ..formats.session_event import Event, moment, word, words_of
from .messages import message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat, as_list, as_mapping

_EXIT = re.compile(r"(?:^|\n)(?:Exit code|Process exited with code):? (\d+)")
_PREFACE = re.compile(
    r"(?:Chunk ID|Exit code|Wall time|Process exited|Warning|Total output)\b.{0,600}?\nOutput:\n", re.DOTALL
)


def _tool_events(item: Mapping[str, Any], reading: Transcript, *, timestamp: str, line: int) -> Iterator[Event]:
    """Yield the events of a response item that is no message."""
    kind = str(item.get("type"))
    identifier = word(item.get("call_id"))
    if kind == "reasoning":
        reading.skip("thinking")
        return
    if kind.endswith("_call_output"):
        text, failed = _answer(item.get("output"))
        part: dict[str, Any] = {"type": "tool_result", "content": text, "is_error": failed}
    elif kind in ("function_call", "custom_tool_call"):
        part = {**item, "type": "tool_use", "id": ""}
    elif kind in ("local_shell_call", "web_search_call"):
        action = item.get("action")
        name = "shell" if kind == "local_shell_call" else "web_search"
        part = {"type": "tool_use", "name": name, "input": action}
    else:
        reading.skip_type(kind)
        return
    part["call_id"] = identifier
    yield from message_events([part], "assistant", reading, timestamp=timestamp, line=line)


def _answer(stated: Any) -> tuple[str, bool]:
    """Read an answer: older ones are JSON in a string, newer ones begin with lines about the process."""
    if isinstance(stated, str) and stated.startswith("{"):
        try:
            stated = json.loads(stated)
        except (ValueError, RecursionError):
            return stated, False
    failed = False
    if isinstance(stated, Mapping):
        code = as_mapping(stated.get("metadata")).get("exit_code")
        failed = stated.get("success") is False or code not in (0, None)
        inner = stated.get("output", stated.get("content"))
        stated = json.dumps(stated, ensure_ascii=False) if inner is None else inner
    text = words_of(stated)
    preface = _PREFACE.match(text)
    exited = _EXIT.search(preface[0]) if preface else _EXIT.match(text)
    return text[preface.end() :] if preface else text, failed or bool(exited and exited[1] != "0")


ENVELOPES = ("session_meta", "turn_context", "response_item", "event_msg", "compacted")
_BARE = (
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "web_search_call",
)
_INJECTED = re.compile(
    r"\s*<(permissions instructions|permissions|user_instructions|recommended_plugins|skill|skills_instructions"
    r"|plugins_instructions|apps_instructions|collaboration_mode|personality_spec|model_switch"
    r"|subagent_notification|INSTRUCTIONS)(?:\s[^>\n]*)?>.*</\1>\s*",
    re.DOTALL,
)
_AGENTS_FILE = re.compile(r"\s*# AGENTS\.md instructions\b.*?(?:</INSTRUCTIONS>|\Z)", re.DOTALL)
_REQUEST = "## My request for Codex:"
_NEAR = 16
"""Messages between which the two logs are matched."""


def _is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a rollout, of the older kind too."""
    kind = data.get("type")
    if kind in ENVELOPES and "payload" in data:
        return True
    if kind == "message":
        content = data.get("content")
        first = content[0] if isinstance(content, list) and content else None
        return isinstance(first, Mapping) and first.get("type") in ("input_text", "output_text")
    header = {"id", "timestamp"} <= data.keys() and ("instructions" in data or "git" in data)
    return kind in _BARE or "record_type" in data or (kind is None and header)


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a rollout; its beginning tells whether the screen's log shows the prompts."""
    screen = _Screen(reading, any(map(_shows_prompt, file.head_objects())))
    for number, data in file.objects(reading):
        kind = data.get("type")
        payload = data.get("payload") if kind in ENVELOPES else data
        timestamp = moment(data.get("timestamp"))
        if not isinstance(payload, Mapping):
            reading.skip_type(kind)
        elif kind == "session_meta" or (kind is None and "role" not in data):
            _header(payload, timestamp, reading)
        elif kind == "event_msg":
            yield from screen.shown(payload, timestamp, number)
        elif kind in ("turn_context", "compacted"):
            reading.skip_type(kind)
        elif payload.get("type", "message") == "message":
            yield from screen.seen(payload, timestamp, number)
        else:
            events = list(_tool_events(payload, reading, timestamp=timestamp, line=number))
            yield from chain(screen.settled() if events else (), events)
    yield from screen.settled()


class _Screen:
    """Merges both logs of a rollout: each message is yielded once."""

    def __init__(self, reading: Transcript, shows_prompts: bool) -> None:
        self.reading = reading
        self.shows_prompts = shows_prompts
        self.said: deque[str] = deque(maxlen=_NEAR)  # taken from what the model saw, not yet met on the screen
        self.waiting: list[tuple[str, list[Event]]] = []  # replies on the screen, not yet met in what the model saw

    def seen(self, item: Mapping[str, Any], timestamp: str, line: int) -> Iterator[Event]:
        """Take a message that the model saw or wrote."""
        role, content = item.get("role"), item.get("content")
        if role not in ("user", "assistant"):
            self.reading.skip("instructions")
            return
        text = words_of(content).strip()
        if role == "assistant":
            before = len(self.waiting)
            self.waiting = [reply for reply in self.waiting if reply[0] != text]
            if len(self.waiting) < before:
                self.reading.skip("shown twice")
            else:
                self.said.append(text)
            yield from self.settled()
        elif self.shows_prompts:
            self.reading.skip("prompt as the model saw it")
            return
        else:
            yield from self.settled()
            parts = as_list(content)
            self.said.extend(words_of(part).strip() for part in parts)
            content = [typed for part in parts if (typed := self._typed(part)) is not None]
            if not content:
                return
        yield from self._message(content, role, timestamp, line)

    def shown(self, event: Mapping[str, Any], timestamp: str, line: int) -> Iterator[Event]:
        """Take what the screen showed."""
        kind, text = event.get("type"), event.get("message")
        self.shows_prompts = self.shows_prompts or kind == "user_message"
        if kind not in ("user_message", "agent_message") or not isinstance(text, str):
            self.reading.skip_type(kind)
        elif text.strip() in self.said:
            self.said.remove(text.strip())
            self.reading.skip("shown twice")
        elif kind == "agent_message":
            self.waiting.append((text.strip(), list(self._message(text, "assistant", timestamp, line))))
        else:
            yield from self.settled()
            lists = [event[key] for key in ("images", "local_images") if isinstance(event.get(key), list)]
            words = self._typed({"type": "text", "text": text})
            parts = [words] if words else []
            parts += [{"type": "image"} for pictures in lists for _ in pictures]
            if parts:
                yield from self._message(parts, "user", timestamp, line)

    def settled(self) -> Iterator[Event]:
        """Yield the replies that only the screen showed."""
        waiting, self.waiting = self.waiting, []
        for _, events in waiting:
            yield from events

    def _message(self, content: Any, role: str, timestamp: str, line: int) -> Iterator[Event]:
        yield from message_events(content, role, self.reading, timestamp=timestamp, line=line)

    def _typed(self, part: Any) -> Any:
        """Return what a person typed of a part of a prompt; None where nobody typed it."""
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            return part
        file = _AGENTS_FILE.match(text)
        typed = "" if _INJECTED.fullmatch(text) else text[file.end() :] if file else text
        if typed != text:
            self.reading.skip("instructions")
        if not typed.strip():
            return None
        if typed.lstrip().startswith("# Context from my IDE setup") and _REQUEST in typed:
            typed = typed.partition(_REQUEST)[2].strip()
        return {"type": "text", "text": typed}


def _header(payload: Mapping[str, Any], timestamp: str, reading: Transcript) -> None:
    """Note whose session it is; a rollout that was forked repeats its parent's header, so the first holds."""
    if "record_type" in payload or reading.session_id:
        reading.skip_type("session_meta" if reading.session_id else "state")
        return
    reading.session_id = word(payload.get("id")) or word(payload.get("session_id"))
    reading.started = moment(payload.get("timestamp")) or timestamp
    branch = word(as_mapping(payload.get("git")).get("branch"))
    origin = payload.get("source")
    if isinstance(origin, Mapping) and "subagent" in origin:
        reading.about["subagent"] = True
    about = {"cwd": word(payload.get("cwd")), "branch": branch, "version": word(payload.get("cli_version"))}
    reading.about.update((key, value) for key, value in about.items() if value)


def _shows_prompt(data: Mapping[str, Any]) -> bool:
    payload = as_mapping(data.get("payload")) if data.get("type") == "event_msg" else {}
    return payload.get("type") == "user_message" and isinstance(payload.get("message"), str)


ROLLOUT = TranscriptFormat("codex", _read, _is_line)
TOOL = Tool(
    "codex", "Codex", "CODEX_HOME", (".codex",), ("sessions/**/rollout-*.jsonl", "archived_sessions/rollout-*.jsonl")
)
