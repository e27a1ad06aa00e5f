"""What tools read from files that are shut out of memory, or wrote there, leaves a conversation before it is stored.

A call that names such a file is known by its arguments, whatever their keys; its results by the id of the call or,
where there is none, by their order. Both lose all that they say. A file that a tool only runs, such as
`.venv/bin/python`, is not read: there a `.gitignore` does not count.

A call that searches a folder names no file: its result is left out where it shows lines of such a file
(`excluded_lines`).
"""

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ...dataclass import dataclass
from ...formats.session_event import CALL_IDS, Event, load, parse_event, render_event, word
from .. import file_steps
from ..lock import Held
from ..privacy import EVERY, OUTSIDE_GIT, ExcludedFiles
from ..workspace import Workspace
from .event_file import lines_of, lines_with, mapped, recent_events, replace_lines
from .excluded_lines import ExcludedLines, texts_in

MARK = "[REDACTED:secret-file]"
"""All that stays of what a tool was given or answered."""
_WRITTEN = "content contents file_text new_str old_str new_string old_string new_text old_text code_edit codeedit body"
_CONTENTS = frozenset((*_WRITTEN.split(), "description", "explanation", "message", "prompt", "thought", "todos"))
"""Keys of what is written or said, which may speak of any file."""
_COMMANDS = frozenset(("command", "cmd", "script", "code"))
_LINES = frozenset(("", "input", "arguments", "args", "text"))
"""Keys of commands, and of what may be a command or a path."""
_CALL_KEYS = frozenset(key.lower() for key in CALL_IDS)
_FOLDERS = frozenset(("cwd", "workdir", "working_directory", "workingdirectory", "dir_path"))
_WORD = re.compile(r"[\w.~@+/*?\[\]-]{2,400}")
_BRACED = re.compile(r"([\w.~@+/-]{0,200})\{([\w.~@+/,-]{1,400})\}([\w.~@+/-]{0,200})")
_QUOTED = re.compile(r"\"([^\"\n]{1,400})\"|'([^'\n]{1,400})'|((?:[^\s\\'\"]|\\.){1,400})")
_PATCHED = re.compile(r"(?m)^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |[-+]{3} (?:[ab]/)?)([^\t\n]+)")
_ENTERED = re.compile(r"(?:\b(?:cd|pushd)|\s-C)\s+(?:--\s+)?[\"']?([^\s\"';&|()]+)")
_RUN = re.compile(
    r"(?:^|[;&|(\n`]|\s-l?c\s+[\"'])\s*(?:\w+=\S*\s+)*(?:(?:sudo|time|env|exec|nohup|source|\.|timeout\s+\S+)\s+)*[\"']?([^\s\"';&|()]+)"
)
_HOME = re.compile(r"\$\{?HOME\}?(?=/)")
_MOST_WORDS, _MOST_NAMES = 5000, 2000
_LONGEST_PATH, _LONGEST_PATTERN = 1000, 100
_MOST_ORPHANS = 10_000
_MOST_FOLDERS = 50


@dataclass
class _Unnamed:
    """Calls whose results are known by their order alone."""

    calls: int = 0
    results: int = 0
    is_withheld: bool = False
    is_over: bool = False  # something was asked since: the next call begins anew

    def begins(self) -> bool:
        """Return whether a call now is the first after all before were answered."""
        return self.is_over or self.results >= self.calls


