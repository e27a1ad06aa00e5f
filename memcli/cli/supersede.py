"""`mem supersede`."""

from typing import Annotated

import typer

from ..errors import UsageError
from ..index.index import ask
from ..lifecycle.page import without_lines
from ..lifecycle.plan import applied, shown
from ..lifecycle.supersession import standing, successors, supersede_plan
from . import complete, output, world
from .options import AsJson, DryRun, InScope, InWorkspace


def supersede(
    old: Annotated[str, typer.Argument(metavar="OLD", autocompletion=complete.ids, help="The entry that is over.")],
    new: Annotated[str, typer.Argument(metavar="NEW", autocompletion=complete.ids, help="The entry that holds now.")],
    dry_run: DryRun = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Let one entry take the place of another.

    The old one stays where it is, out of search, and says what replaced it; `mem read --history` shows the chain and
    `mem restore` brings it back into use.
    """
    where, place = world.locate(workspace, scope, old, strict=True)
    there, other = world.locate(workspace, scope, new, strict=True)
    if where.root != there.root:
        raise UsageError(f"{old} and {new} are in two workspaces", "an entry is superseded within its own")
    for name, one in ((old, place), (new, other)):
        if where.layout.kind_of(one.path) != "entry" or one.anchor:
            raise UsageError(f"{name} is not an entry", "name two entries; `mem ls` lists them")
    after_each = ask(where, successors)
    before, after = standing(where, place.path), standing(where, other.path)
    plan = supersede_plan(where, before, after, lambda one: after_each.get(one, ""))
    plan += without_lines(where, [before.entry.id])
    if not dry_run:
        applied(where, plan, "mem supersede")
    action = "superseded" if plan else "unchanged"
    if as_json:
        fields = {"action": action, "id": before.entry.id, "superseded_by": after.entry.id, "path": place.path}
        output.say_json({**fields, "diff": shown(plan)} if dry_run else fields)
    elif dry_run:
        output.say(shown(plan), end="")
    elif output.is_watched():
        output.say(f"{before.entry.id} is {'now ' if plan else ''}superseded by {after.entry.id}")
    else:
        output.say_row((action, before.entry.id, after.entry.id))
