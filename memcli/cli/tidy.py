"""`mem dedup`."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..api.choice import require_source
from ..beliefs.deduplication import dedup_plan
from ..beliefs.plan import applied, as_diff
from ..consolidation.rollup import EpisodeGroup, RolledUp, groups, rollup_plan
from ..errors import RefusedError, UsageError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..llm.command import chosen_llm
from ..maintenance.promotion import Promotion, demote_plan, promote_plan
from ..recall.retention import last_accessed
from ..store import local_log
from ..store.addresses import Place
from ..store.workspace import Workspace
from . import context, output
from .admission import judge_of, tell_unheard
from .options import AsJson, DryRun, InScope, InWorkspace, Quiet, Source


def dedup(
    apply: Annotated[bool, typer.Option("--apply", help="Do it; without it, only the diff is shown.")] = False,
    judge: Annotated[
        bool, typer.Option("--judge", help="Let your LLM find what says the same in other words, too.")
    ] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Merge entries that say the same word for word, but for white space, letter case and closing full stops.

    Shows as a diff what would change, and changes it with --apply. Of each group the oldest of the most trusted stays;
    it takes in sources, tags, wordings and strength of the others, which are marked as superseded by it. `mem restore`
    brings one back. With --judge your LLM is asked about the memories that are nearest to each other, also to show the
    diff: what it is sure says the same is merged, unless numbers, names or a denial differ.
    """
    where = context.writing(workspace, scope, "tidied in")
    tidied = dedup_plan(where, judge_of(where, is_wanted=judge))
    for notice in tidied.notices:
        output.note(notice)
    tell_unheard(tidied.unheard)
    for path, reason in tidied.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    kept = applied(where, tidied.plan, "mem dedup").kept if apply else ()
    for path, place in kept:
        output.note(f"{context.here(where, path)} was changed meanwhile: our text is in {context.here(where, place)}")
    if as_json:
        groups = [asdict(group) for group in tidied.groups]
        document = {"applied": apply, "groups": groups, "problems": [list(one) for one in tidied.problems]}
        output.say_json(document if apply else {**document, "diff": as_diff(tidied.plan)})
    elif apply:
        for group in tidied.groups:
            output.say_row((group.kept, " ".join(group.merged), group.says))
    else:
        output.say(as_diff(tidied.plan), end="")
    if not as_json and output.is_heard():
        count = sum(len(group.merged) for group in tidied.groups)
        options = "--judge --apply" if judge else "--apply"
        hint = "" if apply or not count else f": `mem dedup {options}` merges them"
        output.note(
            f"{count} of {len(tidied.groups)} groups say what another entry says{hint}" if count else "nothing to merge"
        )
    if tidied.problems:
        raise typer.Exit(3)
    if tidied.unheard:
        raise typer.Exit(7)


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
    where = context.writing(workspace, scope)
    chosen = groups(where) if everything else [EpisodeGroup(project or tag, is_tag=bool(tag))]
    llm = chosen_llm(where.settings)
    done = []
    is_partly = False
    for group in chosen:
        try:
            proposed = rollup_plan(where, group, llm, context.noise(f"rollup {group.path}")(0))
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
            output.say(as_diff(one.plan), end="")
        else:
            output.say_row((context.here(where, one.path), one.how, one.episodes))
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
    return {**fields, "diff": as_diff(one.plan)} if dry_run else fields