@dataclass
class CallFilter:
    """Follows the tools of one conversation, event after event."""

    files: ExcludedFiles
    late: set[str] = field(default_factory=set)
    """Ids of results that went through before their call came."""
    _calls: dict[str, bool] = field(default_factory=dict)  # by id whether its results are withheld
    _answered: set[str] = field(default_factory=set)  # ids whose next call is another one
    _listings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _orphans: dict[str, list[str]] = field(default_factory=dict)  # results without a call so far, by the call's id
    _unnamed: _Unnamed = field(default_factory=_Unnamed)
    _entered: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by a call's id the folders it works in

    @cached_property
    def _lines(self) -> ExcludedLines:
        return ExcludedLines(self.files)

    def withholds(self, event: Event) -> bool:
        """Take in an event; return whether what it says is to be left out."""
        if event.type == "message":
            if event.role == "user":
                self._unnamed.is_over = True
                self._orphans.pop("", None)
            return False
        return self._call(event) if event.type == "tool_call" else self._result(event)

    def event(self, event: Event) -> Event:
        """Take in an event; return it as it may be stored."""
        return blanked(event) if self.withholds(event) or self._shows_excluded_lines(event) else event

    def events(self, events: Sequence[Event]) -> list[Event]:
        """Take in events; return them as they may be stored, a result that stands before its call included."""
        named = [event if event.id else replace(event, id=f"\0{number}") for number, event in enumerate(events)]
        out = [self.withholds(event) for event in named]
        return [
            blanked(event) if is_out or twin.id in self.late or self._shows_excluded_lines(event) else event
            for event, twin, is_out in zip(events, named, out, strict=True)
        ]

    def unanswerable(self) -> set[str]:
        """Return the ids that results state and no call had so far."""
        return self._orphans.keys() - {""}

    def _call(self, event: Event) -> bool:
        is_out = event.text == MARK or self._names_excluded(event)
        ids = call_ids(event)
        for identifier in ids:
            is_repeated = identifier in self._calls and identifier not in self._answered
            self._calls[identifier] = is_out or (is_repeated and self._calls[identifier])
        self._answered.difference_update(ids)
        for identifier in (*ids, ""):
            early = self._orphans.pop(identifier, ())
            if is_out:
                self.late.update(early)
        if self._unnamed.begins():
            self._unnamed = _Unnamed()
        self._unnamed.calls += 1
        self._unnamed.is_withheld = self._unnamed.is_withheld or is_out
        return is_out

    def _result(self, event: Event) -> bool:
        ids = [identifier for identifier in call_ids(event) if identifier in self._calls]
        is_pending = self._unnamed.results < self._unnamed.calls
        self._unnamed.results += 1
        self._answered.update(ids)
        if ids:
            return any(self._calls[identifier] for identifier in ids)
        stated = stated_ids(event)
        if self._unnamed.is_withheld and (is_pending or not stated):
            return True
        if event.text != MARK and len(self._orphans) < _MOST_ORPHANS and (stated or not is_pending):
            for identifier in stated or ("",):
                self._orphans.setdefault(identifier, []).append(event.id)
        return False

    def _names_excluded(self, event: Event) -> bool:
        """Return whether a call names a file that is shut out."""
        given: list[Any] = [event.arguments, event.text if event.arguments is None else None, dict(event.extra)]
        folders = [os.path.expanduser(folder) for folder in dict.fromkeys(_folders(given))]
        bases = tuple(os.path.join(base, folder) for base in self.files.folders for folder in folders)
        for identifier in call_ids(event) or ("",):
            if bases or identifier in self._entered:
                self._entered[identifier] = bases
        words = dict.fromkeys(islice(_named(given), _MOST_WORDS))
        return any(self._is_excluded(path, kinds, bases) for path, kinds in words)

    def _is_excluded(self, path: str, kinds: tuple[str, ...], folders: Sequence[str]) -> bool:
        if self.files.reason(path, kinds, folders):
            return True
        if not set("*?[") & set(path):
            return False
        matches = (match for folder in (*self.files.folders, *folders) for match in self._matches(folder, path))
        return any(self.files.reason(match, kinds) for match in matches)

    def _matches(self, folder: str, pattern: str) -> Iterator[str]:
        """Yield the files that a pattern of a shell names in a folder; at most so many folders are looked into."""
        above, _, name = os.path.join(folder, pattern).rpartition("/")
        if len(name) > _LONGEST_PATTERN:
            return
        parents: Iterable[str] = (above,)
        if set("*?[") & set(above):
            parents = self._matches(*above.rpartition("/")[::2])
        for parent in islice(parents, _MOST_FOLDERS):
            if parent not in self._listings:
                try:
                    with os.scandir(parent or "/") as entries:
                        self._listings[parent] = tuple(entry.name for entry in islice(entries, _MOST_NAMES))
                except (OSError, ValueError):
                    self._listings[parent] = ()
            shown = (match for match in self._listings[parent] if match[0] != "." or name[:1] == ".")
            yield from (f"{parent}/{match}" for match in shown if fnmatchcase(match, name))

    def _shows_excluded_lines(self, event: Event) -> bool:
        """Return whether a result shows lines of files that are shut out, which its call did not name."""
        if event.type != "tool_result":
            return False
        names = (*call_ids(event), "") if self._entered else ()
        folders = next((self._entered[name] for name in names if name in self._entered), ())
        whole = event.arguments if isinstance(event.arguments, str) else event.text
        return any(self._lines.are_in(text, folders) for text in (whole, *texts_in(event.extra)))


def call_filter(workspace: Workspace, *folders: str) -> CallFilter:
    """Return the filter for a conversation: beside the workspace, where the command is given, and in these folders."""
    near = (workspace.root.parent, workspace.folder)
    return CallFilter(ExcludedFiles(*near, *(workspace.folder / folder for folder in folders if folder)))


