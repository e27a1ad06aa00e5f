"""The `conversations.json` of a ChatGPT or a Claude.ai data export: many conversations in one document.

Conversations are taken off the document one at a time. A ChatGPT conversation is a tree, since prompts can be edited
and answers made again: what is read is the branch that was last in view.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

from ..formats.json_stream import JsonStream
from ..formats.session_event import Event, moment, role_of, word, word_at
from .messages import message_events
from .transcript_format import Conversation, Transcript, TranscriptFile, TranscriptFormat, as_mapping

LONGEST = 64 * 1024 * 1024
"""Characters of one conversation that is read."""

CHATGPT, CLAUDE_AI = "chatgpt", "claude-ai"
_CITATION = re.compile("\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue2ff]|【[^】\n]{1,80}†[^】\n]{0,80}】")
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
_PICTURES = ("image_asset_pointer", "video_container_asset_pointer", "audio_asset_pointer")


def _conversations(file: TranscriptFile, zone: tzinfo) -> Iterator[Conversation]:
    """Yield each conversation; raise CutOffError where the text ends in the middle."""
    document = JsonStream(file.stream, LONGEST)
    values = document.items() if document.peek() == "[" else iter((document.value(),))
    for data in values:
        if not isinstance(data, Mapping):
            continue
        reading = Transcript(zone=zone)
        is_chatgpt = isinstance(data.get("mapping"), Mapping)
        _header(data, reading)
        if is_chatgpt:
            yield CHATGPT, _chatgpt(data, reading), reading
        elif isinstance(data.get("chat_messages"), list):
            yield CLAUDE_AI, _claude_ai(data["chat_messages"], reading), reading


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
