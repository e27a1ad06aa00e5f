"""`mem consolidate`."""

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Annotated, Any, BinaryIO

import typer

from ..api import consolidate as api
from ..errors import UsageError
from ..results import number_of
from . import completion, output, workspaces
from .options import COMMON, Common, DryRun, Judge, Quiet
from .output import counted, judge_progress, tell_redacted, tell_unheard


def consolidate(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SESSION...]",
            autocompletion=completion.sessions,
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
    ask: Annotated[bool, typer.Option("--ask", help="Print what an LLM would be asked about a session.")] = False,
    answer: Annotated[
        str,
        typer.Option("--answer", metavar="FILE", help="Take this reply for the LLM's; - reads it from standard input."),
    ] = "",
    upto: Annotated[
        str, typer.Option("--upto", metavar="FIRST..LAST", help="It is about these messages, as --ask said.")
    ] = "",
    judge: Judge = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Give up at once (75) when another one runs.")] = False,
    quiet: Quiet = False,
    common: Common = COMMON,
) -> None:
    """Turn conversations into history and memories.

    What is new since the last time becomes one history record, entries and lines of MEMORY.md; with an LLM in your
    own settings (llm.model or llm.command) it decides what is worth keeping, without one rules do. What is known
    already is confirmed; what contradicts it is flagged, or takes its place where it says so outright ("no longer
    …"), as `mem write` does. Messages stay due until all of it is on disk. When the LLM fails, the last messages go
    to history as they are, the exit code is 7, and the next run tries again. With --judge the LLM also says what a
    memory is to those that stand.

    An agent can answer in the LLM's place: --ask prints the question about a session and writes nothing, --answer takes
    the reply as it would the LLM's. What repeats whole sentences of the user is the user's, what rewords them is
    observed and has the sentence in its sources. A reply that cannot be read changes nothing (exit code 2).
    """
    where = workspaces.writing(common)
    if sum(map(bool, (everything, names, since_git))) > 1:
        raise UsageError("--all, --since-git and names of sessions", "give one of them")
    if since and (names or since_git):
        raise UsageError("--since is for all sessions that wait", "give --all with it")
    _require_one_answer(names or [], ask, answer, upto, is_more=bool(everything or since or since_git))
    reply = workspaces.text_of(answer, "the reply") if answer else ""
    with ExitStack() as files:
        asked: list[str | BinaryIO] = [
            files.enter_context(workspaces.opened(name, "the transcript")) if name == "-" else name
            for name in names or ()
        ]
        if ask:
            _tell_request(api.reply_request(where, asked[0], keep=keep), (names or [""])[0], as_json=common.as_json)
            return
        how: dict[str, Any] = {"keep": keep, "dry_run": dry_run, "judge": judge, "wait": 0.0 if no_wait else api.WAIT}
        report = (
            api.hand_in(where, asked[0], reply, upto=upto, **how)
            if answer
            else api.consolidate(where, asked, since=since, commits=since_git, progress=judge_progress(), **how)
        )
    _tell_remarks(report)
    if report.failed and report.asked == 1:
        raise report.failed[0]
    if common.as_json:
        output.say_json(report.as_dict())
    elif not quiet:
        _tell(report)
    for failure in report.failed:
        output.note(str(failure))
    if report.is_partial:
        raise typer.Exit(7)
    if report.failed:
        raise typer.Exit(3)


def _require_one_answer(names: Sequence[str], ask: bool, answer: str, upto: str, *, is_more: bool) -> None:
    """Raise UsageError where a question, or a reply, is not about one session."""
    if (ask and answer) or (upto and not answer):
        raise UsageError("--ask shows the question, --answer takes the reply, up to --upto", "give one of them")
    if answer and not upto:
        raise UsageError("what was said since the question would be passed over", "give --upto, as --ask said it")
    if (ask or answer) and (is_more or len(names) != 1):
        raise UsageError("an LLM is asked about one session at a time", "name it")
    if answer == "-" and "-" in names:
        raise UsageError("the session and the reply cannot both be standard input", "name a file")


def _tell_request(request: "api.ReplyRequest", name: str, *, as_json: bool) -> None:
    if as_json:
        output.say_json(request.as_dict())
        return
    if request.upto:
        output.say("\n".join(message["content"] for message in request.messages))
        rest = f"; {request.parts - 1} more parts wait" if request.parts > 1 else ""
        words = ("consolidate", name, "--answer", "REPLY" if name == "-" else "-", "--upto", request.upto)
        output.note(f"hand in: mem {shlex.join(words)}{rest}")
    else:
        output.note("nothing waits")


def _tell_remarks(report: "api.ConsolidationReport") -> None:
    """Say what was passed over, which secrets were blanked out, and what an LLM did not do."""
    output.notes(report.notices)
    for name, session in report.imported:
        tell_redacted(session.redacted)
        if session.unreadable:
            output.note(f"{name}: {number_of(session.unreadable, 'part')} could not be read")
    tell_redacted([secret for session in report.sessions for secret in session.redacted])
    for done in report.sessions:
        for remark in done.remarks:
            output.note(remark)
        if done.error:
            output.note(f"{done.session}: the LLM failed ({done.error}); the messages stay due")
        tell_unheard(done.unheard)


def _tell(report: "api.ConsolidationReport") -> None:
    done = [session for session in report.sessions if session.how != "nothing"]
    for session in done:
        besides = [remark for remark in (counted(session.memories),) if remark]
        if session.diff is not None:
            for reason in session.plan.reasons:
                output.note(reason)
            output.say(session.diff, end="")
        elif output.is_watched():
            parts = (number_of(session.messages, "message"), number_of(session.entries, "memory"), *besides)
            output.say_wrapped(f"{session.session}: {', '.join(parts)} ({session.how})")
        else:
            output.say_row((session.session, session.how, session.messages, session.entries, *besides))
    if not done and output.is_heard():
        output.note("nothing waits")
