"""Transcripts of Codex: `~/.codex/sessions/YEAR/MONTH/DAY/rollout-….jsonl`.

A rollout repeats each message: as the model saw it, and as the screen showed it. The first kind is
in every release, so only it is read. Texts that Codex adds to the user's turn are left out.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..formats import build_digest, parse_event, read_content
from .transcript import JsonObject, Transcript, get_object, get_objects, get_text, read_timestamp

NAME = "codex"
FOLDER_VARIABLE, FOLDER = "CODEX_HOME", ".codex"
PATTERNS = ("sessions/**/rollout-*.jsonl",)
CALLS = (
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
)
ITEMS = ("message", *CALLS)
ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
# The lines about the process before a command's output.
PREFACE = re.compile(r"(?s)(?:Chunk ID|Exit code|Wall time|Process exited)\b.{0,600}?\nOutput:\n")
# `Exit code: 2`, or `Process exited with code 1` after a chunk id.
EXIT_CODE = re.compile(r"(?m)^(?:Exit code|Process exited with code):? (\d+)")
# The IDE's context comes before what the person typed.
REQUEST = "## My request for Codex:"


def is_line(data: JsonObject) -> bool:
    """Return whether an object is a line of a rollout.

    Older releases write items only.
    """
    if data.get("type") in ENVELOPES and "payload" in data:
        return True
    # {"record_type": "state"} is a line of older releases, which have no envelopes.
    if "record_type" in data or data.get("type") in CALLS:
        return True
    parts = get_objects(data, "content")
    return bool(parts) and parts[0].get("type") in ("input_text", "output_text")


def read_lines(lines: Iterable[JsonObject]) -> Transcript:
    """Return the conversation in the objects of a file."""
    transcript = Transcript(NAME)
    for data in lines:
        kind = data.get("type")
        item = get_object(data, "payload") if kind in ENVELOPES else data
        # A forked rollout repeats the header of its parent, so the first one counts.
        if kind == "session_meta" and not transcript.session_id:
            transcript.session_id = get_text(item, "id", "session_id")
            transcript.folder = get_text(item, "cwd")
        elif kind == "compacted":
            remove_summary(transcript, get_text(item, "message"))
        elif kind in ("response_item", *ITEMS):
            read_item(transcript, item, read_timestamp(data.get("timestamp")))
    return transcript


def remove_summary(transcript: Transcript, context: str) -> None:
    """Remove the answer that a compaction asked for.

    Its new context ends with that answer.
    """
    last = transcript.events[-1] if transcript.events else {}
    # The context repeats the answer after a prefix of its own, so only the ends are compared.
    if last.get("role") == "assistant" and context.rstrip().endswith(last["content"][-50:]):
        transcript.events.pop()


def read_item(transcript: Transcript, item: JsonObject, timestamp: str) -> None:
    """Add a message, a tool call or its result."""
    kind = item.get("type", "message")
    call_id = get_text(item, "call_id")
    if kind not in ITEMS:
        return
    if kind == "message":
        add_message(transcript, item, timestamp)
    elif kind.endswith("_output"):
        result, is_error = read_output(item.get("output"))
        transcript.add_result(call_id, result, timestamp, is_error=is_error)
    else:
        # A `local_shell_call` has an action instead of a name and arguments.
        name = get_text(item, "name") or "shell"
        arguments = item.get("arguments", item.get("input", item.get("action")))
        transcript.add_call(call_id, name, arguments, timestamp)


def add_message(transcript: Transcript, item: JsonObject, timestamp: str) -> None:
    role = get_text(item, "role")
    content = item.get("content")
    if role == "assistant":
        texts = [read_content(content)]
    elif role == "user":
        # Each part of the user's turn is either typed or added by Codex.
        parts = content if isinstance(content, list) else [content]
        texts = [read_content([part]) for part in parts]
        texts = [text.split(REQUEST, 1)[-1] for text in texts]
    else:
        return
    for text in texts:
        message_id = get_text(item, "id")
        if not message_id:
            # Older releases. A copy in a forked rollout has the same time and text.
            digest = build_digest(f"{role}{timestamp}{text}")
            message_id = f"codex_{digest[:16]}"
        transcript.add_message(role, text, timestamp, message_id)


def read_output(output: Any) -> tuple[str, bool]:
    """Return the text of a result, and whether the call failed."""
    # Older releases store the output and the exit code as JSON in a string.
    if isinstance(output, str) and output.startswith("{"):
        output = parse_event(output) or output
    is_error = False
    if isinstance(output, Mapping):
        code = get_object(output, "metadata").get("exit_code")
        is_error = output.get("success") is False or code not in (0, None)
        output = output.get("output", output.get("content", ""))
    text = read_content(output)
    preface = PREFACE.match(text)
    if preface is None:
        return text, is_error
    exit_code = EXIT_CODE.search(preface[0])
    has_failed = exit_code is not None and exit_code[1] != "0"
    return text[preface.end() :], is_error or has_failed
