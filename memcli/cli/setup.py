"""`mem init`."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..store.init import Made
from ..store.init import init as make
from ..store.layout import GOLEMCORE, LAYOUTS, MARKDOWN, MEM
from ..store.vault import IGNORE
from . import output
from .options import AsJson
from .world import shown, surroundings


def init(
    folder: Annotated[str, typer.Argument(metavar="[DIR]", help="Where to make it.", show_default="./memory")] = "",
    layout: Annotated[
        str,
        typer.Option(
            "--layout",
            metavar="NAME",
            help=f"How the folder is laid out: {', '.join(LAYOUTS)}.",
            show_default="as it looks",
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Make a workspace, by default in ./memory.

    A folder that exists keeps everything in it as it is; that of another tool is recognised and used in its own
    layout. Run again, it completes what is missing.
    """
    around = surroundings()
    made = make(around, (around.folder / Path(folder).expanduser()).resolve() if folder else None, layout)
    if as_json:
        output.say_json(
            {
                "workspace": str(made.root),
                "made": list(made.files),
                "layout": made.layout,
                "why": made.why,
                "outside": made.outside,
                "repository": str(made.repository) if made.repository else None,
            }
        )
        return
    names = f" ({', '.join(made.files)})" if made.files else ""
    output.say(f"{'made' if made.files else 'already a workspace:'} {shown(made.root)}{names}")
    for line in _remarks(made):
        output.note(line)
    if output.is_watched() and made.files:
        output.note('try `mem write "User prefers dark mode"`, then `mem search "which theme"`')


def _remarks(made: Made) -> list[str]:
    """Say whose layout was taken and why, and that the new files will show in somebody's git."""
    remarks = []
    if made.outside:
        what = "1 markdown file here is" if made.outside == 1 else f"{made.outside:,} markdown files here are"
        folder = "" if made.root == Path.cwd() else f" {shlex.quote(str(shown(made.root)))}"
        remarks.append(f"{what} outside the workspace: `mem init --layout markdown{folder}`")
    if made.layout == MARKDOWN.name:
        remarks.append(f"what mem writes goes to mem/; {IGNORE} leaves files out, as .gitignore does")
    if made.layout != MEM.name:
        why = f" ({made.why})" if made.why else ""
        remarks.append(f"the layout is {made.layout}{why}: the files there are used as they are")
        if made.layout == GOLEMCORE.name and (made.root / "memory" / "items").is_dir():
            remarks.append("memory/items/ is searched as it is; `mem import` makes entries of a .jsonl file there")
        if made.repository and made.files:
            files = ", ".join(made.files)
            remarks.append(f"{shown(made.repository)} is a git repository: {files} will show in its status")
    return remarks
