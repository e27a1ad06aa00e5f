"""`mem decay`."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..lifecycle.decay import Decayed, Judged, judged, last_accessed, unread_paths
from ..lifecycle.decay import decay as archive
from ..store import access
from ..store.workspace import Workspace
from ..text.problem import FileProblem
from ..text.times import parse_when, stamp
from . import output, world
from .options import AsJson, InScope, InWorkspace

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
    """Show how far entries have faded, and archive what has.

    score = e^(-age/days) × (1 + ln(reads + 1)) × trust; below the setting decay.threshold, or past its expires_at, an
    entry goes to the archive with --apply, where `mem restore` finds it; the age of what was restored counts from that
    day. Pinned entries, episodes and summaries are spared. A terminal shows what has faded and what is next; elsewhere,
    and with --all, every active entry is shown.
    """
    if not 0 <= max_fraction <= 1:
        raise UsageError(f"--max-fraction {max_fraction:g}", "give a share between 0 and 1, such as 0.25")
    where = world.writing(workspace, scope)
    moment = parse_when(as_of, where.now, where.zone) if as_of else where.now
    if moment is None:
        raise UsageError(f"--as-of {as_of!r} is no date", "write 2027-11-21 or 2027-11")
    problems: list[FileProblem] = []

    def rows(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        problems[:] = index.problems()
        return index.list_entries(Filter(), "id")

    found = ask(where, rows)
    named = {one.path for one in problems}
    unread = unread_paths(where, [row["path"] for row in found if row["path"] in named])
    counts = access.counts(where, last_accessed(found))
    entries = judged(found, moment, where.settings, counts, unread)
    seed = " ".join(one.row["id"] for one in entries if one.verdict == "archive")
    done = archive(where, entries, world.noise(seed), max_fraction) if apply else None
    if as_json:
        output.say_json(_document(where, entries, stamp(moment), done, problems))
    elif done:
        _tell(where, done)
    else:
        _show(where, entries, everything=all_ or not output.is_watched())
    if done and done.problems:
        raise typer.Exit(3)


def _document(
    where: Workspace, entries: Sequence[Judged], as_of: str, done: Decayed | None, problems: Sequence[FileProblem]
) -> dict[str, Any]:
    moved = dict(done.archived) if done else {}
    return {
        "entries": [
            {
                **{key: one.row[key] for key in ("id", "path", "type", "tags", "summary", "pinned", "expires_at")},
                "age_days": round(one.fading.age, 3),
                "decay_days": one.fading.days if one.fading.days < float("inf") else None,
                "accesses": one.fading.accesses,
                "trust": one.fading.trust,
                "score": round(one.score, 6),
                "verdict": one.verdict,
                "reason": one.reason,
                "archived": moved.get(one.row["id"]),
            }
            for one in entries
        ],
        "as_of": as_of,
        "threshold": where.settings["decay.threshold"],
        "applied": done is not None,
        "folded": list(done.folded) if done else [],
        "failed": [{"path": path, "reason": reason} for path, reason in done.problems] if done else [],
        "problems": [{"path": one.path, "line": one.line, "reason": one.reason} for one in problems],
    }


def _tell(where: Workspace, done: Decayed) -> None:
    for identifier, path in done.archived:
        output.say_row(("archived", identifier, world.here(where, path)))
    for path, reason in done.problems:
        output.note(f"{world.here(where, path)}: {reason}")
    if output.is_heard():
        count = len(done.archived)
        output.note(f"{count:,} archived; `mem restore ID` brings one back" if count else "nothing has faded")


def _show(where: Workspace, entries: Sequence[Judged], *, everything: bool) -> None:
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
    shown = entries if everything else [*faded, *[one for one in rest if one.verdict == "keep"][:NEAREST]]
    if not shown:
        return
    output.table(
        ("id", "age", "days", "reads", "trust", "score", "verdict", "what it says"), [_cells(one) for one in shown], 7
    )
    left = len(entries) - len(shown)
    output.say("")
    output.say("score = e^(-age/days) × (1 + ln(reads + 1)) × trust")
    output.say(
        f"{len(faded):,} of {len(entries):,} have faded (below {where.settings['decay.threshold']:g}, or expired)"
        + ("; mem decay --apply archives them" if faded else "")
        + (f"; {left:,} more: mem decay --all" if left else "")
    )


def _cells(one: Judged) -> tuple[str, ...]:
    numbers = one.fading
    days = f"{numbers.days:g}" if numbers.days < float("inf") else "-"
    verdict = "pinned" if one.verdict == "spare" and one.row["pinned"] else one.verdict
    verdict = "expired" if "; expired" in one.reason else verdict
    return (
        *(one.row["id"], f"{numbers.age:.0f}", days, str(numbers.accesses), f"{numbers.trust:g}"),
        *(f"{one.score:.3f}", verdict, one.row["summary"]),
    )
