"""The memories somebody chose, read from disk one by one; never all of them at once."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.text_lines import FileProblem
from ..formats.times import stamp
from ..index.filters import Filter
from ..index.index import ask
from ..index.scan import scan
from ..store import atomic_files
from ..store.layouts import KINDS, is_archived
from ..store.workspace import Workspace
from .bundle import LARGEST, Parcel


def passes(wanted: Filter, parcel: Parcel, entry: Entry | None) -> bool:
    """Tell whether a file is among those wanted; days narrow entries only."""
    if wanted.kinds and parcel.kind not in wanted.kinds:
        return False
    for paths in (wanted.paths, wanted.below):
        if paths and not any(_fits(parcel.path, one) for one in paths):
            return False
    status = "archived" if is_archived(parcel.path) else entry.status if entry else "active"
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
    return bool(key) and any(fnmatchcase(key.casefold(), one.casefold()) for one in globs)


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, pattern) if any(mark in pattern for mark in "*?[") else path.startswith(pattern)


SESSION_DATA = "metadata.json"
"""What belongs to a session's messages and lies beside them."""

_TOLD = ("id", "type", "title", "tags", "project", "status", "source", "trust", "created_at", "updated_at")


def chosen_files(workspace: Workspace, wanted: Filter) -> list[tuple[str, str]]:
    """List path and kind of what passes, as it is on disk now; conversations, of which days mean the last change."""
    from ..index.index import Index

    kinds = wanted.kinds or KINDS
    others = tuple(kind for kind in kinds if kind != "session")

    def answer(index: Index) -> list[tuple[str, str]]:
        index.refresh(talk=not wanted.kinds or "session" in wanted.kinds)
        return index.files(replace(wanted, kinds=others))

    chosen = ask(workspace, answer) if others else []
    # Not by way of the index, which would have to read every one of them to the end.
    return sorted([*chosen, *_conversations(workspace, wanted)]) if len(others) < len(kinds) else chosen


def _conversations(workspace: Workspace, wanted: Filter) -> Iterator[tuple[str, str]]:
    for path, stat in scan(workspace.root, workspace.layout).stats.items():
        if workspace.layout.kind_of(path) != "session" or not passes(wanted, Parcel(path, "session", b""), None):
            continue
        changed = stamp(datetime.fromtimestamp(stat[0] / 1e9, UTC))
        if (wanted.since or changed) <= changed <= (wanted.until or changed):
            yield path, "session"


def parcels(workspace: Workspace, chosen: Iterable[tuple[str, str]], problems: list[FileProblem]) -> Iterator[Parcel]:
    """Yield each file with its bytes; one that cannot be read is named among the problems."""
    for path, kind in chosen:
        try:
            yield parcel_of(workspace, path, kind)
        except MemError as error:
            problems.append(FileProblem(path, 1, error.message))
        if kind == "session":
            try:
                yield parcel_of(workspace, f"{path.rpartition('/')[0]}/{SESSION_DATA}", kind)
            except NotFoundError:
                continue
            except MemError as error:
                problems.append(FileProblem(path, 1, error.message))


def parcel_of(workspace: Workspace, path: str, kind: str) -> Parcel:
    """Read one file; NotFoundError or RefusedError where that cannot be done."""
    target = workspace.path(path)
    try:
        status = os.stat(target)
    except OSError as error:
        raise NotFoundError(f"cannot be looked at: {(error.strerror or str(error)).lower()}") from None
    if status.st_size > LARGEST:
        raise RefusedError(f"larger than {LARGEST >> 20} MiB", "copy it by other means")
    data = atomic_files.read(target)
    modified = datetime.fromtimestamp(min(max(status.st_mtime, 0), 253402300799), UTC)
    said = _said(data, path, modified) if kind == "entry" else {}
    return Parcel(path, kind, data, status.st_mode & 0o777, stamp(modified), said)


def _said(data: bytes, path: str, modified: datetime) -> dict[str, Any]:
    """Give what the entry says of itself, for who reads the lines; nothing where it does not parse."""
    document = frontmatter.parse(data.decode("utf-8", "replace"))
    if document.problem:
        return {}
    entry, _ = read_entry(document, path, modified)
    told = {key: getattr(entry, key) for key in _TOLD}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in told.items() if value}
