"""`mem session compact`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..store.sessions import Session, sessions
from ..store.workspace import Workspace
from . import output, world
from .options import AsJson, InScope, InWorkspace
from .talk import counted, found

WAIT = 600.0
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
    from ..lifecycle.compact import is_long
    from ..lifecycle.llm.choice import chosen_llm

    if name:
        where, session = found(workspace, scope, name, strict=True)
        chosen = [session]
    else:
        where = world.writing(workspace, scope)
        chosen = [one for one in sessions(where) if not one.problem and is_long(where, one)]
    llm = chosen_llm(where.settings)
    rows = [_one(where, one, llm, keep, force=force, told=not as_json) for one in chosen]
    if as_json:
        output.say_json({"sessions": rows})
    if any(one.get("how") == "fallback" for row in rows for one in row["consolidated"]):
        raise typer.Exit(7)


def _one(where: Workspace, session: Session, llm: Any, keep: int, *, force: bool, told: bool) -> dict[str, Any]:
    from ..lifecycle.compact import compact as shorten

    done = shorten(where, session, llm, keep=keep, force=force, wait=WAIT)
    if done.error:
        output.note(f"{done.session}: the LLM failed ({done.error}); the summary is made of what was said")
    for outcome in done.consolidated:
        if outcome.error:
            output.note(f"{outcome.session}: the LLM failed ({outcome.error}); the messages stay due")
    before, after = done.tokens
    place = world.here(where, done.place)
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
