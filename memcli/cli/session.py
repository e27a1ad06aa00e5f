"""`mem session`: keep conversations, look at them, put them away."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..errors import MemError
from ..store.sessions.sessions import Session, counts, require_own, sessions
from ..store.workspace import Workspace
from . import context, output
from .admission import tell_redacted
from .app import STYLE
from .options import AsJson, InScope, InWorkspace
from .session_in import append, import_
from .session_show import WholeId, counted, found, ls, recap, show, stats

COMPACT_WAIT = 600.0
"""Seconds to wait for whoever thinks about conversations just now."""


def compact(
    name: Annotated[
        str, typer.Argument(metavar="[ID]", help="A session's id; without, all that are past the soft limit.")
    ] = "",
    keep: Annotated[int, typer.Option(min=1, help="Leave at least this many of the latest messages.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Also a session that is not past its limit.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Make a long session shorter: old messages become one summary, and move to the archive.

    Past the soft limit all but the last 20,000 tokens go, past the hard limit as much as is needed. What waits to be
    consolidated is consolidated first, or stays due in the archive. The summary is kept as an entry too.
    """
    from ..consolidation.backlog import is_long
    from ..llm.command import chosen_llm

    if name:
        where, session = found(workspace, scope, name, strict=True)
        chosen = [session]
    else:
        where = context.writing(workspace, scope)
        chosen = [one for one in sessions(where) if not one.problem and is_long(where, one)]
    llm = chosen_llm(where.settings)
    rows = [_one(where, one, llm, keep, force=force, told=not as_json) for one in chosen]
    if as_json:
        output.say_json({"sessions": rows})
    if any(one.get("how") == "fallback" for row in rows for one in row["consolidated"]):
        raise typer.Exit(7)


def _one(where: Workspace, session: Session, llm: Any, keep: int, *, force: bool, told: bool) -> dict[str, Any]:
    from ..consolidation.compaction import compact as shorten

    done = shorten(where, session, llm, keep=keep, force=force, wait=COMPACT_WAIT)
    if done.error:
        output.note(f"{done.session}: the LLM failed ({done.error}); the summary is made of what was said")
    for outcome in done.consolidated:
        if outcome.error:
            output.note(f"{outcome.session}: the LLM failed ({outcome.error}); the messages stay due")
    before, after = done.tokens
    place = context.here(where, done.place)
    if told and done.moved:
        if output.is_watched():
            what = counted(done.moved, "event")
            output.say(f"{done.session}: {what} moved to {place}, {before:,} to {after:,} tokens")
        else:
            output.say_row(("compacted", done.session, done.moved, before, after, place))
    elif told and output.is_heard():
        output.note(f"{done.session}: nothing to do at {before:,} tokens; --force compacts it all the same")
    return {
        "session": done.session,
        "moved": done.moved,
        "archived": done.place or None,
        "tokens_before": before,
        "tokens_after": after,
        "how": done.how or None,
        "summary": done.entry or None,
        "error": done.error,
        "consolidated": [
            {key: value for key, value in asdict(one).items() if key in ("how", "messages", "entries", "error")}
            for one in done.consolidated
        ],
    }


session_app = typer.Typer(help="Keep conversations, look at them, put them away.", no_args_is_help=True, **STYLE)
for command in (append, import_, ls, show, stats, recap, compact):
    session_app.command(command.__name__.rstrip("_"))(command)

WAIT, PARTS = 60.0, 3
"""Seconds that `clear` waits for its turn to consolidate, and parts of a conversation it has an LLM look at."""


@session_app.command("clear")
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
        output.say_row(("cleared", session.id, context.here(where, place)))
    else:
        output.note(f"nothing was said in {session.id} yet")


@session_app.command("delete")
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
            output.say_row((action, session.id, context.here(where, place)))


def _remember(workspace: Workspace, session: Session) -> None:
    """Consolidate what a session is about to lose; what fails stays due in the archive."""
    if not workspace.settings["consolidate.enabled"] or not counts(workspace, session).waiting:
        return
    from ..consolidation.consolidate import consolidate
    from ..llm.command import chosen_llm

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
