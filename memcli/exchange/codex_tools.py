"""What a Codex rollout tells of tools: calls of several kinds, and answers that tell only by text if they failed."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..text.session import Event, word, words_of
from .message import message_events
from .reading import Reading

_EXIT = re.compile(r"(?:^|\n)(?:Exit code|Process exited with code):? (\d+)")
_PREFACE = re.compile(
    r"(?:Chunk ID|Exit code|Wall time|Process exited|Warning|Total output)\b.{0,600}?\nOutput:\n", re.DOTALL
)


def tool_events(item: Mapping[str, Any], reading: Reading, *, timestamp: str = "", line: int = 0) -> Iterator[Event]:
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
        about = stated.get("metadata")
        code = about.get("exit_code") if isinstance(about, Mapping) else None
        failed = stated.get("success") is False or code not in (0, None)
        inner = stated.get("output", stated.get("content"))
        stated = json.dumps(stated, ensure_ascii=False) if inner is None else inner
    text = words_of(stated)
    preface = _PREFACE.match(text)
    exited = _EXIT.search(preface[0]) if preface else _EXIT.match(text)
    return text[preface.end() :] if preface else text, failed or bool(exited and exited[1] != "0")
