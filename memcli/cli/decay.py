"""`mem decay`."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import maintain
from ..api.workspace import Workspace
from . import context, output
from .options import AsJson, InScope, InWorkspace

if TYPE_CHECKING:
    from ..api.maintain import Decayed, DecayReport, Judged

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
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show how far entries have faded, and archive those that have.

    score = e^(-age/days) × (1 + ln(reads + 1)) × trust; below the setting decay.threshold, or past its expires_at, an
    entry goes to the archive with --apply, and what it had taken the place of with it. `mem restore` brings either
    back; the age of what was restored counts from that day. Spared are pinned entries, constraints, entities, what the
    user prefers, episodes and summaries, and what was read or recalled within 30 days. A terminal shows what has
    faded, by type, and what is next; elsewhere, and with --all, every active entry is shown.
    """
    where = context.writing(workspace, scope)
    found = maintain.decay(where, apply=apply, as_of=as_of, max_fraction=max_fraction)
    if as_json:
        output.say_json(found.as_dict())
    elif found.decayed:
        _tell(where, found.decayed)
    else:
        words = f" --workspace {shlex.quote(workspace)}" if workspace else f" --scope {scope}" if scope else ""
        _show(where, found, words, everything=all_ or not output.is_watched())
    if found.decayed and found.decayed.problems:
        raise typer.Exit(3)


def _tell(where: Workspace, done: "Decayed") -> None:
    for identifier, path in (*done.archived, *done.superseded):
        output.say_row(("archived", identifier, context.here(where, path)))
    for notice in done.notices:
        output.note(notice)
    for path, reason in done.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    if output.is_heard():
        count = len(done.archived)
        output.note(f"{count:,} archived; `mem restore ID` brings one back" if count else "nothing has faded")


def _show(where: Workspace, found: "DecayReport", words: str, *, everything: bool) -> None:
    entries = found.entries
    if not output.is_watched():
        for one in entries:
            numbers = one.fading
            output.say_row(
                (
                    *(one.row["id"], f"{numbers.age:.1f}", numbers.accesses, f"{numbers.trust:g}"),
                    *(f"{one.score:.3f}", one.verdict, one.reason),
                )
            )
        return
    faded = [one for one in entries if one.verdict == "archive"]
    rest = [one for one in entries if one.verdict != "archive"]
    shown = rest if everything else [one for one in rest if one.verdict == "keep"][:NEAREST]
    count = f"{len(faded):,} of {len(entries):,}"
    if faded:
        output.say(f"{count} have faded (below {found.threshold:g}, or expired); search loses these:")
        _table(faded)
        output.say("")
    if shown:
        output.say("the next ones:" if not everything else "these stay:")
        _table(shown)
        output.say("")
    if entries:
        output.say("score = e^(-age/days) × (1 + ln(reads + 1)) × trust")
        left = len(rest) - len(shown)
        output.say(_advice(where, found, words) + (f"; {left:,} more: mem decay --all" if left else ""))


def _advice(where: Workspace, found: "DecayReport", words: str) -> str:
    """Say what can be done: a command that works as it stands, only where the folder is mem's own."""
    if not any(one.verdict == "archive" for one in found.entries):
        return "nothing has faded"
    if not found.is_own_layout:
        return f"the folder is one of {where.layout.name}'s: keep one with `mem read`, drop one with `mem forget`"
    more = f" --max-fraction {found.needed_fraction:g}" if found.needed_fraction else ""
    return f"archive them, to be had back with `mem restore`: mem decay --apply{more}{words}"


def _table(entries: "Sequence[Judged]") -> None:
    """Print entries by type, the largest group first, each with the lowest score first."""
    sizes = Counter(one.row["type"] for one in entries)
    ordered = sorted(entries, key=lambda one: (-sizes[one.row["type"]], one.row["type"], one.score))
    head = ("type", "id", "age", "days", "reads", "trust", "score", "verdict", "what it says")
    output.table(head, [(one.row["type"], *_cells(one)) for one in ordered], 8)


def _cells(one: "Judged") -> tuple[str, ...]:
    numbers = one.fading
    days = f"{numbers.days:g}" if numbers.days < float("inf") else "-"
    verdict = "pinned" if one.verdict == "spare" and one.row["pinned"] else one.verdict
    verdict = "expired" if one.is_expired else verdict
    return (
        *(one.row["id"], f"{numbers.age:.0f}", days, str(numbers.accesses), f"{numbers.trust:g}"),
        *(f"{one.score:.3f}", verdict, one.row["summary"]),
    )
