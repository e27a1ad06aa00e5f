"""`mem check`."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..beliefs.citations import Cited, cited, refresh_plan
from ..beliefs.plan import Plan, applied, as_diff
from ..errors import NotFoundError, UsageError
from ..maintenance.checks import Checked, check_staged
from ..maintenance.checks import check as check_all
from ..maintenance.fixes import fix as fixed
from ..maintenance.fixes import lacks_id, mend_plan
from ..maintenance.invariants import Fault
from ..maintenance.leaks import leaks, leaks_in
from ..search.resolve import locate
from ..store.archive import adopted
from ..store.git import staged
from ..store.layouts import MEM
from ..store.privacy import make_derived, write_private
from ..store.workspace import Workspace
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace


def check(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what has one right answer.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --fix or --refresh: show it as a diff only.")
    ] = False,
    in_index: Annotated[bool, typer.Option("--staged", help="Check what git is about to commit, secrets too.")] = False,
    for_secrets: Annotated[
        bool, typer.Option("--secrets", help="Look for secrets in conversations and in what is staged too.")
    ] = False,
    recall: Annotated[
        str,
        typer.Option(
            metavar="SESSION",
            help="Ask memory alone what was asked and answered in this session; `all` takes every one.",
            autocompletion=value_completion.sessions,
            show_default=False,
        ),
    ] = "",
    keys: Annotated[
        bool,
        typer.Option("--keys", help="Propose keys for entries that look like one slot; --fix asks and writes them."),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --keys --fix: write them without asking.")] = False,
    cited: Annotated[
        bool, typer.Option("--cited", help="Hold the lines that memories cite against the files alone.")
    ] = False,
    refresh: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Accept what this entry cites as it is now, renamed files too; `all` takes every one.",
            autocompletion=value_completion.ids,
            show_default=False,
        ),
    ] = "",
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Find what is wrong with the files, and mend what has one right answer.

    Prints `path:line: problem`, secrets included; the exit code is 1 when there is one. --fix gives an id to files that
    have none and to the second of two files with one, sorts history by time, removes what killed writes left unfinished
    and makes a damaged index anew; it exits with 3 when other problems remain. --cited names the memories whose cited
    lines changed or are gone, and follows a rename that git knows of.
    As a git hook (.git/hooks/pre-commit): mem check --staged
    """
    if fix and in_index:
        raise UsageError("--fix changes files on disk, not what is staged", "run `mem check --fix`, then `git add`")
    if dry_run and not (fix or refresh):
        raise UsageError("--dry-run shows what --fix or --refresh would do", "give both")
    where = context.writing(workspace, scope, even_off=True)
    if recall:
        from .proof import show_proof

        if fix or in_index or for_secrets:
            raise UsageError("--recall asks memory and looks at no file", "give it alone")
        if not show_proof(where, recall, as_json=as_json):
            raise typer.Exit(1)
        return
    if keys:
        from .review import show_keys

        if fix and not (yes or context.at_terminal()):
            raise UsageError("nobody is here to ask", "look at the keys first, then give --yes")
        show_keys(where, check_all(where), fix=fix and not dry_run, yes=yes, as_json=as_json)
        return
    if cited or refresh:
        if fix or in_index or for_secrets:
            raise UsageError("--cited and --refresh look at cited lines alone", "give no --fix, --staged or --secrets")
        if code := show_cited(where, refresh, dry_run=dry_run, as_json=as_json):
            raise typer.Exit(code)
        return
    plan = Plan()
    if in_index:
        found = _staged(where)
    else:
        found = check_all(where)
        plan = mend_plan(where, found.readings, found.faults, lambda seed: context.noise(seed)(0)) if fix else plan
        found = Checked(
            (*found.faults, *leaks_in(where, os.environ, Path.cwd(), everywhere=for_secrets)), found.readings
        )
    mended = fixed(where, found.faults, plan) if fix and not dry_run else ()
    left = found.faults if not mended or dry_run else _again(where, for_secrets)
    if as_json:
        output.say_json(_document(found, plan, left, mended))
    else:
        _tell(where, found, plan, left, mended, dry_run=dry_run, fix=fix)
    if left:
        raise typer.Exit(3 if mended else 1)


