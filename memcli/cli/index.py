"""`mem index`."""

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from ..errors import BusyError, UnavailableError, UsageError
from ..formats.text_lines import FileProblem
from ..index import schema
from ..index.index import Index, ask
from . import context, output
from .options import AsJson, InScope, InWorkspace

BUSY = "another process writes the index; run `mem index` again"


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what is in the index; embed nothing.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring the index up to date, embedding every text.

    A search does this by itself for as many texts as its time allows; this does it for all. Files with problems are
    named, the rest goes through, and the exit code is 3; it is 75 where another process writes the index and texts are
    left without a vector.
    """
    if rebuild and status:
        raise UsageError("--rebuild and --status", "give one of them")
    answers = []
    problems: list[FileProblem] = []
    lines: list[str] = []  # the same, with the paths the current folder has
    for where in context.reading(workspace, scope):
        if rebuild:
            schema.discard(schema.folder_of(where.derived, where.cache) or where.derived)
        answers.append(ask(where, lambda found: _report(found, embed=not status)))
        found = answers[-1].pop("found")
        problems += found
        lines += [str(replace(one, path=context.here(where, one.path))) for one in found]
    if as_json:
        rows = [{key: value for key, value in one.items() if key != "lines"} for one in answers]
        output.say_json({**rows[0], "workspaces": rows, "problems": [asdict(problem) for problem in problems]})
    else:
        for one in answers:
            for line in one["lines"]:
                output.say(line)
        for line in lines:
            output.note(line)
    for one in answers:
        if one["elsewhere"]:
            output.note(f"{one['workspace']}: nothing can be written there: its index is kept in {one['elsewhere']}")
        if one["unfinished"]:
            output.note(f"{one['workspace']}: {one['not_embedded']:,} texts are not embedded: {one['unfinished']}")
    if any(one["unfinished"] for one in answers):
        raise typer.Exit(
            BusyError.exit_code if any(one["unfinished"] == BUSY for one in answers) else UnavailableError.exit_code
        )
    if problems:
        raise typer.Exit(3)


def _report(found: Index, *, embed: bool) -> dict[str, Any]:
    where = found.workspace
    files, texts = output.Bar("reading files"), output.Bar("embedding texts")
    try:
        seen = found.refresh(files, talk=True)
        if embed:
            found.embedding.embed_all(texts)
    finally:
        files.clear()
        texts.clear()
    state = found.health()
    return {
        "workspace": str(where.root),
        "files": seen.files,
        "added": seen.added,
        "changed": seen.changed,
        "removed": seen.removed,
        "entries": state.entries,
        "chunks": state.chunks,
        "not_embedded": state.not_embedded,
        "vectors": state.vectors,
        "embedded": state.embedded,
        "model": found.meta("model"),
        "elsewhere": str(found.folder) if found.folder not in (None, where.derived) else "",
        "unfinished": _obstacle(found) if embed and state.not_embedded else "",
        "found": found.problems(),
        "lines": [
            f"{where.root}: {seen.files:,} files ({seen.added:,} new, {seen.changed:,} changed, {seen.removed:,} gone),"
            f" {state.chunks:,} texts, {state.not_embedded:,} not embedded",
        ],
    }


def _obstacle(found: Index) -> str:
    """Say why what should have been embedded was not; nothing where it only came in meanwhile."""
    if found.folder is not None:
        return ""
    return BUSY if found.is_overtaken else "; ".join(schema.NO_PLACE)
