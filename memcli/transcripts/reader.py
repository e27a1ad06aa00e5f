"""Find out by its content what wrote a transcript, and read its events as they come, with a count of what is left out.

Nothing here writes, and nothing is held but the line at hand, so that a transcript may be of any length.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, tzinfo
from itertools import chain, islice
from pathlib import PurePath
from typing import Any, BinaryIO

from ..errors import UnknownTranscriptError
from ..formats.ids import blake2b, day_in, new_id, parse_time
from ..formats.json_stream import CutOffError
from ..formats.session_event import Event, load
from ..language.foreign_text import ASKED_BY_MEM
from .chat_log import style_of
from .messages import JSON_LINES, is_header
from .registry import CHAT, FORMATS, MESSAGES_DOCUMENT, READS
from .transcript_format import CUT_OFF, EMPTY, FOREIGN, SILENT, Transcript, TranscriptFile, TranscriptFormat

_DOCUMENT = re.compile(r'\{\s*(?:"|$)|\[\s*(?:[\["{]|$)')


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
    objects: list[dict[str, Any]] = []
    form = next(_candidates(first, lines, head, objects, is_document=is_document), None)
    if form is not None:
        return form
    if is_document:
        raise UnknownTranscriptError(
            f"cannot tell what format {name} is: a JSON document without a list of messages", READS, FOREIGN
        )
    if objects:
        raise _no_message(objects, name)
    if style_of(lines):
        return CHAT
    raise UnknownTranscriptError(f"cannot tell what format {name} is: no line says who speaks", READS)


def _candidates(
    first: object, lines: list[str], head: str, objects: list[dict[str, Any]], *, is_document: bool
) -> Iterator[TranscriptFormat]:
    """Yield the formats that fit, the most telling first; `objects` is filled with the objects of the lines."""
    if isinstance(first, dict):
        yield from (form for form in FORMATS if form.is_first_line(first))
    if is_document or (len(lines) == 1 and isinstance(first, dict)):
        yield from (form for form in FORMATS if form.document and form.document.search(head))
    if is_document and MESSAGES_DOCUMENT.document and MESSAGES_DOCUMENT.document.search(head):
        yield MESSAGES_DOCUMENT
    for line in lines:
        if isinstance(data := load(line), dict):
            objects.append(data)
            yield from (form for form in FORMATS if form.is_line(data))
    if len(objects) == 1 and isinstance(objects[0].get("messages"), list):
        yield MESSAGES_DOCUMENT
    if len(objects) == 1 and not is_document and is_header(objects[0]):
        yield JSON_LINES  # a session that has begun and says nothing yet


def _no_message(objects: list[dict[str, Any]], name: str) -> UnknownTranscriptError:
    keys = ", ".join(list(objects[0])[:6]) or "none"
    wrapped = (key for key, text in objects[0].items() if isinstance(text, str) and style_of(text.split("\n")))
    key = next(wrapped, "")
    return UnknownTranscriptError(
        f"cannot tell what format {name} is: its lines are JSON, but none has a role or a message (keys: {keys})",
        f"the text under {key!r} is a chat: import it as a file of its own" if key else READS,
        SILENT,
    )


_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_FINE = re.compile(r"\.\d+Z$")
_HEAD = 20  # events among which the first message of the user is looked for
_ID = re.compile(r"[\w.:@/+=-]{1,120}")


def read_transcripts(file: TranscriptFile, name: str, zone: tzinfo = UTC) -> Iterator[Transcript]:
    """Begin to read each conversation of a file in turn: most hold one, the export of a chat service many.

    Raise UnknownTranscriptError where the content is no conversation, or goes wrong behind those that were given.
    """
    form = detect(file, name)
    if form.conversations is None:
        yield _one(file, form, name, zone)
        return
    try:
        for transcript in form.conversations(file, zone):
            yield begin_transcript(transcript, name)
    except CutOffError:
        raise UnknownTranscriptError(f"{name} is cut off or not JSON", "export it again", CUT_OFF) from None


def read_transcript(file: BinaryIO | TranscriptFile, name: str, zone: tzinfo = UTC) -> Transcript:
    """Begin to read a transcript; `name` is its file's, `zone` that of times which name none.

    Raise UnknownTranscriptError where the content is no conversation that can be read.
    """
    whole = file if isinstance(file, TranscriptFile) else TranscriptFile(file)
    transcript = _one(whole, detect(whole, name), name, zone)
    if transcript.is_asked_by_mem:
        raise UnknownTranscriptError(f"{name} is a question that mem asked an agent", "there is nothing to import")
    return transcript


def _one(file: TranscriptFile, form: TranscriptFormat, name: str, zone: tzinfo) -> Transcript:
    if form.conversations is not None:
        raise UnknownTranscriptError(
            f"{name} holds many conversations", "give the name of the file to `mem session import`"
        )
    if form.copies is not None and form.copies.search(name):
        raise UnknownTranscriptError(f"{name} is a checkpoint's copy", "import the session's own file instead", SILENT)
    reading = Transcript(form.name, zone=zone, day=day_in(name))
    reading.events = _events(file, form, reading)
    return begin_transcript(reading, name, is_named_by_file=form.is_named_by_file)


def begin_transcript(reading: Transcript, name: str, *, is_named_by_file: bool = False) -> Transcript:
    """Begin to read the events of one conversation; its file's name names it where nothing else does."""
    events = _kept(reading.events, reading)
    head = _head(events)
    reading.is_asked_by_mem = any(
        event.role == "user" and event.text.lstrip().startswith(ASKED_BY_MEM) for event in head
    )
    first = head[0] if head else None
    stem = PurePath(name).name.removesuffix(".gz").rpartition(".")[0] or PurePath(name).name
    uuid = _UUID.search(stem)
    if is_named_by_file and uuid and uuid[0] == stem:
        reading.session_id = stem
    reading.is_nameless = not (reading.session_id or uuid)
    reading.session_id = reading.session_id or (uuid[0] if uuid else stem)
    if first:
        reading.started = reading.started or first.timestamp
    reading.events = _identified(chain(head, events), reading)
    return reading


