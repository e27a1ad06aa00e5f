"""`mem tend` and `mem index`."""

from dataclasses import replace
from typing import Annotated

import typer

from ..api import maintain
from ..errors import SwitchedOffError, UsageError
from . import context, output
from .options import AsJson, InScope, InWorkspace, Quiet


def tend(
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Do the upkeep that is due; meant for cron.

    Consolidates sessions with more than consolidate.window messages waiting, compacts those past their soft limit,
    sums up projects with new episodes, archives what has faded and promotes what is confirmed, where decay.auto and
    promote.auto say so, and brings the index up to date. Exits with 75 while another one runs, and with 3 when a
    task failed and others did not.
    A line for crontab: 17 3 * * * mem tend --quiet --workspace ~/memory
    """
    try:
        where = context.writing(workspace, scope)
    except SwitchedOffError as error:  # cron would mail it every night
        if as_json:
            output.say_json({"done": []})
        elif not quiet:
            output.note(error.message)
        return
    found = maintain.tend(where)
    done = found.done
    failed = [one.error for one in done if one.error]
    for one in done:
        if one.error:
            output.failure(one.error, as_json=as_json)
    if as_json:
        output.say_json(found.as_dict())
    elif not quiet:
        for one in done:
            if one.said:
                output.say_row((one.name, one.said))
        if not any(one.said or one.error for one in done) and output.is_heard():
            output.note("nothing is due")
    if failed:
        raise typer.Exit(3 if len(failed) < len(done) else failed[0].exit_code)


def index(
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Throw the index away and make it anew.")] = False,
    status: Annotated[bool, typer.Option("--status", help="Show what is in the index; embed nothing.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Update the index and embed every text.

    A search does this by itself for as many texts as its time allows; this does it for all. Files with problems are
    named, the rest goes through, and the exit code is 3; it is 75 where another process writes the index and texts are
    left without a vector.
    """
    if rebuild and status:
        raise UsageError("--rebuild and --status", "give one of them")
    from ..api.stats import index as indexed

    found_in = context.reading(workspace, scope)
    files, texts = output.Bar("reading files"), output.Bar("embedding texts")
    try:
        found = indexed(found_in, rebuild=rebuild, status=status, reading=files, embedding=texts)
    finally:
        files.clear()
        texts.clear()
    if as_json:
        output.say_json(found.as_dict())
    else:
        for one in found.workspaces:
            output.say(
                f"{one.workspace.root}: {one.files:,} files ({one.added:,} new, {one.changed:,} changed,"
                f" {one.removed:,} gone), {one.chunks:,} texts, {one.not_embedded:,} not embedded"
            )
        for one in found.workspaces:
            for problem in one.problems:
                output.note(str(replace(problem, path=context.here(one.workspace, problem.path))))
    for one in found.workspaces:
        root = one.workspace.root
        if one.elsewhere:
            output.note(f"{root}: nothing can be written there: its index is kept in {one.elsewhere}")
        if one.unfinished:
            output.note(f"{root}: {one.not_embedded:,} texts are not embedded: {one.unfinished}")
    if found.error is not None:
        raise typer.Exit(found.error.exit_code)
    if found.problems:
        raise typer.Exit(3)
