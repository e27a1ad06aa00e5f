"""`mem sync`."""

from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from ..api.sync import sync as synced
from ..api.workspace import Workspace
from ..errors import SwitchedOffError, UsageError
from ..results import number_of
from . import output, workspaces
from .options import COMMON, Common, Quiet

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
    common: Common = COMMON,
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
    if common.scope == "all":
        raise UsageError("one workspace is synced at a time", "use --scope project or --scope user")
    try:
        where = workspaces.reading(common)[0]
    except SwitchedOffError as error:  # cron would mail it each time
        if not quiet:
            output.note(error.message)
        return
    report = synced(where, remote, dry_run=dry_run)
    if common.as_json:
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
        rows.append(("send" if done.dry_run else "sent", f"{number_of(done.sent, 'commit')} to {to}"))
    shown_rows = [row for row in rows if row[1]]
    if not quiet:
        for row in shown_rows:
            output.say_row(row)
        if not shown_rows and done.state == "synced":
            output.note(f"nothing to exchange with {to}")
    output.notes(done.notices)
    for problem in (*done.problems, *done.clashes):
        left_out = "" if problem in done.clashes else " (not committed)"
        output.note(f"{replace(problem, path=workspaces.here(where, problem.path))}{left_out}")
    if done.ignored and not quiet:
        count = number_of(len(done.ignored), "file")
        why = f"`git check-ignore -v {quote(workspaces.here(where, done.ignored[0]))}` tells by what rule"
        output.note(f"git is told to ignore {count} of memory, and none of it travels: {why}")
    if done.state == "clash":
        output.note("a person has to settle this: edit what stands between the markers, then run `mem sync` again")
    if done.state == "local":
        output.note(f"{done.repository} has no remote: add one with `git remote add origin ADDRESS`")
