"""`mem index`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..index import database
from ..index.index import Index, ask
from ..text.problem import FileProblem
from . import output, world
from .options import AsJson, InScope, InWorkspace


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what is in the index; embed nothing.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring the index up to date, embedding every text.

    A search does this by itself for as many texts as its time allows; this does it for all. Files with problems are
    named, the rest goes through, and the exit code is 3.
    """
    if rebuild and status:
        raise UsageError("--rebuild and --status", "give one of them")
    answers = []
    problems: list[FileProblem] = []
    for where in world.reading(workspace, scope):
        if rebuild:
            database.discard(database.folder_of(where.derived, where.cache) or where.derived)
        answers.append(ask(where, lambda found: _report(found, embed=not status)))
        problems += answers[-1].pop("found")
    if as_json:
        rows = [{key: value for key, value in one.items() if key != "lines"} for one in answers]
        output.say_json({**rows[0], "workspaces": rows, "problems": [asdict(problem) for problem in problems]})
    else:
        for one in answers:
            for line in one["lines"]:
                output.say(line)
        for problem in problems:
            output.note(str(problem))
    if problems:
        raise typer.Exit(3)


def _report(found: Index, *, embed: bool) -> dict[str, Any]:
    where = found.workspace
    files, texts = output.Bar("reading files"), output.Bar("embedding texts")
    try:
        seen = found.refresh(files, talk=True)
        if embed:
            found.embedding.embed_missing(None, progress=texts)
            found.embedding.tidy()
            found.embedding.fold()
    finally:
        files.clear()
        texts.clear()
    coverage = found.embedding.coverage()
    entries = found.connection.execute("select count(*) from entries").fetchone()[0]
    return {
        "workspace": str(where.root),
        "files": seen.files,
        "added": seen.added,
        "changed": seen.changed,
        "removed": seen.removed,
        "entries": entries,
        "chunks": coverage.chunks,
        "not_embedded": coverage.missing,
        "vectors": coverage.vectors,
        "embedded": coverage.embedded,
        "model": found.meta("model"),
        "found": found.problems(),
        "lines": [
            f"{where.root}: {seen.files:,} files ({seen.added:,} new, {seen.changed:,} changed, {seen.removed:,} gone),"
            f" {coverage.chunks:,} texts, {coverage.missing:,} not embedded",
        ],
    }
