"""Find out by its content what a transcript was written by, or say why it cannot be read."""

import re
from typing import Any, ClassVar

from ..errors import MemError
from ..text.session import load
from . import claude_code, codex, openclaw, own, records
from .chat_styles import style_of
from .feed import Feed

FORMATS = ("claude-code", "codex", "openclaw", "golemcore", "jsonl", "chat")
READS = (
    "mem reads transcripts of Claude Code, Codex, OpenClaw and golemcore, JSON lines with role and content, "
    'and chats as text ("User: …", "[10:02] name: …", "### User")'
)

_DOCUMENT = re.compile(r'\{\s*(?:"|$)|\[\s*(?:[\["{]|$)')
_MESSAGES = re.compile(r'"messages"\s*:\s*\[|\A\[\s*\{[^{}\[\]]{0,2000}?"role"\s*:')
_EXPORTS = (
    (re.compile(r'"chat_messages"\s*:'), "an export of many conversations of Claude.ai"),
    (re.compile(r'"mapping"\s*:\s*\{'), "an export of many conversations of ChatGPT"),
)


class UnknownTranscriptError(MemError):
    """What the file holds is no conversation that can be read."""

    exit_code: ClassVar[int] = 2
    code: ClassVar[str] = "unknown-transcript"


def detect(feed: Feed, name: str) -> str:
    """Give the format of a transcript; raises `UnknownTranscriptError` with what is wrong with it."""
    head = feed.head.lstrip("\ufeff \t\r\n\x00")
    if not head:
        raise UnknownTranscriptError(f"{name} is empty", "there is nothing to import")
    if "\x00" in head[:4096] or head[:4096].count("\ufffd") > 40:
        raise UnknownTranscriptError(f"{name} is not text", "unpack or convert it first")
    lines = [line for line in feed.head_lines() if line.strip("\ufeff \t\r\x00")]
    found = [data for line in lines if isinstance(data := load(line), dict)]
    is_document = bool(_DOCUMENT.match(head)) and not isinstance(load(next(iter(lines), "")), dict)
    if (is_document and _MESSAGES.search(head)) or (len(found) == 1 and isinstance(found[0].get("messages"), list)):
        return "golemcore"
    for data in found:
        if decided := _format_of(data):
            return decided
    if is_document:
        raise _no_conversation(head, name)
    if found:
        if own.is_header(found[0]) and len(found) == 1:
            return "jsonl"  # a session that has begun and says nothing yet
        keys = ", ".join(list(found[0])[:6]) or "none"
        wrapped = (key for key, text in found[0].items() if isinstance(text, str) and style_of(text.split("\n")))
        key = next(wrapped, "")
        raise UnknownTranscriptError(
            f"cannot tell what format {name} is: its lines are JSON, but none has a role or a message (keys: {keys})",
            f"the text under {key!r} is a chat: import it as a file of its own" if key else READS,
        )
    if style_of(lines):
        return "chat"
    raise UnknownTranscriptError(f"cannot tell what format {name} is: no line says who speaks", READS)


def _format_of(data: dict[str, Any]) -> str:
    # From the most telling to the least: nearly every line of a log has a type, many have a role.
    if codex.is_record(data):
        return "codex"
    if openclaw.is_record(data):
        return "openclaw"
    if claude_code.is_line(data):
        return "claude-code"
    return "jsonl" if records.is_record(data) else ""


def _no_conversation(head: str, name: str) -> UnknownTranscriptError:
    for mark, what in _EXPORTS:
        if mark.search(head):
            return UnknownTranscriptError(
                f"{name} is {what}: mem reads one conversation a file",
                "take one out, as lines with role and content",
            )
    return UnknownTranscriptError(
        f"cannot tell what format {name} is: a JSON document without a list of messages", READS
    )
