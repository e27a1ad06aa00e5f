"""Find out by its content what a transcript was written by, or say why it cannot be read."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar

from ..errors import MemError
from ..formats.session_event import load
from .chat_log import style_of
from .messages import JSON_LINES, is_header
from .registry import CHAT, FORMATS, MESSAGES_DOCUMENT, READS
from .transcript_format import TranscriptFile, TranscriptFormat

EMPTY, SILENT, FOREIGN, DAMAGED, CUT_OFF = "empty", "silent", "foreign", "damaged", "cut off"
"""What a file without a conversation is: nothing, records that nobody speaks in, another document, broken, or an export
that ends in the middle."""
_DOCUMENT = re.compile(r'\{\s*(?:"|$)|\[\s*(?:[\["{]|$)')


class UnknownTranscriptError(MemError):
    """What the file holds is no conversation that can be read."""

    exit_code: ClassVar[int] = 2
    code: ClassVar[str] = "unknown-transcript"

    def __init__(self, message: str, fix: str = "", kind: str = DAMAGED) -> None:
        """Say what is wrong, and of what kind it is."""
        super().__init__(message, fix)
        self.kind = kind


def detect(file: TranscriptFile, name: str) -> TranscriptFormat:
    """Return the format of a transcript; raise UnknownTranscriptError with what is wrong with it."""
    head = file.head.lstrip("\ufeff \t\r\n\x00")
    if not head:
        raise UnknownTranscriptError(f"{name} is empty", "there is nothing to import", EMPTY)
    if "\x00" in head[:4096] or head[:4096].count("\ufffd") > 40:
        raise UnknownTranscriptError(f"{name} is not text", "unpack or convert it first")
    lines = [line for line in file.head_lines() if line.strip("\ufeff \t\r\x00")]
    first = load(lines[0]) if lines else None
    is_document = bool(_DOCUMENT.match(head)) and not isinstance(first, dict)
    found: list[dict[str, Any]] = []
    form = next(_candidates(first, lines, head, found, is_document=is_document), None)
    if form is not None:
        return form
    if is_document:
        raise UnknownTranscriptError(
            f"cannot tell what format {name} is: a JSON document without a list of messages", READS, FOREIGN
        )
    if found:
        raise _no_message(found, name)
    if style_of(lines):
        return CHAT
    raise UnknownTranscriptError(f"cannot tell what format {name} is: no line says who speaks", READS)


def _candidates(
    first: object, lines: list[str], head: str, found: list[dict[str, Any]], *, is_document: bool
) -> Iterator[TranscriptFormat]:
    """Yield the formats that fit, the most telling first; `found` is filled with the objects of the lines."""
    if isinstance(first, dict):
        yield from (form for form in FORMATS if form.is_first_line(first))
    if is_document or (len(lines) == 1 and isinstance(first, dict)):
        yield from (form for form in FORMATS if form.document and form.document.search(head))
    if is_document and MESSAGES_DOCUMENT.document and MESSAGES_DOCUMENT.document.search(head):
        yield MESSAGES_DOCUMENT
    for line in lines:
        if isinstance(data := load(line), dict):
            found.append(data)
            yield from (form for form in FORMATS if form.is_line(data))
    if len(found) == 1 and isinstance(found[0].get("messages"), list):
        yield MESSAGES_DOCUMENT
    if len(found) == 1 and not is_document and is_header(found[0]):
        yield JSON_LINES  # a session that has begun and says nothing yet


def _no_message(found: list[dict[str, Any]], name: str) -> UnknownTranscriptError:
    keys = ", ".join(list(found[0])[:6]) or "none"
    wrapped = (key for key, text in found[0].items() if isinstance(text, str) and style_of(text.split("\n")))
    key = next(wrapped, "")
    return UnknownTranscriptError(
        f"cannot tell what format {name} is: its lines are JSON, but none has a role or a message (keys: {keys})",
        f"the text under {key!r} is a chat: import it as a file of its own" if key else READS,
        SILENT,
    )
