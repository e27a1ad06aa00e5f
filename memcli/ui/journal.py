"""The views of the past: days, changes, the history of one memory, and its numbers."""

from collections import defaultdict
from collections.abc import Iterable
from difflib import unified_diff

from ..formats import count_noun, find_day_in_name, get_body, split_history
from ..index import ForgottenTexts, open_index, parse_file
from ..store import Change, Record, find_undone_numbers, read_log
from ..upkeep.memory_history import find_events, is_about
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
    render_empty,
    render_markdown,
    render_undo,
)

DAYS = 14
CHANGES = 25  # commands on a page
FILES = 20  # of a command, whose texts are shown
# Characters of a command that are shown. Their gate takes 30 ms.
LONGEST = 50_000
MOST_LINES = 6  # that are shown without a click; a new memory has more
# The note of a day in a vault is a memory, and its summary is often only its heading.
IS_DAILY_NOTE = "path glob '*[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md'"
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
        sections.append(render_empty("No history yet."))
    if len(chosen) > DAYS:
        address = request.build_address("days", before=chosen[DAYS - 1])
        sections.append(link_button(address, "Earlier days"))
    return build_sheet("Days", sections)


def collect_days(request: Request) -> dict[str, list[Passage]]:
    workspace = request.workspace
    index = open_index(workspace, with_sessions=False)
    days: dict[str, list[Passage]] = defaultdict(list)
    files = index.run(
        "select iif(kind = 'history', kind, 'note'), path, text from files join texts using(file)"
        " left join entries using(file) where kind in ('history', 'note')"
        f" or {IS_DAILY_NOTE} and status != 'forgotten'"
    )
    for kind, path, text in files.fetchall():
        if kind == "note":
            days[find_day_in_name(path)].append((kind, get_body(text), path))
            continue
        for record in split_history(text):
            day = workspace.format_local(record.timestamp)
            days[day].append((kind, text[record.start : record.end].strip(), path))
    created = index.run(
        "select path, created_at, summary from entries join files using(file)"
        " where status not in ('forgotten', 'superseded')"
        f" and not {IS_DAILY_NOTE} order by created_at"
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
    if not request.workspace.is_managed(path):
        kind = "note"
    template = '<div class="passage">{}<div class="text">{}</div></div>'
    return fill(template, link_memory(request, path, kind), body)


def show_changes(request: Request) -> Page:
    """Show the commands that changed something, each with a button that reverts it."""
    records = read_log(request.workspace)
    undone = find_undone_numbers(records)
    forgotten = load_forgotten(request)
    before = request.get_number("before")
    chosen = [record for record in reversed(records) if not before or record.number < before]
    rows = []
    for record in chosen[:CHANGES]:
        texts = render_texts(request, record.changes, forgotten)
        rows.append(render_change(request, record, texts, is_undone=record.number in undone))
    if not rows:
        return build_sheet("Changes", render_empty("No changes yet on this machine."))
    more = None
    if len(chosen) > CHANGES:
        address = request.build_address("changes", before=chosen[CHANGES - 1].number)
        more = link_button(address, "Earlier changes")
    return build_sheet("Changes", fill('<ul class="changes">{}</ul>', rows), more)


def render_change(request: Request, record: Record, texts: Content, *, is_undone: bool) -> Html:
    time = request.workspace.format_local(record.time, MINUTE)
    text = describe_record(record)
    path = record.changes[0].path if record.changes else ""
    # A purge or an undo may have deleted the file.
    if path.endswith(".md") and (request.workspace.root / path).is_file():
        text = link_memory(request, path, text)
    button: Content = None
    if is_undone or record.is_purge:
        time += " · undone" if is_undone else " · cannot be undone"
    else:
        button = render_undo(request, record)
    template = '<li><div><p>{}</p><p class="quiet">{}</p></div>{}{}</li>'
    return fill(template, text, time, button, texts)


def load_forgotten(request: Request) -> ForgottenTexts:
    return open_index(request.workspace, with_sessions=False).load_forgotten()


def render_texts(
    request: Request, changes: Iterable[Change], forgotten: ForgottenTexts
) -> list[Html]:
    """Return what a command changed in each file, as lines with + and -."""
    texts: list[Html] = []
    size = 0
    for change in changes:
        size += len(change.before or "") + len(change.after or "")
        if size > LONGEST or len(texts) == FILES:
            texts.append(Html('<p class="quiet">The other texts are too long for the page.</p>'))
            break
        before = read_lines(request, change.path, change.before, forgotten)
        after = read_lines(request, change.path, change.after, forgotten)
        # The first two lines are names of files.
        lines = list(unified_diff(before, after, n=1, lineterm=""))[2:]
        # Often only a date, a hidden text or the position in a conversation changed.
        if lines and not change.path.endswith("/metadata.json"):
            texts.append(render_lines(change.path, lines))
    return texts


def read_lines(
    request: Request, path: str, text: str | None, forgotten: ForgottenTexts
) -> list[str]:
    """Return the lines of a text in the undo log, through the gate of the index."""
    if text is None:
        return []
    data = text.encode("utf-8", "surrogateescape")
    parsed = parse_file(request.workspace, path, data, (0, 0, 0, 0), forgotten)
    # Only its own view shows a forgotten memory, and none its earlier versions.
    if parsed.entry is not None and parsed.entry.id in forgotten.ids:
        return []
    lines = forgotten.hide(parsed.text)[0].splitlines()
    # Every edit changes this line.
    return [line for line in lines if not line.startswith("updated_at: ")]


def render_lines(path: str, lines: list[str]) -> Html:
    """Return the changed lines of a file, collapsed if they are many."""
    tags = {"+": Html("ins"), "-": Html("del"), " ": Html("span")}
    count = 0
    rows = []
    for line in lines:
        # The places of the changes, such as "@@ -1,2 +1,3 @@".
        tag = tags.get(line[0])
        if tag is None:
            rows.append(Html("<hr>"))
            continue
        count += tag != "span"
        rows.append(fill("<{}>{}</{}>", tag, line, tag))
    mark = Html(" open") if count <= MOST_LINES else None
    template = '<details{}><summary>{} · {}</summary><pre class="diff">{}</pre></details>'
    return fill(template, mark, path, count_noun(count, "changed line"), rows[1:])


def show_history(request: Request) -> Page:
    """Show what happened to a memory, with the lines that changed."""
    file = request.open_file()
    workspace = request.workspace
    forgotten = load_forgotten(request)
    entry_id = file.entry.id if file.entry else ""
    commands = {record.number: record.changes for record in read_log(workspace)}
    rows = []
    for event in find_events(workspace, file.named):
        time = workspace.format_local(event.time, MINUTE) or event.time
        changes = [
            change
            for change in commands.get(event.number, ())
            if is_about(workspace, change, file.path, entry_id)
        ]
        texts = render_texts(request, changes, forgotten)
        template = "<li><time>{}</time><div><b>{}</b> {}{}</div></li>"
        rows.append(fill(template, time, event.action, event.text, texts))
    subject = file.entry.summary if file.entry else file.path
    heading = fill("<p>{}</p>", link_memory(request, file.path, subject))
    events = fill('<ul class="events">{}</ul>', rows) if rows else None
    return build_sheet("History", heading, events or render_empty("No changes are known."))


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
    # A zero is no insight.
    counts = [fill(template, name, f"{count:,}") for name, count in figures.items() if count]
    links = [link_memory(request, item["id"], item["text"]) for item in usage.most_shown]
    items = fill_each("<li>{}</li>", links)
    most_shown = fill('<h2>Most shown</h2><ul class="plain">{}</ul>', items) if items else None
    if not numbers.statuses:
        return build_sheet("Insights", render_empty("No memories yet."))
    return build_sheet(
        "Insights",
        fill('<dl class="figures">{}</dl>', counts),
        render_shares("New memories by month", numbers.growth),
        render_shares("Types", numbers.types),
        render_shares("Sources", numbers.sources),
        render_shares("Ages", numbers.ages),
        most_shown,
    )


def render_shares(title: str, counts: dict[str, int]) -> Content:
    """Return a table with a bar for each count."""
    rows = []
    for name, count in counts.items():
        width = 100 * count / max(counts.values())
        bar = '<svg aria-hidden="true"><rect width="{}%" height="100%"/></svg>'
        cells = (name or "unknown", fill(bar, f"{width:.1f}"), f"{count:,}")
        template = '<tr><th scope="row">{}</th><td>{}</td><td class="number">{}</td></tr>'
        rows.append(fill(template, *cells))
    return fill('<h2>{}</h2><table class="shares">{}</table>', title, rows) if rows else None
