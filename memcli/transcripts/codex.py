"""Transcripts of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`.

A rollout repeats each message: as the model saw it, and as the screen showed it. The first kind is
in every release, so only it is read. Texts that Codex adds to the user's turn are left out.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..formats.session import read_content
from ..formats.text import build_digest
from .transcript import Calls, Transcript, build_message, normalize_parts, read_timestamp

NAME = "codex"
FOLDER_VARIABLE, FOLDER, PATTERNS = "CODEX_HOME", ".codex", ("sessions/**/rollout-*.jsonl",)
ITEMS = (
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
)
ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# The lines about the process before a command's output.
PREFACE = re.compile(r"(?s)(?:Chunk ID|Exit code|Wall time|Process exited)\b.{0,600}?\nOutput:\n")
EXIT_CODE = re.compile(r"(?m)^(?:Exit code|Process exited with code):? (\d+)")
# The IDE's context comes before what the person typed.
REQUEST = "## My request for Codex:"


def is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a rollout, of the older kind too."""
    if data.get("type") in ENVELOPES and "payload" in data:
        return True
    parts = data.get("content")
    first = parts[0] if isinstance(parts, list) and parts else None
    is_message = isinstance(first, Mapping) and first.get("type") in ("input_text", "output_text")
    return is_message or "record_type" in data or data.get("type") in ITEMS[1:]


def read_lines(lines: Iterable[Mapping[str, Any]]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    calls = Calls(transcript)
    for data in lines:
        kind = data.get("type")
        item = data.get("payload") if kind in ENVELOPES else data
        if not isinstance(item, Mapping):
            transcript.skipped += 1
            continue
        # A forked rollout repeats the header of its parent, so the first one counts.
        if kind == "session_meta" and not transcript.session_id:
            transcript.session_id = str(item.get("id") or item.get("session_id") or "")
            transcript.folder = str(item.get("cwd") or "")
        elif kind == "compacted":
            remove_summary(transcript, str(item.get("message") or ""))
        elif kind in ("response_item", *ITEMS) and item.get("type", "message") in ITEMS:
            read_item(calls, item, read_timestamp(data.get("timestamp")))
        else:
            transcript.skipped += 1
    return transcript


def remove_summary(transcript: Transcript, context: str) -> None:
    """Remove the answer that a compaction asked for. Its new context ends with that answer."""
    last = transcript.events[-1] if transcript.events else {}
    if last.get("role") == "assistant" and context.rstrip().endswith(last["content"][-50:]):
        transcript.events.pop()


def read_item(calls: Calls, item: Mapping[str, Any], timestamp: str) -> None:
    """Add a message, a tool call or its result."""
    kind, call_id = str(item.get("type", "message")), str(item.get("call_id") or "")
    if kind == "message":
        role = str(item.get("role"))
        if role in ("user", "assistant"):
            add_message(calls.transcript, role, item, timestamp)
    elif kind.endswith("_output"):
        result, is_error = read_output(item.get("output"))
        calls.add_result(call_id, result, is_error=is_error, timestamp=timestamp)
    else:
        arguments = item.get("arguments", item.get("input", item.get("action")))
        calls.add_call(call_id, str(item.get("name") or "shell"), arguments, timestamp)


def add_message(transcript: Transcript, role: str, item: Mapping[str, Any], timestamp: str) -> None:
    content = item.get("content")
    # Each part of the user's turn is either typed or added by Codex.
    for part in content if role == "user" and isinstance(content, list) else [content]:
        text = read_content(normalize_parts(part if isinstance(part, str | list) else [part]))
        if role == "user" and REQUEST in text:
            text = text.partition(REQUEST)[2]
        # Older releases give messages no id. A copy in a forked rollout has the same time and text.
        digest = build_digest(f"{role}{timestamp}{text}".encode("utf-8", "replace"))[:16]
        event = build_message(role, text, timestamp, item.get("id") or f"codex_{digest}")
        if event is not None:
            transcript.events.append(event)


def read_output(output: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether the call failed."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return str(output), False
    is_error = False
    if isinstance(output, Mapping):
        details = output.get("metadata")
        code = details.get("exit_code") if isinstance(details, Mapping) else 0
        is_error = output.get("success") is False or code not in (0, None)
        output = output.get("output", output.get("content", ""))
    text = read_content(normalize_parts(output))
    preface = PREFACE.match(text)
    code_match = EXIT_CODE.search(preface[0]) if preface else None
    failed = is_error or bool(code_match and code_match[1] != "0")
    return (text[preface.end() :] if preface else text), failed
