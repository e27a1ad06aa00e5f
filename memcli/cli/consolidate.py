"""`mem consolidate`."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO

import typer

from ..beliefs.plan import Plan, as_diff
from ..consolidation import consolidate as lifecycle
from ..consolidation.backlog import due
from ..consolidation.plan import Outcome
from ..errors import MemError, NotFoundError, RefusedError, UsageError
from ..formats.session_event import Event
from ..formats.session_metadata import folder_name
from ..llm.client import Llm
from ..llm.command import chosen_llm
from ..store.redaction import redactor
from ..store.sessions.sessions import METADATA, Session, at, find, sessions
from ..store.workspace import Workspace
from . import context, output, session_show, value_completion
from .admission import Judge, counted, document, judge_of, tell_redacted, tell_unheard
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet
from .proof import Proof, proof_document, proofs_of, tell_proof

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge

WAIT = 600.0
"""Seconds to wait for another consolidation, which may be asking an LLM."""


def consolidate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION...]",
            autocompletion=value_completion.sessions,
            help="Sessions, or files of transcripts; - reads one from standard input. Without: all that wait.",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every session with messages that wait.")] = False,
    since: Annotated[
        str,
        typer.Option("--since", metavar="TIME", help="Of these, only what went on then or later.", show_default=False),
    ] = "",
    dry_run: DryRun = False,
    since_git: Annotated[
        str,
        typer.Option("--since-git", metavar="REV..REV", help="Consolidate these commits instead.", show_default=False),
    ] = "",
    keep: Annotated[int, typer.Option(min=0, help="Leave this many of the latest messages for next time.")] = 0,
    prove: Annotated[
        bool, typer.Option("--prove", help="Say at the end which questions of these sessions memory now answers.")
    ] = False,
    judge: Judge = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Give up at once (75) when another one runs.")] = False,
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Turn conversations into history and memories.

    What is new since the last time becomes one history record, entries and lines of MEMORY.md; with an LLM in your
    own settings (llm.model or llm.command) it decides what is worth keeping, without one rules do. What is known
    already is confirmed; what contradicts it is flagged, or takes its place where it says so outright ("no longer
    …"), as `mem write` does. Messages stay due until all of it is on disk. When the LLM fails, the last messages go
    to history as they are, the exit code is 7, and the next run tries again. With --judge the LLM also says what a
    memory is to those that stand.
    """
    where = context.writing(workspace, scope)
    if not where.settings["consolidate.enabled"]:
        raise RefusedError("consolidation is switched off", "run `mem config set consolidate.enabled true`")
    if sum(map(bool, (everything, names, since_git))) > 1:
        raise UsageError("--all, --since-git and names of sessions", "give one of them")
    if since and (names or since_git):
        raise UsageError("--since is for all sessions that wait", "give --all with it")
    begun = where.moment("since", since)
    llm = chosen_llm(where.settings)
    asked = judge_of(where, is_wanted=judge)
    outcomes: list[Outcome] = []
    failures: list[MemError] = []
    if dry_run:
        for session, events in _previewed(where, names or (), since_git, begun):
            outcomes += lifecycle.preview(where, session, llm, keep=keep, events=events, judge=asked)
    else:
        chosen = _chosen(where, names or (), since_git, begun)
        outcomes, failures = _consolidated(where, chosen, llm, asked, keep=keep, wait=0.0 if no_wait else WAIT)
    done = dict.fromkeys(outcome.session for outcome in outcomes if outcome.how != "nothing")
    proofs = proofs_of(where, [find(where, one) for one in done]) if prove and not dry_run else []
    _tell(outcomes, proofs, dry_run=dry_run, quiet=quiet, as_json=as_json)
    for failure in failures:
        output.note(str(failure))
    if any(outcome.how == "fallback" or outcome.unheard for outcome in outcomes):
        raise typer.Exit(7)
    if failures:
        raise typer.Exit(3)


def _consolidated(
    where: Workspace, chosen: Sequence[Session], llm: Llm | None, judge: "LlmJudge | None", *, keep: int, wait: float
) -> tuple[list[Outcome], list[MemError]]:
    """Consolidate one after the other; what is wrong with one stops none of the rest."""
    outcomes: list[Outcome] = []
    failures: list[MemError] = []
    for done in lifecycle.consolidate_all(where, chosen, llm, keep=lambda _: keep, wait=wait, judge=judge):
        if isinstance(done, Outcome):
            outcomes.append(done)
        elif len(chosen) == 1:
            raise done
        else:
            failures.append(done)
    return outcomes, failures


def _chosen(where: Workspace, names: Sequence[str], since_git: str, since: str) -> list[Session]:
    """Find what is asked for; a transcript becomes a session first."""
    if since_git:
        from ..transcripts.live_events import commits, take_in_commits

        found = commits(since_git, context.surroundings().folder, where.root)
        return [take_in_commits(where, found)] if found.events else []
    if names:
        return [_known(where, name) or _brought_in(where, name) for name in names]
    for session in sessions(where):
        if session.problem:
            output.note(f"{session.problem}: {session.id} is passed over")
    return due(where, since=since)


