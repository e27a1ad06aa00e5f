"""`mem dedup`, `mem rollup` and `mem promote`."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..api import consolidate, maintain
from ..api.choice import require_source
from ..api.workspace import Workspace
from ..errors import UsageError
from . import context, output, value_completion
from .admission import judge_progress, tell_unheard
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet, Source

if TYPE_CHECKING:
    from ..api.consolidate import RollupReport
    from ..api.maintain import Promotion, Tidied


def dedup(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ID ID]", autocompletion=value_completion.ids, help="Make one memory of these two, at once."
        ),
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
    done = maintain.dedup(where, apply=apply, judge=judge, limit=limit, progress=judge_progress())
    tidied = done.tidied
    for notice in tidied.notices:
        output.note(notice)
    tell_unheard(tidied.unheard)
    for path, reason in tidied.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    for path, place in done.kept:
        output.note(f"{context.here(where, path)} was changed meanwhile: our text is in {context.here(where, place)}")
    if as_json:
        output.say_json(done.as_dict())
    elif apply:
        for group in tidied.groups:
            output.say_row((group.kept, " ".join(group.merged), group.says))
    else:
        output.say(done.diff, end="")
    if not as_json and output.is_heard():
        count = sum(len(group.merged) for group in tidied.groups)
        options = "--judge --apply" if judge else "--apply"
        hint = "" if apply or not count else f": `mem dedup {options}` merges them"
        repeats = f"{output.number_of(count, 'repeat')} of {output.number_of(len(tidied.groups), 'text')}{hint}"
        if count or not tidied.likely:
            output.note(repeats if count else "nothing to merge")
    if tidied.likely and not as_json:
        _offer(where, tidied)
    if tidied.problems:
        raise typer.Exit(3)
    if tidied.unheard:
        raise typer.Exit(7)


def _merge(names: list[str], distinct: bool, source: str, workspace: str, scope: str, *, as_json: bool) -> None:
    found = context.reading(workspace, scope)
    done = maintain.merge(found, *names, distinct=distinct, source=source, by=context.speaker())
    if as_json:
        output.say_json(done.as_dict())
    for group in done.tidied.groups if not as_json else ():
        output.say_row((group.kept, " ".join(group.merged), group.says))
    if not done.applied:
        output.note(
            "noted as a proposal, since a user said this: `mem dedup` asks a person, --source user speaks for one"
        )
    elif distinct and not as_json:
        output.say_row(("distinct", *names))


def _offer(where: Workspace, tidied: "Tidied") -> None:
    """Ask about likely repeats at a terminal, and list them elsewhere."""
    from .review_terminal import session, told

    if context.is_typed():
        session(where, tidied.likely, "dedup")
    else:
        for question in tidied.likely:
            newer, older = (side.entry.id for side in question.sides)
            output.say(f"\n{told(question)}\n  one memory: mem dedup {older} {newer}")
            output.say(
                f"  newer holds: mem supersede {older} {newer}\n  keep both: mem dedup {older} {newer} --distinct"
            )
    if tidied.has_more:
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
    done = consolidate.rollup(where, project, tag=tag, everything=everything, dry_run=dry_run)
    for failure in done.failed:
        output.note(str(failure))
    for one in done.pages:
        if one.error:
            output.note(f"{one.group.name}: the LLM failed ({one.error}); told in the episodes' own words")
    if as_json:
        output.say_json(done.as_dict())
    elif not quiet:
        _tell(where, done)
    if any(one.error for one in done.pages):
        raise typer.Exit(7)
    if done.failed:
        raise typer.Exit(3)


def _tell(where: Workspace, done: "RollupReport") -> None:
    changed = [one for one in done.pages if one.plan]
    for one in changed:
        if done.dry_run:
            output.say(done.diff(one), end="")
        else:
            output.say_row((context.here(where, one.path), one.how, one.episodes))
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
        done = maintain.demote(where, names or ())
    else:
        by = context.speaker()
        found_in = context.reading(workspace, scope) if names else [where]
        done = maintain.promote(found_in, names or (), auto=auto, apply=apply, source=source, by=by)
    if as_json:
        output.say_json(done.as_dict())
        return
    if done.applied:
        _tell_promotion(done.promotion)
    else:
        output.say(done.diff, end="")
        if output.is_heard():
            is_any = bool(done.promotion.plan)
            output.note("`mem promote --auto --apply` does this" if is_any else "nothing to promote or drop")
    _tell_passed(done.promotion)


def _tell_promotion(proposed: "Promotion") -> None:
    for one, statement in proposed.promoted:
        output.say_row(("promoted", one, statement))
    for one, statement in proposed.changed:
        output.say_row(("changed", one, statement))
    for one, why in proposed.dropped:
        output.say_row(("demoted" if why == "demoted" else "dropped", one, "" if why == "demoted" else why))


def _tell_passed(proposed: "Promotion") -> None:
    """Say what stays out, in one line a reason."""
    by_reason: dict[str, list[str]] = {}
    for one, why in proposed.passed:
        by_reason.setdefault(why, []).append(one)
    for why, ids in by_reason.items():
        output.note(f"{ids[0]}{f' and {len(ids) - 1:,} more stay' if len(ids) > 1 else ' stays'} out: {why}")
