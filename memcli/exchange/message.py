"""One message of a transcript made into events: its words, the tools it calls, what tools answered it.

Claude Code, OpenClaw, OpenAI's chat format and others all write a message as a string or a list of parts; they differ
in what they call things.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ..text.session import Event, sound, word, words_of
from .reading import Reading
from .wording import LIMIT, clean, command_of, given, output

_WORDS = ("text", "input_text", "output_text")
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")
_CALLS = ("tool_use", "toolcall", "tool_call", "server_tool_use", "mcp_tool_use", "function_call")
_PICTURES = {
    **dict.fromkeys(("image", "input_image", "image_url", "local_image"), "[image]"),
    **dict.fromkeys(("document", "file", "input_file"), "[document]"),
    **dict.fromkeys(("audio", "input_audio"), "[audio]"),
}


def message_events(
    content: Any, role: str, reading: Reading, *, timestamp: str = "", identity: str = "", line: int = 0
) -> Iterator[Event]:
    """Yield the events of one message's content; the first has the id given, the others that and their number."""
    parts = content if isinstance(content, list) else [content]
    answers = any(isinstance(part, Mapping) and "result" in str(part.get("type")) for part in parts)
    pending: list[str] = []
    made, skipped = 0, reading.skipped.total()

    def event(kind: str, who: str, text: str, name: str = "", **more: Any) -> Event:
        nonlocal made
        made += 1
        number = f".{made}" if made > 1 else ""
        return Event(identity and identity + number, kind, who, text, timestamp, name, line=line, **more)

    def message() -> Iterator[Event]:
        if any(part.strip() for part in pending):
            yield event("message", role, "\n\n".join(part for part in pending if part.strip()))
        pending.clear()

    for part in parts:
        kind = str(part.get("type", "text")).lower() if isinstance(part, Mapping) else "text"
        if kind in _WORDS:
            pending.append(reading.said(clean(words_of(part))))
        elif kind in _PICTURES and answers:
            reading.skip("picture from a tool")
        elif kind in _PICTURES:
            pending.append(_PICTURES[kind])
        elif kind in _CALLS:
            yield from message()
            yield event("tool_call", "assistant", *called(part, reading), extra=call_id(part))
        elif "result" in kind:
            yield from message()
            call = reading.answered(call_id(part).get("call_id", ""))
            text, failed = answer(part, reading)
            if call.recalls:
                reading.skip("recalled memory")
                text = ""
            if text or failed:
                name = call.name or word(part.get("name"))
                yield event("tool_result", "system", text, name, is_error=failed, extra=call_id(part))
        elif kind in _THOUGHTS:
            reading.skip("thinking")
        else:
            reading.skip_type(part.get("type") if isinstance(part, Mapping) else None)
    yield from message()
    if not made and reading.skipped.total() == skipped:
        reading.skip("no text")


def call_id(part: Mapping[str, Any]) -> dict[str, str]:
    """Find what ties a tool's answer to its call."""
    keys = ("tool_use_id", "call_id", "callId", "toolCallId", "tool_call_id", "id")
    found = next((word(part[key]) for key in keys if word(part.get(key))), "")
    return {"call_id": found} if found else {}


def called(part: Mapping[str, Any], reading: Reading) -> tuple[str, str]:
    """Read a tool call: what the tool was given and its name."""
    function = part.get("function")
    source = {**part, **function} if isinstance(function, Mapping) else part
    name = word(source.get("name")) or word(source.get("toolName"))
    arguments = next(
        (source[key] for key in ("input", "arguments", "args", "summary") if source.get(key) is not None), None
    )
    reading.call(call_id(part).get("call_id", ""), name, command_of(arguments))
    return given(arguments), name


def answer(part: Mapping[str, Any], reading: Reading) -> tuple[str, bool]:
    """Read a tool's answer: its text and whether the tool failed."""
    content = part.get("content", part.get("output", part.get("text")))
    text = reading.said("\n".join(_answer_parts(content)))
    failed = any(part.get(key) is True for key in ("is_error", "isError")) or text.startswith("<tool_use_error>")
    if len(text) > LIMIT:
        reading.skip("tool output cut")
    return output(text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")), failed


def _answer_parts(content: Any) -> Iterator[str]:
    for part in content if isinstance(content, list) else [content]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        yield _PICTURES.get(kind, "") if isinstance(kind, str) and kind in _PICTURES else sound(words_of(part))