def _staged(where: Workspace) -> Checked:
    files = staged(where, os.environ, Path.cwd())
    found = check_staged(where, files)
    texts = [(one.path, one.data.decode("utf-8", "replace")) for one in files if not one.is_link]
    return Checked((*found.faults, *leaks(where, texts)), found.readings)


def _again(where: Workspace, for_secrets: bool) -> tuple[Fault, ...]:
    return (*check_all(where).faults, *leaks_in(where, os.environ, Path.cwd(), everywhere=for_secrets))


def _document(found: Checked, plan: Plan, left: Sequence[Fault], mended: Sequence[str]) -> dict[str, Any]:
    return {
        "problems": [
            {"path": one.path, "line": one.line, "reason": one.reason, "rule": one.rule, "fixable": one.mends}
            for one in left
        ],
        "files": len(found.readings),
        "fixed": list(mended),
        "diff": as_diff(plan),
    }


def _tell_adopted(where: Workspace) -> None:
    """Say once on this machine that files were in the archive before there were records of who put them there."""
    told = where.derived / "adopted-told"
    old = [] if told.exists() else adopted(where)
    if old:
        what = "1 file was" if len(old) == 1 else f"{len(old):,} files were"
        ways = "`mem ls --status archived` lists what is there, `mem restore PATH` brings one back"
        first = context.here(where, old[0])
        output.note(f"{what} in the archive before records of forgetting ({first}), taken as forgotten: {ways}")
        with suppress(OSError):  # said again the next time
            make_derived(told.parent)
            write_private(told, "")


def _tell(
    where: Workspace,
    found: Checked,
    plan: Plan,
    left: Sequence[Fault],
    mended: Sequence[str],
    *,
    dry_run: bool,
    fix: bool,
) -> None:
    if dry_run:
        output.say(as_diff(plan), end="")
        return
    for reason in mended:
        output.note(f"mended {reason}")
    for fault in left:
        output.say(str(replace(fault, path=context.here(where, fault.path))))
    fixable = sum(fault.mends for fault in left)
    if fixable and not fix:
        output.note(f"{fixable:,} of these can be mended: `mem check --fix`")
    nameless = sum(map(lacks_id, found.readings)) if where.layout.name == MEM.name and not fix else 0
    if nameless:
        what = "1 entry has no id but its" if nameless == 1 else f"{nameless:,} entries have no id but their"
        output.note(f"{what} path: `mem check --fix` gives one")
    _tell_adopted(where)
    if not left and output.is_heard():
        output.note(f"{len(found.readings):,} files, nothing wrong")


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
        output.say_json(_document_of_cited(left, plan, done=not dry_run))
    elif dry_run:
        output.say(as_diff(plan), end="")
    else:
        _tell_of_cited(where, left, plan)
    done = bool(plan) and not dry_run
    return (3 if done else 1) if left else 0


def _entry(where: Workspace, name: str) -> str:
    there, place = locate([where], name, Path.cwd(), strict=True)
    if there.layout.kind_of(place.path) != "entry":
        raise NotFoundError(f"{name} is no entry", "`mem check --cited` lists the entries to refresh")
    return place.path


def _tell_of_cited(where: Workspace, left: list[Cited], plan: Plan) -> None:
    for reason in plan.reasons:
        output.note(f"accepted {reason}")
    for one in left:
        output.say(f"{context.here(where, one.path)}:{one.line}: {one.reason}")
    ids = list(dict.fromkeys(one.id for one in left if one.now))
    if ids:
        more = " (`all` for every one)" if len(ids) > 1 else ""
        output.note(f"read it again; if it still holds, `mem check --refresh {ids[0]}` accepts what stands there{more}")
    if not left and output.is_heard():
        output.note("every cited line is as it was")


def _document_of_cited(left: list[Cited], plan: Plan, *, done: bool) -> dict[str, object]:
    return {
        "problems": [
            {"path": one.path, "line": one.line, "reason": one.reason, "rule": "cited", "fixable": one.now is not None}
            for one in left
        ],
        "files": len({one.path for one in left}),
        "fixed": list(plan.reasons) if done else [],
        "diff": as_diff(plan),
    }
