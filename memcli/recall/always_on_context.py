"""Read what every prompt is given, whatever it asks: MEMORY.md, the notes of today, the days before."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta

from ..errors import MemError
from ..formats.entry import REPOSITORY
from ..formats.history import merged, notes, records
from ..formats.ids import blake2b
from ..formats.memory_page import OPENING, says_something, sections, strip_comments
from ..formats.text_lines import FileProblem, conflict_marker
from ..formats.times import day_in, day_of, parse_time
from ..store import atomic_files
from ..store.workspace import Workspace
from .pack import LONG_TERM, NOTES, RECENT, Memory


def digest(text: str) -> str:
    """Return 12 hexadecimal digits that change when the text changes."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def always_on_memories(
    workspace: Workspace, names: tuple[str, ...], *, is_in_step: bool = False
) -> tuple[list[Memory], list[FileProblem]]:
    """Return the memories of these sections, in the order they are shown, and the files that cannot be read.

    With `is_in_step` the index was refreshed just now; else it is refreshed where the page has promoted lines, which
    follow their entries.
    """
    memories: list[Memory] = []
    problems: list[FileProblem] = []
    today = day_of(workspace.now, workspace.zone)
    days = [today - timedelta(days=back) for back in range(1, workspace.settings["recall.days"] + 1)]
    if LONG_TERM in names:
        text = _text(workspace, workspace.layout.memory, problems)
        if OPENING in text and not is_in_step:
            from ..index.index import ask  # late: most pages have no such lines, and need no index

            ask(workspace, lambda index: index.refresh())
            text = _text(workspace, workspace.layout.memory, problems)
        memories += _long_term(workspace, text)
    if NOTES in names:
        memories += _notes(workspace, today, NOTES, problems)
    if RECENT in names:
        history = _history(workspace, days, problems) if days else {}
        for day in days:
            memories += _notes(workspace, day, RECENT, problems)
            memories += history.get(day, [])
    return (memories if workspace.is_trusted else [replace(memory, source=REPOSITORY) for memory in memories]), problems


def _long_term(workspace: Workspace, text: str) -> Iterator[Memory]:
    path = workspace.layout.memory
    for section in sections(text):
        body = text[section.start : section.end].strip("\ufeff \t\r\n")
        if says_something(body):
            name = f"{path}#{section.anchor}" if section.anchor else path
            yield Memory(
                name,
                LONG_TERM,
                strip_comments(body),
                kind="memory",
                path=path,
                scope=workspace.scope,
                digest=digest(body),
            )


def _notes(workspace: Workspace, day: date, section: str, problems: list[FileProblem]) -> list[Memory]:
    """Read the notes of a day, those of one minute together."""
    layout = workspace.layout
    paths = dict.fromkeys((layout.notes.format(date=day.isoformat()), *map(day.strftime, layout.daily)))
    return [memory for path in paths for memory in _page_of_notes(workspace, path, day, section, problems)]


def _page_of_notes(
    workspace: Workspace, path: str, day: date, section: str, problems: list[FileProblem]
) -> list[Memory]:
    text = _text(workspace, path, problems)
    by_time: dict[str, str] = {}
    for note in notes(text):
        body = text[note.start : note.end].strip("\ufeff \t\r\n")
        by_time[note.time] = f"{by_time[note.time]}\n{body}" if note.time in by_time else body
    return [
        Memory(
            f"{path}#{time}" if time else path,
            section,
            body,
            kind="note",
            date=day_in(path) or day.isoformat(),
            path=path,
            scope=workspace.scope,
            digest=digest(body),
        )
        for time, body in by_time.items()
    ]


def _history(workspace: Workspace, days: list[date], problems: list[FileProblem]) -> dict[date, list[Memory]]:
    """Read the records of some days; a month's file is that of its records' heading, in UTC."""
    months = {f"{day + timedelta(days=shift):%Y-%m}" for day in (days[0], days[-1]) for shift in (-1, 0, 1)}
    rows = []
    for month in sorted(months):
        path = workspace.layout.history.format(month=month)
        rows += [(record, path) for record in records(_text(workspace, path, problems), workspace.zone)]
    merged_ids = {id(record) for record in merged([record for record, _ in rows])}
    by_day: dict[date, list[Memory]] = {}
    for record, path in rows:
        moment = parse_time(record.timestamp)
        day = day_of(moment, workspace.zone) if moment else None
        if day in days and id(record) in merged_ids:
            assert day is not None
            name = record.id or f"{path}#{record.anchor}"
            memory = Memory(
                name,
                RECENT,
                record.text,
                kind="history",
                date=day.isoformat(),
                path=path,
                scope=workspace.scope,
                digest=digest(record.text),
            )
            by_day.setdefault(day, []).append(memory)
    return by_day


def _text(workspace: Workspace, path: str, problems: list[FileProblem]) -> str:
    """Return the text of a file; "" if it is absent, unreadable or in a merge conflict, to add to `problems`."""
    try:
        target = workspace.path(path)
        if not target.is_file():
            return ""
        text = atomic_files.read(target).decode("utf-8", "replace")
    except (MemError, OSError) as error:
        reason = f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error)
        problems.append(FileProblem(path, 1, reason, scope=workspace.scope, left_out=True))
        return ""
    marker = conflict_marker(text)
    if marker is not None:
        reason = "a git conflict marker: resolve the conflict; it is passed over"
        problems.append(FileProblem(path, marker, reason, scope=workspace.scope, left_out=True))
        return ""
    return text
