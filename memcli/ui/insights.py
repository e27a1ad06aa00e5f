"""The view of numbers: growth, types, sources, ages and use of the memories."""

from datetime import date

from ..formats import add_month
from ..index import open_index
from ..upkeep.statistics import count_everything, count_pending, count_usage
from .frame import Page, build_sheet, link_memory
from .html import Content, fill
from .request import Request


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
    shown = []
    for item in usage.most_shown:
        shown.append(fill("<li>{}</li>", link_memory(request, item["id"], item["text"])))
    most_shown = fill('<h2>Most shown</h2><ul class="plain">{}</ul>', shown) if shown else None
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
