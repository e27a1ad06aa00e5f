"""`mem dedup`, `mem rollup` and `mem promote`."""

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import consolidate, maintain
from ..api.choice import require_source
from ..api.workspace import Workspace
from ..errors import UsageError
from . import completion, context, output
from .admission import judge_progress, tell_unheard
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet, Source

if TYPE_CHECKING:
    from ..api.consolidate import RollupReport
    from ..api.maintain import DecayReport, DedupReport, Judged, Promotion


def dedup(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID ID]", autocompletion=completion.ids, help="Make one memory of these two, at once."),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Merge what says the same word for word.")] = False,
    distinct: Annotated[
        bool, typer.Option("--distinct", help="Note that the two named are two, and offer them no more.")
    ] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let your LLM find what says the same in other words, too.")
    ] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=0, help="Offer at most so many likely repeats; 0 for all.")
    ] = 10,
    source: Source = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Merge entries that say the same word for word, and offer those that may say it in other words.

    Shows as a diff what says the same but for white space, letter case and closing full stops, and merges it with
    --apply. Of each group the oldest of the most trusted stays; it takes in sources, tags, wordings and strength of the
    others, which are marked as superseded by it. `mem restore` brings one back.

    Then come the likely repeats, the surest first, which nothing merges by itself. In a terminal a letter answers, as
    in `mem review`; elsewhere each is listed with the commands that decide. `mem dedup ID ID` makes one memory of two:
    the newest wording of the highest trust is its text, the other is kept beside it. What a user said is merged on the
    user's word alone, at a terminal or with --source user; else it is noted as a proposal.

    With --judge your LLM is asked about the nearest memories instead, also to show the diff: what it is sure says the
    same is merged, unless numbers, names or a denial differ.
    """
    if names and (len(names) != 2 or judge):
        raise UsageError(f"mem dedup {' '.join(names)}", "name two entries and no --judge, or none")
    if not names and (distinct or source):
        raise UsageError("nothing to decide about", "name two entries with --distinct and --source")
    if names:
        _merge(names, distinct, source, workspace, scope, as_json=as_json)
        return
    where = context.writing(workspace, scope, "tidied in")
    report = maintain.dedup(where, apply=apply, judge=judge, limit=limit, progress=judge_progress())
    for notice in report.notices:
        output.note(notice)
    tell_unheard(report.unheard)
    for path, reason in report.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    for path, ours in report.unapplied:
        output.note(f"{context.here(where, path)} was changed meanwhile: our text is in {context.here(where, ours)}")
    if as_json:
        output.say_json(report.as_dict())
    else:
        _show_dedup(where, report, "--judge --apply" if judge else "--apply")
    if report.problems or report.unheard:
        raise typer.Exit(3 if report.problems else 7)


def _show_dedup(where: Workspace, report: "DedupReport", options: str) -> None:
    if report.applied:
        _show_groups(report)
    else:
        output.say(report.diff or "", end="")
    count = sum(len(group.merged) for group in report.groups)
    if output.is_heard() and (count or not report.questions):
        hint = "" if report.applied or not count else f": `mem dedup {options}` merges them"
        repeats = f"{output.number_of(count, 'repeat')} of {output.number_of(len(report.groups), 'text')}{hint}"
        output.note(repeats if count else "nothing to merge")
    if report.questions:
        _offer(where, report)


def _show_groups(report: "DedupReport") -> None:
    for group in report.groups:
        output.say_row((group.kept, " ".join(group.merged), group.says))


def _merge(names: list[str], distinct: bool, source: str, workspace: str, scope: str, *, as_json: bool) -> None:
    workspaces = context.reading(workspace, scope)
    done = maintain.merge(workspaces, *names, distinct=distinct, source=source, by=context.speaker())
    if as_json:
        output.say_json(done.as_dict())
    else:
        _show_groups(done)
    if not done.applied:
        output.note(
            "noted as a proposal, since a user said this: `mem dedup` asks a person, --source user speaks for one"
        )
    elif distinct and not as_json:
        output.say_row(("distinct", *names))


def _offer(where: Workspace, report: "DedupReport") -> None:
    """Ask about likely repeats at a terminal, and list them elsewhere."""
    from .review import session, told

    if context.is_typed():
        session(where, report.questions, "dedup")
    else:
        for question in report.questions:
            newer, older = (side.entry.id for side in question.sides)
            output.say(f"\n{told(question)}\n  one memory: mem dedup {older} {newer}")
            output.say(
                f"  newer holds: mem supersede {older} {newer}\n  keep both: mem dedup {older} {newer} --distinct"
            )
    if report.has_more:
        output.note("there may be more: `mem dedup` goes on once these are answered, --limit 0 offers all")


def rollup(
    project: Annotated[str, typer.Argument(metavar="[PROJECT]", help="Sum up the episodes of this project.")] = "",
    tag: Annotated[str, typer.Option("--tag", help="Those with this tag instead.", show_default=False)] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every project that has episodes.")] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Summarize the episodes of a project on one page.

    The page is entries/projects/PROJECT/summary.md, or entries/tags/TAG/summary.md, told by the LLM of your settings or
    in the episodes' own words. What you write outside its marks stays, and so do the episodes. Without new episodes
    nothing happens; when the LLM fails the exit code is 7 and the next run tries again. With --all it is 3
    where a page could not be changed, and the others are summed up.
    """
    where = context.writing(workspace, scope)
    report = consolidate.rollup(where, project, tag=tag, everything=everything, dry_run=dry_run)
    failed = [page for page in report.summaries if page.error]
    for failure in report.failed:
        output.note(str(failure))
    for page in failed:
        output.note(f"{page.group.name}: the LLM failed ({page.error}); told in the episodes' own words")
    if as_json:
        output.say_json(report.as_dict())
    elif not quiet:
        _show_pages(where, report)
    if failed or report.failed:
        raise typer.Exit(7 if failed else 3)


