"""`mem undo`."""

from typing import Annotated

import typer

from ..api import sync as api
from ..results import number_of
from . import output, workspaces
from .options import COMMON, Common, DryRun


def undo(
    number: Annotated[
        int | None,
        typer.Argument(min=1, metavar="[ID]", help="The number of a command in the list.", show_default="the last one"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show what can be taken back, the newest first.")] = False,
    dry_run: DryRun = False,
    common: Common = COMMON,
) -> None:
    """Take back what a command changed, exactly.

    Without an ID it is the last command that somebody typed and that was not taken back: once more takes back the one
    before. Files that were changed since, by hand, by git or by a later command, stand in the way: they are named, and
    nothing is changed. An undo is undone by its own number in the list. Noted are the last 50 commands of this machine,
    in `.mem/undo/`. Not taken back are `--purge`, redaction, what counts in `.mem/` alone, and what git brought:
    use git for that.
    """
    where = workspaces.writing(common, "taken back in")
    if listed:
        _list(api.list_undoable(where), as_json=common.as_json)
        return
    done = api.undo(where, number or 0, dry_run=dry_run)
    if common.as_json:
        output.say_json(done.as_dict())
    elif dry_run:
        output.say(done.diff, end="")
    else:
        output.say_row(("taken back", done.id, done.command, done.did))
    if done.passed and not common.as_json and output.is_heard():
        newest = done.passed[0]
        output.note(f"`mem {newest.command}` ran since, unasked: `mem undo {newest.id}` takes that back")
    for path, ours in done.unapplied:
        output.note(
            f"{workspaces.here(where, path)} was changed meanwhile: our text is in {workspaces.here(where, ours)}"
        )
    if done.unapplied:
        raise typer.Exit(3)


def _list(undo_list: api.UndoList, *, as_json: bool) -> None:
    if as_json:
        output.say_json(undo_list.as_dict())
        return
    rows = [(str(row.id), row.at, f"{row.command}: {row.did}", row.state) for row in undo_list.commands]
    if output.is_watched() and rows:
        # The path of a file that stands in the way is left to `mem undo ID`, which names each.
        shown = [(*row[:3], row[3].rpartition(": ")[2]) for row in rows]
        output.table(("id", "when", "what it did", "state"), shown, flexible=2)
    else:
        for row in rows:
            output.say_row(row)
    if not rows and output.is_heard():
        output.note("nothing is noted")
    if undo_list.strangers:
        output.note(
            f"{number_of(undo_list.strangers, 'record', 'is', 'are')} in .mem/undo that another wrote: never used"
        )
