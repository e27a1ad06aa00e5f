"""Exports of ChatGPT and Claude.ai: `conversations.json`, or the zip that contains it.

The file is an array of conversations, often on one line of hundreds of megabytes. It is read one
conversation at a time.
"""

import io
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from ..formats import CutOffError, JsonStream
from .transcript import (
    JsonObject,
    Transcript,
    get_object,
    get_objects,
    get_text,
    read_timestamp,
    read_tool_parts,
)

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

LONGEST_CONVERSATION = 64 * 1024 * 1024  # characters
LARGEST_MEMBER = 2 * 1024 * 1024 * 1024  # bytes of a file in a zip
# JSON is compressed to about a tenth of its size, and a zip bomb to a thousandth.
HIGHEST_RATIO, SMALL_MEMBER = 200, 16 * 1024 * 1024
MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
# The beginning of an export. The first object itself has one of the keys, not a value in it.
CONVERSATION = re.compile(
    r'\s*\[?\s*\{(?:"(?:[^"\\]|\\.)*"|[^{}\[\]"]|\{[^{}]*\}|\[[^\[\]]*\])*?'
    r'"(?:mapping"\s*:\s*\{|chat_messages"\s*:\s*\[)'
)
# References to sources in ChatGPT's answers.
CITATION = re.compile(
    "\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue2ff]|【[^】\n]{1,80}†[^】\n]{0,80}】"
)
HIDDEN_FLAGS = ("is_visually_hidden_from_conversation", "is_user_system_message")
# Thoughts, and the instructions that ChatGPT adds to each conversation.
HIDDEN_TYPES = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")
CHATGPT_ROLES = ("user", "assistant", "tool")
CLAUDE_ROLES = {"human": "user", "assistant": "assistant"}


def is_export(head: str) -> bool:
    """Return whether a text begins as an export of conversations does."""
    return CONVERSATION.match(head) is not None


