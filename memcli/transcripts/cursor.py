"""Cursor's agent transcripts: a message a line, with parts as the Anthropic API has them and no times.

The markdown of Cursor's "Export chat" is a chat as text (`exchange/chat_text`).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..formats.json_stream import StreamLine
from ..formats.session_event import Event, moment, role_of, word
from .line_reader import Reading, records
from .messages import message_events

_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_CONTEXT = re.compile(r"\s*<(?:user_info|rules|timestamp|attached_files|open_and_recently_viewed_files|git_status)\b")


def is_line(data: Mapping[str, Any]) -> bool:
    """Tell a line of a transcript by itself."""
    message = data.get("message")
    return bool(role_of(data.get("role"))) and isinstance(message, Mapping) and "content" in message


def read(lines: Iterator[StreamLine[str]], reading: Reading) -> Iterator[Event]:
    """Yield the events of a transcript."""
    for number, data in records(lines, reading):
        role = role_of(data.get("role"))
        if not is_line(data) or role not in ("user", "assistant"):
            reading.skip_type(data.get("type"))
            continue
        content = data["message"]["content"]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        if role == "user":
            parts = [said for part in parts if (said := _said(part, reading)) is not None]
        if parts:
            stated = moment(data.get("timestamp"))
            yield from message_events(
                parts, role, reading, timestamp=stated, identity=word(data.get("id")), line=number
            )


def _said(part: Any, reading: Reading) -> Any:
    """Give what a person said of a part of a prompt; None where the editor alone wrote it."""
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
