"""`mem session`: keep conversations, look at them, put them away."""

from typing import Annotated

import typer

from ..errors import MemError
from ..store.sessions import Session, counts, require_own
from ..store.workspace import Workspace
from . import output, world
from .app import STYLE
from .options import AsJson, InScope, InWorkspace
from .redacted import tell_redacted
from .session_compact import compact
from .session_in import append, import_
from .session_show import ls, recap, show, stats
from .talk import WholeId, found

app = typer.Typer(help="Keep conversations, look at them, put them away.", no_args_is_help=True, **STYLE)
for command in (append, import_, ls, show, stats, recap, compact):
    app.command(command.__name__.rstrip("_"))(command)

WAIT, PARTS = 60.0, 3
"""Seconds that `clear` waits for its turn to consolidate, and parts of a conversation it has an LLM look at."""


@app.command("clear")
def clear(name: WholeId, workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Begin a session anew under its id; what was said so far goes to the archive."""
    from ..store.sessions.archive import reset

    where, session = found(workspace, scope, name, strict=True)
    require_own(session)
    _remember(where, session)
    place = reset(where, session)
    if as_json:
        output.say_json({"session": session.id, "archived": place or None})
    elif place:
        output.say_row(("cleared", session.id, world.here(where, place)))
    else:
        output.note(f"nothing was said in {session.id} yet")


@app.command("delete")
def delete(
    name: WholeId,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it for good, archived parts too.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Move a session to the archive, or delete it for good."""
    from ..store.sessions import archive as session_archive

    where, session = found(workspace, scope, name, strict=True)
    places = session_archive.purge(where, session) if purge else [session_archive.archive(where, session)]
    action = "purged" if purge else "archived"
    if as_json:
        output.say_json({"session": session.id, "action": action, "paths": places})
    else:
        for place in places:
            output.say_row((action, session.id, world.here(where, place)))


def _remember(workspace: Workspace, session: Session) -> None:
    """Consolidate what a session is about to lose; what fails stays due in the archive."""
    if not workspace.settings["consolidate.enabled"] or not counts(workspace, session).waiting:
        return
    from ..lifecycle.consolidate import consolidate
    from ..lifecycle.llm.choice import chosen_llm

    try:
        outcomes = consolidate(workspace, session, chosen_llm(workspace.settings), wait=WAIT, most=PARTS)
    except MemError as error:
        output.note(f"not consolidated yet ({error.message}): `mem consolidate` does it from the archive")
        return
    for outcome in outcomes:
        tell_redacted(outcome.redacted)
        for remark in outcome.remarks:
            output.note(remark)
        if outcome.error:
            output.note(f"the LLM failed ({outcome.error}): `mem consolidate` tries again from the archive")
