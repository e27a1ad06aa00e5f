"""mem index: embed everything now."""

from typing import Annotated

from typer import Option

from ..api import open_all
from ..context import Context
from ..formats.text import count_noun
from ..index.index import open_index
from .progress import build_progress
from .render import Result

FIELDS = ("workspace", "files", "texts", "seconds")


def run_index(
    context: Context,
    rebuild: Annotated[
        bool, Option("--rebuild", help="Delete the index and make it again.")
    ] = False,
) -> Result:
    """Read every file and embed every text now, instead of little by little during searches."""
    items, lines, messages = [], [], []
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
        items.append(
            {"workspace": str(workspace.root), "files": files, "texts": texts, "seconds": seconds}
        )
        lines.append(f"{workspace.root}: {count_noun(files, 'file')}, {count_noun(texts, 'text')}")
        messages += index.messages
    return Result({"indexes": items}, lines, None, messages)
