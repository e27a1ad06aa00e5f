"""`mem dedup`."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..api import maintain
from ..api.workspace import Workspace
from ..errors import UsageError
from ..results import number_of
from . import completion, output, workspaces
from .options import COMMON, Common, Source
from .output import judge_progress, tell_unheard

if TYPE_CHECKING:
    from ..api.maintain import DedupReport


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
    common: Common = COMMON,
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
        _merge(names, distinct, source, common)
        return
    where = workspaces.writing(common, "tidied in")
    report = maintain.dedup(where, apply=apply, judge=judge, limit=limit, progress=judge_progress())
    output.notes(report.notices)
    tell_unheard(report.unheard)
    for path, reason in report.problems:
        output.note(f"{workspaces.here(where, path)}: {reason}")
    for path, ours in report.unapplied:
        output.note(
            f"{workspaces.here(where, path)} was changed meanwhile: our text is in {workspaces.here(where, ours)}"
        )
    if common.as_json:
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
        repeats = f"{number_of(count, 'repeat')} of {number_of(len(report.groups), 'text')}{hint}"
        output.note(repeats if count else "nothing to merge")
    if report.questions:
        _offer(where, report)


def _show_groups(report: "DedupReport") -> None:
    for group in report.groups:
        output.say_row((group.kept, " ".join(group.merged), group.says))


def _merge(names: list[str], distinct: bool, source: str, common: Common) -> None:
    opened = workspaces.reading(common)
    done = maintain.merge(opened, *names, distinct=distinct, source=source, by=workspaces.speaker())
    if common.as_json:
        output.say_json(done.as_dict())
    else:
        _show_groups(done)
    if not done.applied:
        output.note(
            "noted as a proposal, since a user said this: `mem dedup` asks a person, --source user speaks for one"
        )
    elif distinct and not common.as_json:
        output.say_row(("distinct", *names))


def _offer(where: Workspace, report: "DedupReport") -> None:
    """Ask about likely repeats at a terminal, and list them elsewhere."""
    from .review import session, told

    if workspaces.is_typed():
        session(where, report.questions, "dedup")
    else:
        for question in report.questions:
            newer, older = (side.entry.id for side in question.sides)
            output.say(f"\n{told(question)}")
            output.say_wrapped(f"  one memory: mem dedup {older} {newer}", 4)
            output.say_wrapped(f"  newer holds: mem supersede {older} {newer}", 4)
            output.say_wrapped(f"  keep both: mem dedup {older} {newer} --distinct", 4)
    if report.has_more:
        output.note("there may be more: `mem dedup` goes on once these are answered, --limit 0 offers all")
