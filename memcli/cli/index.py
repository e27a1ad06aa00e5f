"""mem index: embed everything now."""

from dataclasses import asdict
from typing import Annotated

from typer import Option

from .. import data
from ..api import open_all
from ..context import Context
from ..errors import UnavailableError
from ..formats.text import count_noun
from ..index.index import open_index
from ..team.connection import find_space
from ..team.push import push
from .progress import build_progress
from .render import Result

FIELDS = ("workspace", "files", "texts", "seconds", "space", "shared", "pushed", "removed")


def run_index(
    context: Context,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Delete the index and make it again.")
    ] = False,
    sql: Annotated[
        bool, Option("--sql", help="Print the tables of a team's server for its administrator.")
    ] = False,
) -> Result:
    """Read every file and embed every text now, instead of little by little during searches.

    If a team shares the workspace, its memories are then pushed to the team's server.
    """
    if sql:
        schema = data.path("team.sql").read_text("utf-8")
        return Result({"sql": schema}, schema.splitlines())
    items, lines, messages = [], [], []
    exit_code = 0
    for workspace in open_all(context):
        began = context.now
        index = open_index(workspace, refresh_first=False)
        if rebuild:
            index.rebuild()
        index.refresh(build_progress(context, "reading"))
        index.embed_missing(None, progress=build_progress(context, "embedding"))
        files, texts = (
            index.run(f"select count(*) from {table}").fetchone()[0]
            for table in ("files", "chunks")
        )
        seconds = round((context.now - began).total_seconds(), 1)
        item = {"workspace": str(workspace.root), "files": files, "texts": texts}
        items.append({**item, "seconds": seconds})
        lines.append(f"{workspace.root}: {count_noun(files, 'file')}, {count_noun(texts, 'text')}")
        messages += index.messages
        if not find_space(workspace):
            continue
        try:
            pushed = push(workspace, build_progress(context, "pushing"))
        except UnavailableError as error:
            messages.append(f"the team's server: {error.message}; {error.hint}")
            exit_code = 3
            continue
        items[-1].update(asdict(pushed))
        lines.append(
            f"  {pushed.space}: {count_noun(pushed.shared, 'memory')} shared,"
            f" {pushed.pushed:,} pushed, {pushed.removed:,} removed"
        )
    return Result({"indexes": items}, lines, None, messages, exit_code=exit_code)
