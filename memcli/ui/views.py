"""The views about the whole memory: questions, days, changes and numbers. And its images."""

import posixpath
from collections import defaultdict
from datetime import timedelta
from glob import escape

from ..errors import NotFoundError
from ..formats.dates import find_day_in_name
from ..formats.records import split_history
from ..formats.text import count_noun
from ..reconcile.review import Choice, Question, list_questions
from ..store.commit import locate
from ..store.undo_log import find_undone_numbers, read_log
from .frame import Page, Request, render_button, render_undo
from .html import IMAGES, Content, Html, element, link, render_markdown
from .memories import show_edit, show_history, show_memories, show_memory, show_new

QUESTIONS = 50  # on a page
DAYS = 14
CHANGES = 200
MOST_BYTES = 32 << 20  # of an image
ANSWERS = {
    "older": "Keep the older one",
    "newer": "Keep the newer one",
    "both": "Keep both",
    "accept": "Save",
    "reject": "Reject",
}


def show_review(request: Request) -> Page:
    """Show the questions that need a person's decision."""
    has_duplicates = bool(request.get("duplicates"))
    questions = list_questions(request.workspace, duplicates=has_duplicates)
    items = [render_question(request, question) for question in questions[:QUESTIONS]]
    count = count_noun(len(questions), "open question")
    note = count if questions else "Nothing to decide."
    address = request.build_address("review", duplicates=1)
    more = None if has_duplicates else link(address, "Look for likely duplicates", class_="button")
    content = [element("h1", "Review"), element("p", note, class_="quiet"), items, more]
    return Page("Review", element("div", content, class_="sheet"), "review")


def render_question(request: Request, question: Question) -> Html:
    labels = ("Older", "Newer") if len(question.memories) > 1 else ("",)
    sides = [
        render_side(request, question, label, choice)
        for label, choice in zip(labels, question.memories, strict=True)
    ]
    buttons = [
        render_button(
            request,
            "answer",
            ANSWERS[answer],
            question=question.id,
            kind=question.kind,
            answer=answer,
        )
        for answer in question.answers
    ]
    reason = element("p", question.reason, class_="quiet") if question.reason else None
    return element(
        "article",
        element("h2", question.text),
        element("div", sides, class_="sides"),
        reason,
        element("div", buttons, class_="actions"),
        class_="question",
    )


def render_side(request: Request, question: Question, label: str, choice: Choice) -> Html:
    day = request.workspace.describe_day(choice.date)
    about = " · ".join(filter(None, [label, choice.source, day]))
    # A memory in the inbox is not in the index.
    address = request.build_address("memory", id=choice.path)
    text = choice.text if question.kind == "inbox" else link(address, choice.text)
    return element("div", element("p", about, class_="quiet"), element("p", text))


def show_days(request: Request) -> Page:
    """Show the history, the notes and the new memories of some days, the latest first."""
    before = request.get("before") or "9999"
    days = collect_days(request)
    chosen = sorted((day for day in days if day < before), reverse=True)
    sections = []
    for day in chosen[:DAYS]:
        passages = [render_passage(request, *passage) for passage in days[day]]
        sections.append(element("section", element("h2", day), passages, class_="day"))
    more = None
    if len(chosen) > DAYS:
        address = request.build_address("days", before=chosen[DAYS - 1])
        more = link(address, "Earlier days", class_="button")
    nothing = None if sections else element("p", "No history yet.", class_="empty")
    content = [element("h1", "Days"), nothing, sections, more]
    return Page("Days", element("div", content, class_="sheet"), "days")


def collect_days(request: Request) -> dict[str, list[tuple[str, str, str]]]:
    """Return what happened, by day: what it is, its text and its path."""
    workspace = request.workspace
    index = request.open_index(with_sessions=False)
    days: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    files = index.run(
        "select kind, path, text from files join texts using(file)"
        " where kind in ('history', 'note')"
    )
    for kind, path, text in files.fetchall():
        if kind == "note":
            days[find_day_in_name(path)].append(("note", text, path))
            continue
        for record in split_history(text):
            day = workspace.format_local(record.timestamp)
            body = text[record.start : record.end].strip()
            days[day].append(("history", body, path))
    created = index.run(
        "select path, created_at, summary from entries join files using(file) order by created_at"
    )
    for path, time, summary in created.fetchall():
        days[workspace.format_local(time)].append(("memory", summary, path))
    days.pop("", None)
    return days


def render_passage(request: Request, label: str, text: str, path: str) -> Html:
    if label == "memory":
        body = link(request.build_address("memory", id=path), text)
    else:
        body = element("div", render_markdown(text, path, request.number), class_="text")
    return element("div", element("span", label, class_="mark"), body, class_="passage")


