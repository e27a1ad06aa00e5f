"""The views of what happened: by day, by command, and to one memory."""

from collections import defaultdict

from ..formats import find_day_in_name, split_history
from ..index import open_index
from ..store import Record, find_undone_numbers, read_log
from ..upkeep.memory_history import find_events
from .frame import Page, build_sheet, render_undo
from .html import Content, Html, fill, link, link_button
from .markdown import render_markdown
from .request import Request

DAYS = 14
CHANGES = 200
MINUTE = "%Y-%m-%d %H:%M"
Passage = tuple[str, str, str]
"""What it is, its text and its path."""


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
    address = request.build_address("memory", id=path)
    body: Content = link(address, text)
    if kind != "memory":
        body = render_markdown(text, path, request.number)
    template = (
        '<div class="passage"><a class="mark" href="{}">{}</a><div class="text">{}</div></div>'
    )
    return fill(template, address, kind, body)


def show_changes(request: Request) -> Page:
    """Show the commands that changed something, each with a button that reverts it."""
    records = read_log(request.workspace)
    undone = find_undone_numbers(records)
    rows = []
    for record in reversed(records[-CHANGES:]):
        rows.append(render_change(request, record, is_undone=record.number in undone))
    if not rows:
        return build_sheet("Changes", "Nothing was changed on this machine yet.")
    return build_sheet("Changes", fill('<ul class="changes">{}</ul>', rows))


def render_change(request: Request, record: Record, *, is_undone: bool) -> Html:
    about = [record.command, request.workspace.format_local(record.time, MINUTE)]
    button = None
    if is_undone:
        about.append("undone")
    elif record.is_purge:
        about.append("cannot be undone")
    else:
        button = render_undo(request, record)
    text = record.summary or ", ".join(change.path for change in record.changes)
    template = '<li><div><p>{}</p><p class="quiet">{}</p></div>{}</li>'
    return fill(template, text, " · ".join(about), button)


def show_history(request: Request) -> Page:
    """Show what happened to a memory."""
    file = request.open_file()
    rows = []
    for event in find_events(request.workspace, file.named):
        time = request.workspace.format_local(event.time, MINUTE) or event.time
        template = "<li><time>{}</time><span><b>{}</b> {}</span></li>"
        rows.append(fill(template, time, event.action, event.text))
    subject = file.entry.summary if file.entry else file.path
    address = request.build_address("memory", id=file.path)
    events = fill('<ul class="events">{}</ul>', rows) if rows else "No changes are known."
    return build_sheet("History", fill("<p>{}</p>", link(address, subject)), events)
