"""`mem sync`."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import sync as api
from ..api.sync import sync as synced
from ..api.workspace import Workspace
from ..errors import SwitchedOffError, UsageError
from . import context, output
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet

if TYPE_CHECKING:
    from ..api.sync import Synced


def sync(
    remote: Annotated[
        str,
        typer.Option(
            metavar="REMOTE", help="Exchange with this one, a name or an address.", show_default="the branch's own"
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Ask the remote and tell what would be done.")] = False,
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Exchange memories with other machines through git.

    Commits what is mem's in the workspace, and nothing else: counters and confirmations go into the files first.
    Fetches, merges, brings the index up to date and pushes; where another machine was faster, again. History is never
    rewritten, and nothing is signed. A secret in a commit that is not sent yet, and commits that somebody took from
    the remote since it was last seen here, are named and not sent. Exits with 5 where a person is needed: both sides
    changed one sentence, which is settled in the file that is named, or what is named stands in the way; run it again
    then. Exits with 3 where files were left out, commits of yours wait to be pushed, or there is no remote; with 6
    where the remote cannot be reached, and with 75 while another one runs. What was committed before stays committed.
    A line for crontab: */20 * * * * mem sync --quiet --workspace ~/memory
    """
    if scope == "all":
        raise UsageError("one workspace is synced at a time", "use --scope project or --scope user")
    try:
        where = context.reading(workspace, scope)[0]
    except SwitchedOffError as error:  # cron would mail it each time
        if not quiet:
            output.note(error.message)
        return
    report = synced(where, remote, dry_run=dry_run)
    if as_json:
        output.say_json(report.as_dict())
    else:
        _tell(where, report, quiet=quiet)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _tell(where: Workspace, done: "Synced", *, quiet: bool) -> None:
    to = f"{done.remote}/{done.branch}" if done.remote else ""
    rows = [("commit" if done.dry_run else "committed", done.committed)]
    if done.received:
        rows.append(("receive" if done.dry_run else "received", done.received + " (merged)" * done.is_merge))
    if done.sent:
        rows.append(("send" if done.dry_run else "sent", f"{output.number_of(done.sent, 'commit')} to {to}"))
    shown_rows = [row for row in rows if row[1]]
    if not quiet:
        for row in shown_rows:
            output.say_row(row)
        if not shown_rows and done.state == "synced":
            output.note(f"nothing to exchange with {to}")
    for notice in done.notices:
        output.note(notice)
    for problem in (*done.problems, *done.clashes):
        left_out = "" if problem in done.clashes else " (not committed)"
        output.note(f"{replace(problem, path=context.here(where, problem.path))}{left_out}")
    if done.ignored and not quiet:
        count = output.number_of(len(done.ignored), "file")
        why = f"`git check-ignore -v {context.here(where, done.ignored[0])}` tells by what rule"
        output.note(f"git is told to ignore {count} of memory, and none of it travels: {why}")
    if done.state == "clash":
        output.note("a person has to settle this: edit what stands between the markers, then run `mem sync` again")
    if done.state == "local":
        output.note(f"{done.repository} has no remote: add one with `git remote add origin ADDRESS`")


def undo(
    number: Annotated[
        int | None,
        typer.Argument(min=1, metavar="[ID]", help="The number of a command in the list.", show_default="the last one"),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show what can be taken back, the newest first.")] = False,
    dry_run: DryRun = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Take back what a command changed, exactly.

    Without an ID it is the last command that somebody typed and that was not taken back: once more takes back the one
    before. Files that were changed since, by hand, by git or by a later command, stand in the way: they are named, and
    nothing is changed. An undo is undone by its own number in the list. Noted are the last 50 commands of this machine,
    in `.mem/undo/`. Not taken back are `--purge`, redaction, what counts in `.mem/` alone, and what git brought:
    use git for that.
    """
    where = context.writing(workspace, scope, "taken back in")
    if listed:
        _list(api.list_undoable(where), as_json=as_json)
        return
    done = api.undo(where, number or 0, dry_run=dry_run)
    if as_json:
        output.say_json(done.as_dict())
    elif dry_run:
        output.say(done.diff, end="")
    else:
        output.say_row(("taken back", done.id, done.command, done.did))
    if done.passed and not as_json and output.is_heard():
        newest = done.passed[0]
        output.note(f"`mem {newest.command}` ran since, unasked: `mem undo {newest.id}` takes that back")
    for path, ours in done.unapplied:
        output.note(f"{context.here(where, path)} was changed meanwhile: our text is in {context.here(where, ours)}")
    if done.unapplied:
        raise typer.Exit(3)


def _list(undo_list: api.UndoList, *, as_json: bool) -> None:
    if as_json:
        output.say_json(undo_list.as_dict())
        return
    rows = [(str(row.id), row.at, f"{row.command}: {row.did}", row.state) for row in undo_list.commands]
    if output.is_watched() and rows:
        # The path of a file that stands in the way is left to `mem undo ID`, which names each.
        shown = [(*row[:3], row[3].rpartition(": ")[2]) for row in rows]
        output.table(("id", "when", "what it did", "state"), shown, flexible=2)
    else:
        for row in rows:
            output.say_row(row)
    if not rows and output.is_heard():
        output.note("nothing is noted")
    if undo_list.strangers:
        output.note(f"{undo_list.strangers:,} records in .mem/undo are not of this user's mem: they are never used")


def upgrade(dry_run: DryRun = False, workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Bring the files of a workspace to the format of this mem.

    Nothing is to be done but after an update whose notes say so; then all is changed or nothing, and `mem undo` takes
    it back. `mem.yaml` says the format a workspace has; a mem that knows only older ones refuses to work there.
    """
    where = context.writing(workspace, scope, "upgraded in")
    done = api.upgrade(where, dry_run=dry_run)
    if as_json:
        output.say_json(done.as_dict())
    elif dry_run:
        output.say(done.diff, end="")
    else:
        for line in done.changes:
            output.say(line)
    if not done.plan and not as_json and output.is_heard():
        output.note(f"nothing to upgrade: the workspace has format {done.from_}")
