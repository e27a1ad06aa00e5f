"""Export: the files that were chosen, read from disk one by one, and the markdown document that can be made of them."""

import json
import os
import re
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import TYPES, Entry, read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.history import records
from ..formats.ids import day_in, parse_time, stamp
from ..formats.text_lines import FileProblem, blanked, first_line, with_code
from ..index.filters import Filter
from ..index.index import ask
from ..index.scan import scan
from ..results import Action, ConflictsWith, FileLine, FilePath, Id, Reason
from ..store import atomic_files, trust
from ..store.archive import put
from ..store.init import MARKER_TEXT
from ..store.layouts import ARCHIVES, DERIVED, KINDS, Layout, is_archived
from ..store.settings import FORMAT_KEY, stated_settings
from ..store.workspace import MARKER, Workspace

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that goes into a line; a line is at most about twice as long."""

SETTINGS = "settings"
"""The kind of a workspace's settings, which are no memory."""

INBOX = "inbox"
"""The kind of what waits for a yes, which is no memory yet."""

USUAL_MODES = (0o644, 0o664)  # of the usual umasks, so not worth a word


@dataclass(frozen=True)
class BundledFile:
    """One file: where it lay, of which kind it was, and all its bytes."""

    path: str
    kind: str  # empty where the line does not say
    data: bytes
    mode: int = 0o644
    modified: str = ""  # RFC 3339, UTC
    said: Mapping[str, Any] = field(default_factory=dict)  # of an entry, for who reads the line; never read back


@dataclass(frozen=True)
class ImportedLine:
    """What became of one line of an import."""

    line: FileLine
    action: Action
    """Also `conflict`, `refused`, `left out`, `held`, or `forgotten`."""
    path: FilePath = ""
    reason: Reason = ""
    id: Id = ""
    """The entry that says it now."""
    supersedes: Annotated[tuple[str, ...], "ids of the entries it took the place of"] = ()
    superseded_by: Annotated[str, "id of the entry that took its place; empty where none did"] = ""
    conflicts_with: ConflictsWith = ()


def packed(file: BundledFile) -> str:
    """Write a file as one line, without its newline; text as text, anything else as base64."""
    line: dict[str, Any] = {"path": file.path, "kind": file.kind}
    if file.mode not in USUAL_MODES:
        line["mode"] = f"{file.mode:o}"
    if file.modified:
        line["modified"] = file.modified
    line |= {key: value for key, value in file.said.items() if key not in ("path", "kind", "text", "base64")}
    try:
        written = json.dumps(line | {"text": file.data.decode("utf-8")}, ensure_ascii=False)
        if len(written) <= 2 * len(file.data) + 4096:  # else it is mostly control characters
            return written
    except UnicodeDecodeError:
        pass
    return json.dumps(line | {"base64": b64encode(file.data).decode("ascii")}, ensure_ascii=False)


def unpacked(line: Mapping[str, Any]) -> BundledFile:
    """Read a file from a line; raise ValueError, which says in a few words what is wrong with it."""
    path, kind, mode = line["path"], line.get("kind", ""), line.get("mode", "644")
    if not isinstance(path, str):
        raise ValueError("its path is no text")
    require_sound(path)
    if kind not in ("", SETTINGS, INBOX, *KINDS):
        raise ValueError(f"no kind {kind!r}: one of {', '.join(KINDS)}")
    if ("text" in line) == ("base64" in line):
        raise ValueError("it needs either text or base64")
    data = line.get("text", line.get("base64"))
    if not isinstance(data, str):
        raise ValueError("its text is no text")
    try:
        modified = line.get("modified", "")
        return BundledFile(
            path,
            kind,
            data.encode("utf-8") if "text" in line else b64decode(data, validate=True),
            int(str(mode), 8) & 0o777,
            modified if isinstance(modified, str) else "",
        )
    except UnicodeEncodeError:
        raise ValueError("its text is not Unicode: half a surrogate pair stands in it") from None
    except ValueError as error:
        raise ValueError("its mode is not octal" if "base 8" in str(error) else "its base64 is damaged") from None


def require_sound(path: str) -> None:
    """Raise ValueError for a path that is not below the workspace, or that would never be looked at there."""
    parts = path.split("/")
    if path.startswith("/") or ".." in parts:
        raise ValueError(f"{path!r} leads out of the workspace")
    if "\0" in path or "" in parts:
        raise ValueError(f"{path!r} is no path of a file")
    if any(part.startswith(".") for part in parts):
        raise ValueError(f"{path!r} is hidden, and hidden files are no memories")


SESSION_DATA = "metadata.json"
"""What belongs to a session's messages and lies beside them."""