def _head(events: Iterator[Event]) -> list[Event]:
    """Return the events up to the first message of the user."""
    head: list[Event] = []
    for event in islice(events, _HEAD):
        head.append(event)
        if event.role == "user":
            break
    return head


def _events(file: TranscriptFile, form: TranscriptFormat, reading: Transcript) -> Iterator[Event]:
    try:
        yield from form.read(file, reading)
    except CutOffError:
        reading.skip("the rest is cut off or not JSON")


def _kept(events: Iterator[Event], reading: Transcript) -> Iterator[Event]:
    """Yield each event once: a session that was resumed repeats what went before."""
    seen: set[int] = set()
    ids: set[int] = set()
    for event in events:
        identity = event.id if _ID.fullmatch(event.id) else ""
        # Without an id, only a time to the fraction of a second makes two equal messages one.
        if identity or _FINE.search(event.timestamp):
            mark = hash((identity or event.timestamp, event.type, event.role, event.name, event.text))
            if mark in seen:
                reading.skip("duplicate")
                continue
            seen.add(mark)
        if identity and hash(identity) in ids:
            identity = ""
        ids.add(hash(identity))
        yield event if identity == event.id else replace(event, id=identity)


def _identified(events: Iterator[Event], reading: Transcript) -> Iterator[Event]:
    """Yield the events, those without an id with one that is the same at every reading of the transcript."""
    for position, event in enumerate(events, 1):
        if event.id:
            yield event
            continue
        moment = parse_time(event.timestamp) or datetime.fromtimestamp(position / 1000, UTC)
        noise = f"{reading.session_id}\n{position}\n{event.type}\n{event.role}\n{event.text}"
        digest = blake2b(noise.encode("utf-8", "replace"), digest_size=8).digest()
        yield replace(event, id=new_id("msg", moment, digest))
