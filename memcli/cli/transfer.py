"""`mem export`."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..api.choice import Choice, require_types
from ..errors import RefusedError, UsageError
from ..store.workspace import nearest
from . import context, output
from .admission import AllowSecret, Judge, judge_of, relations, tell_redacted, tell_unheard
from .app import STYLE
from .options import AsJson, InScope, InWorkspace, choosing

if TYPE_CHECKING:
    from ..formats.text_lines import FileProblem
    from ..index.filters import Filter
    from ..store.workspace import Workspace


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
    from ..transfer.bundle import packed, settings_file
    from ..transfer.export import chosen_files, read_files

    if form not in FORMATS:
        raise UsageError(f"no format {form!r}", f"use {' or '.join(FORMATS)}")
    if as_json and file == "-":
        raise UsageError("standard output is the export itself", "name a file with -o, or leave out --json")
    where = context.writing(workspace, scope, "exported from", even_off=True)
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
        for one in read_files(where, chosen, problems):
            count += 1
            yield packed(one) + "\n"

    pieces = lines() if form == "jsonl" else _document(where, wanted, chosen, problems)
    if target is None:
        for piece in pieces:
            output.say(piece, end="", raw=form == "jsonl")
    else:
        from ..store.atomic_files import write_out

        write_out(target, (piece.encode("utf-8") for piece in pieces))
    for problem in problems:
        output.note(str(replace(problem, path=context.here(where, problem.path))))
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
    from ..index.index import ask
    from ..transfer.export import in_reading_order, markdown_document, read_files

    rows = ask(where, lambda index: index.list_entries(wanted, "path"))
    ordered = in_reading_order(chosen, {row["path"]: row["type"] for row in rows})
    if len(ordered) < len(chosen):
        output.note(f"{len(chosen) - len(ordered)} conversations are left out of a document: use --format jsonl")
    yield from markdown_document(where, read_files(where, ordered, problems))


import_app = typer.Typer(**STYLE)
TOLD = 10
"""Lines on stderr about what was not taken in; the rest is counted."""


@import_app.command("import")
@choosing
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An export in jsonl; - reads standard input.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done and do nothing.")] = False,
    no_dedup: Annotated[
        bool, typer.Option("--no-dedup", help="Keep memories as they are, whatever is known already; loads no model.")
    ] = False,
    judge: Judge = False,
    allow_secret: AllowSecret = False,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring memories in from an export, or from a JSONL file of another tool.

    Prints what is created. A file that is there already is passed over; one that is there and says something else is a
    conflict: it is named, and nothing is overwritten. A memory that says what another one here says is merged into it,
    and what contradicts is settled or marked, as `mem write` does; an export comes into an empty workspace byte for
    byte. Secrets are blanked out and named. Importing again, also after an interruption, goes on where it stopped.
    Besides mem's own lines it reads the graph of the MCP memory server, jcode's global.json and records with a content,
    one a line or as one document. What they say is retired stays so; vectors are left out. Exit code 3 where something
    was not taken in.
    """
    from ..index.index import ask
    from ..store.journal import finish_first
    from ..transfer.import_target import known_memories
    from ..transfer.importer import ImportedLine, Importer

    if Path(file).expanduser().is_dir():
        raise _is_folder(file)
    where = context.writing(workspace, scope, "imported into")
    if not dry_run:
        finish_first(where, "mem import")
    asked = judge_of(where, is_wanted=judge, no_dedup=no_dedup)
    counts: dict[str, int] = {}
    shown: list[ImportedLine] = []
    with context.opened(file, "lines", allow_secret=allow_secret) as stream:
        importer = Importer(
            where,
            _wanted_of_import_(choice, where),
            ask(where, known_memories),
            dedup=not no_dedup,
            judge=asked,
            dry_run=dry_run,
            allow_secret=allow_secret,
        )
        for outcome in importer.run(stream, _called(file)):
            counts[outcome.action] = counts.get(outcome.action, 0) + 1
            if outcome.action in ("conflict", "refused"):
                _complain(file, outcome, counts)
            elif outcome.action in ("created", "merged") and not as_json:
                _say(where, outcome, dry_run=dry_run)
            if as_json and outcome.action not in ("unchanged", "left out"):
                shown.append(outcome)
    for notice in importer.notices:
        output.note(notice)
    tell_unheard(importer.unheard)
    tell_redacted(importer.redacted)
    if as_json:
        rows: list[dict[str, Any]] = [asdict(one) for one in shown]
        redacted = [asdict(one) for one in importer.redacted]
        output.say_json({"dry_run": dry_run, "counts": counts, "files": rows, "redacted": redacted})
    elif counts:
        output.note(", ".join(f"{number:,} {action}" for action, number in sorted(counts.items())))
    else:
        output.note(f"{_called(file)} holds no memories")
    if counts.get("conflict") or counts.get("refused"):
        raise typer.Exit(3)
    if importer.unheard:
        raise typer.Exit(7)


def _is_folder(name: str) -> UsageError:
    """Say how the memories of a folder come in: the files of another tool are used where they are."""
    if nearest(Path(name).expanduser().resolve()) == Path(name).expanduser().resolve():
        return UsageError(f"{name} is a workspace", f"`mem export --workspace {name} | mem import -` brings it in")
    return UsageError(
        f"{name} is a folder, and an import is one file",
        f"`mem init {name}` uses markdown where it is; `mem import FILE` reads records",
    )


def _say(where: "Workspace", outcome: Any, *, dry_run: bool) -> None:
    """Say what was made, and what became of what stood before."""
    if outcome.action == "merged":
        output.say_row(("would merge" if dry_run else "merged", context.here(where, outcome.path), outcome.id))
        return
    remark = relations(outcome.supersedes, outcome.superseded_by, outcome.conflicts_with, outcome.likely_same)
    row = ("would create" if dry_run else "created", context.here(where, outcome.path))
    output.say_row((*row, remark) if remark else row)


def _complain(file: str, outcome: Any, counts: dict[str, int]) -> None:
    """Name what was not taken in; from many of a kind only the first are told."""
    if counts[outcome.action] <= TOLD:
        name = f"{outcome.path}: " if outcome.path else ""
        output.note(f"{_called(file)}:{outcome.line}: {name}{outcome.reason}")
    elif counts[outcome.action] == TOLD + 1:
        output.note("more of the same follows")


def _called(file: str) -> str:
    return "standard input" if file == "-" else file


def _wanted_of_import_(choice: Choice, where: "Workspace") -> "Filter":
    """Take everything the file holds unless told otherwise, archive and conversations included."""
    if choice.as_of:
        raise UsageError("--as-of asks what was believed here", "narrow an import with --since and --until")
    wanted = choice.filter(where)
    return wanted if choice.status else replace(wanted, statuses=())