def _previewed(
    where: Workspace, names: Sequence[str], since_git: str, since: str
) -> Iterator[tuple[Session, Sequence[Event] | None]]:
    """Find what is asked for without writing; what is in no session yet comes with its events."""
    if since_git:
        from ..transcripts.live_events import commits

        found = commits(since_git, context.surroundings().folder, where.root)
        new = at(where, f"sessions/{folder_name(found.session)}", found.session)
        page = replace(new.metadata, channel_type="git", channel_id=found.top)
        yield replace(new, metadata=page), found.events
    for name in names:
        session = _known(where, name)
        if session:
            yield session, None
            continue
        from ..transcripts.reader import read_transcript

        with _transcript(name) as (file, label):
            transcript = read_transcript(file, label, where.zone)
            guard = redactor(where, label)
            events = [guard.event(event) for event in transcript.events]
        yield at(where, f"sessions/{folder_name(transcript.session_id)}", transcript.session_id), events
    if not names and not since_git:
        yield from ((session, None) for session in due(where, since=since))


def _known(where: Workspace, name: str) -> Session | None:
    """Find a session by name; None where a file, or standard input, is meant."""
    if name == "-":
        return None
    try:
        return find(where, name)
    except NotFoundError:
        if Path(name).expanduser().is_dir():
            fix = "name a transcript in it, or a session: `mem session ls` lists them"
            raise UsageError(f"{name} is a folder", fix) from None
        if not Path(name).expanduser().is_file():
            raise NotFoundError(f"no session and no file {name!r}", "`mem session ls` lists the sessions") from None
        return None


def _brought_in(where: Workspace, name: str) -> Session:
    from ..transcripts.session_import import bring_in, own_id

    with _transcript(name) as (file, label):
        done = bring_in(where, file, label, "" if name == "-" else own_id(Path(name)))
    tell_redacted(done.redacted)
    if done.unreadable:
        output.note(f"{label}: {done.unreadable:,} parts could not be read")
    return done.session


@contextmanager
def _transcript(name: str) -> Iterator[tuple[BinaryIO, str]]:
    from ..transcripts.session_import import STANDARD_INPUT

    with context.opened(name, "the transcript") as file:
        yield file, STANDARD_INPUT if name == "-" else Path(name).name


def _tell(outcomes: Sequence[Outcome], proofs: Sequence[Proof], *, dry_run: bool, quiet: bool, as_json: bool) -> None:
    tell_redacted([one for outcome in outcomes for one in outcome.redacted])
    for outcome in outcomes:
        for remark in outcome.remarks:
            output.note(remark)
        if outcome.error:
            output.note(f"{outcome.session}: the LLM failed ({outcome.error}); the messages stay due")
        tell_unheard(outcome.unheard)
    if as_json:
        proved = {"proof": list(map(proof_document, proofs))} if proofs else {}
        output.say_json({"sessions": [_document(outcome, dry_run=dry_run) for outcome in outcomes], **proved})
        return
    done = [outcome for outcome in outcomes if outcome.how != "nothing"]
    if quiet:
        return
    for outcome in done:
        besides = [said for said in (counted(outcome.admitted),) if said]
        if dry_run:
            for reason in outcome.plan.reasons:
                output.note(reason)
            output.say(_diff(outcome), end="")
        elif output.is_watched():
            memories = "1 memory" if outcome.entries == 1 else f"{outcome.entries:,} memories"
            told = (f"{session_show.counted(outcome.messages, 'message')}, {memories}", *besides)
            output.say(f"{outcome.session}: {', '.join(told)} ({outcome.how})")
        else:
            output.say_row((outcome.session, outcome.how, outcome.messages, outcome.entries, *besides))
    for proof in proofs:
        tell_proof(proof)
    if not done and output.is_heard():
        output.note("nothing waits")


def _diff(outcome: Outcome) -> str:
    """Show the plan without the session's own page, which only counts how far it got."""
    steps = tuple(step for step in outcome.plan.steps if not step.path.endswith(f"/{METADATA}"))
    return as_diff(Plan(steps))


def _document(outcome: Outcome, *, dry_run: bool) -> dict[str, Any]:
    fields = {
        "session": outcome.session,
        "how": outcome.how,
        "messages": outcome.messages,
        "entries": outcome.entries,
        "memories": [document(one) for one in outcome.admitted],
        "paths": list(dict.fromkeys(step.path for step in outcome.plan.steps)),
        "remarks": list(outcome.remarks),
        "error": outcome.error,
        "redacted": [asdict(one) for one in outcome.redacted],
    }
    return {**fields, "diff": _diff(outcome)} if dry_run else fields
