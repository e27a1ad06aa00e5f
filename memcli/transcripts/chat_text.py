"""Chats as plain text: `User: …` and `Assistant: …`, or a heading for each message.

The first line of a message decides how all of them begin. So a message that quotes another chat in
another style stays whole.
"""

import re
from collections.abc import Iterable
from datetime import tzinfo
from typing import NamedTuple

from ..formats import normalize_time
from .transcript import Transcript

NAME = "chat"
USERS = "user|human|you|me"
ASSISTANTS = "assistant|ai|bot|agent|chatgpt|gpt|claude|gemini|copilot|codex|cursor"
DATE = r"\d{4}-\d\d-\d\d"
TIME = rf"(?P<time>{DATE}[T ,]+\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)"
# `User: Hello.`, `## User`, `**You:** Hello.`, `[User]: Hello.`, `You said:`,
# `[2026-01-02 10:30] User: Hello.`, `Assistant (2026-01-02 10:31): Hi.`
OPENING = re.compile(
    rf"(?P<mark>#{{1,6}}[ \t]+|\*\*|__|\[|>[ \t]?|[-*][ \t]+|)(?:\[?{TIME}\]?[ \t]+)?"
    rf"(?P<role>{USERS}|{ASSISTANTS}|system)(?:-[\w.]{{1,20}}| said)?"
    rf"(?:[ \t]*[(\[]{TIME.replace('time', 'time_after')}[)\]])?"
    r"(?P<colon>:?)(?:\*\*|__|\])?(?P<colon_after>:?)(?:[ \t]+(?P<text>\S.*))?[ \t]*",
    re.IGNORECASE,
)
FENCE = re.compile(r"[ \t]*(?:```|~~~)")
RULE = re.compile(r"\s*-{3,}")  # a line between messages
EARLY = 10  # lines within which a chat begins


class Opening(NamedTuple):
    """The line that begins a message."""

    style: tuple[str, bool]  # the mark before the name, and whether a colon follows
    role: str
    time: str
    text: str


def parse_opening(line: str) -> Opening | None:
    """Return the parts of a line that begins a message, or None for any other line."""
    # Some programs begin a file or a line with an invisible mark of the encoding or direction.
    match = OPENING.fullmatch(line.lstrip("\ufeff\u200e"))
    if match is None:
        return None
    has_colon = bool(match["colon"] or match["colon_after"])
    mark = match["mark"].strip()
    # A line such as `User` needs a mark, and `**User** says …` is a sentence.
    if not has_colon and (match["text"] or mark in ("", ">")):
        return None
    role = match["role"].lower()
    if role != "system":
        role = "user" if role in USERS.split("|") else "assistant"
    moment = match["time"] or match["time_after"] or ""
    time = " ".join(moment.replace(",", " ").split())
    return Opening((mark, has_colon), role, time, match["text"] or "")


def find_style(lines: Iterable[str]) -> tuple[str, bool] | None:
    """Return how the messages of a chat begin, or None if the text is not a chat.

    In a chat, the first message begins near the top, and both sides speak.
    """
    roles: dict[tuple[str, bool], set[str]] = {}
    for number, line in enumerate(line for line in lines if line.strip()):
        opening = parse_opening(line.strip())
        # A style that first appears later is a chat that the text quotes.
        if opening is not None and (number < EARLY or opening.style in roles):
            roles.setdefault(opening.style, set()).add(opening.role)
    for style, speakers in roles.items():
        # `User: Ana` and `User: Rui` are lines of a list, not a chat.
        if {"user", "assistant"} <= speakers:
            return style
    return None


def read_text(text: str, zone: tzinfo) -> Transcript:
    """Return the conversation in a text.

    It has no events if the text is not a chat.
    """
    transcript = Transcript(NAME)
    lines = text.splitlines()
    style = find_style(lines)
    current: Opening | None = None
    message: list[str] = []  # its lines
    in_code = False
    for line in lines if style else ():
        is_fence = FENCE.match(line) is not None
        # People quote chats in code blocks.
        opening = None if in_code or is_fence else parse_opening(line.strip())
        in_code ^= is_fence
        if opening is None or opening.style != style:
            message.append(line)
            continue
        add_message(transcript, current, message, zone)
        current, message = opening, [opening.text]
    add_message(transcript, current, message, zone)
    return transcript


def add_message(
    transcript: Transcript, opening: Opening | None, lines: list[str], zone: tzinfo
) -> None:
    # Lines before the first message, such as a title, have no speaker.
    if opening is None or opening.role == "system":
        return
    text = "\n".join(lines).rstrip()
    before, _, last = text.rpartition("\n")
    if RULE.fullmatch(last):
        text = before
    transcript.add_message(opening.role, text, normalize_time(opening.time, zone))