def is_archive(path: Path) -> bool:
    """Return whether a file is the zip of an export."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            return any(MEMBER.fullmatch(name) for name in archive.namelist())
    except (OSError, ValueError, NotImplementedError, BadZipFile):
        return False


def read_archive(file: IO[bytes], problems: list[str]) -> Iterator[Transcript]:
    """Yield the conversations in the zip of an export."""
    from zipfile import BadZipFile, ZipFile
    from zlib import error as DecompressionError

    name = Path(file.name).name
    try:
        with ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename
                if MEMBER.fullmatch(name):
                    yield from read_member(archive, member, problems)
    # RuntimeError: it needs a password or an unknown method. ValueError: its name is odd.
    except (BadZipFile, DecompressionError, EOFError, RuntimeError, ValueError) as error:
        problems.append(f"{name} cannot be unpacked: {error}")


def read_member(archive: "ZipFile", member: "ZipInfo", problems: list[str]) -> Iterator[Transcript]:
    size = member.file_size
    is_bomb = size > SMALL_MEMBER and size > HIGHEST_RATIO * member.compress_size
    if is_bomb or size > LARGEST_MEMBER:
        problems.append(f"{member.filename} is too large: {size:,} bytes, unpacked")
        return
    # zipfile never unpacks more than the size that was checked.
    with archive.open(member) as file:
        yield from read_conversations(open_text(file), problems)


def read_conversations(file: TextIO, problems: list[str]) -> Iterator[Transcript]:
    """Yield the conversations of an export, which may have only one."""
    number = 0
    try:
        for number, value in enumerate(read_values(file), 1):
            data = value if isinstance(value, Mapping) else {}
            if isinstance(data.get("mapping"), Mapping):
                yield read_chatgpt(data)
            elif isinstance(data.get("chat_messages"), list):
                yield read_claude(data)
            else:
                problems.append(f"item {number} is not a conversation")
    except CutOffError as error:
        problems.append(f"conversation {number + 1} cannot be read: {error}")


def read_values(file: TextIO) -> Iterator[Any]:
    stream = JsonStream(file, LONGEST_CONVERSATION)
    if stream.peek() == "[":
        yield from stream.read_items()
    else:
        yield stream.read_value()


def open_text(file: IO[bytes]) -> TextIO:
    """Return the text of a file that need not be UTF-8."""
    start = file.read(2)
    file.seek(0)
    encoding = "utf-16" if start in (BOM_UTF16_LE, BOM_UTF16_BE) else "utf-8-sig"
    return io.TextIOWrapper(file, encoding, "replace")


def read_chatgpt(data: JsonObject) -> Transcript:
    """Return a conversation of ChatGPT: the branch that the user sees."""
    transcript = Transcript("chatgpt", get_text(data, "conversation_id", "id"))
    timestamp = data.get("create_time")
    pending: dict[str, str] = {}  # tool → id of the call that has no result yet
    for message in find_chatgpt_messages(data):
        author = get_object(message, "author")
        role = get_text(author, "role")
        if role not in CHATGPT_ROLES or is_hidden(message):
            continue
        # Some messages have no time. They get the time of the message before them.
        timestamp = message.get("create_time") or timestamp
        text = read_chatgpt_text(message)
        message_id = get_text(message, "id")
        recipient = get_text(message, "recipient") or "all"
        if role == "tool":
            name = get_text(author, "name")
            # A result does not name its call, so it belongs to the last call of the same tool.
            call_id = pending.pop(name, "") or message_id
            transcript.get_call(call_id, timestamp)["name"] = name
            transcript.add_result(call_id, text, timestamp)
        elif role == "assistant" and recipient != "all":
            pending[recipient] = message_id
            transcript.add_call(message_id, recipient, text, timestamp)
        else:
            transcript.add_message(role, text, timestamp, message_id)
    return transcript


def is_hidden(message: JsonObject) -> bool:
    """Return whether ChatGPT does not show a message.

    One of weight 0 was replaced.
    """
    metadata = get_object(message, "metadata")
    is_flagged = any(metadata.get(flag) is True for flag in HIDDEN_FLAGS)
    return is_flagged or message.get("weight") == 0


def find_chatgpt_messages(data: JsonObject) -> list[JsonObject]:
    """Return the messages from the root of a conversation's tree to the chosen leaf.

    If the leaf is unknown, the branch ends with the latest message.
    """
    nodes = {name: node for name, node in data["mapping"].items() if isinstance(node, Mapping)}
    leaf = get_text(data, "current_node")
    if leaf not in nodes:
        leaves = [name for name, node in nodes.items() if not node.get("children")]
        # A damaged tree may have no leaf at all. Then the branch is empty.
        leaf = max(leaves, key=lambda name: find_time(nodes[name]), default="")
    return [get_object(node, "message") for node in find_branch(nodes, leaf, "parent")]


def find_branch(nodes: Mapping[str, JsonObject], leaf: str, parent_key: str) -> list[JsonObject]:
    """Return the nodes of a tree from the root to a leaf.

    A damaged export can have a cycle.
    """
    branch: dict[str, JsonObject] = {}
    while leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = get_text(nodes[leaf], parent_key)
    return list(reversed(branch.values()))


def find_time(node: JsonObject) -> str:
    message = get_object(node, "message")
    return read_timestamp(message.get("create_time"))


def read_chatgpt_text(message: JsonObject) -> str:
    content = get_object(message, "content")
    if content.get("content_type") in HIDDEN_TYPES:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [get_text(content, "text", "result")]
    texts = []
    for part in parts:
        # A part is a text, the transcription of speech, or a picture.
        text = part.get("text") if isinstance(part, Mapping) else part
        if isinstance(text, str):
            texts.append(text)
    return CITATION.sub("", "\n".join(texts))


def read_claude(data: JsonObject) -> Transcript:
    """Return a conversation of Claude.ai: the branch that the user sees, if there are several."""
    transcript = Transcript("claude-ai", get_text(data, "uuid"))
    timestamp = data.get("created_at")
    for message in find_claude_messages(data):
        role = CLAUDE_ROLES.get(get_text(message, "sender"))
        if role is None:
            continue
        timestamp = message.get("created_at") or timestamp
        parts = get_objects(message, "content")
        texts = [get_text(part, "text") for part in parts if part.get("text")]
        # Older exports have no parts, only `text`.
        text = "\n".join(texts) or get_text(message, "text")
        transcript.add_message(role, text, timestamp, get_text(message, "uuid"))
        read_tool_parts(transcript, message, timestamp)
    return transcript


def find_claude_messages(data: JsonObject) -> list[JsonObject]:
    """Return all messages, or those of the chosen branch.

    Older exports have no branches.
    """
    messages = get_objects(data, "chat_messages")
    if not any(message.get("parent_message_uuid") for message in messages):
        return messages
    nodes = {get_text(message, "uuid"): message for message in messages}
    leaf = get_text(data, "current_leaf_message_uuid")
    if leaf not in nodes:
        leaf = get_text(messages[-1], "uuid")
    return find_branch(nodes, leaf, "parent_message_uuid")
