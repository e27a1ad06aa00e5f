"""`mem history`."""

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from ..errors import MemError, UsageError
from ..formats.history import exchange
from ..formats.text_lines import FileProblem
from . import context, output
from .admission import tell_redacted
from .app import STYLE
from .options import AsJson, InScope, InWorkspace

history_app = typer.Typer(help="Add to history, and show it.", no_args_is_help=True, **STYLE)


@history_app.command("add")
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
        text = context.standard_input("the record")
    where = context.writing(workspace, scope)
    cleaner = redactor(where, "the record")
    step = add_record(where, cleaner.text(text), context.noise(text))
    tell_redacted(cleaner.found)
    if as_json:
        redacted = [asdict(one) for one in cleaner.found]
        output.say_json({"id": step.mark, "path": step.path, "redacted": redacted})
    elif output.is_watched():
        output.say(f"recorded {step.mark} ({context.here(where, step.path)})")
    else:
        output.say_row(("recorded", step.mark, context.here(where, step.path)))


@history_app.command("show")
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
    found_in = context.reading(workspace, scope)
    for where in found_in:
        first, last = where.moment("since", since), where.moment("until", until, end=True)
        log = read_log(where)
        problems += [replace(one, scope=where.scope, left_out=True) for one in log.problems]
        for told in log.records:
            if (not first or told.record.timestamp >= first) and (not last or told.record.timestamp[:19] <= last[:19]):
                record = {"id": told.record.id, "timestamp": told.record.timestamp, "text": told.record.text}
                rows.append({**record, "path": told.path, "line": told.record.line, "scope": where.scope})
    rows.sort(key=lambda row: str(row["timestamp"]))
    rows = rows[-limit:] if limit else rows
    context.tell_problems(found_in, problems)
    if as_json:
        output.say_json({"records": rows, "problems": [asdict(one) for one in problems]})
    elif output.is_watched():
        for row in rows:
            output.say(f"{row['text']}\n")
    else:
        for row in rows:
            output.say_row((row["id"] or f"{row['path']}#L{row['line']}", row["timestamp"], row["text"]))


def note(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to note; - reads standard input.")] = "",
    user: Annotated[str, typer.Option(help="What the user said.")] = "",
    assistant: Annotated[str, typer.Option(help="What the assistant answered.")] = "",
    fail_safe: Annotated[
        bool, typer.Option("--fail-safe", help="For hooks: what goes wrong is only a warning, the exit code is 0.")
    ] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Add a line to the notes of today.

    With --user and --assistant the line says both, cut to 200 and 300 characters. Secrets are blanked out and told.
    """
    try:
        _note(text, user, assistant, workspace, scope, as_json=as_json)
    except MemError as error:
        if not fail_safe:
            raise
        output.note(f"not noted: {error}")


def _note(text: str, user: str, assistant: str, workspace: str, scope: str, *, as_json: bool) -> None:
    from ..store.history import add_note
    from ..store.redaction import redactor

    if bool(text) == bool(user or assistant):
        raise UsageError("a note is a text, or what was said by --user and --assistant", 'such as mem note "…"')
    if text == "-":
        text = context.standard_input("the note")
    if not (text + user + assistant).strip():
        raise UsageError("there is nothing to note", 'such as mem note "…"')
    where = context.writing(workspace, scope)
    cleaner = redactor(where, "the note")
    # Before it is cut: half a secret is one too, and no rule would see it.
    line = cleaner.text(text) if text else exchange(cleaner.text(user), cleaner.text(assistant))
    path, written = add_note(where, line)
    tell_redacted(cleaner.found)
    if as_json:
        output.say_json(
            {"path": path, "line": written.rstrip("\n"), "redacted": [asdict(one) for one in cleaner.found]}
        )
    elif output.is_watched():
        output.say(f"noted in {context.here(where, path)}")
    else:
        output.say_row(("noted", context.here(where, path)))
