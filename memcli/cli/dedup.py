"""`mem dedup`."""

from dataclasses import asdict
from typing import Annotated

import typer

from ..lifecycle.dedup import dedup_plan
from ..lifecycle.plan import applied, shown
from . import output, world
from .admitted import judge_of, tell_unheard
from .options import AsJson, InScope, InWorkspace


def dedup(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, only the diff is shown.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let your LLM find what says the same in other words, too.")
    ] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Merge entries that say the same word for word, but for white space, letter case and closing full stops.

    Shows as a diff what would change, and changes it with --apply. Of each group the oldest of the most trusted stays;
    it takes in sources, tags, wordings and strength of the others, which are marked as superseded by it. `mem restore`
    brings one back. With --judge your LLM is asked about the memories that are nearest to each other, also to show the
    diff: what it is sure says the same is merged, unless numbers, names or a denial differ.
    """
    where = world.writing(workspace, scope, "tidied in")
    tidied = dedup_plan(where, judge_of(where, is_wanted=judge))
    for notice in tidied.notices:
        output.note(notice)
    tell_unheard(tidied.unheard)
    for path, reason in tidied.problems:
        output.note(f"{world.here(where, path)}: {reason}")
    kept = applied(where, tidied.plan, "mem dedup").kept if apply else ()
    for path, place in kept:
        output.note(f"{world.here(where, path)} was changed meanwhile: our text is in {world.here(where, place)}")
    if as_json:
        groups = [asdict(group) for group in tidied.groups]
        document = {"applied": apply, "groups": groups, "problems": [list(one) for one in tidied.problems]}
        output.say_json(document if apply else {**document, "diff": shown(tidied.plan)})
    elif apply:
        for group in tidied.groups:
            output.say_row((group.kept, " ".join(group.merged), group.says))
    else:
        output.say(shown(tidied.plan), end="")
    if not as_json and output.is_heard():
        count = sum(len(group.merged) for group in tidied.groups)
        options = "--judge --apply" if judge else "--apply"
        hint = "" if apply or not count else f": `mem dedup {options}` merges them"
        output.note(
            f"{count} of {len(tidied.groups)} groups say what another entry says{hint}" if count else "nothing to merge"
        )
    if tidied.problems:
        raise typer.Exit(3)
    if tidied.unheard:
        raise typer.Exit(7)
