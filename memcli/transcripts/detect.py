"""Find out by its content what a transcript was written by, or say why it cannot be read."""

import re
from typing import Any, ClassVar

from ..errors import MemError
from ..formats.session_event import load
from . import claude_code, codex, copilot, copilot_chat, cursor, gemini, messages, openclaw
from .chat_log import style_of
from .line_reader import Feed

EMPTY, SILENT, FOREIGN, DAMAGED, CUT_OFF = "empty", "silent", "foreign", "damaged", "cut off"
"""What a file without a conversation is: nothing, records that nobody speaks in, another document, broken, or an export
that ends in the middle."""
MANY = ("conversations",)
"""Formats of files that hold many conversations."""
READS = (
    "mem reads transcripts of Claude Code, Codex, OpenClaw, Gemini CLI, opencode, Cursor, GitHub Copilot and "
    "golemcore, exports of ChatGPT and Claude.ai, JSON lines with role and content, "
    'and chats as text ("User: …", "[10:02] name: …", "### User")'
)

_DOCUMENT = re.compile(r'\{\s*(?:"|$)|\[\s*(?:[\["{]|$)')
_MESSAGES = re.compile(r'"messages"\s*:\s*\[|\A\[\s*\{[^{}\[\]]{0,2000}?"role"\s*:')
# From the most telling to the least; within a text a quotation mark has a backslash before it, so no text fits.
_DOCUMENTS = (
    ("conversations", re.compile(r'"chat_messages"\s*:\s*\[|"mapping"\s*:\s*\{\s*["}]')),
    ("opencode", re.compile(r'"messages"\s*:\s*\[\s*\{\s*"info"\s*:|\A\{\s*"info"\s*:\s*\{\s*"id"\s*:\s*"ses_')),
    ("gemini-json", re.compile(r'\A\{(?:[^{}\[\]]{0,2000}?)"projectHash"\s*:')),
    ("copilot-chat", re.compile(r'"requests"\s*:\s*\[(?:\s*\]|\s*\{\s*"(?:requestId|message)")')),
)


class UnknownTranscriptError(MemError):
    """What the file holds is no conversation that can be read."""

    exit_code: ClassVar[int] = 2
    code: ClassVar[str] = "unknown-transcript"

    def __init__(self, message: str, fix: str = "", kind: str = DAMAGED) -> None:
        """Say what is wrong, and of what kind it is."""
        super().__init__(message, fix)
        self.kind = kind


def detect(feed: Feed, name: str) -> str:
    """Give the format of a transcript; raises `UnknownTranscriptError` with what is wrong with it."""
    head = feed.head.lstrip("\ufeff \t\r\n\x00")
    if not head:
        raise UnknownTranscriptError(f"{name} is empty", "there is nothing to import", EMPTY)
    if "\x00" in head[:4096] or head[:4096].count("\ufffd") > 40:
        raise UnknownTranscriptError(f"{name} is not text", "unpack or convert it first")
    lines = [line for line in feed.head_lines() if line.strip("\ufeff \t\r\x00")]
    first = load(lines[0]) if lines else None
    is_document = bool(_DOCUMENT.match(head)) and not isinstance(first, dict)
    if isinstance(first, dict) and copilot_chat.is_line(first):
        return "copilot-chat-log"
    if is_document or (len(lines) == 1 and isinstance(first, dict)):
        for name_of_format, mark in _DOCUMENTS:
            if mark.search(head):
                return name_of_format
    if is_document and _MESSAGES.search(head):
        return "golemcore"
    found: list[dict[str, Any]] = []
    for line in lines:
        if isinstance(data := load(line), dict):
            found.append(data)
            if decided := _format_of(data):
                return decided
    if len(found) == 1 and isinstance(found[0].get("messages"), list):
        return "golemcore"
    if is_document:
        raise UnknownTranscriptError(
            f"cannot tell what format {name} is: a JSON document without a list of messages", READS, FOREIGN
        )
    if found:
        if messages.is_header(found[0]) and len(found) == 1:
            return "jsonl"  # a session that has begun and says nothing yet
        keys = ", ".join(list(found[0])[:6]) or "none"
        wrapped = (key for key, text in found[0].items() if isinstance(text, str) and style_of(text.split("\n")))
        key = next(wrapped, "")
        raise UnknownTranscriptError(
            f"cannot tell what format {name} is: its lines are JSON, but none has a role or a message (keys: {keys})",
            f"the text under {key!r} is a chat: import it as a file of its own" if key else READS,
            SILENT,
        )
    if style_of(lines):
        return "chat"
    raise UnknownTranscriptError(f"cannot tell what format {name} is: no line says who speaks", READS)


def _format_of(data: dict[str, Any]) -> str:
    # From the most telling to the least: nearly every line of a log has a type, many have a role.
    if codex.is_record(data):
        return "codex"
    if copilot.is_line(data):
        return "copilot"
    if gemini.is_line(data):
        return "gemini"
    if openclaw.is_record(data):
        return "openclaw"
    if claude_code.is_line(data):
        return "claude-code"
    if cursor.is_line(data):
        return "cursor"
    return "jsonl" if messages.is_record(data) else ""
