"""Read the conversations in a file, in any known format.

A format is a module with NAME, FOLDER_VARIABLE, FOLDER, PATTERNS, is_line and read_lines, and
perhaps find_session_id, find_folder and find_folder_of_path. A format that stores all conversations
in a database also has DATABASE, list_conversations and read_conversation. Other packages add
formats under the entry point `mem.transcripts`.
"""

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import tzinfo
from functools import cache
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TextIO

from ..errors import NotFoundError
from ..formats import LONGEST_LINE, CutOffError, JsonStream, parse_event, parse_events
from . import chat_text, cursor, exports
from .transcript import JsonObject, Transcript, build_message, get_objects

HEAD = 64 * 1024  # bytes or characters by which a format is recognized
LARGEST_LINES = 512 * 1024 * 1024  # characters of a transcript
LARGEST_DOCUMENT = 64 * 1024 * 1024  # characters of a text that is read whole
DETECTION_LINES = 20
JSON_START = re.compile(r"\{|\[\s*\{")  # not `[10:30] User: …`
BLANK = "\ufeff\x00 \t\r\n"  # a crash can leave zeros at the end of a file
# Lines of Cursor have the same keys as those of Claude Code, and fewer.
OWN = ("cursor", "cursor_database", "claude_code", "codex", "copilot", "gemini", "opencode")
OWN_FORMATS = [import_module(f".{name}", __package__) for name in OWN]
DATABASES = {format_.DATABASE: format_ for format_ in OWN_FORMATS if hasattr(format_, "DATABASE")}


@cache
def list_formats() -> list[ModuleType]:
    """Return the modules of all transcript formats."""
    from importlib.metadata import entry_points

    return [*OWN_FORMATS, *(item.load() for item in entry_points(group="mem.transcripts"))]


def read_file(
    path: Path,
    problems: list[str],
    zone: tzinfo,
    on_progress: Callable[[int, int], None] | None = None,
) -> Iterator[Transcript]:
    """Yield the conversations in a file, in any known format. Raises NotFoundError.

    `on_progress` gets how much of the file was read, and its size.
    """
    if path.parent.name in DATABASES:
        yield read_row(path, problems)
        return
    if path.name in DATABASES:
        rows = DATABASES[path.name].list_conversations(path)
        for number, row in enumerate(rows):
            if on_progress:
                on_progress(number, len(rows))
            yield read_row(row, problems)
        return
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            for transcript in read_open_file(path, file, problems, zone):
                if on_progress:
                    on_progress(file.tell(), size + 1)
                yield transcript
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}") from None


def read_open_file(
    path: Path, file: IO[bytes], problems: list[str], zone: tzinfo
) -> Iterator[Transcript]:
    if file.read(4) == b"PK\x03\x04":
        yield from exports.read_archive(file, problems)
        return
    file.seek(0)
    with exports.open_text(file) as text:
        head = text.read(HEAD)
        text.seek(0)
        yield from read_text(path, head, text, problems, zone)


def read_row(path: Path, problems: list[str]) -> Transcript:
    """Read a conversation in a database."""
    database = DATABASES[path.parent.name]
    try:
        transcript: Transcript = database.read_lines(database.read_conversation(path))
    except (ValueError, TypeError, RecursionError):
        problems.append(f"conversation {path.name} is damaged")
        return Transcript(database.NAME)
    return transcript


def read_text(
    path: Path, head: str, file: TextIO, problems: list[str], zone: tzinfo
) -> Iterator[Transcript]:
    """Yield the conversations in a text. `head` is its beginning, `path` its origin."""
    head = head.lstrip(BLANK)
    if exports.is_export(head):
        yield from exports.read_conversations(file, problems)
        return
    if JSON_START.match(head):
        read = read_document if head.startswith(("[", "{\n", "{\r")) else read_objects
        transcript = read_objects_of_format(read(file, problems))
    else:
        transcript = read_chat(file.read(LARGEST_DOCUMENT), zone)
    session_id = call_format(transcript.agent, "find_session_id", path)
    transcript.session_id = session_id or transcript.session_id
    if not transcript.folder:
        transcript.folder = call_format(transcript.agent, "find_folder_of_path", path, ())
    yield transcript


