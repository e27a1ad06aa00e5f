"""`mem export`."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import RefusedError, UsageError
from . import output, world
from .options import AsJson, Choice, InScope, InWorkspace, choosing, require_types

if TYPE_CHECKING:
    from ..index.filters import Filter
    from ..store.workspace import Workspace
    from ..text.problem import FileProblem

FORMATS = ("jsonl", "markdown")
KINDS = ("entry", "memory", "history", "note")


@choosing
def export(
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help=f"{' or '.join(FORMATS)}; only jsonl can be imported.")
    ] = "jsonl",
    file: Annotated[
        str,
        typer.Option("-o", "--output", metavar="FILE", help="Write to a file, whole or not at all.", show_default="-"),
    ] = "-",
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Write memories as lines of JSON, a file a line, or as one markdown document.

    Everything but conversations and the archive is included where no filter says otherwise: --kind all and --archived
    take these in. The lines hold every byte: `mem import` makes the same files of them. Settings in mem.yaml come along
    where nothing was filtered out. Exit code 3 where a file could not be read.
    """
    from ..exchange.export import chosen_files, parcels
    from ..exchange.parcel import packed
    from ..exchange.settings_line import settings_file

    if form not in FORMATS:
        raise UsageError(f"no format {form!r}", f"use {' or '.join(FORMATS)}")
    if as_json and file == "-":
        raise UsageError("standard output is the export itself", "name a file with -o, or leave out --json")
    where = world.writing(workspace, scope, "exported from", even_off=True)
    require_types(choice.type or (), [where])
    target = None if file == "-" else _target(where, file)
    wanted = _wanted(choice, where)
    chosen = chosen_files(where, wanted)
    if form == "jsonl" and _is_whole(choice):
        chosen = [*settings_file(where), *chosen]
    problems: list[FileProblem] = []
    count = 0

    def lines() -> Iterator[str]:
        nonlocal count
        for parcel in parcels(where, chosen, problems):
            count += 1
            yield packed(parcel) + "\n"

    pieces = lines() if form == "jsonl" else _document(where, wanted, chosen, problems)
    if target is None:
        for piece in pieces:
            output.say(piece, end="", raw=form == "jsonl")
    else:
        from ..store.placing import write_out

        write_out(target, (piece.encode("utf-8") for piece in pieces))
    for problem in problems:
        output.note(str(replace(problem, path=world.here(where, problem.path))))
    if as_json:
        told = {"file": str(target), "files": count or len(chosen), "problems": [asdict(one) for one in problems]}
        output.say_json(told)
    elif target is not None:
        output.note(f"{count or len(chosen):,} files in {file}")
    if problems:
        raise typer.Exit(3)


def _is_whole(choice: Choice) -> bool:
    """Tell whether everything was asked for: then the settings come along."""
    return replace(choice, archived=False, kind=None) == Choice() and choice.kind in (None, ["all"])


def _wanted(choice: Choice, where: "Workspace") -> "Filter":
    """Take in what was superseded too: an export that left it out would lose it."""
    wanted = choice.filter(where, KINDS)
    return wanted if choice.status else replace(wanted, statuses=(*wanted.statuses, "superseded"))


def _target(where: "Workspace", file: str) -> Path:
    path = Path(file).expanduser().absolute()
    if path.is_dir():
        raise UsageError(f"{file} is a folder", "name a file")
    if path.is_relative_to(where.root) and where.layout.kind_of(path.relative_to(where.root).as_posix()):
        raise RefusedError(f"{file} would be one of the memories", "write the export elsewhere")
    return path


def _document(
    where: "Workspace", wanted: "Filter", chosen: list[tuple[str, str]], problems: "list[FileProblem]"
) -> Iterator[str]:
    from ..exchange.document import document, in_reading_order
    from ..exchange.export import parcels
    from ..index.index import ask

    rows = ask(where, lambda index: index.list_entries(wanted, "path"))
    ordered = in_reading_order(chosen, {row["path"]: row["type"] for row in rows})
    if len(ordered) < len(chosen):
        output.note(f"{len(chosen) - len(ordered)} conversations are left out of a document: use --format jsonl")
    yield from document(where, parcels(where, ordered, problems))
