"""Memories as one markdown document for people: entries by type, then notes by day, then history by time."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC

from ..store.layout import is_archived
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import TYPES, Entry, read_entry
from ..text.history import records
from ..text.lines import with_code
from ..text.note import day_in
from ..text.summary import first_line
from ..text.times import parse_time
from .parcel import Parcel

_PLURALS = {"entity": "Entities", "summary": "Summaries"}
_HEADING = re.compile(r"(#{1,6})(?=[ \t])")


def document(workspace: Workspace, parcels: Iterable[Parcel]) -> Iterator[str]:
    """Yield the document piece by piece; the parcels come sorted as `in_reading_order` has them."""
    day = workspace.now.astimezone(workspace.zone).date()
    yield f"# {workspace.root.name}\n\nExported on {day.isoformat()}.\n"
    chapter = ""
    told: set[tuple[str, str]] = set()
    for parcel in parcels:
        text = parcel.data.decode("utf-8", "replace").removeprefix("\ufeff").replace("\r\n", "\n")
        entry = _entry(parcel, text) if parcel.kind == "entry" else None
        title = _chapter(parcel, entry)
        if title != chapter:
            yield f"\n## {title}\n"
            chapter = title
        if entry is not None:
            yield _entry_text(parcel, entry)
        elif parcel.kind == "history":
            yield from _records(workspace, text, told)
        else:
            yield _page(parcel, text)


def in_reading_order(chosen: Iterable[tuple[str, str]], types: dict[str, str]) -> list[tuple[str, str]]:
    """Sort files by chapter; `types` gives the type of each entry's path. Sessions are no part of a document."""
    kinds = ("memory", "entry", "note", "history")

    def order(one: tuple[str, str]) -> tuple[int, int, str, bool, str]:
        path, kind = one
        name = types.get(path, "")
        number = TYPES.index(name) if name in TYPES else len(TYPES)
        # A file that holds every record comes after those of the months, which then have them already.
        return kinds.index(kind), number, name, path.endswith("HISTORY.md"), path

    return sorted((one for one in chosen if one[1] in kinds), key=order)


def _chapter(parcel: Parcel, entry: Entry | None) -> str:
    if entry is None:
        return {"memory": "Long-term memory", "note": "Notes"}.get(parcel.kind, "History")
    name = entry.type.replace("_", " ")
    return _PLURALS.get(entry.type, f"{name[:1].upper()}{name[1:]}{'' if name.endswith('s') else 's'}")


def _entry(parcel: Parcel, text: str) -> Entry:
    parsed = frontmatter.parse(text)
    modified = parse_time(parcel.modified)
    if parsed.problem or modified is None:
        return Entry(id="", title=parcel.path, body=text.strip("\n"), created_at=parcel.modified)
    return read_entry(parsed, parcel.path, modified)[0]


def _entry_text(parcel: Parcel, entry: Entry) -> str:
    title = entry.title or first_line(entry.body) or parcel.path
    body = entry.body.strip("\n")
    if body.splitlines()[:1] in ([f"# {title}"], [title]):
        body = body.partition("\n")[2].strip("\n")
    details = [entry.created_at[:10], entry.source, *(f"#{tag}" for tag in entry.tags), entry.project]
    if entry.status != "active" or is_archived(parcel.path):
        details.append("archived" if is_archived(parcel.path) else entry.status)
    details.append(entry.id or parcel.path)
    parts = [
        f"\n### {title}\n",
        f"\n{lowered(body, 4)}\n" if body else "",
        f"\n*{' · '.join(filter(None, details))}*\n",
    ]
    return "".join(parts)


def _page(parcel: Parcel, text: str) -> str:
    name = day_in(parcel.path) if parcel.kind == "note" else ""
    return f"\n### {name or parcel.path}\n\n{lowered(text.strip(), 4)}\n"


def _records(workspace: Workspace, text: str, told: set[tuple[str, str]]) -> Iterator[str]:
    """Yield the records of a file that no file before it had."""
    for record in records(text, workspace.zone):
        moment = parse_time(record.timestamp)
        if (record.timestamp, record.text) not in told:
            told.add((record.timestamp, record.text))
            head = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if moment else "Undated"
            yield f"\n### {head}\n\n{lowered(record.text, 4)}\n"


def lowered(text: str, level: int) -> str:
    """Push the headings of a text down so that its highest is of the level given, or the lowest there is."""
    lines = text.split("\n")
    found = list(_headings(text))
    by = max(level - min((depth for _, depth in found), default=level), 0)
    for number, depth in found:
        lines[number] = "#" * min(depth + by, 6) + lines[number][depth:]
    return "\n".join(lines)


def _headings(text: str) -> Iterator[tuple[int, int]]:
    """Yield number and depth of every heading, those in fenced code excepted."""
    for number, (line, is_code) in enumerate(with_code(text)):
        if not is_code and (heading := _HEADING.match(line)):
            yield number, len(heading[1])
