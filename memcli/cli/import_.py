"""`mem import`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from ..errors import UsageError
from . import output, world
from .app import STYLE
from .options import AsJson, Choice, InScope, InWorkspace, choosing

if TYPE_CHECKING:
    from ..index.filters import Filter
    from ..store.workspace import Workspace

app = typer.Typer(**STYLE)
TOLD = 10
"""Lines on stderr about what was not taken in; the rest is counted."""


@app.command("import")
@choosing
def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An export in jsonl; - reads standard input.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be done and do nothing.")] = False,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Bring memories in from an export, or from a JSONL file of another tool.

    Prints what is created. What is there already is passed over; what is there and says something else is a conflict:
    it is named, and nothing is overwritten. Importing again, also after an interruption, goes on where it stopped.
    Besides mem's own lines it reads the graph of the MCP memory server and records with a content. Exit code 3 where
    something was not taken in.
    """
    from ..exchange.intake import Intake, Outcome
    from ..index.index import Index, ask

    where = world.writing(workspace, scope, "imported into")

    def known(index: Index) -> dict[str, str]:
        index.refresh()
        return index.ids()

    counts: dict[str, int] = {}
    shown: list[Outcome] = []
    with _opened(file) as stream:
        intake = Intake(where, _wanted(choice, where), ask(where, known), dry_run=dry_run)
        for outcome in intake.run(stream):
            counts[outcome.action] = counts.get(outcome.action, 0) + 1
            if outcome.action in ("conflict", "refused"):
                _complain(file, outcome, counts)
            elif outcome.action == "created" and not as_json:
                output.say_row(("would create" if dry_run else "created", outcome.path))
            if as_json and outcome.action not in ("unchanged", "left out"):
                shown.append(outcome)
    if as_json:
        rows: list[dict[str, Any]] = [asdict(one) for one in shown]
        output.say_json({"dry_run": dry_run, "counts": counts, "files": rows})
    elif counts:
        output.note(", ".join(f"{number:,} {action}" for action, number in sorted(counts.items())))
    else:
        output.note(f"{file} holds no memories")
    if counts.get("conflict") or counts.get("refused"):
        raise typer.Exit(3)


def _complain(file: str, outcome: Any, counts: dict[str, int]) -> None:
    """Name what was not taken in; from many of a kind only the first are told."""
    if counts[outcome.action] <= TOLD:
        name = f"{outcome.path}: " if outcome.path else ""
        output.note(f"{file}:{outcome.line}: {name}{outcome.reason}")
    elif counts[outcome.action] == TOLD + 1:
        output.note("more of the same follows")


def _wanted(choice: Choice, where: "Workspace") -> "Filter":
    """Take everything the file holds unless told otherwise, archive and conversations included."""
    wanted = choice.filter(where)
    return wanted if choice.status else replace(wanted, statuses=())


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        if sys.stdin is None:
            raise UsageError("there is no standard input", "name a file")
        if world.at_terminal():
            output.note("reading lines from the terminal; end with Ctrl-D")
        yield sys.stdin.buffer
        return
    try:
        stream = Path(file).expanduser().open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {file}: {(error.strerror or str(error)).lower()}", "check the name") from None
    with stream:
        yield stream
