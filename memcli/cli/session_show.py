"""`mem session ls`, `show`, `stats` and `recap`: conversations looked at."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..errors import NotFoundError, UsageError
from ..formats.session_metadata import STATES
from ..store.sessions.sessions import Session, counts, find, sessions
from ..store.workspace import Workspace
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


def found(workspace: str, scope: str, name: str, *, strict: bool = False) -> tuple[Workspace, Session]:
    """Find a session in the first workspace that has it."""
    missing: NotFoundError | None = None
    for where in context.reading(workspace, scope):
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


TOOL_TEXT = 500
"""Characters shown of what a tool was given or answered."""


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
    if state and state.upper() not in STATES:
        raise UsageError(f"no state {state!r}", f"use one of {', '.join(STATES)}")
    listed: list[tuple[str, dict[str, Any]]] = []  # a session with its place as the current folder has it
    for where in context.reading(workspace, scope):
        for session in sessions(where, archived=archived):
            complain(session)
            if not state or session.metadata.state == state.upper():
                place = context.here(where, session.folder)
                listed.append((place, {**_row(where, session), "scope": where.scope}))
    listed.sort(key=lambda one: str(one[1]["updated_at"]), reverse=True)
    rows = [row for _, row in listed]
    if as_json:
        output.say_json({"sessions": rows})
        return
    shown = [(row["id"], row["state"], row["messages"], row["waiting"], row["updated_at"][:16]) for row in rows]
    if output.is_watched():
        head = ("id", "state", "messages", "waiting", "changed")
        if not shown:
            output.note("no sessions")
        else:
            output.table(head, [tuple(map(str, one)) for one in shown], flexible=0)
    else:
        for one, (place, _) in zip(shown, listed, strict=True):
            output.say_row((*one, place))


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
    from ..formats.session_event import view
    from ..formats.text_lines import Problem
    from ..store.sessions.addresses import span_events

    where, session = found(workspace, scope, name)
    problems: list[Problem] = []
    events = span_events(where, session, span, problems)
    if as_json:
        rows = [
            {
                "position": position,
                "id": one.id,
                "type": one.type,
                "role": one.role,
                "content": one.text,
                "timestamp": one.timestamp,
                "name": one.name,
                "is_error": one.is_error,
                **{key: value for key, value in one.extra.items() if key != "content"},
            }
            for position, one in events
        ]
        wrong = [{"path": session.path, "line": one.line, "reason": one.reason} for one in problems]
        output.say_json({"id": session.id, "path": session.path, "events": rows, "problems": wrong})
        return
    for position, one in events:
        output.say(view(one, position, where.zone, TOOL_TEXT))
    output.problems([f"{context.here(where, session.path)}:{one.line}: {one.reason}" for one in problems])


def stats(name: Id, workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Show how long a session is, against its limits, and how much of it waits to be consolidated."""
    from ..consolidation.backlog import limits

    where, session = found(workspace, scope, name)
    complain(session)
    sums, most = counts(where, session), limits(where.settings)
    document = {
        **_row(where, session),
        "soft_limit": most.soft,
        "hard_limit": most.hard,
        "context_window": most.window,
        "unreadable": sums.unreadable,
    }
    if as_json:
        output.say_json(document)
        return
    page = session.metadata
    passed = "hard" if sums.tokens > most.hard else "soft" if sums.tokens > most.soft else ""
    over = f", past the {passed} limit" if passed else ""
    for label, value in (
        ("session", session.id),
        ("state", page.state),
        ("messages", f"{sums.messages:,} of {sums.events:,} events"),
        ("tokens", f"about {sums.tokens:,} of {most.soft:,} (soft limit) and {most.hard:,} (hard limit){over}"),
        ("waiting", f"{sums.waiting:,} to be consolidated"),
        ("created", page.created_at or sums.first),
        ("updated", page.updated_at or sums.last),
    ):
        output.say_row((label, value))


def recap(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="A session; else the one used last.")] = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Say what a new session should be told of an earlier one: its history, the last messages, what is open."""
    from ..consolidation import recap as recaps

    if name:
        where, session = found(workspace, scope, name)
    else:
        where = context.reading(workspace, scope)[0]
        last = recaps.latest(where)
        if last is None:
            raise NotFoundError("there is no session yet", "`mem session append` or `mem session import` begins one")
        session = last
    told = recaps.recap(where, session)
    if as_json:
        output.say_json(asdict(told))
        return
    output.say(f"Session {told.session}, {told.ended[:10]}, {counted(told.messages, 'message')}")
    if told.history:
        output.say(told.history)
    for one in told.said:
        output.say(f"{one.role.capitalize()}: {one.text}")
    for question in told.open:
        output.say(f"Open: {question}")


def _row(where: Workspace, session: Session) -> dict[str, Any]:
    sums, page = counts(where, session), session.metadata
    return {
        "id": session.id,
        "state": page.state,
        "channel_type": page.channel_type,
        "channel_id": page.channel_id,
        "user_id": page.user_id,
        "messages": sums.messages,
        "events": sums.events,
        "tokens": sums.tokens,
        "waiting": sums.waiting,
        "created_at": page.created_at or sums.first,
        "updated_at": page.updated_at or sums.last,
        "consolidated_to": page.consolidated_to,
        "path": session.folder,
    }
