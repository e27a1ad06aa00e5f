"""`mem session ls`, `show`, `stats` and `recap`: conversations looked at."""

from dataclasses import replace
from typing import Annotated

import typer

from ..api import sessions as api
from ..api.workspace import Workspace
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace

Id = Annotated[
    str,
    typer.Argument(
        metavar="ID", autocompletion=value_completion.sessions, help="A session's id, or the beginning of it."
    ),
]
WholeId = Annotated[
    str, typer.Argument(metavar="ID", autocompletion=value_completion.sessions, help="A session's whole id.")
]
TOOL_TEXT = 500
"""Characters shown of what a tool was given or answered."""


def found(workspace: str, scope: str, name: str, *, strict: bool = False) -> tuple[Workspace, api.Session]:
    """Find a session in the first workspace that has it."""
    return api.find_session(context.reading(workspace, scope), name, strict=strict)


def ls(
    state: Annotated[str, typer.Option(help="Only in this state: ACTIVE, PAUSED or TERMINATED.")] = "",
    archived: Annotated[bool, typer.Option("--archived", help="Those in the archive instead.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """List sessions, the latest first.

    Prints id, state, messages, how many of them wait to be consolidated, when something was said last, and where.
    """
    listed = api.list_sessions(context.reading(workspace, scope), state=state, archived=archived)
    for notice in listed.notices:
        output.note(notice)
    if as_json:
        output.say_json(listed.as_dict())
        return
    rows = [(row.id, row.state, row.messages, row.waiting, row.updated_at[:16]) for row in listed.sessions]
    if not output.is_watched():
        for row, session in zip(rows, listed.sessions, strict=True):
            output.say_row((*row, context.here(session.workspace, session.path)))
    elif not rows:
        output.note("no sessions")
    else:
        head = ("id", "state", "messages", "waiting", "changed")
        output.table(head, [tuple(map(str, one)) for one in rows], flexible=0)


def show(
    name: Id,
    span: Annotated[
        str, typer.Option("--range", metavar="A:B", help="Only these events, by position or by id.", show_default=False)
    ] = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Show what was said, with positions.

    What tools were given and answered is cut short; `mem read session:ID#12` and --json show the whole.
    """
    shown = api.show(context.reading(workspace, scope), name, span=span)
    if as_json:
        output.say_json(shown.as_dict())
        return
    for text in shown.texts(TOOL_TEXT):
        output.say(text)
    path = context.here(shown.workspace, shown.path)
    output.problems([replace(problem, path=path) for problem in shown.problems])


def stats(name: Id, workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Show how long a session is, against its limits, and how much of it waits to be consolidated."""
    stats = api.stats(context.reading(workspace, scope), name)
    for notice in stats.notices:
        output.note(notice)
    if as_json:
        output.say_json(stats.as_dict())
        return
    over = f", past the {stats.passed} limit" if stats.passed else ""
    limits = f"{stats.soft_limit:,} (soft limit) and {stats.hard_limit:,} (hard limit)"
    for label, value in (
        ("session", stats.id),
        ("state", stats.state),
        ("messages", f"{stats.messages:,} of {stats.events:,} events"),
        ("tokens", f"about {stats.tokens:,} of {limits}{over}"),
        ("waiting", f"{stats.waiting:,} to be consolidated"),
        ("created", stats.created_at),
        ("updated", stats.updated_at),
    ):
        output.say_row((label, value))


def recap(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="A session; else the one used last.")] = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Say what a new session should be told of an earlier one: its history, the last messages, what is open."""
    told = api.recap(context.reading(workspace, scope), name)
    if as_json:
        output.say_json(told.as_dict())
        return
    output.say(f"Session {told.session}, {told.ended[:10]}, {output.number_of(told.messages, 'message')}")
    if told.history:
        output.say(told.history)
    for one in told.said:
        output.say(f"{one.role.capitalize()}: {one.text}")
    for question in told.open:
        output.say(f"Open: {question}")
