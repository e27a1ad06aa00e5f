"""`mem init`."""

from pathlib import Path
from typing import Annotated

import typer

from ..store import workspace as workspaces
from . import output
from .options import AsJson
from .world import surroundings


def init(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="Where to make it.", show_default="./memory")
    ] = "memory",
    as_json: AsJson = False,
) -> None:
    """Make a workspace, by default in ./memory.

    A folder that exists keeps everything in it as it is. Run again, it completes what is missing.
    """
    around = surroundings()
    root = (around.folder / Path(folder).expanduser()).resolve()
    made = workspaces.init(around, root)
    if as_json:
        output.say_json({"workspace": str(root), "made": made})
        return
    output.say(f"{'made' if made else 'already a workspace:'} {root}" + (f" ({', '.join(made)})" if made else ""))
    if output.is_watched():
        output.note('try `mem write "User prefers dark mode"`, then `mem search "which theme"`')