def is_conversation(head: str) -> bool:
    """Return whether a text begins like a conversation in a known format."""
    head = head.lstrip(BLANK)
    if not JSON_START.match(head):
        return bool(cursor.SPEAKER.match(head) or chat_text.find_style(head.splitlines()))
    if exports.is_export(head):
        return True
    objects = read_first_objects(head)
    known = any(format_.is_line(data) for format_ in list_formats() for data in objects)
    return known or any(is_plain_message(data) for data in objects)


def read_first_objects(head: str) -> list[JsonObject]:
    """Return the objects at the beginning of a text, which may end in the middle of one."""
    objects: list[JsonObject] = [data for _, data in parse_events(head)]
    if objects:
        return [*objects, *get_objects(objects[0], "messages")]
    # One document over many lines: a list of objects, or an object that may contain the list.
    stream = JsonStream(io.StringIO(head))
    fields: dict[str, Any] = {}
    items: list[Any] = []
    with suppress(CutOffError):
        if stream.peek() == "[":
            items.extend(stream.read_items())
        for key in stream.read_keys():
            if key == "messages" and stream.peek() == "[":
                items.extend(stream.read_items())
            else:
                fields[key] = stream.read_value()
    return [fields, *(item for item in items if isinstance(item, dict))]


def is_plain_message(data: JsonObject) -> bool:
    """Return whether an object is a message of a chat, without anything that names its tool."""
    has_text = isinstance(data.get("content", data.get("text")), str | list)
    return data.get("role") in ("user", "assistant") and has_text


def call_format(agent: str, name: str, *arguments: Any) -> str:
    """Call a function that only some formats have. Without it, return an empty string."""
    for module in list_formats():
        if module.NAME == agent and hasattr(module, name):
            return str(getattr(module, name)(*arguments))
    return ""


def read_chat(text: str, zone: tzinfo) -> Transcript:
    is_cursor = "<user_query>" in text and cursor.SPEAKER.match(text.lstrip(BLANK))
    return cursor.read_text(text) if is_cursor else chat_text.read_text(text, zone)


def read_objects_of_format(lines: Iterator[dict[str, Any]]) -> Transcript:
    """Return the conversation in objects. The first ones decide which format it is."""
    head = list(islice(lines, DETECTION_LINES))
    if head and isinstance(head[0].get("messages"), list):
        messages = [data for data in head[0].pop("messages") if isinstance(data, dict)]
        head = [head[0], *messages, *head[1:]]
    lines = chain(head, lines)
    for format_ in list_formats():
        if any(format_.is_line(data) for data in head[:DETECTION_LINES]):
            transcript: Transcript = format_.read_lines(lines)
            return transcript
    return read_plain(lines)


def read_objects(file: TextIO, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file with one in each line, and count the other lines."""
    bad = size = 0
    while line := file.readline(LONGEST_LINE):
        size += len(line)
        if size > LARGEST_LINES:
            problems.append(f"only its first {LARGEST_LINES >> 20} MiB were read")
            break
        data = parse_event(line) if line.strip(BLANK) else {}
        if data:
            yield data
        elif data is None:
            # The last line may still be in the middle of being written.
            bad += line.endswith("\n")
    if bad:
        problems.append(f"{bad} {'line is' if bad == 1 else 'lines are'} not JSON objects: skipped")


def read_document(file: TextIO, problems: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of a file that is one JSON value, such as an export."""
    try:
        document = json.loads(file.read(LARGEST_DOCUMENT).lstrip(BLANK))
    except (ValueError, RecursionError):
        problems.append("not JSON, or cut")
        return
    items = document if isinstance(document, list) else [document]
    yield from (item for item in items if isinstance(item, dict))


def read_plain(lines: Iterable[dict[str, Any]]) -> Transcript:
    """Read events of our own format, or objects with role and content."""
    transcript = Transcript("")
    for data in lines:
        if data.get("type") == "tool":
            transcript.events.append(data)
            continue
        role = str(data.get("role") or data.get("type") or "")
        event = build_message(role, data.get("content", data.get("text")), data.get("timestamp"))
        if role in ("user", "assistant") and event is not None:
            transcript.events.append({**data, **event})
    return transcript
