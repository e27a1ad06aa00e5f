"""`mem decay`."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import maintain
from ..api.workspace import Workspace
from . import output, workspaces
from .options import COMMON, Common

if TYPE_CHECKING:
    from ..api.maintain import DecayReport, Judged


NEAREST = 10
"""Entries shown on a terminal besides those that have faded."""


def decay(
    apply: Annotated[bool, typer.Option("--apply", help="Archive what has faded.")] = False,
    as_of: Annotated[
        str,
        typer.Option("--as-of", metavar="DATE", help="Judge as on that day: see the future.", show_default=False),
    ] = "",
    all_: Annotated[bool, typer.Option("--all", help="Show every entry on a terminal too.")] = False,
    max_fraction: Annotated[
        float, typer.Option("--max-fraction", metavar="F", help="Archive at most this share of the active entries.")
    ] = 0.25,
    common: Common = COMMON,
) -> None:
    """Show how far entries have faded, and archive those that have.

    score = e^(-age/days) × (1 + ln(reads + 1)) × trust; below the setting decay.threshold, or past its expires_at, an
    entry goes to the archive with --apply, and what it had taken the place of with it. `mem restore` brings either
    back; the age of what was restored counts from that day. Spared are pinned entries, constraints, entities, what the
    user prefers, episodes and summaries, and what was read or recalled within 30 days. A terminal shows what has
    faded, by type, and what is next; elsewhere, and with --all, every active entry is shown.
    """
    where = workspaces.writing(common)
    report = maintain.decay(where, apply=apply, as_of=as_of, max_fraction=max_fraction)
    if common.as_json:
        output.say_json(report.as_dict())
    elif report.applied:
        _show_archived(where, report)
    else:
        words = f" --scope {common.scope}" if common.scope else ""
        words = f" --workspace {shlex.quote(common.workspace)}" if common.workspace else words
        _show(where, report, words, everything=all_ or not output.is_watched())
    if report.failed:
        raise typer.Exit(3)


def _show_archived(where: Workspace, report: "DecayReport") -> None:
    for identifier, path in report.archived:
        output.say_row(("archived", identifier, workspaces.here(where, path)))
    output.notes(report.notices)
    for file in report.failed:
        output.note(f"{workspaces.here(where, file.path)}: {file.reason}")
    if output.is_heard():
        count = len(report.archived) - len(report.superseded)
        output.note(f"{count:,} archived; `mem restore ID` brings one back" if count else "nothing has faded")


def _show(where: Workspace, report: "DecayReport", words: str, *, everything: bool) -> None:
    entries, faded = report.entries, report.faded
    if not output.is_watched():
        for entry in entries:
            numbers = f"{entry.age_days:.1f}", entry.accesses, f"{entry.trust:g}", f"{entry.score:.3f}"
            output.say_row((entry.id, *numbers, entry.verdict, entry.reason))
        return
    others = [entry for entry in entries if entry.verdict != "archive"]
    shown = others if everything else [entry for entry in others if entry.verdict == "keep"][:NEAREST]
    if faded:
        count = f"{len(faded):,} of {len(entries):,}"
        output.say_wrapped(f"{count} faded (below {report.threshold:g}, or expired); search loses these:")
        _table(faded)
    if shown:
        output.say("these stay:" if everything else "the next ones:")
        _table(shown)
    if not entries:
        output.say("no memory is here that could fade")
    else:
        output.say_wrapped("score = e^(-age/days) × (1 + ln(reads + 1)) × trust")
        left = len(others) - len(shown)
        output.say_wrapped(_advice(where, report, words) + (f"; {left:,} more: `mem decay --all`" if left else ""))


def _advice(where: Workspace, report: "DecayReport", words: str) -> str:
    """Say what can be done: a command that works as it stands, only where the folder is mem's own."""
    if not report.faded:
        return "nothing has faded"
    if not (where.layout.is_mems or where.layout.is_vault):
        return f"the folder is one of {where.layout.name}'s: keep one with `mem read`, drop one with `mem forget`"
    more = f" --max-fraction {report.needed_fraction:g}" if report.needed_fraction else ""
    return f"archive them, to be had back with `mem restore`: `mem decay --apply{more}{words}`"


def _table(entries: "Sequence[Judged]") -> None:
    """Print entries by type, the largest group first, each with the lowest score first."""
    sizes = Counter(entry.type for entry in entries)
    ordered = sorted(entries, key=lambda entry: (-sizes[entry.type], entry.type, entry.score))
    output.table(("type", "id", "age", "score", "what it says"), [_cells(entry) for entry in ordered], 4)
    output.say("")


def _cells(entry: "Judged") -> tuple[str, ...]:
    """Return the cells of a row; where the score does not decide, what does stands in its place."""
    score = f"{entry.score:.3f}" if entry.verdict in ("keep", "archive") else entry.verdict
    score = "expired" if entry.is_expired else "pinned" if entry.verdict == "spare" and entry.pinned else score
    return entry.type, entry.id, f"{entry.age_days:.0f}d", score, entry.summary
