"""`mem dedup`."""

from dataclasses import asdict
from typing import Annotated

import typer

from ..lifecycle.dedup import dedup_plan
from ..lifecycle.plan import applied, shown
from . import output, world
from .options import AsJson, InScope, InWorkspace


def dedup(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, only the diff is shown.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Merge entries that say the same word for word, but for white space, letter case and closing full stops.

    Shows as a diff what would change, and changes it with --apply. Of each group the oldest of the most trusted stays;
    it takes in sources, tags and strength of the others, which are marked as superseded by it. `mem restore` brings one
    back.
    """
    where = world.writing(workspace, scope, "tidied in")
    tidied = dedup_plan(where)
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
        hint = "" if apply or not count else ": `mem dedup --apply` merges them"
        output.note(
            f"{count} of {len(tidied.groups)} groups say what another entry says{hint}" if count else "nothing to merge"
        )
    if tidied.problems:
        raise typer.Exit(3)
