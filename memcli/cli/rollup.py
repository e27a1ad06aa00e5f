"""`mem rollup`."""

from typing import Annotated, Any

import typer

from ..errors import RefusedError, UsageError
from ..lifecycle.llm.choice import chosen_llm
from ..lifecycle.plan import applied, shown
from ..lifecycle.rollup import Group, RolledUp, groups, rollup_plan
from ..store.workspace import Workspace
from . import output, world
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet


def rollup(
    project: Annotated[str, typer.Argument(metavar="[PROJECT]", help="Sum up the episodes of this project.")] = "",
    tag: Annotated[str, typer.Option("--tag", help="Those with this tag instead.", show_default=False)] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every project that has episodes.")] = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Sum up the episodes of a project in one page.

    The page is entries/projects/PROJECT/summary.md, or entries/tags/TAG/summary.md, told by the LLM of your settings or
    in the episodes' own words. What you write outside its marks stays, and so do the episodes. Without new episodes
    nothing happens; when the LLM fails the exit code is 7 and the next run tries again. With --all it is 3
    where a page could not be changed, and the others are summed up.
    """
    if sum(map(bool, (project, tag, everything))) != 1:
        raise UsageError("what to sum up is not clear", "name a project, --tag TAG or --all")
    where = world.writing(workspace, scope)
    chosen = groups(where) if everything else [Group(project or tag, is_tag=bool(tag))]
    llm = chosen_llm(where.settings)
    done = []
    is_partly = False
    for group in chosen:
        try:
            proposed = rollup_plan(where, group, llm, world.noise(f"rollup {group.path}")(0))
            if not dry_run:
                applied(where, proposed.plan, "mem rollup")
        except RefusedError as error:
            if not everything:
                raise
            is_partly = True  # a page that a person has to mend stops none of the rest
            output.note(str(error))
            continue
        done.append(proposed)
        if proposed.error:
            output.note(f"{group.name}: the LLM failed ({proposed.error}); told in the episodes' own words")
    _tell(where, done, dry_run=dry_run, quiet=quiet, as_json=as_json)
    if any(one.error for one in done):
        raise typer.Exit(7)
    if is_partly:
        raise typer.Exit(3)


def _tell(where: Workspace, done: list[RolledUp], *, dry_run: bool, quiet: bool, as_json: bool) -> None:
    if as_json:
        output.say_json({"summaries": [_document(one, dry_run=dry_run) for one in done]})
        return
    changed = [one for one in done if one.plan]
    if quiet:
        return
    for one in changed:
        if dry_run:
            output.say(shown(one.plan), end="")
        else:
            output.say_row((world.here(where, one.path), one.how, one.episodes))
    if not changed and output.is_heard():
        output.note("nothing new to sum up")


def _document(one: RolledUp, *, dry_run: bool) -> dict[str, Any]:
    fields = {
        "project": None if one.group.is_tag else one.group.name,
        "tag": one.group.name if one.group.is_tag else None,
        "path": one.path,
        "how": one.how,
        "episodes": one.episodes,
        "error": one.error,
    }
    return {**fields, "diff": shown(one.plan)} if dry_run else fields
