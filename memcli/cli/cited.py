"""What `mem check --cited` shows, and what its --refresh accepts."""

from pathlib import Path

from ..beliefs.citation_checks import Cited, cited, refresh_plan
from ..errors import NotFoundError
from ..lifecycle.plan import Plan, applied, shown
from ..retrieval.locate import locate
from ..store.workspace import Workspace
from . import output, world

ALL = "all"


def show_cited(where: Workspace, accept: str, *, dry_run: bool, as_json: bool) -> int:
    """Print the citations that are not what they were, after accepting those asked for; return the exit code."""
    found = cited(where)
    plan = Plan()
    if accept:
        identifier = accept if accept == ALL else _entry(where, accept)
        plan = refresh_plan(where, [one for one in found if identifier in (ALL, one.id, one.path)])
        if not dry_run:
            applied(where, plan, "mem check --refresh")
            found = cited(where) if plan else found
    left = [one for one in found if not one.is_moved]
    if as_json:
        output.say_json(_document(left, plan, done=not dry_run))
    elif dry_run:
        output.say(shown(plan), end="")
    else:
        _tell(where, left, plan)
    done = bool(plan) and not dry_run
    return (3 if done else 1) if left else 0


def _entry(where: Workspace, name: str) -> str:
    there, place = locate([where], name, Path.cwd(), strict=True)
    if there.layout.kind_of(place.path) != "entry":
        raise NotFoundError(f"{name} is no entry", "`mem check --cited` lists the entries to refresh")
    return place.path


def _tell(where: Workspace, left: list[Cited], plan: Plan) -> None:
    for reason in plan.reasons:
        output.note(f"accepted {reason}")
    for one in left:
        output.say(f"{world.here(where, one.path)}:{one.line}: {one.reason}")
    ids = list(dict.fromkeys(one.id for one in left if one.now))
    if ids:
        more = " (`all` for every one)" if len(ids) > 1 else ""
        output.note(f"read it again; if it still holds, `mem check --refresh {ids[0]}` accepts what stands there{more}")
    if not left and output.is_heard():
        output.note("every cited line is as it was")


def _document(left: list[Cited], plan: Plan, *, done: bool) -> dict[str, object]:
    return {
        "problems": [
            {"path": one.path, "line": one.line, "reason": one.reason, "rule": "cited", "fixable": one.now is not None}
            for one in left
        ],
        "files": len({one.path for one in left}),
        "fixed": list(plan.reasons) if done else [],
        "diff": shown(plan),
    }
