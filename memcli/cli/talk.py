"""What the commands of `mem session` share: finding a session, and talking about one."""

from typing import Annotated

import typer

from ..errors import NotFoundError
from ..store.sessions import Session, find
from ..store.workspace import Workspace
from . import complete, output, world

Id = Annotated[
    str,
    typer.Argument(metavar="ID", autocompletion=complete.sessions, help="A session's id, or the beginning of it."),
]
WholeId = Annotated[str, typer.Argument(metavar="ID", autocompletion=complete.sessions, help="A session's whole id.")]


def found(workspace: str, scope: str, name: str, *, strict: bool = False) -> tuple[Workspace, Session]:
    """Find a session in the first workspace that has it."""
    missing: NotFoundError | None = None
    for where in world.reading(workspace, scope):
        try:
            return where, find(where, name, strict=strict)
        except NotFoundError as error:
            missing = missing or error
    raise missing or NotFoundError(f"no session {name!r}")


def counted(number: int, what: str) -> str:
    """Write a number of things: `1 event`, `2 events`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def complain(session: Session) -> None:
    """Say what is wrong with a session's own page, if anything."""
    if session.problem:
        output.note(f"{session.problem}: left as it is; what it would say is counted anew each time")
