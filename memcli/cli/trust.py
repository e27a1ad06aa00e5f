"""`mem trust`."""

from typing import Annotated

import typer

from ..errors import RefusedError
from ..store import trust as records
from . import output, world
from .options import AsJson


def trust(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="The workspace, or the folder above it.", show_default="the nearest")
    ] = "",
    remove: Annotated[bool, typer.Option("--remove", help="Trust it no longer.")] = False,
    as_json: AsJson = False,
) -> None:
    """Believe what a workspace says that came from others, such as one in a cloned repository.

    A workspace made here by `mem init` is trusted from the start. In any other, memories count as said by `repository`
    (trust 0.5), whatever their files say: none is the user's word, pinned or confirmed. A setting that is wrong there
    is passed over, and `mem check` names it. Look through them first: `mem ls`, `mem read MEMORY.md`. The answer is
    kept on this machine ($XDG_STATE_HOME/mem), not in the folder; another folder in the same place is asked about
    again.
    """
    where = world.reading(folder, "" if folder else "project")[0]
    if where.is_own:
        raise RefusedError(f"{where.root} is your own workspace", "it is always trusted")
    if where.state is None or not records.record(where.state, where.root, trusted=not remove):
        raise RefusedError(f"cannot write to {where.state}", "make the folder writable, or set XDG_STATE_HOME")
    if as_json:
        output.say_json({"workspace": str(where.root), "trusted": not remove})
    else:
        output.say_row(("not trusted" if remove else "trusted", str(where.root)))
