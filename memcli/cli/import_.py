"""`mem import`."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import UsageError
from ..store.workspace import nearest
from . import output, world
from .admitted import Judge, judge_of, relations, tell_unheard
from .app import STYLE
from .guarded import AllowSecret
from .options import AsJson, Choice, InScope, InWorkspace, choosing
from .redacted import tell_redacted

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
    from ..exchange.admitting import known
    from ..exchange.intake import Intake, Outcome
    from ..index.index import ask
    from ..store.journal import finish_first

    if Path(file).expanduser().is_dir():
        raise _is_folder(file)
    where = world.writing(workspace, scope, "imported into")
    if not dry_run:
        finish_first(where, "mem import")
    asked = judge_of(where, is_wanted=judge, no_dedup=no_dedup)
    counts: dict[str, int] = {}
    shown: list[Outcome] = []
    with world.opened(file, "lines", allow_secret=allow_secret) as stream:
        intake = Intake(
            where,
            _wanted(choice, where),
            ask(where, known),
            dedup=not no_dedup,
            judge=asked,
            dry_run=dry_run,
            allow_secret=allow_secret,
        )
        for outcome in intake.run(stream, _called(file)):
            counts[outcome.action] = counts.get(outcome.action, 0) + 1
            if outcome.action in ("conflict", "refused"):
                _complain(file, outcome, counts)
            elif outcome.action in ("created", "merged") and not as_json:
                _say(where, outcome, dry_run=dry_run)
            if as_json and outcome.action not in ("unchanged", "left out"):
                shown.append(outcome)
    for notice in intake.notices:
        output.note(notice)
    tell_unheard(intake.unheard)
    tell_redacted(intake.redacted)
    if as_json:
        rows: list[dict[str, Any]] = [asdict(one) for one in shown]
        redacted = [asdict(one) for one in intake.redacted]
        output.say_json({"dry_run": dry_run, "counts": counts, "files": rows, "redacted": redacted})
    elif counts:
        output.note(", ".join(f"{number:,} {action}" for action, number in sorted(counts.items())))
    else:
        output.note(f"{_called(file)} holds no memories")
    if counts.get("conflict") or counts.get("refused"):
        raise typer.Exit(3)
    if intake.unheard:
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
        output.say_row(("would merge" if dry_run else "merged", world.here(where, outcome.path), outcome.id))
        return
    remark = relations(outcome.supersedes, outcome.superseded_by, outcome.conflicts_with, outcome.likely_same)
    row = ("would create" if dry_run else "created", world.here(where, outcome.path))
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


def _wanted(choice: Choice, where: "Workspace") -> "Filter":
    """Take everything the file holds unless told otherwise, archive and conversations included."""
    if choice.as_of:
        raise UsageError("--as-of asks what was believed here", "narrow an import with --since and --until")
    wanted = choice.filter(where)
    return wanted if choice.status else replace(wanted, statuses=())