def place_in(layout: Layout, file: BundledFile) -> str:
    """Return the path a file has in a layout: its own where that fits, else the one its kind has there.

    Raise ValueError where there is none.
    """
    prefix = layout.archive if is_archived(file.path) else ""
    inner = file.path
    for archive in ARCHIVES:
        inner = inner.removeprefix(archive)
    folder, _, name = inner.rpartition("/")
    if file.kind == INBOX:
        return layout.inbox + name
    kind = layout.kind_of(f"{folder}/session.jsonl" if name == SESSION_DATA else inner)
    if kind and file.kind in ("", kind):
        return prefix + inner
    for path, wanted in _possible_places(layout, file.kind or "entry", inner.removeprefix("memory/"), name):
        if layout.kind_of(path) == wanted:
            return prefix + path
    raise ValueError(f"{file.path} has no place in the layout {layout.name}")


def is_another_tools_store(layout: Layout, file: BundledFile) -> bool:
    """Return whether a file is a store of another tool's own form, which only its own layout reads in place."""
    name = file.path.rpartition("/")[2]
    is_store = name.endswith((".json", ".jsonl")) and name not in ("session.jsonl", SESSION_DATA)
    return is_store and file.kind in ("note", "session") and layout.kind_of(file.path) is None


def _possible_places(layout: Layout, kind: str, inner: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield where a file of another layout might go, with the kind it would have there."""
    day = day_in(name)
    if kind == "memory" and name.casefold() == "memory.md":
        yield layout.memory, kind
    if kind == "note" and day:
        yield f"{layout.notes.rpartition('/')[0]}/{name}".lstrip("/"), kind
        yield layout.notes.format(date=day), kind
    if kind == "history":
        yield f"{layout.history.rpartition('/')[0]}/{name}".lstrip("/"), kind
    if kind in ("entry", "memory", "note"):
        yield f"{layout.entries}/{inner}".lstrip("/"), "entry"


_PLACES = ("layout", "paths")
_LISTED = 5
_AS_MADE = (MARKER_TEXT.encode(), MARKER_TEXT.rpartition(f"{FORMAT_KEY}:")[0].encode())
"""The file as `mem init` makes it, and as it did before the format was in it."""


def settings_file(workspace: Workspace) -> list[tuple[str, str]]:
    """Return path and kind of the settings' file, where it says something."""
    return [(MARKER, SETTINGS)] if _settings_of(_settings_bytes(workspace) or b"") else []


def take_settings(workspace: Workspace, file: BundledFile, *, dry_run: bool) -> tuple[str, str]:
    """Take settings over where none were set; return what was done, and a notice or ""."""
    if file.path != MARKER:
        raise ValueError(f"settings are in {MARKER}, not in {file.path}")
    new, existing = _settings_of(file.data), _settings_bytes(workspace)
    old = _settings_of(existing or b"")
    others = [name for name, value in new.items() if old.get(name) != value]
    if not others:
        return "unchanged", ""
    if existing not in _AS_MADE or any(name.partition(".")[0] in _PLACES for name in new):
        names = ", ".join(others[:_LISTED]) + (", …" if len(others) > _LISTED else "")
        return "left out", f"{MARKER} stays as it is; the file sets {names}: `mem config set` does it here"
    if not dry_run:
        modified = parse_time(file.modified)
        put(workspace, MARKER, file.data, modified=modified, over=atomic_files.digest(existing))
    return "created", ""


def _settings_bytes(workspace: Workspace) -> bytes | None:
    try:
        return atomic_files.read(workspace.root / MARKER)
    except MemError:
        return None


def _settings_of(data: bytes) -> dict[str, object]:
    """Return the settings by their dotted names but for the format, which is the folder's own."""
    settings = stated_settings(data.decode("utf-8", "replace"))
    settings.pop(FORMAT_KEY, None)
    return settings


def inbox_files(workspace: Workspace) -> list[tuple[str, str]]:
    """Return path and kind of what waits for a yes."""
    return [(path, INBOX) for path in workspace.inbox]


def passes(wanted: Filter, file: BundledFile, entry: Entry | None) -> bool:
    """Return whether a file passes a filter; days narrow entries only."""
    if wanted.kinds and file.kind not in wanted.kinds:
        return False
    for paths in (wanted.paths, wanted.below):
        if paths and not any(_fits(file.path, path) for path in paths):
            return False
    status = "archived" if is_archived(file.path) else entry.status if entry else "active"
    if wanted.statuses and status not in wanted.statuses:
        return False
    return _entry_passes(wanted, entry) if entry is not None else not wanted.asks_entries


def _entry_passes(wanted: Filter, entry: Entry) -> bool:
    tags = {tag.lower() for tag in entry.tags}
    return (
        (not wanted.types or entry.type in wanted.types)
        and (not wanted.layers or entry.layer in wanted.layers)
        and (not wanted.sources or entry.source in wanted.sources)
        and (not wanted.projects or entry.project in wanted.projects)
        and all(tag.lstrip("#").lower() in tags for tag in wanted.tags)
        and (not wanted.keys or _fits_key(entry.key, wanted.keys))
        and (not wanted.since or entry.updated_at >= wanted.since)
        and (not wanted.until or entry.updated_at <= wanted.until)
    )


def _fits_key(key: str, globs: tuple[str, ...]) -> bool:
    return bool(key) and any(fnmatchcase(key.casefold(), glob.casefold()) for glob in globs)


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) if any(mark in pattern for mark in "*?[") else path.startswith(pattern)


