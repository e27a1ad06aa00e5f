"""Export: the files that were chosen, read from disk one by one, and the markdown document that can be made of them."""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from ..errors import MemError, NotFoundError, RefusedError
from ..formats.entry import TYPES, Entry, read_entry
from ..formats.frontmatter import document as frontmatter
from ..formats.history import records
from ..formats.text_lines import FileProblem, first_line, with_code
from ..formats.times import day_in, parse_time, stamp
from ..index.filters import Filter
from ..index.index import ask
from ..index.scan import scan
from ..store import atomic_files
from ..store.layouts import KINDS, is_archived
from ..store.workspace import Workspace
from .bundle import LARGEST, SESSION_DATA, BundledFile


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


_TOLD = ("id", "type", "title", "tags", "project", "status", "source", "trust", "created_at", "updated_at")


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
            yield read_file(workspace, path, kind)
        except MemError as error:
            problems.append(FileProblem(path, 1, error.message))
        if kind == "session":
            try:
                yield read_file(workspace, f"{path.rpartition('/')[0]}/{SESSION_DATA}", kind)
            except NotFoundError:
                continue
            except MemError as error:
                problems.append(FileProblem(path, 1, error.message))


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
    modified = datetime.fromtimestamp(min(max(status.st_mtime, 0), 253402300799), UTC)
    fields = _entry_fields(data, path, modified) if kind == "entry" else {}
    return BundledFile(path, kind, data, status.st_mode & 0o777, stamp(modified), fields)


def _entry_fields(data: bytes, path: str, modified: datetime) -> dict[str, Any]:
    """Return what the entry says of itself, for who reads the lines; nothing where it does not parse."""
    document = frontmatter.parse(data.decode("utf-8", "replace"))
    if document.problem:
        return {}
    entry, _ = read_entry(document, path, modified)
    fields = {key: getattr(entry, key) for key in _TOLD}
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
