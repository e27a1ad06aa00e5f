"""The views of the past: days, changes, the history of one memory, and its numbers."""

from collections import defaultdict
from datetime import date

from ..formats import add_month, find_day_in_name, split_history
from ..index import open_index
from ..store import Record, find_undone_numbers, read_log
from ..upkeep.memory_history import find_events
from ..upkeep.statistics import count_everything, count_pending, count_usage
from .html import (
    MINUTE,
    Content,
    Html,
    Page,
    Request,
    build_sheet,
    describe_record,
    fill,
    fill_each,
    link_button,
    link_memory,
    render_markdown,
    render_undo,
)

DAYS = 14
CHANGES = 200  # commands, by default as many as the undo log has of people and agents
Passage = tuple[str, str, str]
"""The kind of a text, the text, and the path of its file."""


def show_days(request: Request) -> Page:
    """Show the history, the notes and the new memories of some days, the latest first."""
    # Days are texts such as "2026-11-28", and all of them sort before "9999".
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
    # A note without a date in its name has no day, nor has `created_at: soon`.
    days.pop("", None)
    return days


def render_passage(request: Request, kind: str, text: str, path: str) -> Html:
    if kind == "memory":
        body = link_memory(request, path, text)
    else:
        body = render_markdown(request, text, path)
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
    # A purge or an undo may have deleted the file.
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


def show_insights(request: Request) -> Page:
    """Show how the memory grows, and the memories that are used most."""
    index = open_index(request.workspace)
    numbers, pending, usage = count_everything(index), count_pending(index), count_usage(index)
    figures = {
        "active memories": numbers.statuses.get("active", 0),
        "forgotten": numbers.statuses.get("forgotten", 0),
        "in the inbox": pending.inbox,
        "in conflict": pending.conflicts,
        "fading": pending.fading,
        "times shown": usage.shown,
        "tokens per session": usage.tokens_per_session,
    }
    template = "<div><dt>{}</dt><dd>{}</dd></div>"
    counts = []
    for label, number in figures.items():
        # A zero is no insight.
        counts.append(fill(template, label, f"{number:,}") if number else None)
    links = [link_memory(request, item["id"], item["text"]) for item in usage.most_shown]
    items = fill_each("<li>{}</li>", links)
    most_shown = fill('<h2>Most shown</h2><ul class="plain">{}</ul>', items) if items else None
    return build_sheet(
        "Insights",
        fill('<dl class="figures">{}</dl>', counts),
        render_growth(numbers.growth),
        render_shares("Types", numbers.types),
        render_shares("Sources", numbers.sources),
        render_shares("Ages", numbers.ages),
        most_shown,
    )


def render_growth(growth: dict[str, int]) -> Content:
    """Return a chart with the new memories of each month, also of months without any."""
    if not growth:
        return None
    largest, last = max(growth.values()), max(growth)
    columns = []
    day = date.fromisoformat(f"{min(growth)}-01")
    while (month := f"{day:%Y-%m}") <= last:
        day = add_month(day)
        count = growth.get(month, 0)
        height = 100 * count / largest
        bar = '<svg aria-hidden="true"><rect width="100%" height="{}%" y="{}%"/></svg>'
        column = fill(bar, f"{height:.1f}", f"{100 - height:.1f}")
        template = "<li><b>{}</b>{}<span>{}</span></li>"
        columns.append(fill(template, f"{count:,}", column, month))
    return fill('<h2>New memories by month</h2><ul class="chart">{}</ul>', columns)


def render_shares(title: str, counts: dict[str, int]) -> Content:
    """Return a table with a bar for each count."""
    total = sum(counts.values())
    rows = []
    for name, count in counts.items():
        bar = '<svg aria-hidden="true"><rect width="{}%" height="100%"/></svg>'
        cells = (name or "unknown", fill(bar, f"{100 * count / total:.1f}"), f"{count:,}")
        template = '<tr><th scope="row">{}</th><td>{}</td><td class="number">{}</td></tr>'
        rows.append(fill(template, *cells))
    return fill('<h2>{}</h2><table class="shares">{}</table>', title, rows) if rows else None