def promote(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="ID...", help="Ids, unique parts of them, or paths.")
    ] = None,
    demote: Annotated[bool, typer.Option("--demote", help="Take the lines of these entries off the page.")] = False,
    auto: Annotated[bool, typer.Option("--auto", help="Show what the rule would promote and drop.")] = False,
    apply: Annotated[bool, typer.Option("--apply", help="With --auto: do it.")] = False,
    source: Source = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Make confirmed memories lines of MEMORY.md, or take lines off again.

    Entries named are promoted at once, and with --demote taken off at once. --auto shows as a diff what the rule
    proposes (confirmed three times, or trusted and sure: settings promote.*), and does it with --apply. Lines of
    entries that are superseded, archived or gone leave; over promote.budget bytes the least valuable ones do. Only
    lines between the marks `<!-- mem:promoted -->` are mem's, and one that you change there is yours.

    What no person said goes there on the user's word alone: typed at a terminal, or with --source user.
    """
    require_source(source)
    if bool(names) == auto or (auto and demote):
        raise UsageError("nothing to promote" if not names else "--auto with ids", "name entries, or give --auto alone")
    where, ids = _named(workspace, scope, names or [], by_line=demote)
    if not where.settings["promote.enabled"] and not demote:
        raise RefusedError("promotion is switched off", "switch it on with `mem config set promote.enabled true`")

    def rows(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return index.list_entries(Filter(statuses=()), "path")

    found = ask(where, rows)
    by = context.author(where, source)
    if demote:
        proposed = demote_plan(where, found, ids)
    else:
        proposed = promote_plan(where, found, local_log.counts(where, last_accessed(found)), ids, auto=auto, by=by)
    is_done = not auto or apply
    if is_done:
        applied(where, proposed.plan, "mem promote")
    if as_json:
        output.say_json(_document_of_promote(where, proposed, is_done))
    elif auto and not apply:
        output.say(as_diff(proposed.plan), end="")
        if output.is_heard():
            output.note("`mem promote --auto --apply` does this" if proposed.plan else "nothing to promote or drop")
    else:
        _tell_of_promote(proposed)
    if not as_json:
        _tell_passed(proposed)


def _named(workspace: str, scope: str, names: list[str], *, by_line: bool) -> tuple[Workspace, list[str]]:
    """Find the ids of the entries named, all of one workspace; a line's id is taken as it is, its entry may be gone."""
    where = context.writing(workspace, scope)
    if by_line:
        return where, names
    ids: list[str] = []
    for name in names:
        there, place = context.locate(workspace, scope, name, strict=True)
        if there.layout.kind_of(place.path) != "entry":
            raise RefusedError(f"{place.path} is not an entry", "only entries are promoted")
        if ids and there.root != where.root:
            raise UsageError("the entries lie in two workspaces", "promote those of one at a time")
        where = there
        ids.append(_id_at(there, place))
    return where, list(dict.fromkeys(ids))


def _id_at(where: Workspace, place: Place) -> str:
    def named(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return index.list_entries(Filter(statuses=(), paths=(place.path,)), "path")

    rows = ask(where, named)
    return next((str(row["id"]) for row in rows if row["path"] == place.path), place.path)


def _document_of_promote(where: Workspace, proposed: Promotion, applied: bool) -> dict[str, Any]:
    def listed(pairs: tuple[tuple[str, str], ...], name: str) -> list[dict[str, str]]:
        return [{"id": one, name: text} for one, text in pairs]

    return {
        "path": where.layout.memory,
        "promoted": listed(proposed.promoted, "statement"),
        "changed": listed(proposed.changed, "statement"),
        "dropped": listed(proposed.dropped, "reason"),
        "passed": listed(proposed.passed, "reason"),
        "bytes": proposed.size,
        "budget": where.settings["promote.budget"],
        "applied": applied,
        "diff": as_diff(proposed.plan),
    }


def _tell_of_promote(proposed: Promotion) -> None:
    for one, statement in proposed.promoted:
        output.say_row(("promoted", one, statement))
    for one, statement in proposed.changed:
        output.say_row(("changed", one, statement))
    for one, why in proposed.dropped:
        output.say_row(("demoted" if why == "demoted" else "dropped", one, "" if why == "demoted" else why))


def _tell_passed(proposed: Promotion) -> None:
    """Say what stays out, in one line a reason."""
    by_reason: dict[str, list[str]] = {}
    for one, why in proposed.passed:
        by_reason.setdefault(why, []).append(one)
    for why, ids in by_reason.items():
        output.note(f"{ids[0]}{f' and {len(ids) - 1:,} more stay' if len(ids) > 1 else ' stays'} out: {why}")
