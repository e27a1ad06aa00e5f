"""`mem supersede`."""

from typing import Annotated

import typer

from ..beliefs.precedence import is_trusted_less
from ..errors import UsageError
from ..index.index import ask
from ..lifecycle.page import without_lines
from ..lifecycle.plan import applied, shown
from ..lifecycle.supersession import flagging_plan, standing, successors, supersede_plan
from . import complete, output, world
from .admitted import kept_by_trust
from .options import AsJson, DryRun, InScope, InWorkspace, Source, require_source


def supersede(
    old: Annotated[str, typer.Argument(metavar="OLD", autocompletion=complete.ids, help="The entry that is over.")],
    new: Annotated[str, typer.Argument(metavar="NEW", autocompletion=complete.ids, help="The entry that holds now.")],
    source: Source = "",
    dry_run: DryRun = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Let one entry take the place of another.

    The old one stays where it is, out of search, and says what replaced it; `mem read --history` shows the chain and
    `mem restore` brings it back into use. What is trusted more, such as the user's word, gives way to the user alone,
    at a terminal or with --source user: otherwise both are flagged, and `mem review` settles it.
    """
    require_source(source)
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
    by_user = world.is_typed() or world.author(where, source) == "user"
    is_flagged = bool(plan) and not by_user and is_trusted_less(after.entry, before.entry)
    if is_flagged:
        plan = flagging_plan(where, before, after)
        output.note(kept_by_trust(before.entry.id, after.entry.id))
    else:
        plan += without_lines(where, [before.entry.id])
    if not dry_run:
        applied(where, plan, "mem supersede")
    action = "unchanged" if not plan else "flagged" if is_flagged else "superseded"
    if as_json:
        fields = {
            "action": action,
            "id": before.entry.id,
            "superseded_by": "" if is_flagged else after.entry.id,
            "conflicts_with": [after.entry.id] if is_flagged else [],
            "path": place.path,
        }
        output.say_json({**fields, "diff": shown(plan)} if dry_run else fields)
    elif dry_run:
        output.say(shown(plan), end="")
    elif output.is_watched() and not is_flagged:
        output.say(f"{before.entry.id} is {'now ' if plan else ''}superseded by {after.entry.id}")
    else:
        output.say_row((action, before.entry.id, after.entry.id))
