"""What a transcript format is: how its transcripts are recognised and read, and where its tool keeps them.

A transcript streams in: its beginning is looked at once, then it is read line by line, never the whole of it. What
tools print and are given becomes text that can be kept: readable, and no longer than it is worth.
"""

import codecs
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from ..dataclass import dataclass
from ..formats.json_stream import JsonStream, StreamLine, bounded_lines, rejoined
from ..formats.session_event import Event, cut, load, sound
from ..language.foreign_text import injections, recalls_memory, without_injected

HEAD = 256 * 1024
"""Bytes looked at to find out the format."""
LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of a line that is read; a longer one, a video in base64 for instance, is passed over."""
REASONS = 100
"""Different reasons that are counted apart; a file may make up its own types without end."""
OPEN_CALLS = 1000
"""Tool calls remembered until their answer comes."""
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_SMALL = 4 << 20  # bytes
_BLANK = "\ufeff\x00 \t\r\n"


@dataclass
class Transcript:
    """A conversation that is being read: its events, what is learnt of it meanwhile, and what was left out."""

    format: str = ""
    events: Iterator[Event] = field(default_factory=lambda: iter(()), repr=False, compare=False)
    session_id: str = ""  # where it comes from; else the name of its file
    is_nameless: bool = False  # only its file names it
    is_asked_by_mem: bool = False  # with an agent's command
    changed: str = ""  # a mark of the conversation's last change, where its source keeps one
    started: str = ""  # RFC 3339, UTC; empty where nothing tells
    zone: tzinfo = UTC  # of times that name none
    day: str = ""  # of times that name no day
    about: dict[str, Any] = field(default_factory=dict)  # what the transcript says of itself
    skipped: Counter[str] = field(default_factory=Counter)
    calls: dict[str, tuple[str, bool]] = field(default_factory=dict)  # of tools at work, see `answered`

    def note(self, session_id: str, started: str = "", **about: str) -> None:
        """Note what the transcript says of itself; what is noted already holds, and what is empty says nothing."""
        self.session_id = self.session_id or session_id
        self.started = self.started or started
        for key, value in about.items():
            if value:
                self.about.setdefault(key, value)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count what is left out."""
        is_counted = reason in self.skipped or len(self.skipped) < REASONS
        self.skipped[reason if is_counted else "other"] += count

    def skip_type(self, stated: object) -> None:
        """Count a kind of record that holds nothing to remember."""
        self.skip(f"type {stated[:40]!r}" if isinstance(stated, str) else "no type")

    def said(self, text: str) -> str:
        """Return a text without what a harness put in, which is counted."""
        for injection in injections(text):
            self.skip(injection.reason)
        return without_injected(text)

    def call(self, identifier: str, name: str, command: str) -> None:
        """Note a tool that was called, for the answer to come; of those without an id only the last is known."""
        self.calls[identifier] = name, recalls_memory(name, command)
        if len(self.calls) > OPEN_CALLS:
            del self.calls[next(iter(self.calls))]

    def answered(self, identifier: str) -> tuple[str, bool]:
        """Return the tool of the call an answer belongs to, and whether it asks a memory: its answer is nothing new.

        That is the call of its id, else the last that had none; the name is empty where none is known.
        """
        return self.calls.pop(identifier if identifier in self.calls else "", ("", False))


class TranscriptFile:
    """A binary file read from where it stands, once and forwards; a pipe will do."""

    def __init__(self, file: BinaryIO) -> None:
        """Look at the beginning: to the end of the first line that is not blank, where that is not too far."""
        head = more = file.read(HEAD)
        while len(more) == HEAD and b"\n" not in head.lstrip() and len(head) < LONGEST_LINE:
            more = file.read(HEAD)
            head += more
        encoding = next((name for mark, name in _MARKS if head.startswith(mark)), "utf-8")
        whole = rejoined(head, file, HEAD)
        self.stream: TextIO = io.TextIOWrapper(whole, encoding=encoding, errors="replace", newline="\n")
        self.head = head.decode(encoding, errors="replace")
        self.complete = len(more) < HEAD

    def head_lines(self) -> list[str]:
        """Return the lines of the beginning, without one that the look has cut."""
        lines = self.head.split("\n")
        return lines if self.complete or len(lines) == 1 else lines[:-1]

    def head_objects(self) -> Iterator[dict[str, Any]]:
        """Yield the lines of the beginning that are JSON objects."""
        return (data for line in self.head_lines() if isinstance(data := load(line), dict))

    def lines(self) -> Iterator[StreamLine[str]]:
        """Yield the lines, each with its newline."""
        return bounded_lines(self.stream, LONGEST_LINE)

    def objects(self, reading: Transcript) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield number and object of each line of JSON; lines that hold no object are counted and passed over."""
        for line in self.lines():
            if line.is_too_long:
                reading.skip("line too long")
            elif line.content.strip(_BLANK):
                data = load(line.content)
                if isinstance(data, dict):
                    yield line.number, data
                elif data is None:
                    reading.skip("not JSON" if line.is_whole else "cut off at the end")
                else:
                    reading.skip("not an object")

    def document(self) -> JsonStream:
        """Return the file as one JSON document, to be taken apart value by value."""
        return JsonStream(self.stream)


EMPTY, SILENT, FOREIGN, DAMAGED, CUT_OFF = "empty", "silent", "foreign", "damaged", "cut off"
"""What a file without a conversation is, as `kind` of the error says: nothing, records that nobody speaks in, another
document, broken, or an export that ends in the middle."""

EventReader = Callable[[TranscriptFile, Transcript], Iterator[Event]]


@dataclass(frozen=True)
class TranscriptFormat:
    """How transcripts of one kind are recognised and read."""

    name: str
    read: EventReader = lambda file, reading: iter(())
    """Yields the events; CutOffError may end them."""
    is_line: Callable[[Mapping[str, Any]], bool] = lambda data: False
    """Returns whether a JSON line is of such a transcript."""
    is_first_line: Callable[[Mapping[str, Any]], bool] = lambda data: False
    """Returns whether a JSON line is the first of such a transcript, before the file is taken for a document."""
    document: re.Pattern[str] | None = None
    """What is in the beginning of such a JSON document and of no other."""
    conversations: Callable[[TranscriptFile, tzinfo], Iterator[Transcript]] | None = None
    """Yields the conversations of a file that holds many, instead of `read`."""
    copies: re.Pattern[str] | None = None
    """What the names of files end with that repeat another transcript."""
    is_named_by_file: bool = False
    """The name of the file is the session's id, whatever the lines say."""
    writers: tuple[str, ...] = ()
    """Who writes it, as people call them, besides the tools whose folders are known."""


