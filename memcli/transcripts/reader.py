"""Read the conversations in a file, in any known format.

A format is a module, either of mem or of a package with the entry point `mem.transcripts`. It has:

* NAME of the agent; FOLDER, in the home folder, unless the environment has FOLDER_VARIABLE; and
  PATTERNS of the transcripts in that folder
* `is_line(object)` and `read_lines(objects)`, which returns a `Transcript`
* perhaps `find_session_id(path)`, `find_folder(object)` and `find_folder_of_path(path, near)`

A format of mem's own can store all conversations in a database. Then it also has DATABASE,
CONVERSATIONS, the statement that selects their ids, and `read_conversation(path)`, which yields
objects for `read_lines`.
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
from ..formats import LONGEST_LINE, CutOffError, JsonStream, Progress, parse_event, parse_events
from . import chat_text, cursor, exports
from .transcript import Event, JsonObject, Transcript, build_message, get_objects, query

HEAD = 64 * 1024  # bytes or characters by which a format is recognized
LARGEST_LINES = 512 * 1024 * 1024  # characters of a transcript
LARGEST_DOCUMENT = 64 * 1024 * 1024  # characters of a text that is read whole
DETECTION_LINES = 20
ROLES = ("user", "assistant")
DOCUMENT_STARTS = ("[", "{\n", "{\r")  # of JSON over many lines, or of a list in one
JSON_START = re.compile(r"\{|\[\s*\{")  # not `[10:30] User: …`
ZIP_MARK = b"PK\x03\x04"
FILE_NAME = re.compile(r"(?!\.{1,2}\Z)[^/\0]+")
BLANK = "\ufeff\x00 \t\r\n"  # a crash can leave zeros at the end of a file
# Lines of Cursor have the same keys as those of Claude Code, and fewer.
OWN_NAMES = ("cursor", "cursor_database", "claude_code", "codex", "copilot", "gemini", "opencode")
OWN_FORMATS = [import_module(f".{name}", __package__) for name in OWN_NAMES]
DATABASES = {format_.DATABASE: format_ for format_ in OWN_FORMATS if hasattr(format_, "DATABASE")}


@cache
def list_formats() -> list[ModuleType]:
    """Return the modules of all transcript formats."""
    from importlib.metadata import entry_points

    return OWN_FORMATS + [item.load() for item in entry_points(group="mem.transcripts")]


def read_file(
    path: Path,
    problems: list[str],
    zone: tzinfo,
    on_progress: Progress | None = None,
) -> Iterator[Transcript]:
    """Yield the conversations in a file, in any known format. Raises NotFoundError.

    `on_progress` gets how much of the file was read, and its size.
    """
    # `opencode.db/ID` and `state.vscdb/ID` are conversations in a database.
    if path.parent.name in DATABASES:
        yield read_stored_conversation(path, problems)
        return
    if path.name in DATABASES:
        conversations = list_stored_conversations(path)
        for number, conversation in enumerate(conversations):
            if on_progress:
                on_progress(number, len(conversations))
            yield read_stored_conversation(conversation, problems)
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
    if file.read(4) == ZIP_MARK:
        yield from exports.read_archive(file, problems)
        return
    file.seek(0)
    with exports.open_text(file) as text:
        head = text.read(HEAD)
        text.seek(0)
        yield from read_text(path, head, text, problems, zone)


def list_stored_conversations(database: Path) -> list[Path]:
    """Return the paths of the conversations in a database, the oldest first."""
    rows = query(database, DATABASES[database.name].CONVERSATIONS)
    # An id that is no file name has no path in the database.
    return [database / str(row[0]) for row in rows if FILE_NAME.fullmatch(str(row[0]))]


def read_stored_conversation(path: Path, problems: list[str]) -> Transcript:
    """Return a conversation in a database. A damaged one has no events."""
    format_ = DATABASES[path.parent.name]
    transcript = Transcript(format_.NAME)
    try:
        transcript = format_.read_lines(format_.read_conversation(path))
    # One damaged row must not stop the other conversations.
    except (ValueError, TypeError, RecursionError):
        problems.append(f"conversation {path.name} is damaged")
    return transcript


def read_text(
    path: Path, head: str, file: TextIO, problems: list[str], zone: tzinfo
) -> Iterator[Transcript]:
    """Yield the conversations in a text.

    `head` is its beginning, `path` its origin.
    """
    head = head.lstrip(BLANK)
    if exports.is_export(head):
        yield from exports.read_conversations(file, problems)
        return
    if not JSON_START.match(head):
        text = file.read(LARGEST_DOCUMENT)
        is_cursor = "<user_query>" in text and cursor.SPEAKER.match(head)
        transcript = cursor.read_text(text) if is_cursor else chat_text.read_text(text, zone)
    elif head.startswith(DOCUMENT_STARTS):
        transcript = read_transcript(read_document(file, problems))
    else:
        transcript = read_transcript(read_objects(file, problems))
    for find_session_id in list_functions("find_session_id", transcript.agent):
        transcript.session_id = find_session_id(path) or transcript.session_id
    for find_folder_of_path in list_functions("find_folder_of_path", transcript.agent):
        transcript.folder = transcript.folder or find_folder_of_path(path, ())
    yield transcript


def is_conversation(head: str) -> bool:
    """Return whether a text begins like a conversation in a known format."""
    head = head.lstrip(BLANK)
    if not JSON_START.match(head):
        # Older transcripts of Cursor are text: `user:`, and the message from the next line on.
        return bool(cursor.SPEAKER.match(head) or chat_text.find_style(head.splitlines()))
    if exports.is_export(head):
        return True
    objects = read_first_objects(head)
    checks = [is_plain_message, *(format_.is_line for format_ in list_formats())]
    return any(check(data) for check in checks for data in objects)


def read_first_objects(head: str) -> list[JsonObject]:
    """Return the objects at the beginning of a text, which may end in the middle of one."""
    objects: list[JsonObject] = [data for _, data in parse_events(head)]
    if objects:
        return [*objects, *get_objects(objects[0], "messages")]
    # One document over many lines: a list of objects, or an object that may contain the list.
    # The head can end anywhere, so `json.loads` would reject most documents.
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
    content = data.get("content", data.get("text"))
    return data.get("role") in ROLES and isinstance(content, str | list)


def list_functions(name: str, agent: str | None = None) -> list[Callable[..., str]]:
    """Return a function that only some formats have, of each format or those of an agent."""
    formats = [format_ for format_ in list_formats() if agent in (None, format_.NAME)]
    return [getattr(format_, name) for format_ in formats if hasattr(format_, name)]


def read_transcript(objects: Iterator[Event]) -> Transcript:
    """Return the conversation in objects.

    The first ones decide which format it is.
    """
    head = list(islice(objects, DETECTION_LINES))
    if head and isinstance(head[0].get("messages"), list):
        # {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
        head[1:1] = [data for data in head[0].pop("messages") if isinstance(data, dict)]
    objects = chain(head, objects)
    for format_ in list_formats():
        if any(format_.is_line(data) for data in head[:DETECTION_LINES]):
            transcript: Transcript = format_.read_lines(objects)
            return transcript
    return read_plain(objects)


def read_objects(file: TextIO, problems: list[str]) -> Iterator[Event]:
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


def read_document(file: TextIO, problems: list[str]) -> Iterator[Event]:
    """Yield the objects of a file that is one JSON value, such as an export."""
    try:
        document = json.loads(file.read(LARGEST_DOCUMENT).lstrip(BLANK))
    except (ValueError, RecursionError):
        problems.append("not JSON, or cut")
        return
    items = document if isinstance(document, list) else [document]
    yield from (item for item in items if isinstance(item, dict))


def read_plain(objects: Iterable[Event]) -> Transcript:
    """Return the conversation in events of our own format, or in objects with role and content."""
    transcript = Transcript("")
    for data in objects:
        # Only a session of ours has such an event.
        if data.get("type") == "tool":
            transcript.events.append(data)
            continue
        role = str(data.get("role") or data.get("type") or "")
        event = build_message(role, data.get("content", data.get("text")), data.get("timestamp"))
        if role in ROLES and event is not None:
            transcript.events.append({**data, **event})
    return transcript