def without_excluded(
    calls: CallFilter, target: Path, paths: Sequence[Path], events: Sequence[Event], held: Held
) -> tuple[list[Event], int]:
    """Return events without what tools read from files that are shut out, and how many were blanked out.

    `target` is the file of their session, which with its archived parts are `places`: the calls of results may stand
    there, and results of calls that only come now.
    """
    tools = [event for event in events if event.type != "message"]
    if not tools:
        return list(events), 0
    before = events_of_calls(paths, {identifier for event in tools for identifier in call_ids(event)})
    if not all(map(stated_ids, tools)):
        before += recent_events(target)
    for event in before:
        calls.withholds(event)
    clean = calls.events(events)
    early = [event for event in before if event.id in calls.late and event.text != MARK]
    if early:
        lines, ids = lines_of(target), {event.id for event in early}
        replace_lines(target, held, lines, [_blank(line, ids) for line in lines])
    return clean, len(early) + sum(new is not old for new, old in zip(clean, events, strict=True))


def _blank(line: bytes, ids: set[str]) -> bytes:
    event = parse_event(line.decode("utf-8", "replace"))
    return f"{render_event(blanked(event))}\n".encode() if event and event.id in ids else line


def events_of_calls(paths: Sequence[Path], ids: Collection[str]) -> list[Event]:
    """Return the calls and results of some ids in some files, in the order they stand there."""
    matching: list[Event] = []
    for path in paths:
        with file_steps.naming("read", path), mapped(path) as data:
            spans = {span for identifier in ids if identifier for span in lines_with(data, identifier)}
            events = [parse_event(data[start:end].decode("utf-8", "replace")) for start, end in sorted(spans)]
        matching += [event for event in events if event and event.type != "message" and set(call_ids(event)) & set(ids)]
    return matching


def call_ids(event: Event) -> tuple[str, ...]:
    """Return the ids by which a call and its results may be tied together."""
    stated = stated_ids(event)
    return (*stated, event.id) if event.id and (event.type == "tool_call" or not stated) else stated


def stated_ids(event: Event) -> tuple[str, ...]:
    """Return the ids of the call that an event states, its own left out."""
    return tuple(identifier for key in CALL_IDS if (identifier := word(event.extra.get(key))))


def blanked(event: Event) -> Event:
    """Return a call or a result that says nothing but that it was left out."""
    extra = {key: value for key, value in event.extra.items() if key in CALL_IDS}
    is_blank = event.text == MARK and extra == event.extra
    return event if is_blank else replace(event, text=MARK, extra=extra, arguments=None)


def _folders(given: Iterable[Any]) -> Iterator[str]:
    """Yield the folders that the arguments of a call say it works in."""
    for key, value in _strings(given):
        if key in _FOLDERS:
            yield value
        elif key in _COMMANDS or key in _LINES:
            yield from (match[1] for match in islice(_ENTERED.finditer(value), 20))


def _named(given: Iterable[Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield what may be a path in the arguments of a call, with what may shut it out."""
    for key, value in _strings(given):
        yield from ((match[1].strip(), EVERY) for match in _PATCHED.finditer(value))
        if key in _CONTENTS or key in _CALL_KEYS:
            continue
        value = unquote(value) if "file://" in value else value
        is_path = key not in _COMMANDS and (key not in _LINES or not set(value) & set(" \t"))
        if is_path and len(value) <= _LONGEST_PATH and "\n" not in value:
            yield value.removeprefix("file://"), EVERY
        yield from _words(_HOME.sub("~", value))


def _words(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the words of a command that may be paths; those it runs are shut out by less."""
    run = {match.start(1) for match in _RUN.finditer(text)}
    for match in _WORD.finditer(text):
        kinds = OUTSIDE_GIT if match.start() in run else EVERY
        yield match[0], kinds
        if match[0] != (bare := match[0].lstrip("[@").rstrip("]")):
            yield bare, kinds
    for match in _BRACED.finditer(text):
        yield from ((f"{match[1]}{word}{match[3]}", EVERY) for word in match[2].split(","))
    for match in _QUOTED.finditer(text):
        quoted = match[1] or match[2] or match[3]
        if not _WORD.fullmatch(quoted):
            yield re.sub(r"\\(.)", r"\1", quoted), EVERY


def _strings(given: Iterable[Any], key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the texts in a JSON value with their keys in lower case, JSON in a text taken apart too."""
    waiting = [(key, value) for value in given]
    while waiting:  # no recursion: JSON may nest deeper than calls can
        key, value = waiting.pop()
        if isinstance(value, str):
            inner = load(value) if value[:1] in ("{", "[") and key not in _CONTENTS else None
            if isinstance(inner, Mapping | list):
                waiting.append((key, inner))
            else:
                yield key, value
        elif isinstance(value, Mapping):
            waiting.extend((str(name).lower(), inner) for name, inner in value.items())
        elif isinstance(value, list):
            is_command = key in _COMMANDS and all(isinstance(part, str) for part in value)
            if is_command and len(value) == 3 and value[1] in ("-c", "-lc"):
                yield key, value[2]
            elif is_command:
                yield key, " ".join(part if _WORD.fullmatch(part) else json.dumps(part) for part in value)
            else:
                waiting.extend((key, part) for part in value)
