"""`mem ls`."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..index.filters import SORTS, Filter
from ..index.index import Index, ask
from ..store.address import prefixes
from ..text.problem import FileProblem
from . import complete, output, world
from .options import AsJson, Choice, InScope, InWorkspace, choosing, require_types


@choosing
def ls(
    prefix: Annotated[
        str,
        typer.Argument(
            metavar="[PREFIX]",
            help="Only entries whose path, from here, in the workspace or in its entries, begins so.",
            show_default=False,
        ),
    ] = "",
    sort: Annotated[
        str, typer.Option(autocompletion=complete.among(list(SORTS)), help=f"Order: {', '.join(SORTS)}.")
    ] = "updated",
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.", show_default="all")] = 0,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="Only entries that another one contradicts.")] = False,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """List entries.

    Prints id, type, date, path and what each says, the latest change first.
    """
    if sort not in SORTS:
        raise UsageError(f"no order {sort!r}", f"use one of {', '.join(SORTS)}")
    if limit < 0:
        raise UsageError(f"-n {limit}", "ask for at least one, or leave it out for all")
    found_in = world.reading(workspace, scope)
    require_types(choice.type or (), found_in)
    rows: list[dict[str, Any]] = []
    places: list[str] = []  # as the current folder has them
    problems: list[FileProblem] = []
    for where in found_in:
        wanted = choice.filter(where)
        if prefix:
            wanted = replace(wanted, below=prefixes(where, prefix, Path.cwd()))

        def answer(index: Index, wanted: Filter = wanted) -> tuple[list[dict[str, Any]], list[FileProblem]]:
            index.refresh()
            listed = index.list_entries(wanted, SORTS[sort], -1 if conflicts else limit or -1)
            return _in_conflict(index, listed) if conflicts else listed, index.problems(wanted)

        found, wrong = ask(where, answer)
        places += [world.here(where, row["path"]) for row in found]
        rows += [{**row, "scope": where.scope} for row in found]
        problems += wrong
    rows = rows[: limit or None]
    for row in rows:
        row.pop("file", None)
    world.tell_problems(found_in, problems)
    if as_json:
        output.say_json({"entries": rows, "problems": [asdict(one) for one in problems]})
        return
    shown = [(row["id"], row["type"], row["updated_at"][:10], row["summary"]) for row in rows]
    if output.is_watched():
        if shown:
            output.table(("id", "type", "changed", "what it says"), shown, flexible=3)
        else:
            output.note("no entries")
    else:
        for one, place in zip(shown, places, strict=False):
            output.say_row((*one[:3], place, one[3]))


def _in_conflict(index: Index, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pick the entries that contradict one that is not over."""
    from ..lifecycle.supersession import is_in_conflict, over

    gone = over(index.list_entries(Filter(statuses=()), "id"))
    return [row for row in rows if is_in_conflict(row, gone)]
