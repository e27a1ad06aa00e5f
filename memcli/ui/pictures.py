"""Pictures as SVG, in numbers: the templates draw them, and the style sheet gives them their colours."""

from calendar import month_abbr
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

from ..api.choice import TYPES
from ..dataclass import dataclass
from ..results import number_of

WIDTH, HEIGHT = 720, 200
MONTHS, DAYS = 12, 30
_SERIES = 6
"""Types that are told apart; the others are one part."""
OTHERS = "others"


@dataclass(frozen=True)
class Part:
    """A part of a picture that stands for a number."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    """Its type in small letters, which gives it its colour."""
    description: str
    """For who points at it, or has it read."""


@dataclass(frozen=True)
class Picture:
    """Bars with what is written at them."""

    bars: Sequence[Part]
    labels: Sequence[tuple[float, float, str]]
    legend: Sequence[str]
    height: float
    description: str
    rows: Sequence[tuple[str, ...]] = ()
    """The same as a table, its head first."""


def growth_picture(counts: Sequence[tuple[str, str, int]], today: date) -> Picture:
    """Return a bar for each of the last months, of a part for each type of what was made in it."""
    months = _last_months(today)
    totals = Counter[str]()
    for month, name, count in counts:
        if month in months:
            totals[name] += count
    names = [name for name, _ in totals.most_common(_SERIES)]
    legend = [*names, OTHERS] if len(totals) > _SERIES else names
    cells = Counter[tuple[str, str]]()
    for month, name, count in counts:
        cells[month, name if name in names else OTHERS] += count
    tallest = max((sum(cells[month, name] for name in legend) for month in months), default=0) or 1
    step = WIDTH / len(months)
    bars: list[Part] = []
    labels: list[tuple[float, float, str]] = []
    for position, month in enumerate(months):
        top, x = float(HEIGHT), position * step + step * 0.16
        for name in legend:
            if count := cells[month, name]:
                height = count / tallest * (HEIGHT - 24)
                top -= height
                bars.append(
                    Part(
                        x,
                        top,
                        step * 0.68,
                        height,
                        name.lower() if name in TYPES else OTHERS,
                        f"{month}: {count:,} {name}",
                    )
                )
        if total := sum(cells[month, name] for name in legend):
            labels.append((x + step * 0.34, top - 6, f"{total:,}"))
        labels.append((x + step * 0.34, HEIGHT + 18, month_abbr[int(month[5:])]))
    rows = [("month", *legend), *((month, *(f"{cells[month, name]:,}" for name in legend)) for month in months)]
    return Picture(bars, labels, legend, HEIGHT + 26, "Memories made in each month, by type", rows)


def tokens_picture(counts: Mapping[str, int], today: date) -> Picture:
    """Return a bar for each of the last days, of the tokens that agents were told on it."""
    days = [today - timedelta(days=back) for back in reversed(range(DAYS))]
    numbers = [counts.get(day.isoformat(), 0) for day in days]
    largest, step = max(numbers) or 1, WIDTH / DAYS
    bars: list[Part] = []
    labels: list[tuple[float, float, str]] = []
    for position, (day, number) in enumerate(zip(days, numbers, strict=True)):
        height, x = number / largest * (HEIGHT - 24), position * step
        if number:
            title = f"{day}: {number_of(number, 'token')}"
            bars.append(Part(x + step * 0.16, HEIGHT - height, step * 0.68, height, "fact", title))
        if number == largest:
            labels.append((x + step / 2, HEIGHT - height - 6, f"{number:,}"))
        if (DAYS - 1 - position) % 7 == 0:
            labels.append((min(x + step / 2, WIDTH - 20), HEIGHT + 18, f"{day.day} {month_abbr[day.month]}"))
    rows = [("day", "tokens"), *((day.isoformat(), f"{number:,}") for day, number in zip(days, numbers, strict=True))]
    total = f", {sum(numbers):,} in {DAYS} days" if bars else ""
    return Picture(bars, labels, (), HEIGHT + 26, f"Tokens told a day{total}", rows)


def share_picture(numbers: Sequence[tuple[str, int, str]], unit: tuple[str, str]) -> Sequence[tuple[Any, ...]]:
    """Return name, number and target with how wide the bar is, of 100, and what is counted: of one and of several."""
    largest = max((number for _, number, _ in numbers), default=0) or 1
    return [(name, number, target, max(1, 100 * number / largest), unit) for name, number, target in numbers]


def _last_months(today: date) -> list[str]:
    months = (divmod(today.year * 12 + today.month - 1 - back, 12) for back in reversed(range(MONTHS)))
    return [f"{year:04}-{month + 1:02}" for year, month in months]
