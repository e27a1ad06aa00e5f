"""Cursor's agent transcripts: a message a line, with parts as the Anthropic API has them and no times.

The markdown of Cursor's "Export chat" is a chat as text (`chat_log`).
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from ..formats.session_event import Event, moment, role_of, word
from .messages import message_events
from .transcript_format import Tool, Transcript, TranscriptFile, TranscriptFormat

_SYMBOL = re.compile(r"[^A-Za-z0-9]+")
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_CONTEXT = re.compile(r"\s*<(?:user_info|rules|timestamp|attached_files|open_and_recently_viewed_files|git_status)\b")


def _is_line(data: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a transcript."""
    message = data.get("message")
    return bool(role_of(data.get("role"))) and isinstance(message, Mapping) and "content" in message


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the events of a transcript."""
    for number, data in file.objects(reading):
        role = role_of(data.get("role"))
        if not _is_line(data) or role not in ("user", "assistant"):
            reading.skip_type(data.get("type"))
            continue
        content = data["message"]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if role == "user":
            parts = [typed for part in parts if (typed := _typed(part, reading)) is not None]
        if parts:
            stated = moment(data.get("timestamp"))
            yield from message_events(
                parts, role, reading, timestamp=stated, identity=word(data.get("id")), line=number
            )


def _typed(part: Any, reading: Transcript) -> Any:
    """Return what a person typed of a part of a prompt; None if the editor alone wrote it."""
    text = part.get("text") if isinstance(part, Mapping) else None
    if not isinstance(text, str):
        return part
    queries = _QUERY.findall(text)
    if queries:
        return {**part, "text": "\n\n".join(queries)}
    if _CONTEXT.match(text):
        reading.skip("environment")
        return None
    return part


def _folder_of(path: Path, near: tuple[Path, ...]) -> str:
    parts = path.parts
    is_cursors = "agent-transcripts" in parts[:-1]
    return _unshortened(parts[parts.index("agent-transcripts") - 1], near) if is_cursors else ""


@cache
def _unshortened(name: str, near: tuple[Path, ...]) -> str:
    """Return the folder whose path Cursor has written with `-` for every other character, among those that exist."""
    likely = next((str(folder) for folder in near if _shortened(str(folder)) == _shortened(name)), "")
    return likely or _below(Path("/"), _shortened(name))


def _below(folder: Path, remaining: str) -> str:
    with suppress(OSError):
        for entry in sorted(os.scandir(folder), key=lambda entry: -len(entry.name)):
            short = _shortened(entry.name)
            if short and (remaining == short or remaining.startswith(f"{short}-")) and entry.is_dir():
                deeper = entry.path if remaining == short else _below(Path(entry.path), remaining[len(short) + 1 :])
                if deeper:
                    return deeper
    return ""


def _shortened(text: str) -> str:
    return _SYMBOL.sub("-", text).strip("-")


SESSION = TranscriptFormat("cursor", _read, _is_line)
TOOL = Tool(
    "cursor",
    "Cursor",
    "",
    (".cursor",),
    ("projects/*/agent-transcripts/*.jsonl", "projects/*/agent-transcripts/*/*.jsonl"),
    folder_of=_folder_of,
)
