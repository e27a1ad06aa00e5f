"""A file of a workspace as one line of JSON and back, byte for byte.

Knows no disk and no layout; refuses a path that leads anywhere but below the workspace.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Annotated, Any

from ..dataclass import dataclass
from ..errors import MemError
from ..formats.frontmatter.document import load_mapping
from ..formats.times import day_in
from ..results import Action, ConflictsWith, FileLine, FilePath, Id, Reason
from ..store import atomic_files
from ..store.archive import put
from ..store.init import MARKER_TEXT
from ..store.layouts import ARCHIVES, KINDS, Layout, is_archived
from ..store.settings import FORMAT_KEY
from ..store.workspace import MARKER, Workspace

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that goes into a line; a line is at most about twice as long."""

SETTINGS = "settings"
"""The kind of a workspace's settings, which are no memory."""

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
    if kind not in ("", SETTINGS, *KINDS):
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
_TOLD = 5
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
        names = ", ".join(others[:_TOLD]) + (", …" if len(others) > _TOLD else "")
        return "left out", f"{MARKER} stays as it is; the file sets {names}: `mem config set` does it here"
    if not dry_run:
        put(workspace, MARKER, file.data, over=atomic_files.digest(existing))
    return "created", ""


def _settings_bytes(workspace: Workspace) -> bytes | None:
    try:
        return atomic_files.read(workspace.root / MARKER)
    except MemError:
        return None


def _settings_of(data: bytes) -> dict[str, object]:
    """Return the settings by their dotted names; of a file that does not parse, none."""
    settings = dict(_flat("", load_mapping(data.decode("utf-8", "replace"))[0]))
    settings.pop(FORMAT_KEY, None)  # which is the folder's own
    return settings


def _flat(prefix: str, fields: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in fields.items():
        if isinstance(value, Mapping):
            yield from _flat(f"{prefix}{key}.", value)
        elif value is not None:
            yield f"{prefix}{key}", value
