"""`mem history`."""

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from ..errors import UsageError
from ..text.problem import FileProblem
from . import output, world
from .app import STYLE
from .options import AsJson, InScope, InWorkspace, moment_of
from .redacted import tell_redacted

app = typer.Typer(help="Add to history, and show it.", no_args_is_help=True, **STYLE)


@app.command("add")
def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened; - reads standard input.")],
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Add a record to the month's history; it is kept whole. Secrets are blanked out and told."""
    from ..store.history import add_record
    from ..store.redaction import redactor

    if text == "-":
        text = world.standard_input("the record")
    where = world.writing(workspace, scope)
    cleaner = redactor(where, "the record")
    step = add_record(where, cleaner.text(text), world.noise(text))
    tell_redacted(cleaner.found)
    if as_json:
        redacted = [asdict(one) for one in cleaner.found]
        output.say_json({"id": step.mark, "path": step.path, "redacted": redacted})
    elif output.is_watched():
        output.say(f"recorded {step.mark} ({world.here(where, step.path)})")
    else:
        output.say_row(("recorded", step.mark, world.here(where, step.path)))


@app.command("show")
def show(
    since: Annotated[str, typer.Option(help="Only from then on: 2026-11-21, 2026-11, yesterday, 7d.")] = "",
    until: Annotated[str, typer.Option(help="Only up to then.")] = "",
    limit: Annotated[int, typer.Option("-n", "--limit", help="Only the last so many.", show_default="all")] = 0,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show history, the oldest first: all files as one, each record once."""
    from ..store.history import read_log

    if limit < 0:
        raise UsageError(f"-n {limit}", "ask for at least one, or leave it out for all")
    rows: list[dict[str, Any]] = []
    problems: list[FileProblem] = []
    found_in = world.reading(workspace, scope)
    for where in found_in:
        first, last = moment_of("since", since, where, end=False), moment_of("until", until, where, end=True)
        log = read_log(where)
        problems += [replace(one, scope=where.scope, left_out=True) for one in log.problems]
        for told in log.records:
            if (not first or told.record.timestamp >= first) and (not last or told.record.timestamp[:19] <= last[:19]):
                record = {"id": told.record.id, "timestamp": told.record.timestamp, "text": told.record.text}
                rows.append({**record, "path": told.path, "line": told.record.line, "scope": where.scope})
    rows.sort(key=lambda row: str(row["timestamp"]))
    rows = rows[-limit:] if limit else rows
    world.tell_problems(found_in, problems)
    if as_json:
        output.say_json({"records": rows, "problems": [asdict(one) for one in problems]})
    elif output.is_watched():
        for row in rows:
            output.say(f"{row['text']}\n")
    else:
        for row in rows:
            output.say_row((row["id"] or f"{row['path']}#L{row['line']}", row["timestamp"], row["text"]))
