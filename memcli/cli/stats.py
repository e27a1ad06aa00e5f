"""`mem stats`."""

from collections.abc import Iterator, Mapping

from ..api.stats import TOP, Stats
from ..api.stats import stats as counted
from . import context, output
from .options import AsJson, InScope, InWorkspace

WIDEST, NAME, NARROW = 52, 14, 72
"""Columns of a set of bars at most, of a name in it, and of a terminal too narrow for two sets."""
FILES = {"entry": "of entries", "memory": "of long-term memory", "note": "of notes", "session": "of sessions"}
FILES |= {"history": "of history"}


def stats(workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Show what is in memory, how it grows, what is used and what fades.

    A terminal gets bars; a pipe gets lines of section, name and value.
    """
    where = context.writing(workspace, scope, "counted in")
    report = counted(where)
    if as_json:
        output.say_json(report.as_dict())
    elif output.is_watched():
        _draw(report)
    else:
        for line in _lines(report):
            output.say_row(line)


def _lines(report: Stats) -> Iterator[tuple[object, ...]]:
    """Yield the numbers as lines of section, name, value and, for an entry, what it says."""
    for section, numbers in _sections(report):
        for name, count in numbers.items():
            yield section, name, count
    yield from (("used", entry.id, entry.accesses, entry.summary) for entry in report.most_used)
    yield from (("stale", entry.id, f"{entry.age_days:.0f}", entry.summary) for entry in report.stalest)
    yield from (("conflict", entry.id, " ".join(entry.conflicts_with), entry.summary) for entry in report.conflicts)
    yield from (("is", name, count) for name, count in (("pinned", report.pinned), ("faded", report.faded)))
    yield from (("file", kind, count) for kind, count in report.files.items())
    yield from (("memory", name, getattr(report.memory, name)) for name in ("bytes", "budget"))
    yield "index", "texts", report.index.chunks
    yield "index", "not embedded", report.index.not_embedded
    yield "index", "bytes", report.index.bytes
    yield "index", "problems", len(report.problems)


def _sections(report: Stats) -> list[tuple[str, Mapping[str, int]]]:
    return [
        ("status", report.statuses),
        ("type", report.types),
        ("layer", report.layers),
        ("source", report.sources),
        ("age", report.ages),
        ("tag", report.tags),
        ("project", report.projects),
        ("month", report.growth),
    ]


def _draw(report: Stats) -> None:
    """Draw the numbers for a person, on one screen."""
    state, page = report.index, report.memory
    output.say(f"{report.entries:,} entries: {_listed(report.statuses)}; {report.pinned:,} pinned")
    if report.layers:
        output.say(f"layers: {_listed(report.layers)}; sources: {_listed(report.sources)}")
    _pair(("type", report.types), ("made in", report.growth))
    _pair(("changed", report.ages), ("tag", report.tags))
    for head, rows in (
        ("reads", [(f"{entry.accesses:,}", entry.id, entry.summary) for entry in report.most_used]),
        ("days old", [(f"{entry.age_days:,.0f}", entry.id, entry.summary) for entry in report.stalest]),
        ("conflicts with", [(row.conflicts_with[0], row.id, row.summary) for row in report.conflicts[:TOP]]),
    ):
        if rows:
            output.say("")
            output.table((head, "id", "what it says"), rows, 2)
    output.say("")
    kinds = {FILES.get(kind, kind): count for kind, count in report.files.items()}
    output.say(f"{page.path}: {page.bytes:,} of {page.budget:,} bytes; files: {_listed(kinds)}")
    output.say(f"index: {state.chunks:,} texts, {state.not_embedded:,} not embedded, {state.bytes / 1e6:.1f} MB")
    for count, what, command in (
        (len(report.problems), "problems", "mem check"),
        (len(report.conflicts), "in conflict", "mem ls --conflicts"),
        (report.faded, "faded", "mem decay"),
    ):
        if count:
            output.say(f"{what}: {count:,} ({command})")


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items()) or "none"


def _pair(one: tuple[str, Mapping[str, int]], two: tuple[str, Mapping[str, int]]) -> None:
    """Draw two sets of bars beside each other, or below where the terminal is narrow."""
    from itertools import zip_longest
    from shutil import get_terminal_size

    columns = get_terminal_size().columns
    width = columns // 2 - 1 if columns >= NARROW else columns
    left, right = (bars(title, numbers, min(width, WIDEST)) if numbers else [] for title, numbers in (one, two))
    output.say("")
    if columns < NARROW:
        for line in (*left, "", *right):
            output.say(line.rstrip())
    else:
        for first, second in zip_longest(left, right, fillvalue=""):
            output.say(f"{first or ' ' * min(width, WIDEST)}  {second}".rstrip())


def bars(title: str, numbers: Mapping[str, int], width: int) -> list[str]:
    """Draw a line a number: its name, the number, and a bar in the proportion of the largest."""
    most = max(max(numbers.values()), 1)
    digits = len(f"{most:,}")
    room = max(width - NAME - digits - 3, 1)
    lines = [title.ljust(width)]
    for name, count in numbers.items():
        eighths = round(8 * room * count / most)
        bar = ("█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8]).ljust(room + 1)
        lines.append(f"{_padded(output.visible(name))} {count:>{digits},} {bar}")
    return lines


def _padded(name: str) -> str:
    """Cut or fill a name to its column; letters of some scripts take two places."""
    if output.width(name) > NAME:
        while output.width(name) >= NAME:
            name = name[:-1]
        name += "…"
    return name + " " * (NAME - output.width(name))