def _show_pages(where: Workspace, report: "RollupReport") -> None:
    changed = [page for page in report.summaries if page.plan]
    for page in changed:
        if page.diff is None:
            output.say_row((context.here(where, page.path), page.how, page.episodes))
        else:
            output.say(page.diff, end="")
    if not changed and output.is_heard():
        output.note("nothing new to sum up")


def promote(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, unique parts of them, or paths.")
    ] = None,
    demote: Annotated[bool, typer.Option("--demote", help="Take the lines of these entries off the page.")] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Show what the rule would promote and drop.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --auto: do it.")] = False,
    source: Source = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Add confirmed memories to MEMORY.md as lines, or remove them.

    Entries named are promoted at once, and with --demote taken off at once. --auto shows as a diff what the rule
    proposes (confirmed three times, or trusted and sure: settings promote.*), and does it with --apply. Lines of
    entries that are superseded, archived or gone leave; over promote.budget bytes the least valuable ones do. Only
    lines between the marks `<!-- mem:promoted -->` are mem's, and one that you change there is yours.

    What no person said goes there on the user's word alone: typed at a terminal, or with --source user.
    """
    require_source(source)
    if auto and demote:
        raise UsageError("--auto with ids" if names else "nothing to promote", "name entries, or give --auto alone")
    where = context.writing(workspace, scope)
    if demote:
        report = maintain.demote(where, names or ())
    else:
        by = context.speaker()
        found_in = context.reading(workspace, scope) if names else [where]
        report = maintain.promote(found_in, names or (), auto=auto, apply=apply, source=source, by=by)
    if as_json:
        output.say_json(report.as_dict())
    else:
        _show_promotion(report)


def _show_promotion(report: "Promotion") -> None:
    if report.applied:
        rows = [("promoted", *line) for line in report.promoted] + [("changed", *line) for line in report.changed]
        for identifier, why in report.dropped:
            rows.append(("demoted", identifier, "") if why == "demoted" else ("dropped", identifier, why))
        for row in rows:
            output.say_row(row)
    else:
        output.say(report.diff, end="")
        if output.is_heard():
            output.note("`mem promote --auto --apply` does this" if report.plan else "nothing to promote or drop")
    by_reason: dict[str, list[str]] = {}
    for identifier, why in report.passed:
        by_reason.setdefault(why, []).append(identifier)
    for why, ids in by_reason.items():
        output.note(f"{ids[0]}{f' and {len(ids) - 1:,} more stay' if len(ids) > 1 else ' stays'} out: {why}")


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
    report = maintain.decay(where, apply=apply, as_of=as_of, max_fraction=max_fraction)
    if as_json:
        output.say_json(report.as_dict())
    elif report.applied:
        _show_archived(where, report)
    else:
        words = f" --workspace {shlex.quote(workspace)}" if workspace else f" --scope {scope}" if scope else ""
        _show(where, report, words, everything=all_ or not output.is_watched())
    if report.failed:
        raise typer.Exit(3)


def _show_archived(where: Workspace, report: "DecayReport") -> None:
    for identifier, path in report.archived:
        output.say_row(("archived", identifier, context.here(where, path)))
    for notice in report.notices:
        output.note(notice)
    for file in report.failed:
        output.note(f"{context.here(where, file.path)}: {file.reason}")
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
        output.say(f"{count} have faded (below {report.threshold:g}, or expired); search loses these:")
        _table(faded)
    if shown:
        output.say("these stay:" if everything else "the next ones:")
        _table(shown)
    if entries:
        output.say("score = e^(-age/days) × (1 + ln(reads + 1)) × trust")
        left = len(others) - len(shown)
        output.say(_advice(where, report, words) + (f"; {left:,} more: mem decay --all" if left else ""))


def _advice(where: Workspace, report: "DecayReport", words: str) -> str:
    """Say what can be done: a command that works as it stands, only where the folder is mem's own."""
    if not report.faded:
        return "nothing has faded"
    if not where.layout.is_mems:
        return f"the folder is one of {where.layout.name}'s: keep one with `mem read`, drop one with `mem forget`"
    more = f" --max-fraction {report.needed_fraction:g}" if report.needed_fraction else ""
    return f"archive them, to be had back with `mem restore`: mem decay --apply{more}{words}"


def _table(entries: "Sequence[Judged]") -> None:
    """Print entries by type, the largest group first, each with the lowest score first."""
    sizes = Counter(entry.type for entry in entries)
    ordered = sorted(entries, key=lambda entry: (-sizes[entry.type], entry.type, entry.score))
    head = ("type", "id", "age", "days", "reads", "trust", "score", "verdict", "what it says")
    output.table(head, [_cells(entry) for entry in ordered], 8)
    output.say("")


def _cells(entry: "Judged") -> tuple[str, ...]:
    days = "-" if entry.decay_days is None else f"{entry.decay_days:g}"
    verdict = "pinned" if entry.verdict == "spare" and entry.pinned else entry.verdict
    verdict = "expired" if entry.is_expired else verdict
    numbers = f"{entry.age_days:.0f}", days, str(entry.accesses), f"{entry.trust:g}", f"{entry.score:.3f}"
    return entry.type, entry.id, *numbers, verdict, entry.summary
