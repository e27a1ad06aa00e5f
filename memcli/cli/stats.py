"""`mem stats`."""

from collections.abc import Iterator, Mapping

from ..api.stats import TOP, Stats, StatsReport
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
    found = counted(where)
    if as_json:
        output.say_json(found.as_dict())
    elif output.is_watched():
        _draw(found)
    else:
        for line in _lines(found):
            output.say_row(line)


def _lines(report: StatsReport) -> Iterator[tuple[object, ...]]:
    """Yield the numbers as lines of section, name, value and, for an entry, what it says."""
    found, state = report.stats, report.index
    for section, numbers in _sections(found):
        for name, count in numbers.items():
            yield section, name, count
    yield from (("used", one.row["id"], one.fading.accesses, one.row["summary"]) for one in found.used)
    yield from (("stale", one.row["id"], f"{one.fading.age:.0f}", one.row["summary"]) for one in found.stale)
    yield from (("conflict", row["id"], " ".join(row["conflicts_with"]), row["summary"]) for row in found.conflicts)
    yield from (("is", name, count) for name, count in (("pinned", found.pinned), ("faded", found.faded)))
    yield from (("file", kind, count) for kind, count in state.kinds.items())
    yield from (("memory", name, count) for name, count in (("bytes", report.size), ("budget", report.budget)))
    yield "index", "texts", state.chunks
    yield "index", "not embedded", state.not_embedded
    yield "index", "bytes", state.size
    yield "index", "problems", len(report.problems)


def _sections(found: Stats) -> list[tuple[str, Mapping[str, int]]]:
    return [
        ("status", found.statuses),
        ("type", found.types),
        ("layer", found.layers),
        ("source", found.sources),
        ("age", found.ages),
        ("tag", found.tags),
        ("project", found.projects),
        ("month", found.growth),
    ]


def _draw(report: StatsReport) -> None:
    """Draw the numbers for a person, on one screen."""
    found, state = report.stats, report.index
    output.say(f"{sum(found.statuses.values()):,} entries: {_listed(found.statuses)}; {found.pinned:,} pinned")
    if found.layers:
        output.say(f"layers: {_listed(found.layers)}; sources: {_listed(found.sources)}")
    _pair(("type", found.types), ("made in", found.growth))
    _pair(("changed", found.ages), ("tag", found.tags))
    for head, rows in (
        ("reads", [(f"{one.fading.accesses:,}", one.row) for one in found.used]),
        ("days old", [(f"{one.fading.age:,.0f}", one.row) for one in found.stale]),
        ("conflicts with", [(row["conflicts_with"][0], row) for row in found.conflicts[:TOP]]),
    ):
        if rows:
            output.say("")
            output.table((head, "id", "what it says"), [(cell, row["id"], row["summary"]) for cell, row in rows], 2)
    output.say("")
    kinds = {FILES.get(kind, kind): count for kind, count in state.kinds.items()}
    output.say(f"{report.workspace.layout.memory}: {report.size:,} of {report.budget:,} bytes; files: {_listed(kinds)}")
    output.say(f"index: {state.chunks:,} texts, {state.not_embedded:,} not embedded, {state.size / 1e6:.1f} MB")
    for count, what, command in (
        (len(report.problems), "problems", "mem check"),
        (len(found.conflicts), "in conflict", "mem ls --conflicts"),
        (found.faded, "faded", "mem decay"),
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
