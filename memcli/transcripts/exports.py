"""Exports of ChatGPT and Claude.ai: `conversations.json`, or the zip that contains it.

The file is an array of conversations, often on one line of hundreds of megabytes. It is read one
conversation at a time.
"""

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

from ..formats.json_stream import CutOffError, JsonStream
from . import claude_code
from .transcript import Calls, Transcript, build_message, read_timestamp

if TYPE_CHECKING:
    from zipfile import ZipFile, ZipInfo

LONGEST_CONVERSATION = 64 * 1024 * 1024  # characters
LARGEST_MEMBER = 2 * 1024 * 1024 * 1024  # bytes of a file in a zip
# JSON is compressed to a tenth. A bomb is compressed to a thousandth.
HIGHEST_RATIO, SMALL_MEMBER = 200, 16 * 1024 * 1024
MEMBER = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
# The first object has one of these keys itself, and not inside of another value.
CONVERSATION = re.compile(
    r'\s*\[?\s*\{(?:"(?:[^"\\]|\\.)*"|[^{}\[\]"]|\{[^{}]*\}|\[[^\[\]]*\])*?'
    r'"(?:mapping"\s*:\s*\{|chat_messages"\s*:\s*\[)'
)
# Marks of sources in ChatGPT's answers.
CITATION = re.compile(
    "\ue200[^\ue201]{0,2000}\ue201|[\ue200-\ue2ff]|【[^】\n]{1,80}†[^】\n]{0,80}】"
)
HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
# Thoughts, and the instructions that ChatGPT adds to each conversation.
NOT_SAID = ("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context")


def is_export(head: str) -> bool:
    """Return whether a text begins as an export of conversations does."""
    return CONVERSATION.match(head) is not None


def is_archive(path: Path) -> bool:
    """Return whether a file is the zip of an export."""
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            return any(MEMBER.fullmatch(name) for name in archive.namelist())
    except (OSError, ValueError, BadZipFile):
        return False


def read_archive(path: Path, problems: list[str]) -> Iterator[Transcript]:
    """Yield the conversations in the zip of an export."""
    from zipfile import BadZipFile, ZipFile
    from zlib import error as DecompressionError

    name = path.name
    try:
        with ZipFile(path) as archive:
            for member in archive.infolist():
                name = member.filename
                if MEMBER.fullmatch(name):
                    yield from read_member(archive, member, problems)
    # RuntimeError: it needs a password.
    except (BadZipFile, DecompressionError, EOFError, NotImplementedError, RuntimeError) as error:
        problems.append(f"{name} cannot be unpacked: {error}")


def read_member(archive: "ZipFile", member: "ZipInfo", problems: list[str]) -> Iterator[Transcript]:
    ratio = member.file_size / max(member.compress_size, 1)
    is_bomb = ratio > HIGHEST_RATIO and member.file_size > SMALL_MEMBER
    if is_bomb or member.file_size > LARGEST_MEMBER:
        problems.append(f"{member.filename} is too large: {member.file_size:,} bytes, unpacked")
        return
    # zipfile never unpacks more than the size that was checked.
    with archive.open(member) as file:
        yield from read_conversations(open_text(file), problems)


def read_conversations(file: TextIO, problems: list[str]) -> Iterator[Transcript]:
    """Yield the conversations of a `conversations.json`, or of one with a single conversation."""
    number = 0
    try:
        for number, data in enumerate(read_values(file), 1):
            if isinstance(data, Mapping) and isinstance(data.get("mapping"), Mapping):
                yield read_chatgpt(data)
            elif isinstance(data, Mapping) and isinstance(data.get("chat_messages"), list):
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
    is_utf16 = start in (b"\xff\xfe", b"\xfe\xff")
    return io.TextIOWrapper(file, "utf-16" if is_utf16 else "utf-8-sig", "replace")