_FIELDS = ("id", "type", "title", "tags", "project", "status", "source", "trust", "created_at", "updated_at")


def chosen_files(workspace: Workspace, wanted: Filter) -> list[tuple[str, str]]:
    """Return path and kind of what passes, as it is on disk now; of conversations days mean the last change."""
    from ..index.index import Index

    kinds = wanted.kinds or KINDS
    others = tuple(kind for kind in kinds if kind != "session")

    def answer(index: Index) -> list[tuple[str, str]]:
        index.refresh(talk=not wanted.kinds or "session" in wanted.kinds)
        return index.files(replace(wanted, kinds=others))

    chosen = ask(workspace, answer) if others else []
    # Not by way of the index, which would have to read every one of them to the end.
    return sorted([*chosen, *_conversations(workspace, wanted)]) if len(others) < len(kinds) else chosen


def without_purged(workspace: Workspace, file: BundledFile) -> BundledFile:
    """Return a file without what was deleted for good here; an entry that says it is a memory of its own, and stays."""
    state, root = workspace.state, workspace.root
    if file.kind not in ("memory", "history", "note", "session") or not (state and trust.has_purged(state, root)):
        return file
    text = file.data.decode("utf-8", "surrogateescape")
    clean = blanked(text, trust.purged_in(state, root, text))
    return file if clean == text else replace(file, data=clean.encode("utf-8", "surrogateescape"))


def own_note_count(workspace: Workspace, wanted: Filter) -> int:
    """Return how many notes of a person's own pass a filter but for that mem does not keep them."""

    def count(*, managed: bool) -> int:
        return ask(workspace, lambda index: len(index.files(replace(wanted, managed=managed))))

    return count(managed=False) - count(managed=True)


def _conversations(workspace: Workspace, wanted: Filter) -> Iterator[tuple[str, str]]:
    for path, stat in scan(workspace.root, workspace.layout).stats.items():
        if workspace.layout.kind_of(path) != "session" or not passes(wanted, BundledFile(path, "session", b""), None):
            continue
        changed = stamp(datetime.fromtimestamp(stat[0] / 1e9, UTC))
        if (wanted.since or changed) <= changed <= (wanted.until or changed):
            yield path, "session"


def read_files(
    workspace: Workspace, chosen: Iterable[tuple[str, str]], problems: list[FileProblem]
) -> Iterator[BundledFile]:
    """Yield each file with its bytes; one that cannot be read is named among the problems."""
    for path, kind in chosen:
        try:
            yield without_purged(workspace, read_file(workspace, path, kind))
        except MemError as error:
            problems.append(FileProblem(path, 1, error.message))
        if kind == "session":
            try:
                yield read_file(workspace, f"{path.rpartition('/')[0]}/{SESSION_DATA}", kind)
            except NotFoundError:
                continue
            except MemError as error:
                problems.append(FileProblem(path, 1, error.message))


def modified_at(path: Path) -> datetime:
    """Return when a file was changed, between 1970 and the year 9999; raise OSError where it is gone."""
    return datetime.fromtimestamp(min(max(path.stat().st_mtime, 0), 253402300799), UTC)


def read_file(workspace: Workspace, path: str, kind: str) -> BundledFile:
    """Read one file; NotFoundError or RefusedError where that cannot be done."""
    target = workspace.path(path)
    try:
        status = os.stat(target)
    except OSError as error:
        raise NotFoundError(f"cannot be looked at: {(error.strerror or str(error)).lower()}") from None
    if status.st_size > LARGEST:
        raise RefusedError(f"larger than {LARGEST >> 20} MiB", "copy it by other means")
    data = atomic_files.read(target)
    modified = modified_at(target)
    fields = _entry_fields(data, path, modified) if kind == "entry" else {}
    shown = path.removeprefix(f"{DERIVED}/")  # of an inbox in a folder of another tool, which lies there
    return BundledFile(shown, kind, data, status.st_mode & 0o777, stamp(modified), fields)


