"""`mem tend` and `mem index`."""

from dataclasses import replace
from typing import Annotated

import typer

from ..api import maintain
from ..errors import SwitchedOffError, UsageError
from ..results import number_of
from . import output, workspaces
from .options import COMMON, MORE, Common, Quiet


def tend(
    quiet: Quiet = False,
    common: Common = COMMON,
) -> None:
    """Do the upkeep that is due; meant for cron.

    Consolidates sessions with more than consolidate.window messages waiting, compacts those past their soft limit,
    sums up projects with new episodes, archives what has faded and promotes what is confirmed, where decay.auto and
    promote.auto say so, and brings the index up to date. Exits with 75 while another one runs, and with 3 when a
    task failed and others did not.
    A line for crontab: 17 3 * * * mem tend --quiet --workspace ~/memory
    """
    try:
        where = workspaces.writing(common)
    except SwitchedOffError as error:  # cron would mail it every night
        if common.as_json:
            output.say_json({"done": []})
        elif not quiet:
            output.note(error.message)
        return
    report = maintain.tend(where)
    for failure in report.errors:
        output.failure(failure, as_json=common.as_json)
    if common.as_json:
        output.say_json(report.as_dict())
    elif not quiet:
        for task in report.done:
            if task.said:
                output.say_row((task.task, task.said))
        if not report.errors and not any(task.said for task in report.done) and output.is_heard():
            output.note("nothing is due")
    if report.errors:
        raise typer.Exit(3 if report.done else report.errors[0].exit_code)


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what is in the index; embed nothing.")] = False,
    share: Annotated[bool, typer.Option("--share", help="Share the workspace on the server of index.dsn.")] = False,
    migrate: Annotated[
        bool,
        typer.Option(
            "--migrate", help="Make or update mem's tables on that server, as its administrator.", rich_help_panel=MORE
        ),
    ] = False,
    sql: Annotated[
        str,
        typer.Option(
            "--sql",
            metavar="WHOM",
            help="Print the SQL by which an administrator makes owner:NAME, proxy:NAME, or members:NAME,NAME of the"
            " workspace.",
            rich_help_panel=MORE,
            show_default=False,
        ),
    ] = "",
    common: Common = COMMON,
) -> None:
    """Update the index and embed every text.

    A search does this by itself for as many texts as its time allows; this does it for all. Files with problems are
    named, the rest goes through, and the exit code is 3; it is 75 where another process writes the index and texts are
    left without a vector.
    """
    modes = {"--rebuild": rebuild, "--status": status, "--share": share, "--migrate": migrate, "--sql": bool(sql)}
    if sum(modes.values()) > 1:
        raise UsageError(" and ".join(mode for mode, is_given in modes.items() if is_given), "give one of them")
    from ..api import stats

    if migrate or sql:
        if migrate:  # the administrator of the server needs no workspace, nor to make an owner
            lines = stats.migrate()
        elif sql.startswith("members"):
            lines = [stats.team_sql(workspaces.reading(common)[0], sql)]
        else:
            lines = [stats.team_sql(None, sql)]
        if common.as_json:
            output.say_json({"done": lines})
        else:
            output.say("\n".join(lines) or "the server's tables are up to date")
        return
    if share:
        stats.share(workspaces.writing(common))
    found_in = workspaces.reading(common)
    files, texts = output.Bar("reading files"), output.Bar("embedding texts")
    try:
        report = stats.index(found_in, rebuild=rebuild, status=status, reading=files, embedding=texts)
    finally:
        files.clear()
        texts.clear()
    if common.as_json:
        output.say_json(report.as_dict())
    else:
        for row in report.workspaces:
            output.say_wrapped(
                f"{row.workspace}: {number_of(row.files, 'file')} ({row.added:,} new, {row.changed:,} changed,"
                f" {row.removed:,} gone), {number_of(row.chunks, 'text')}, {row.not_embedded:,} not embedded"
                + (f", {row.pushed:,} pushed" if row.pushed else "")
                + (f", {row.behind:,} older than on the server" if row.behind else "")
            )
        for row in report.workspaces:
            for problem in row.faults:
                output.note(str(replace(problem, path=workspaces.here(row.where, problem.path))))
    for row in report.workspaces:
        if row.elsewhere:
            output.note(f"{row.workspace}: nothing can be written there: its index is kept in {row.elsewhere}")
        if row.unfinished:
            output.note(
                f"{row.workspace}: {number_of(row.not_embedded, 'text', 'is', 'are')} not embedded: {row.unfinished}"
            )
        if row.unreached:
            output.note(f"{row.workspace}: nothing went to the server: {row.unreached}")
    if report.error is not None:
        raise typer.Exit(report.error.exit_code)
    if report.problems:
        raise typer.Exit(3)