def as_mapping(value: object) -> Mapping[str, Any]:
    """Return an object of JSON as it is; any other value is an empty one."""
    return value if isinstance(value, Mapping) else {}


def as_list(value: object) -> list[Any]:
    """Return a list of JSON as it is; any other value is the only item of one."""
    return value if isinstance(value, list) else [value]


def read_page(path: Path, largest: int = _SMALL) -> dict[str, Any] | None:
    """Return the JSON object that a file beside the transcripts holds; None if it is none, or has more bytes."""
    with suppress(OSError):
        if path.stat().st_size <= largest:
            data = load(path.read_text(encoding="utf-8", errors="replace"))
            return data if isinstance(data, dict) else None
    return None


@dataclass(frozen=True)
class Tool:
    """A tool that keeps conversations: by which variable its folder is named, where it is else, and what lies there."""

    name: str
    title: str  # as people call it
    variable: str
    folders: tuple[str, ...]  # below home
    patterns: tuple[str, ...]  # below that; `**` stands for any folders
    passed_over: tuple[str, ...] = ()  # names of files that hold no conversation of a person's
    data_folder: str = ""  # below XDG_DATA_HOME, where that is set
    parts: tuple[str, ...] = ()  # folders of what is read with the conversation it belongs to
    folder_of: Callable[[Path, tuple[Path, ...]], str] = lambda path, near: ""
    """Returns the working directory that the path of a transcript names, given folders it may be near to."""

    def keeps(self, path: Path) -> bool:
        """Return whether a file is a database of the tool, or the page of a conversation in parts."""
        return False

    def stamp_of(self, path: Path) -> tuple[int, ...]:
        """Return what changes whenever the content of a file it keeps does."""
        raise NotImplementedError

    def conversations(self, path: Path, zone: tzinfo, beside: Path) -> Iterator[Transcript]:
        """Begin to read those of a file it keeps; `beside` is a folder for a copy that is needed meanwhile.

        Raise UnknownTranscriptError where the file is damaged or of an unknown version.
        """
        raise NotImplementedError


_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,2000}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NO_TEXT = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")
_BASE64 = re.compile(r"(?:data:[\w.+/-]{1,80};base64,)[A-Za-z0-9+/=]{40,}|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{600,}={0,2}")
_COMMAND_KEYS = ("command", "cmd", "script")
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da)?sh$")


def clean(text: str) -> str:
    """Take out what drives terminals and what no text holds; newlines become `\\n`."""
    text = sound(text.replace("\r\n", "\n"))
    if _CONTROL.search(text):
        text = _ESCAPE.sub("", text).replace("\r", "\n")
        text = _CONTROL.sub("", text)
    return text


def output(text: str) -> str:
    """Make what a tool answered fit to keep, but for its length: bytes and base64 are only named."""
    sample = _ESCAPE.sub("", text[:20_000])
    if len(_NO_TEXT.findall(sample.replace("\r", ""))) > len(sample) // 10:
        return f"[binary, {len(text)} characters]"
    return _BASE64.sub("[base64]", clean(text)).strip()


def command_of(given: Any) -> str:
    """Return the command line a tool was called with; empty where it was given something else."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return ""
    if not isinstance(given, Mapping):
        return ""
    command = next((given[key] for key in _COMMAND_KEYS if given.get(key)), "")
    if isinstance(command, list):
        words = [str(word) for word in command]
        # ["bash", "-lc", "make test"] is what a person would type as make test
        shell = len(words) == 3 and _SHELL.match(words[0]) and words[1] in ("-c", "-lc")
        return words[2] if shell else " ".join(words)
    return command if isinstance(command, str) else ""


def given(value: Any) -> str:
    """Write what a tool was called with: its command where it has one, else its arguments as JSON."""
    command = command_of(value)
    if command or isinstance(value, str):
        return cut(_BASE64.sub("[base64]", clean(command or value)).strip())
    if value in (None, {}, []):
        return ""
    return cut(_BASE64.sub("[base64]", clean(json.dumps(value, ensure_ascii=False))))
