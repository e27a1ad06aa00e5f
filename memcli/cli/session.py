"""`mem session`: keep conversations, bring them in from other tools, make them shorter, put them away."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from ..api import sessions as api
from ..api.workspace import Workspace
from ..errors import UsageError
from ..results import number_of
from . import completion, output, workspaces
from .app import STYLE
from .options import COMMON, Commands, Common, DryRun, Quiet
from .output import tell_redacted

if TYPE_CHECKING:
    from ..api.consolidate import RollupReport
    from ..api.sessions import ImportReport


Id = Annotated[
    str,
    typer.Argument(metavar="ID", autocompletion=completion.sessions, help="A session's id, or the beginning of it."),
]
WholeId = Annotated[str, typer.Argument(metavar="ID", autocompletion=completion.sessions, help="A session's whole id.")]
TOOL_TEXT = 500
"""Characters shown of what a tool was given or answered."""


def found(common: Common, name: str, *, strict: bool = False) -> tuple[Workspace, api.Session]:
    """Find a session in the first workspace that has it."""
    return api.find_session(workspaces.reading(common), name, strict=strict)


def ls(
    state: Annotated[str, typer.Option(help="Only in this state: ACTIVE, PAUSED or TERMINATED.")] = "",
    archived: Annotated[bool, typer.Option("--archived", help="Those in the archive instead.")] = False,
    common: Common = COMMON,
) -> None:
    """List sessions, the latest first.

    Prints id, state, messages, how many of them wait to be consolidated, when something was said last, and where.
    """
    listed = api.list_sessions(workspaces.reading(common), state=state, archived=archived)
    output.notes(listed.notices)
    if common.as_json:
        output.say_json(listed.as_dict())
        return
    rows = [(row.id, row.state, row.messages, row.waiting, row.updated_at[:16]) for row in listed.sessions]
    if not output.is_watched():
        for row, session in zip(rows, listed.sessions, strict=True):
            output.say_row((*row, workspaces.here(session.workspace, session.path)))
    elif not rows:
        output.note("no sessions")
    else:
        head = ("id", "state", "messages", "waiting", "changed")
        output.table(head, [tuple(map(str, row)) for row in rows])


def show(
    name: Id,
    span: Annotated[
        str, typer.Option("--range", metavar="A:B", help="Only these events, by position or by id.", show_default=False)
    ] = "",
    common: Common = COMMON,
) -> None:
    """Show what was said, with positions.

    What tools were given and answered is cut short; `mem read session:ID#12` and --json show the whole.
    """
    shown = api.show(workspaces.reading(common), name, span=span)
    if common.as_json:
        output.say_json(shown.as_dict())
        return
    for text in shown.texts(TOOL_TEXT):
        output.say(text)
    path = workspaces.here(shown.workspace, shown.path)
    output.problems([replace(problem, path=path) for problem in shown.problems])


def stats(name: Id, common: Common = COMMON) -> None:
    """Show how long a session is, against its limits, and what waits."""
    stats = api.stats(workspaces.reading(common), name)
    output.notes(stats.notices)
    if common.as_json:
        output.say_json(stats.as_dict())
        return
    over = f", past the {stats.passed} limit" if stats.passed else ""
    limits = f"{stats.soft_limit:,} (soft limit) and {stats.hard_limit:,} (hard limit)"
    for label, value in (
        ("session", stats.id),
        ("state", stats.state),
        ("messages", f"{stats.messages:,} of {number_of(stats.events, 'event')}"),
        ("tokens", f"about {stats.tokens:,} of {limits}{over}"),
        ("waiting", f"{stats.waiting:,} to be consolidated"),
        ("created", stats.created_at),
        ("updated", stats.updated_at),
    ):
        output.say_row((label, value))


def recap(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="A session; else the one used last.")] = "",
    common: Common = COMMON,
) -> None:
    """Show the history, last words and open questions of a session."""
    recap_of = api.recap(workspaces.reading(common), name)
    if common.as_json:
        output.say_json(recap_of.as_dict())
        return
    output.say_wrapped(f"Session {recap_of.session}, {recap_of.ended[:10]}, {number_of(recap_of.messages, 'message')}")
    if recap_of.history:
        output.say(recap_of.history)
    for message in recap_of.said:
        output.say_wrapped(f"{message.role.capitalize()}: {message.text}")
    for question in recap_of.open:
        output.say_wrapped(f"Open: {question}")


def handoff(
    name: Annotated[str, typer.Argument(metavar="[ID]", help="A session; else the one used last.")] = "",
    to: Annotated[
        str, typer.Option("--to", metavar="AGENT", help="Offer it to this agent alone.", show_default=False)
    ] = "",
    common: Common = COMMON,
) -> None:
    """Write what another session needs to go on with one.

    What was asked and done, decisions, what failed, open questions, files and the last words, in at most 4,000
    characters, beside the session's file, which git ignores. The next session that begins in this place is offered it
    once, by the hooks of whatever agent.
    """
    from ..integrations import AGENTS

    if to and to not in AGENTS:
        raise UsageError(f"no agent {to!r}", f"use one of {', '.join(AGENTS)}")
    written = api.hand_off(workspaces.reading(common), name, to)
    if common.as_json:
        output.say_json(written.as_dict())
        return
    output.say(written.text)
    output.note(f"the next session{f' of {to}' if to else ''} here is offered it once")


def rollup(
    project: Annotated[str, typer.Argument(metavar="[PROJECT]", help="Sum up the episodes of this project.")] = "",
    tag: Annotated[str, typer.Option("--tag", help="Those with this tag instead.", show_default=False)] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every project that has episodes.")] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    common: Common = COMMON,
) -> None:
    """Summarize the episodes of a project on one page.

    The page is entries/projects/PROJECT/summary.md, or entries/tags/TAG/summary.md, told by the LLM of your settings or
    in the episodes' own words. What you write outside its marks stays, and so do the episodes. Without new episodes
    nothing happens; when the LLM fails the exit code is 7 and the next run tries again. With --all it is 3
    where a page could not be changed, and the others are summed up.
    """
    from ..api import consolidate

    where = workspaces.writing(common)
    report = consolidate.rollup(where, project, tag=tag, everything=everything, dry_run=dry_run)
    failed = [page for page in report.summaries if page.error]
    for failure in report.failed:
        output.note(str(failure))
    for page in failed:
        output.note(f"{page.group.name}: the LLM failed ({page.error}); told in the episodes' own words")
    if common.as_json:
        output.say_json(report.as_dict())
    elif not quiet:
        _show_pages(where, report)
    if failed or report.failed:
        raise typer.Exit(7 if failed else 3)


def _show_pages(where: Workspace, report: "RollupReport") -> None:
    changed = [page for page in report.summaries if page.plan]
    for page in changed:
        if page.diff is None:
            output.say_row((workspaces.here(where, page.path), page.how, page.episodes))
        else:
            output.say(page.diff, end="")
    if not changed and output.is_heard():
        output.note("nothing new to sum up")


_Into = Annotated[str, typer.Option("--session", metavar="ID", help="Into this session.", show_default=False)]


def append(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help="JSON; - reads one event or many from standard input.")
    ] = "",
    into: _Into = "",
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.")] = "user",
    text: Annotated[str | None, typer.Option(help="What was said, or what the tool was given or answered.")] = None,
    tool: Annotated[str, typer.Option(metavar="NAME", help="The tool called; with --role tool, that answers.")] = "",
    error: Annotated[bool, typer.Option("--error", help="The tool failed.")] = False,
    timestamp: Annotated[str, typer.Option(metavar="TIME", help="When it was.", show_default="now")] = "",
    channel: Annotated[str, typer.Option(metavar="TYPE:ID", help="Where a new session takes place.")] = "",
    user: Annotated[str, typer.Option(metavar="ID", help="With whom.")] = "",
    project: Annotated[str, typer.Option(metavar="NAME", help="Of what comes of the session from now on.")] = "",
    state: Annotated[
        str, typer.Option(help="ACTIVE, PAUSED or TERMINATED: what the session is then.", show_default="ACTIVE")
    ] = "",
    common: Common = COMMON,
) -> None:
    """Add a message, a tool call or a tool's answer to a session.

    Without --session a new one is made. Secrets are blanked out and told; recalled memory and what harnesses put into
    prompts are left out. An event whose id stands there already is not added again. What the user asks to remember
    ("remember this: …") becomes memory at once.

    --project sets the project of what comes of the session; a line "project: NAME" of what is said does so too.
    --state and --project do for a session without an event.
    """
    given: str | api.NewEvent | list[dict[str, object]] = []
    if (event and text is not None) or not (event or text is not None or (into and (state or project))):
        raise UsageError("an event is given as JSON or by --role and --text", 'such as --role user --text "…"')
    if event:
        given = workspaces.standard_input("the event") if event == "-" else event
    elif text is not None:
        given = api.NewEvent(role, text, tool, timestamp, is_error=error)
    done = api.append(
        workspaces.writing(common, make=True),
        given,
        into,
        channel=channel,
        user=user,
        project=project,
        state=state,
    )
    tell_redacted(done.redacted)
    _tell_notices(done.session)
    output.notes(done.notices)
    if common.as_json:
        output.say_json(done.as_dict())
        return
    if output.is_watched():
        output.say_wrapped(f"added {number_of(done.added, 'event')} to {done.session.id}")
        for identifier in done.remembered:
            output.say(f"kept in memory as {identifier}")
    else:
        output.say_row(("added", done.session.id, *done.ids))
    _tell_skipped(done.skipped, done.known)


def import_(
    file: Annotated[
        str, typer.Argument(metavar="[PATH]", help="A transcript, an export or a folder; - reads standard input.")
    ] = "",
    everything: Annotated[bool, typer.Option("--all", help="All that agents have left on this machine.")] = False,
    since: Annotated[
        str, typer.Option("--since", help="Only what was said from then on: 2026-11, 30d.", show_default=False)
    ] = "",
    project: Annotated[
        list[str] | None,
        typer.Option("--project", metavar="DIR", help="Only conversations that took place in this folder."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would be brought in.")] = False,
    into: _Into = "",
    allow_secret: Annotated[
        bool, typer.Option("--allow-secret", help="Take files that a .secretsignore names; secrets are blanked out.")
    ] = False,
    common: Common = COMMON,
) -> None:
    """Bring conversations in from other tools.

    Reads transcripts and exports of {WRITERS}, JSON lines with role and content, and chats as text; the format is
    found by content. Imported again, only what is new is added. Exit code 3 when parts could not be read.

    --all looks where these tools keep their conversations. A conversation belongs into the workspace of the folder it
    took place in: in a project's workspace the others are left out, and `--scope user` takes those of no project.
    """
    where = workspaces.writing(common, make=True)
    if everything == bool(file):
        raise UsageError("say what to import", "give a file or a folder, or --all")
    if not everything and (file == "-" or not api.holds_many(where, file)):
        if since or project or dry_run:
            raise UsageError("--since, --project and --dry-run are for many conversations", "give a folder, or --all")
        _import_one(where, file, into, allow_secret=allow_secret, as_json=common.as_json)
        return
    if into:
        raise UsageError("--session and many conversations", "each goes into a session of its own")
    bar = output.Bar("reading conversations")
    projects = tuple(project or ())
    try:
        report = api.import_sessions(
            where, file, since=since, projects=projects, dry_run=dry_run, allow_secret=allow_secret, progress=bar
        )
    finally:
        bar.clear()
    _tell_report(report, dry_run=dry_run, as_json=common.as_json)
    if report.problems:
        raise typer.Exit(3)


def _import_one(where: Workspace, file: str, into: str, *, allow_secret: bool, as_json: bool) -> None:
    if file == "-":
        with workspaces.opened(file, "the transcript") as stream:
            done = api.import_transcript(where, stream, into)
    else:
        done = api.import_transcript(where, Path(file), into, allow_secret=allow_secret)
    tell_redacted(done.redacted)
    _tell_notices(done.session)
    if as_json:
        output.say_json(done.as_dict())
    elif output.is_watched():
        output.say_wrapped(f"imported {number_of(done.added, 'event')} into {done.session.id} ({done.format})")
    else:
        output.say_row(("imported", done.session.id, done.added, done.format))
    if not as_json:
        _tell_skipped(done.skipped, done.known)
    if done.unreadable:
        raise typer.Exit(3)


def _tell_notices(session: api.Session) -> None:
    output.notes(session.notices)


def _tell_skipped(skipped: Mapping[str, int], already_there: int) -> None:
    """Say on stderr what was left out, by reason."""
    if already_there:
        output.note(f"{number_of(already_there, 'event')} known already")
    if skipped:
        reasons = sorted(skipped.items(), key=lambda reason: (-reason[1], reason[0]))
        output.note("left out: " + ", ".join(f"{count:,} {reason}" for reason, count in reasons))


def _tell_report(report: "ImportReport", *, dry_run: bool, as_json: bool) -> None:
    """Say what became of many conversations, those of each tool in a line."""
    for path, reason in report.problems:
        output.note(f"{path}: {reason}")
    if report.redacted and not dry_run:
        places = len({secret.name for secret in report.redacted})
        output.note(f"{number_of(len(report.redacted), 'secret')} redacted in {number_of(places, 'conversation')}")
    if as_json:
        output.say_json(report.as_dict())
        return
    for session in report.sessions if dry_run else ():
        output.say_row((session.tool, session.session, session.started[:10], session.added, session.path))
    for tally in report.tools:
        tool = tally.tool
        sums = {"new": tally.new, "grown": tally.grown, "known": tally.known}
        left = [f"{count:,} {reason}" for reason, count in sorted(tally.left_out.items(), key=lambda item: -item[1])]
        if dry_run or output.is_watched():
            text = f"{tool}: {', '.join(f'{count:,} {what}' for what, count in sums.items() if count) or 'none taken'}"
            (output.note if dry_run else output.say)(f"{text}; left out: {', '.join(left)}" if left else text)
        else:
            output.say_row((tool, *sums.values(), *left))
    if not report.tools:
        output.note("no conversations found")
    elif output.is_heard() and not dry_run:
        if report.elsewhere:
            output.note("of other projects: `--scope user` takes those of no project, `--project DIR` those of one")
        if report.sessions:
            output.note(
                "`mem consolidate --all` makes memories of them, `mem search --kind session` finds what was said"
            )


def compact(
    name: Annotated[
        str, typer.Argument(metavar="[ID]", help="A session's id; without, all that are past the soft limit.")
    ] = "",
    keep: Annotated[int, typer.Option(min=1, help="Leave at least this many of the latest messages.")] = 20,
    force: Annotated[bool, typer.Option("--force", help="Also a session that is not past its limit.")] = False,
    common: Common = COMMON,
) -> None:
    """Make a long session shorter.

    Old messages become one summary, and move to the archive.

    Past the soft limit all but the last 20,000 tokens go, past the hard limit as much as is needed. What waits to be
    consolidated is consolidated first, or stays due in the archive. The summary is kept as an entry too.
    """
    opened = workspaces.reading(common) if name else workspaces.writing(common)

    def tell(where: Workspace, done: "api.Compacted") -> None:
        output.notes(done.notices)
        before, after = done.tokens_before, done.tokens_after
        path = workspaces.here(where, done.archived or "")
        if not common.as_json and done.moved and output.is_watched():
            what = number_of(done.moved, "event")
            output.say_wrapped(f"{done.session}: {what} moved to {path}, {before:,} to {after:,} tokens")
        elif not common.as_json and done.moved:
            output.say_row(("compacted", done.session, done.moved, before, after, path))
        elif not common.as_json and output.is_heard():
            output.note(f"{done.session}: nothing to do at {before:,} tokens; --force compacts it all the same")

    report = api.compact(opened, name, keep=keep, force=force, on_done=tell)
    if common.as_json:
        output.say_json(report.as_dict())
    if report.fell_back:
        raise typer.Exit(7)


session_app = Commands(
    help="Add, import, list, show, shorten and hand on conversations.", no_args_is_help=True, **STYLE
)


class _Import(TyperCommand):
    """`session import`: its help names the tools, which are looked up when it is shown."""

    @property
    def help(self) -> str:
        """Return the help."""
        from ..api.reference import transcript_writers

        *others, last = transcript_writers()
        return self._help.replace("{WRITERS}", f"{', '.join(others)} and {last}")

    @help.setter
    def help(self, text: str) -> None:
        self._help = text


session_app.command("append")(append)
session_app.command("import", cls=_Import, short_help="Bring conversations in from other tools.")(import_)
for command in (ls, show, stats, recap, compact, handoff, rollup):
    session_app.command(command.__name__)(command)


@session_app.command("clear")
def clear(name: WholeId, common: Common = COMMON) -> None:
    """Archive what was said, and begin anew under the same id."""
    done = api.clear(workspaces.reading(common), name)
    tell_redacted(done.redacted)
    output.notes(done.notices)
    if common.as_json:
        output.say_json(done.as_dict())
    elif done.archived:
        output.say_row(("cleared", done.session, workspaces.here(done.workspace, done.archived)))
    else:
        output.note(f"nothing was said in {done.session} yet")


@session_app.command("delete")
def delete(
    name: WholeId,
    purge: Annotated[bool, typer.Option("--purge", help="Delete it for good, archived parts too.")] = False,
    common: Common = COMMON,
) -> None:
    """Move a session to the archive, or delete it for good."""
    done = api.delete(workspaces.reading(common), name, purge=purge)
    if common.as_json:
        output.say_json(done.as_dict())
        return
    for path in done.paths:
        output.say_row((done.action, done.session, workspaces.here(done.workspace, path)))
