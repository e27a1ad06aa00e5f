"""`mem note`."""

from dataclasses import asdict
from typing import Annotated

import typer

from ..errors import MemError, UsageError
from ..text.note import exchange
from . import output, world
from .options import AsJson, InScope, InWorkspace
from .redacted import tell_redacted


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
    from ..store.notes import add_note
    from ..store.redaction import redactor

    if bool(text) == bool(user or assistant):
        raise UsageError("a note is a text, or what was said by --user and --assistant", 'such as mem note "…"')
    if text == "-":
        text = world.standard_input("the note")
    if not (text + user + assistant).strip():
        raise UsageError("there is nothing to note", 'such as mem note "…"')
    where = world.writing(workspace, scope)
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
        output.say(f"noted in {world.here(where, path)}")
    else:
        output.say_row(("noted", world.here(where, path)))
