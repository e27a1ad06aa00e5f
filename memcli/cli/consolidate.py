"""`mem consolidate`."""

import io
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import NotFoundError, UsageError
from ..lifecycle.consolidate import Outcome
from ..lifecycle.consolidate import consolidate as remember
from ..lifecycle.llm_choice import chosen_llm
from ..lifecycle.plan import shown
from ..store.sessions import Session, find, sessions
from ..store.workspace import Workspace
from . import complete, output, world
from .options import AsJson, InScope, InWorkspace
from .redacted import tell_redacted


def consolidate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION...]",
            autocompletion=complete.sessions,
            help="Sessions, or files of transcripts; - reads one from standard input. Without: all that wait.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every session with messages that wait.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written, as a diff.")] = False,
    since_git: Annotated[
        str,
        typer.Option("--since-git", metavar="REV..REV", help="Consolidate these commits instead.", show_default=False),
    ] = "",
    keep: Annotated[int, typer.Option(help="Leave this many of the latest messages for next time.")] = 0,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Give up at once (75) when another one runs.")] = False,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say nothing unless something is wrong.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Turn conversations into history and memories.

    What is new since the last time becomes one history record, entries and lines of MEMORY.md; with an LLM in your own
    settings (llm.model or llm.command) it decides what is worth keeping, without one rules do. Messages stay due until
    all of it is on disk. When the LLM fails, the last messages go to history as they are, the exit code is 7, and the
    next run tries again.
    """
    where = world.writing(workspace, scope)
    if not where.settings["consolidate.enabled"]:
        raise UsageError("consolidation is switched off", "run `mem config set consolidate.enabled true`")
    if everything and names:
        raise UsageError("--all and names", "give one of them")
    llm = chosen_llm(where.settings)
    wait = 0.0 if no_wait else max(where.settings["lock.wait"], 600.0)
    if since_git:
        from ..exchange.commits import take_in_commits

        chosen = [take_in_commits(where, since_git, world.surroundings().folder)]
    elif names:
        chosen = [_session(where, name) for name in names]
    else:
        chosen = [one for one in sessions(where) if not one.problem]
    outcomes: list[Outcome] = []
    for session in chosen:
        outcomes += remember(where, session, llm, keep=keep, wait=wait, dry_run=dry_run)
    _tell(outcomes, dry_run=dry_run, quiet=quiet, as_json=as_json)
    if any(outcome.how == "fallback" for outcome in outcomes):
        raise typer.Exit(7)


def _session(where: Workspace, name: str) -> Session:
    """Take a name as a session's, else as a file of a transcript, which becomes a session first."""
    if name != "-":
        try:
            return find(where, name)
        except NotFoundError:
            if not Path(name).is_file():
                raise
    from ..exchange.conversation import bring_in

    if name == "-":
        data = world.standard_input("the transcript").encode()
        return bring_in(where, io.BytesIO(data), "standard input").session
    with Path(name).open("rb") as file:
        return bring_in(where, file, name).session


def _tell(outcomes: list[Outcome], *, dry_run: bool, quiet: bool, as_json: bool) -> None:
    tell_redacted([one for outcome in outcomes for one in outcome.redacted])
    for outcome in outcomes:
        for remark in outcome.remarks:
            output.note(remark)
        if outcome.error:
            output.note(f"{outcome.session}: the LLM failed ({outcome.error}); the messages stay due")
    if as_json:
        output.say_json({"sessions": [_document(outcome, dry_run=dry_run) for outcome in outcomes]})
        return
    done = [outcome for outcome in outcomes if outcome.how != "nothing"]
    if quiet:
        return
    for outcome in done:
        if dry_run:
            output.say(shown(outcome.plan), end="")
        elif output.is_watched():
            output.say(f"{outcome.session}: {outcome.messages} messages, {outcome.entries} memories ({outcome.how})")
        else:
            output.say_row((outcome.session, outcome.how, outcome.messages, outcome.entries))
    if not done and output.is_heard():
        output.note("nothing waits")


def _document(outcome: Outcome, *, dry_run: bool) -> dict[str, Any]:
    fields = {
        "session": outcome.session,
        "how": outcome.how,
        "messages": outcome.messages,
        "entries": outcome.entries,
        "paths": list(dict.fromkeys(step.path for step in outcome.plan.steps)),
        "remarks": list(outcome.remarks),
        "error": outcome.error,
        "redacted": [asdict(one) for one in outcome.redacted],
    }
    return {**fields, "diff": shown(outcome.plan)} if dry_run else fields
