"""Chats written as plain text: pasted from a window, or exported by a messenger."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from ..dataclass import dataclass
from ..formats.json_stream import JsonStream
from ..formats.session_event import Event, moment, role_of, word, word_at
from .messages import message_events
from .transcript_format import Transcript, TranscriptFile, TranscriptFormat, as_mapping, clean

_ROLE = (
    r"(?P<name>user|human|you|me|customer|assistant|ai|bot|model|agent|chatgpt|gpt(?:-[\w.]{1,9})?|claude"
    r"|gemini|copilot|codex|cursor|system)"
)
_NAME = r"(?P<name>@[\w.=-]{1,40}:[\w.-]{1,60}|[^\s:*<>|`\[\]#][^:*<>|`\[\]\n]{0,38}?)"
_DATE = r"(?P<date>\d{4}-\d\d-\d\d|\d{1,2}[/.]\d{1,2}[/.]\d{2,4})"
_TIME = r"(?P<time>\d{1,2}:\d\d(?::\d\d)?(?:\.\d+)?(?:[ \u202f\u00a0]?[AaPp]\.?[Mm]\.?)?)"
_ZONE = r"(?:[ ]?(?P<zone>UTC|GMT|Z|[+-]\d\d:?\d\d))?"
_WHEN = rf"(?:{_DATE}[,T]?[ ]?)?{_TIME}{_ZONE}"
_DATED = rf"{_DATE}[,T]?[ ]{{0,2}}{_TIME}{_ZONE}"
_TEXT = r"(?:[ \t]+(?P<text>.*)|(?P<none>)$)"
_HEADING = (
    rf"(?:#{{1,6}}[ \t]+|\*\*|\[|---+ ?){_ROLE}(?:\*\*|\])?:?(?:\*\*)?"
    rf"(?:[ \t]*[(—–-] ?{_WHEN}\)?)?(?: ?---+)?(?P<text>)[ \t]*$"
)


@dataclass(frozen=True)
class ChatStyle:
    """One way of writing: the line that opens a message, and how sure a match makes us."""

    name: str
    opening: re.Pattern[str]
    timed: bool = False
    roles: bool = False  # only words for user, assistant and system open a message


def _style(name: str, pattern: str, *, timed: bool = False, roles: bool = False) -> ChatStyle:
    return ChatStyle(name, re.compile(pattern, re.IGNORECASE), timed, roles)


STYLES = (
    _style("role heading", _HEADING, roles=True),
    _style("role", rf"(?:>[ \t]?)?(?:\*\*)?{_ROLE}(?:\*\*)?[ \t]?:(?:\*\*)?{_TEXT}", roles=True),
    _style("[time] name", rf"\**\[{_WHEN}\]\**[ \t]*{_NAME}:\**{_TEXT}", timed=True),
    _style("date time - name", rf"{_DATED}[ ]-[ ]{_NAME}:{_TEXT}", timed=True),
    _style("name (time)", rf"\**{_NAME}\**[ ]\({_WHEN}\)\**:\**{_TEXT}", timed=True),
    _style("name, date time", rf"{_NAME},[ ]{_DATED}:{_TEXT}", timed=True),
    _style("**name** time", rf"\*\*{_NAME}\*\*[ ]{_TIME}[ ][—–-]{_TEXT}", timed=True),
    _style("time <nick>", rf"\[?{_TIME}\]?[ ]+<[@+~&% ]?(?P<name>[^<>\s/]{{1,40}})>{_TEXT}", timed=True),
    _style("<nick>", rf"<[@+~&% ]?(?P<name>[^<>\s/]{{1,40}})>{_TEXT}"),
    _style("**name**", rf"\*\*{_NAME}(?::\*\*|\*\*:){_TEXT}"),
)

_MARKS = re.compile(r"^[\u200e\u200f\u202a-\u202e\ufeff]+")
"""Marks of writing direction that some apps begin a line with."""
_NOT_NAME = re.compile(r"^[^\w@]+|\s+$")
_DAY_LINE = re.compile(r"\W*(?:date:\s*|day changed to\s*)?(\d{4}-\d\d-\d\d)\W*$", re.IGNORECASE)
_HTML = frozenset(("a", "b", "br", "code", "div", "head", "html", "i", "li", "p", "pre", "span", "td", "tr", "u", "ul"))
_EARLY = 10
"""Lines within which a chat begins."""


@dataclass(frozen=True)
class Opening:
    """The line that opens a message."""

    speaker: str  # as written; empty where it is only a role
    role: str
    text: str
    date: str
    time: str
    zone: str


def _opening(line: str, style: ChatStyle) -> Opening | None:
    """Read a line that opens a message; None for any other line."""
    match = style.opening.match(_MARKS.sub("", line))
    if not match:
        return None
    parts = match.groupdict()
    name = _NOT_NAME.sub("", parts["name"] or "")
    if name.startswith("@") and ":" in name:
        name = name[1:].partition(":")[0]
    role = role_of(name.partition("-")[0]) or ("assistant" if style.roles else "")
    if not role:
        role = "assistant" if re.search(r"(?:^|[\s_-])(?:bot|assistant|ai)$", name, re.IGNORECASE) else "user"
    speaker = "" if role_of(name) else name
    when = {key: parts.get(key) or "" for key in ("date", "time", "zone")}
    return Opening(speaker, role, parts.get("text") or "", **when) if name else None


def style_of(lines: Iterable[str]) -> ChatStyle | None:
    """Return the style that the beginning of a text is written in; None if it is no chat.

    A stray line that looks like one does not make a chat: its openings must come early and more than once, and where
    they bear no time, somebody must speak again or both sides of a conversation must speak.
    """
    content = [line for line in lines if line.strip() and not _DAY_LINE.match(line)]
    best: tuple[int, ChatStyle] | None = None
    for style in STYLES:
        openings = [(index, opening) for index, line in enumerate(content) if (opening := _opening(line, style))]
        if _is_chat(style, openings, len(content)) and (best is None or len(openings) > best[0]):
            best = len(openings), style
    return best[1] if best else None


def _is_chat(style: ChatStyle, openings: list[tuple[int, Opening]], lines: int) -> bool:
    if not openings or openings[0][0] >= _EARLY:
        return False
    if style.timed:
        return len(openings) > 1 or openings[0][0] == 0
    speakers = [opening.speaker or opening.role for _, opening in openings]
    if {"user", "assistant"} <= {opening.role for _, opening in openings if not opening.speaker}:
        return True
    if style.roles:
        return openings[0][0] == 0 and (lines == 1 or len(openings) > 1) and set(speakers) != {"system"}
    if _HTML.intersection(speakers):
        return False
    enough = 0.6 if style.name == "<nick>" else 0.3
    return len(openings) >= enough * lines and 1 < len(set(speakers)) < len(speakers)


def _day_line(line: str) -> str:
    """Return the day of a line that is only a day; empty for any other."""
    match = _DAY_LINE.match(line)
    return match[1] if match else ""


def _is_day_first(lines: Iterable[str], style: ChatStyle) -> bool:
    """Return whether dates begin with the day: by a number above 12, else by the clock: am and pm go with 3/15/24."""
    twelve_hours = False
    for line in lines:
        opening = _opening(line, style)
        numbers = re.split(r"[/.]", opening.date) if opening else []
        if opening and len(numbers) == 3:
            if int(numbers[0]) > 12:
                return True
            if int(numbers[1]) > 12:
                return False
            twelve_hours = twelve_hours or opening.time[-1:] in "mM."
    return not twelve_hours


def _when(opening: Opening, day: str, day_first: bool, zone: tzinfo) -> tuple[str, str]:
    """Return the day and the instant of an opening; the instant is empty where no day is known."""
    numbers = re.split(r"[/.]", opening.date)
    if len(numbers) == 3:
        first, second, year = (int(number) for number in numbers)
        month, number = (second, first) if day_first else (first, second)
        day = f"{year if year > 99 else 2000 + year:04}-{month:02}-{number:02}"
    elif opening.date:
        day = opening.date
    clock = re.match(r"(\d{1,2}):(\d\d)(?::(\d\d))?(?:\.\d+)?\W*([ap])?", opening.time, re.IGNORECASE)
    if not day or not clock:
        return day, ""
    hour = int(clock[1])
    if clock[4]:
        hour = hour % 12 + (12 if clock[4] in "pP" else 0)
    offset = "Z" if opening.zone.upper() in ("UTC", "GMT", "Z") else opening.zone
    return day, moment(f"{day} {hour:02}:{clock[2]}:{clock[3] or '00'}{offset}", zone)


LONGEST_MESSAGE = 1_000_000
"""Characters of one message; what follows is left out until somebody else speaks."""

_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_RULE = re.compile(r"\s*^-{3,}\s*\Z", re.MULTILINE)
_MEDIA = re.compile(r"(?i)\u200e?(?:<(?:media|image|video) omitted>|(?:image|sticker|video|audio) omitted)")


def _read(file: TranscriptFile, reading: Transcript) -> Iterator[Event]:
    """Yield the messages of a chat written in one style, which its beginning shows."""
    head = file.head_lines()
    style = style_of(head)
    if style is None:
        return
    day_first = _is_day_first(head, style)
    message: _Message | None = None
    fenced = False
    for line in file.lines():
        if line.is_too_long:
            reading.skip("line too long")
            continue
        text = line.content.rstrip("\r\n")
        # A conversation about conversations quotes their headers in code.
        fenced = fenced != bool(_FENCE.match(text)) if not style.timed else False
        opening = None if fenced else _opening(text, style)
        day = "" if fenced else _day_line(text)
        if opening or day:
            if message:
                yield from message.events(reading)
                message = None
            reading.day = day or reading.day
        if opening:
            reading.day, timestamp = _when(opening, reading.day, day_first, reading.zone)
            message = _Message(opening, timestamp, line.number)
        elif message and not day:
            message.add(text)
        elif text.strip() and not day:
            reading.skip("before the first message")
    if message:
        yield from message.events(reading)


class _Message:
    """One message while its lines come in."""

    def __init__(self, opening: Opening, timestamp: str, line: int) -> None:
        self.opening = opening
        self.timestamp = timestamp
        self.line = line
        self.lines = [opening.text]
        self.length = len(opening.text)

    def add(self, text: str) -> None:
        """Take another line of the message."""
        self.length += len(text) + 1
        if self.length <= LONGEST_MESSAGE:
            self.lines.append(text)

    def events(self, reading: Transcript) -> Iterator[Event]:
        """Yield the message, if it says anything."""
        if self.length > LONGEST_MESSAGE:
            reading.skip("message cut")
        text = reading.said(clean("\n".join(self.lines))).strip()
        if not self.opening.text:
            text = _RULE.sub("", text)  # the line between two messages that have headings
        if text:
            text = _MEDIA.sub("[image]", text)
            yield Event("", "message", self.opening.role, text, self.timestamp, self.opening.speaker, line=self.line)
        else:
            reading.skip("no text")


CHAT = TranscriptFormat("chat", _read)


LONGEST_CONVERSATION = 64 * 1024 * 1024
"""Characters of one conversation that is read."""

CHATGPT, CLAUDE_AI = "chatgpt", "claude-ai"
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue2ff]|【[^】\n]{1,80}†[^】\n]{0,80}】")
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
_PICTURES = ("image_asset_pointer", "video_container_asset_pointer", "audio_asset_pointer")


def _conversations(file: TranscriptFile, zone: tzinfo) -> Iterator[Transcript]:
    """Yield each conversation; raise CutOffError where the text ends in the middle."""
    document = JsonStream(file.stream, LONGEST_CONVERSATION)
    values = document.items() if document.peek() == "[" else iter((document.value(),))
    for data in values:
        if not isinstance(data, Mapping):
            continue
        reading = Transcript(zone=zone)
        _header(data, reading)
        if isinstance(data.get("mapping"), Mapping):
            reading.format, reading.events = CHATGPT, _chatgpt(data, reading)
            yield reading
        elif isinstance(data.get("chat_messages"), list):
            reading.format, reading.events = CLAUDE_AI, _claude_ai(data["chat_messages"], reading)
            yield reading


def _header(data: Mapping[str, Any], reading: Transcript) -> None:
    reading.session_id = word_at(data, ("conversation_id", "id", "uuid"))
    reading.started = moment(data.get("create_time")) or moment(data.get("created_at"))
    reading.changed = moment(data.get("update_time")) or moment(data.get("updated_at"))
    title = word(data.get("title")) or word(data.get("name"))
    if title:
        reading.about["title"] = title


def _chatgpt(data: Mapping[str, Any], reading: Transcript) -> Iterator[Event]:
    for message in _branch(data["mapping"], word(data.get("current_node")), reading):
        author, about = as_mapping(message.get("author")), as_mapping(message.get("metadata"))
        role = role_of(author.get("role"))
        hidden = any(about.get(key) is True for key in _HIDDEN)
        if hidden or role not in ("user", "assistant", "system") or message.get("weight") == 0:
            reading.skip("meta" if role else "no role")
            continue
        name, tool = word(author.get("name")), author.get("role") == "tool"
        if role == "system" and not tool:
            reading.skip("instructions")
            continue
        identity = word(message.get("id"))
        recipient = word(message.get("recipient")) or "all"
        parts = list(_chatgpt_parts(message.get("content"), reading))
        if parts and tool:
            text = "\n".join(part.get("text", "") for part in parts)
            parts = [{"type": "tool_result", "name": name, "content": text}]
        elif parts and role == "assistant" and recipient != "all":
            given = "\n".join(part.get("text", "") for part in parts)
            parts = [{"type": "tool_use", "name": recipient, "input": given}]
        if parts:
            when = moment(message.get("create_time"))
            yield from message_events(parts, role, reading, timestamp=when, identity=identity)


def _branch(mapping: Mapping[str, Any], leaf: str, reading: Transcript) -> list[Mapping[str, Any]]:
    """Follow the tree from a leaf to its root; where no leaf is named, from the latest message that none follows."""
    nodes = {name: node for name, node in mapping.items() if isinstance(node, Mapping)}
    if leaf not in nodes:
        ends = [name for name, node in nodes.items() if not node.get("children")]
        times = {name: moment(as_mapping(nodes[name].get("message")).get("create_time")) for name in ends}
        leaf = max(ends, key=times.__getitem__, default="")
    way: dict[str, Mapping[str, Any]] = {}
    while leaf in nodes and leaf not in way:
        way[leaf] = nodes[leaf]
        leaf = word(nodes[leaf].get("parent"))
    others = sum(1 for name, node in nodes.items() if name not in way and isinstance(node.get("message"), Mapping))
    if others:
        reading.skip("another branch", others)
    return [node["message"] for node in reversed(way.values()) if isinstance(node.get("message"), Mapping)]


def _chatgpt_parts(content: Any, reading: Transcript) -> Iterator[dict[str, Any]]:
    if not isinstance(content, Mapping):
        return
    kind = content.get("content_type")
    if kind in ("thoughts", "reasoning_recap"):
        reading.skip("thinking")
        return
    if kind in ("user_editable_context", "model_editable_context"):
        reading.skip("instructions")
        return
    pieces = content.get("parts")
    for piece in pieces if isinstance(pieces, list) else [content.get("text") or content.get("result")]:
        inner = piece.get("content_type") if isinstance(piece, Mapping) else None
        text = piece.get("text") if isinstance(piece, Mapping) else piece
        if inner in _PICTURES:
            yield {"type": "image"}
        elif isinstance(text, str):
            yield {"type": "text", "text": _CITATION.sub("", text)}
        elif piece is not None:
            reading.skip_type(inner)


def _claude_ai(messages: list[Any], reading: Transcript) -> Iterator[Event]:
    for message in messages:
        role = role_of(message.get("sender")) if isinstance(message, Mapping) else ""
        if role not in ("user", "assistant"):
            reading.skip("no role")
            continue
        content = message.get("content")
        parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
        if not any(part.get("type") == "text" and part.get("text") for part in parts) and message.get("text"):
            parts = [{"type": "text", "text": message["text"]}, *parts]
        for key in ("attachments", "files"):
            attached = message.get(key)
            parts += [{"type": "document"} for _ in attached] if isinstance(attached, list) else []
        when = moment(message.get("created_at"))
        yield from message_events(parts, role, reading, timestamp=when, identity=word(message.get("uuid")))


EXPORT = TranscriptFormat(
    "conversations",
    document=re.compile(r'"chat_messages"\s*:\s*\[|"mapping"\s*:\s*\{\s*["}]'),
    conversations=_conversations,
    writers=("ChatGPT", "Claude.ai"),
)
