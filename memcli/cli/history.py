"""`mem history`."""

from typing import Annotated

import typer

from ..api.history import add_history, add_note, read_history
from . import output, workspaces
from .app import STYLE
from .options import COMMON, Commands, Common
from .output import tell_redacted

history_app = Commands(help="Add to history, and show it.", no_args_is_help=True, **STYLE)


@history_app.command("add")
def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What happened; - reads standard input.")],
    common: Common = COMMON,
) -> None:
    """Add a record to the month's history; it is kept whole. Secrets are blanked out and told."""
    if text == "-":
        text = workspaces.standard_input("the record")
    where = workspaces.writing(common, make=True)
    done = add_history(where, text)
    tell_redacted(done.redacted)
    path = workspaces.here(where, done.path)
    if common.as_json:
        output.say_json(done.as_dict())
    elif output.is_watched():
        output.say_wrapped(f"recorded {done.id} ({path})")
    else:
        output.say_row(("recorded", done.id, path))


@history_app.command("show")
def show(
    since: Annotated[str, typer.Option(help="Only from then on: 2026-11-21, 2026-11, yesterday, 7d.")] = "",
    until: Annotated[str, typer.Option(help="Only up to then.")] = "",
    limit: Annotated[int, typer.Option("-n", "--limit", help="Only the last so many.", show_default="all")] = 0,
    common: Common = COMMON,
) -> None:
    """Show history, the oldest first: all files as one, each record once."""
    found_in = workspaces.reading(common)
    log = read_history(found_in, since=since, until=until, limit=limit)
    workspaces.tell_problems(found_in, log.problems)
    if common.as_json:
        output.say_json(log.as_dict())
    elif output.is_watched():
        for record in log.records:
            output.say(f"{record.text}\n")
        if not log.records and output.is_heard():
            output.note("no history yet: `mem consolidate` and `mem history add` write it")
    else:
        for line in log.records:
            output.say_row(
                (
                    line.id or f"{line.path}#L{line.line}",
                    line.timestamp,
                    line.text,
                )
            )


def note(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to note; - reads standard input.")] = "",
    user: Annotated[str, typer.Option(help="What the user said.")] = "",
    assistant: Annotated[str, typer.Option(help="What the assistant answered.")] = "",
    common: Common = COMMON,
) -> None:
    """Add a line to the notes of today.

    With --user and --assistant the line says both, cut to 200 and 300 characters. Secrets are blanked out and told.
    """
    if text == "-" and not (user or assistant):
        text = workspaces.standard_input("the note")
    where = workspaces.writing(common, make=True)
    done = add_note(where, text, user=user, assistant=assistant)
    tell_redacted(done.redacted)
    path = workspaces.here(where, done.path)
    if common.as_json:
        output.say_json(done.as_dict())
    elif output.is_watched():
        output.say_wrapped(f"noted in {path}")
    else:
        output.say_row(("noted", path))