def show_changes(request: Request) -> Page:
    """Show the commands that changed something, each with a button that reverts it."""
    records = read_log(request.workspace)
    undone = find_undone_numbers(records)
    rows = []
    for record in reversed(records[-CHANGES:]):
        is_undone = record.number in undone
        note = "undone" if is_undone else "cannot be undone" if record.is_purge else ""
        time = request.workspace.format_local(record.time, "%Y-%m-%d %H:%M")
        about = " · ".join(filter(None, [record.command, time, note]))
        text = element("p", record.summary or ", ".join(change.path for change in record.changes))
        button = None if record.is_purge or is_undone else render_undo(request, record)
        side = element("div", text, element("p", about, class_="quiet"))
        rows.append(element("li", side, button))
    nothing = "" if rows else "Nothing was changed on this machine yet."
    content = [element("h1", "Changes"), nothing, element("ul", rows, class_="changes")]
    return Page("Changes", element("div", content, class_="sheet"), "changes")


def show_insights(request: Request) -> Page:
    """Show how the memory grows, what it consists of, and what is used."""
    from ..upkeep.statistics import count_everything, count_pending, count_usage

    index = request.open_index()
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
    counts = [
        element("div", element("dt", label), element("dd", f"{number:,}"))
        for label, number in figures.items()
    ]
    most_shown = [
        element("li", link(request.build_address("memory", id=item["id"]), item["text"]))
        for item in usage.most_shown
    ]
    content = [
        element("h1", "Insights"),
        element("dl", counts, class_="figures"),
        render_growth(request, numbers.growth),
        render_shares("Types", numbers.types),
        render_shares("Sources", numbers.sources),
        render_shares("Ages", numbers.ages),
        element("h2", "Most shown") if most_shown else None,
        element("ul", most_shown, class_="plain") if most_shown else None,
    ]
    return Page("Insights", element("div", content, class_="sheet"), "insights")


def render_growth(request: Request, growth: dict[str, int]) -> Content:
    """Return a chart of the new memories of each month. Months without any are shown, too."""
    if not growth:
        return None
    months = []
    day = request.workspace.now.astimezone(request.workspace.zone).replace(day=1)
    while f"{day:%Y-%m}" >= min(growth):
        months.append(f"{day:%Y-%m}")
        day = (day - timedelta(days=1)).replace(day=1)
    months.reverse()
    largest = max(growth.values())
    bars = []
    for number, month in enumerate(months):
        count = growth.get(month, 0)
        height = round(120 * count / largest)
        x = 20 + 100 * number
        bars.append(element("rect", x=x, y=150 - height, width=60, height=height, rx=4))
        # Above its own bar and inside the drawing, so that nothing is cut off.
        bars.append(element("text", f"{count:,}", x=x + 30, y=142 - height))
        bars.append(element("text", month, x=x + 30, y=172))
    label = ", ".join(f"{month}: {growth.get(month, 0)}" for month in months)
    size = f"0 0 {100 * len(months)} 184"
    title = "New memories by month"
    chart = element(
        "svg", bars, viewBox=size, role="img", aria_label=f"{title}: {label}", class_="chart"
    )
    return [element("h2", title), chart]


def render_shares(title: str, counts: dict[str, int]) -> Content:
    """Return a table with a bar for each count."""
    if not counts:
        return None
    total = sum(counts.values())
    rows = []
    for name, count in counts.items():
        width = 100 * count / total
        bar = element(
            "svg",
            element("rect", width=100, height=4, class_="track"),
            element("rect", width=f"{width:.1f}", height=4),
            viewBox="0 0 100 4",
            preserveAspectRatio="none",
            aria_hidden="true",
        )
        cells = [element("th", name or "unknown", scope="row"), element("td", bar)]
        rows.append(element("tr", cells, element("td", f"{count:,}", class_="number")))
    return [element("h2", title), element("table", rows, class_="shares")]


def read_image(request: Request) -> tuple[bytes, str]:
    """Return an image of the workspace and its type. Raises NotFoundError or OutsideError."""
    path = request.get("path")
    kind = IMAGES.get(posixpath.splitext(path)[1].lower())
    if kind is None:
        raise NotFoundError("not an image")
    root = request.workspace.root
    file = locate(root, path)
    if not file.is_file() and "/" not in path:
        # Obsidian finds an embedded image by its name alone.
        found = [item for item in root.rglob(escape(path)) if item.is_file()][:1]
        file = locate(root, found[0].relative_to(root).as_posix()) if found else file
    if not file.is_file() or file.stat().st_size > MOST_BYTES:
        raise NotFoundError(f"no image {path!r}")
    return file.read_bytes(), kind


VIEWS = {
    "memories": show_memories,
    "memory": show_memory,
    "edit": show_edit,
    "new": show_new,
    "history": show_history,
    "review": show_review,
    "days": show_days,
    "changes": show_changes,
    "insights": show_insights,
}
