"""`mem forget` and `mem restore`."""

from typing import Annotated

import typer

from ..api import edit as api
from ..errors import UsageError
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace

_Names = Annotated[
    list[str],
    typer.Argument(metavar="ID...", autocompletion=value_completion.ids, help="Ids, unique parts of them, or paths."),
]


def forget(
    names: _Names,
    purge: Annotated[bool, typer.Option("--purge", help="Delete for good instead.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Move entries to the archive.

    An archived memory is out of search but for --archived, and `mem restore` brings it back byte for byte.
    """
    _tell(api.forget(context.reading(workspace, scope), names, purge=purge), as_json=as_json)


def restore(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID...", autocompletion=value_completion.ids, help="Ids, unique parts of them, or paths."
        ),
    ] = None,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring entries back from the archive, superseded ones back into use, and the text of before an edit.

    An entry comes back byte for byte; of a superseded one the marks go, and it is flagged together with what took its
    place. An earlier text, which `mem read --history` lists, takes its entry's place again; MEMORY.md and the notes of
    a day, named by their path, say again what they said before the last change. For `mem decay` the age of what is
    restored counts from today, so that it does not go again at once.
    """
    if not names:
        raise UsageError("nothing is named", "`mem ls --status archived` lists what was forgotten")
    _tell(api.restore(context.reading(workspace, scope), names), as_json=as_json)


def _tell(done: api.Filed, *, as_json: bool) -> None:
    for notice in (notice for one in done.entries for notice in one.notices):
        output.note(notice)
    for wrong in done.failed:
        output.failure(wrong.error, [wrong.name], as_json=as_json)
    if as_json:
        output.say_json(done.as_dict())
    else:
        for one in done.entries:
            path = context.here(one.workspace, one.path)
            if output.is_watched():
                output.say(f"{one.action} {one.name} ({path})")
            else:
                output.say_row((one.action, one.name, path))
    if done.failed:
        raise typer.Exit(3 if done.entries else done.failed[-1].error.exit_code)