def read_chatgpt(data: Mapping[str, Any]) -> Transcript:
    """Return a conversation of ChatGPT: the branch that the user sees."""
    session_id = str(data.get("conversation_id") or data.get("id") or "")
    transcript = Transcript("chatgpt", session_id)
    calls = Calls(transcript)
    timestamp = read_timestamp(data.get("create_time"))
    pending: dict[str, str] = {}  # tool → id of the call that has no result yet
    for message in find_branch(data["mapping"], str(data.get("current_node") or "")):
        details = message.get("metadata")
        author = message.get("author")
        author = author if isinstance(author, Mapping) else {}
        role = author.get("role")
        is_hidden = isinstance(details, Mapping) and any(details.get(key) is True for key in HIDDEN)
        # A message of weight 0 was replaced.
        if is_hidden or message.get("weight") == 0 or role not in ("user", "assistant", "tool"):
            transcript.skipped += 1
            continue
        timestamp = read_timestamp(message.get("create_time")) or timestamp
        text, message_id = read_chatgpt_text(message.get("content")), str(message.get("id") or "")
        recipient = str(message.get("recipient") or "all")
        if role == "tool":
            name = str(author.get("name") or "")
            call_id = pending.pop(name, "") or message_id
            calls.find(call_id, timestamp)["name"] = name
            calls.add_result(call_id, text, is_error=False, timestamp=timestamp)
        elif role == "assistant" and recipient != "all":
            pending[recipient] = message_id
            calls.add_call(message_id, recipient, text, timestamp)
        else:
            add_message(transcript, str(role), text, timestamp, message_id)
    return transcript


def add_message(
    transcript: Transcript, role: str, text: str, timestamp: str, message_id: str
) -> None:
    event = build_message(role, text, timestamp, message_id)
    if event is None:
        transcript.skipped += 1
    else:
        transcript.events.append(event)


def find_branch(mapping: Mapping[str, Any], leaf: str) -> Sequence[Mapping[str, Any]]:
    """Return the messages from the root of a tree to a leaf.

    Without a known leaf, the branch ends with the latest message.
    """
    nodes = {name: node for name, node in mapping.items() if isinstance(node, Mapping)}
    if leaf not in nodes:
        ends = [name for name, node in nodes.items() if not node.get("children")]
        leaf = max(ends, key=lambda name: find_time(nodes[name]), default="")
    branch: dict[str, Mapping[str, Any]] = {}
    while leaf in nodes and leaf not in branch:
        branch[leaf] = nodes[leaf]
        leaf = str(nodes[leaf].get("parent"))
    messages = [node.get("message") for node in reversed(branch.values())]
    return [message for message in messages if isinstance(message, Mapping)]


def find_time(node: Mapping[str, Any]) -> str:
    message = node.get("message")
    return read_timestamp(message.get("create_time")) if isinstance(message, Mapping) else ""


def read_chatgpt_text(content: Any) -> str:
    if not isinstance(content, Mapping) or content.get("content_type") in NOT_SAID:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        parts = [content.get("text") or content.get("result")]
    # A part is a text, the transcription of speech, or a picture.
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in parts]
    return CITATION.sub("", "\n".join(text for text in texts if isinstance(text, str)))


def read_claude(data: Mapping[str, Any]) -> Transcript:
    """Return a conversation of Claude.ai: the branch that the user sees, if there are several."""
    transcript = Transcript("claude-ai", str(data.get("uuid") or ""))
    calls = Calls(transcript)
    messages = [item for item in data["chat_messages"] if isinstance(item, Mapping)]
    if any(message.get("parent_message_uuid") for message in messages):
        messages = find_claude_branch(messages, str(data.get("current_leaf_message_uuid") or ""))
    timestamp = read_timestamp(data.get("created_at"))
    for message in messages:
        role = {"human": "user", "assistant": "assistant"}.get(str(message.get("sender")))
        if role is None:
            transcript.skipped += 1
            continue
        timestamp = read_timestamp(message.get("created_at")) or timestamp
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        texts = [part.get("text") for part in parts if isinstance(part, Mapping)]
        text = "\n".join(text for text in texts if isinstance(text, str)) or message.get("text")
        add_message(transcript, role, str(text or ""), timestamp, str(message.get("uuid") or ""))
        for part in parts:
            if isinstance(part, Mapping):
                claude_code.read_part(calls, part, timestamp)
    return transcript


def find_claude_branch(messages: Sequence[Mapping[str, Any]], leaf: str) -> list[Mapping[str, Any]]:
    by_id = {str(message.get("uuid")): message for message in messages}
    leaf = leaf if leaf in by_id else str(messages[-1].get("uuid"))
    branch: dict[str, Mapping[str, Any]] = {}
    while leaf in by_id and leaf not in branch:
        branch[leaf] = by_id[leaf]
        leaf = str(by_id[leaf].get("parent_message_uuid"))
    return list(reversed(branch.values()))