def _entry_fields(data: bytes, path: str, modified: datetime) -> dict[str, Any]:
    """Return what the entry says of itself, for who reads the lines; nothing where it does not parse."""
    document = frontmatter.parse(data.decode("utf-8", "replace"))
    if document.problem:
        return {}
    entry, _ = read_entry(document, path, modified)
    fields = {key: getattr(entry, key) for key in _FIELDS}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items() if value}


_PLURALS = {"entity": "Entities", "summary": "Summaries"}
_HEADING = re.compile(r"(#{1,6})(?=[ \t])")


def markdown_document(workspace: Workspace, files: Iterable[BundledFile]) -> Iterator[str]:
    """Yield the document piece by piece; the files come sorted as `in_reading_order` has them."""
    day = workspace.now.astimezone(workspace.zone).date()
    yield f"# {workspace.root.name}\n\nExported on {day.isoformat()}.\n"
    chapter = ""
    seen: set[tuple[str, str]] = set()
    for file in files:
        text = file.data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        entry = _entry_of(file, text) if file.kind == "entry" else None
        title = _chapter(file, entry)
        if title != chapter:
            yield f"\n## {title}\n"
            chapter = title
        if entry is not None:
            yield _entry_text(file, entry)
        elif file.kind == "history":
            yield from _history_records(workspace, text, seen)
        else:
            yield _page(file, text)


def in_reading_order(chosen: Iterable[tuple[str, str]], types: dict[str, str]) -> list[tuple[str, str]]:
    """Sort files by chapter; `types` gives the type of each entry's path. Sessions are no part of a document."""
    kinds = ("memory", "entry", "note", "history")

    def order(file: tuple[str, str]) -> tuple[int, int, str, bool, str]:
        path, kind = file
        name = types.get(path, "")
        number = TYPES.index(name) if name in TYPES else len(TYPES)
        # A file that holds every record comes after those of the months, which then have them already.
        return kinds.index(kind), number, name, path.endswith("HISTORY.md"), path

    return sorted((file for file in chosen if file[1] in kinds), key=order)


def _chapter(file: BundledFile, entry: Entry | None) -> str:
    if entry is None:
        return {"memory": "Long-term memory", "note": "Notes"}.get(file.kind, "History")
    name = entry.type.replace("_", " ")
    return _PLURALS.get(entry.type, f"{name[:1].upper()}{name[1:]}{'' if name.endswith('s') else 's'}")


def _entry_of(file: BundledFile, text: str) -> Entry:
    parsed = frontmatter.parse(text)
    modified = parse_time(file.modified)
    if parsed.problem or modified is None:
        return Entry(id="", title=file.path, body=text.strip("\n"), created_at=file.modified)
    return read_entry(parsed, file.path, modified)[0]


def _entry_text(file: BundledFile, entry: Entry) -> str:
    title = entry.title or first_line(entry.body) or file.path
    body = entry.body.strip("\n")
    if body.splitlines()[:1] in ([f"# {title}"], [title]):
        body = body.partition("\n")[2].strip("\n")
    details = [entry.created_at[:10], entry.source, *(f"#{tag}" for tag in entry.tags), entry.project]
    if entry.status != "active" or is_archived(file.path):
        details.append("archived" if is_archived(file.path) else entry.status)
    details.append(entry.id or file.path)
    parts = [
        f"\n### {title}\n",
        f"\n{lowered(body, 4)}\n" if body else "",
        f"\n*{' · '.join(filter(None, details))}*\n",
    ]
    return "".join(parts)


def _page(file: BundledFile, text: str) -> str:
    name = day_in(file.path) if file.kind == "note" else ""
    return f"\n### {name or file.path}\n\n{lowered(text.strip(), 4)}\n"


def _history_records(workspace: Workspace, text: str, seen: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the records of a file that no file before it had."""
    for record in records(text, workspace.zone):
        moment = parse_time(record.timestamp)
        if (record.timestamp, record.text) not in seen:
            seen.add((record.timestamp, record.text))
            head = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else "Undated"
            yield f"\n### {head}\n\n{lowered(record.text, 4)}\n"


def lowered(text: str, level: int) -> str:
    """Return a text with its headings moved down, so that the highest is of a level, or the lowest there is."""
    lines = text.split("\n")
    headings = list(_headings(text))
    by = max(level - min((depth for _, depth in headings), default=level), 0)
    for number, depth in headings:
        lines[number] = "#" * min(depth + by, 6) + lines[number][depth:]
    return "\n".join(lines)


def _headings(text: str) -> Iterator[tuple[int, int]]:
    """Yield number and depth of every heading, those in fenced code excepted."""
    for number, (line, is_code) in enumerate(with_code(text)):
        if not is_code and (heading := _HEADING.match(line)):
            yield number, len(heading[1])
