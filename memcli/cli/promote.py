"""`mem promote`."""

from typing import Annotated, Any

import typer

from ..errors import RefusedError, UsageError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..lifecycle.decay import last_accessed
from ..lifecycle.plan import applied, shown
from ..lifecycle.promote import Promotion, demote_plan, promote_plan
from ..store import access
from ..store.address import Place
from ..store.workspace import Workspace
from . import output, world
from .options import AsJson, InScope, InWorkspace, Source, require_source


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
    by = world.author(where, source)
    if demote:
        proposed = demote_plan(where, found, ids)
    else:
        proposed = promote_plan(where, found, access.counts(where, last_accessed(found)), ids, auto=auto, by=by)
    is_done = not auto or apply
    if is_done:
        applied(where, proposed.plan, "mem promote")
    if as_json:
        output.say_json(_document(where, proposed, is_done))
    elif auto and not apply:
        output.say(shown(proposed.plan), end="")
        if output.is_heard():
            output.note("`mem promote --auto --apply` does this" if proposed.plan else "nothing to promote or drop")
    else:
        _tell(proposed)
    if not as_json:
        _tell_passed(proposed)


def _named(workspace: str, scope: str, names: list[str], *, by_line: bool) -> tuple[Workspace, list[str]]:
    """Find the ids of the entries named, all of one workspace; a line's id is taken as it is, its entry may be gone."""
    where = world.writing(workspace, scope)
    if by_line:
        return where, names
    ids: list[str] = []
    for name in names:
        there, place = world.locate(workspace, scope, name, strict=True)
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


def _document(where: Workspace, proposed: Promotion, applied: bool) -> dict[str, Any]:
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
        "diff": shown(proposed.plan),
    }


def _tell(proposed: Promotion) -> None:
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
