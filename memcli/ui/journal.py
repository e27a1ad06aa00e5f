"""The views of the past: days, changes, and the history of one memory."""

from collections import defaultdict

from ..formats import find_day_in_name, split_history
from ..index import open_index
from ..store import Record, find_undone_numbers, read_log
from ..upkeep.memory_history import find_events
from .frame import Page, build_sheet, describe_record, link_memory, render_undo
from .html import Content, Html, fill, link_button
from .markdown import render_markdown
from .request import Request

DAYS = 14
CHANGES = 200
MINUTE = "%Y-%m-%d %H:%M"
Passage = tuple[str, str, str]
"""The kind of a text, the text, and the path of its file."""


def show_days(request: Request) -> Page:
    """Show the history, the notes and the new memories of some days, the latest first."""
    before = request.get("before") or "9999"
    days = collect_days(request)
    chosen = sorted((day for day in days if day < before), reverse=True)
    sections: list[Content] = []
    for day in chosen[:DAYS]:
        passages = [render_passage(request, *passage) for passage in days[day]]
        sections.append(fill('<section class="day"><h2>{}</h2>{}</section>', day, passages))
    if not sections:
        sections.append(Html('<p class="empty">No history yet.</p>'))
    if len(chosen) > DAYS:
        address = request.build_address("days", before=chosen[DAYS - 1])
        sections.append(link_button(address, "Earlier days"))
    return build_sheet("Days", sections)


def collect_days(request: Request) -> dict[str, list[Passage]]:
    workspace = request.workspace
    index = open_index(workspace, with_sessions=False)
    days: dict[str, list[Passage]] = defaultdict(list)
    files = index.run(
        "select kind, path, text from files join texts using(file)"
        " where kind in ('history', 'note')"
    )
    for kind, path, text in files.fetchall():
        if kind == "note":
            days[find_day_in_name(path)].append((kind, text, path))
            continue
        for record in split_history(text):
            day = workspace.format_local(record.timestamp)
            days[day].append((kind, text[record.start : record.end].strip(), path))
    created = index.run(
        "select path, created_at, summary from entries join files using(file) order by created_at"
    )
    for path, time, summary in created.fetchall():
        days[workspace.format_local(time)].append(("memory", summary, path))
    days.pop("", None)
    return days


def render_passage(request: Request, kind: str, text: str, path: str) -> Html:
    if kind == "memory":
        body = link_memory(request, path, text)
    else:
        body = render_markdown(text, path, request.number)
    template = '<div class="passage">{}<div class="text">{}</div></div>'
    return fill(template, link_memory(request, path, kind), body)


def show_changes(request: Request) -> Page:
    """Show the commands that changed something, each with a button that reverts it."""
    records = read_log(request.workspace)
    undone = find_undone_numbers(records)
    rows = []
    for record in reversed(records[-CHANGES:]):
        rows.append(render_change(request, record, is_undone=record.number in undone))
    if not rows:
        return build_sheet("Changes", "No changes yet on this machine.")
    return build_sheet("Changes", fill('<ul class="changes">{}</ul>', rows))


def render_change(request: Request, record: Record, *, is_undone: bool) -> Html:
    time = request.workspace.format_local(record.time, MINUTE)
    text: str = describe_record(record)
    path = record.changes[0].path if record.changes else ""
    if path.endswith(".md") and (request.workspace.root / path).is_file():
        text = link_memory(request, path, text)
    button: Content = None
    if is_undone or record.is_purge:
        time += " · undone" if is_undone else " · cannot be undone"
    else:
        button = render_undo(request, record)
    template = '<li><div><p>{}</p><p class="quiet">{}</p></div>{}</li>'
    return fill(template, text, time, button)


def show_history(request: Request) -> Page:
    """Show what happened to a memory."""
    file = request.open_file()
    rows = []
    for event in find_events(request.workspace, file.named):
        time = request.workspace.format_local(event.time, MINUTE) or event.time
        template = "<li><time>{}</time><span><b>{}</b> {}</span></li>"
        rows.append(fill(template, time, event.action, event.text))
    subject = file.entry.summary if file.entry else file.path
    events = fill('<ul class="events">{}</ul>', rows) if rows else "No changes are known."
    return build_sheet(
        "History", fill("<p>{}</p>", link_memory(request, file.path, subject)), events
    )
