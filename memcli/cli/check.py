"""`mem check`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Annotated

import typer

from ..api import check as api
from ..api.stats import TOP, Stats
from ..api.stats import stats as counted
from ..api.workspace import Workspace
from ..errors import UsageError
from ..results import number_of
from . import completion, output, workspaces
from .options import COMMON, Common


def check(
    fix: Annotated[bool, typer.Option("--fix", help="Mend what has one right answer.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --fix or --refresh: show it as a diff only.")
    ] = False,
    in_index: Annotated[bool, typer.Option("--staged", help="Check what git is about to commit, secrets too.")] = False,
    for_secrets: Annotated[
        bool, typer.Option("--secrets", help="Look for secrets in conversations and in what is staged too.")
    ] = False,
    since: Annotated[
        str,
        typer.Option(
            metavar="REV",
            help="Check what changed since this commit, secrets too; `main...` is where it left main.",
            show_default=False,
        ),
    ] = "",
    cited: Annotated[
        bool, typer.Option("--cited", help="Hold the lines that memories cite against the files alone.")
    ] = False,
    refresh: Annotated[
        str,
        typer.Option(
            metavar="ID",
            help="Accept what this entry cites as it is now; `all` takes every one.",
            autocompletion=completion.ids,
            show_default=False,
        ),
    ] = "",
    common: Common = COMMON,
) -> None:
    """Find what is wrong with the files, and repair what has one right answer.

    Prints `path:line: problem`, secrets included; the exit code is 1 when there is one. --fix gives an id to files that
    have none and to the second of two files with one, sorts history by time, removes what killed writes left unfinished
    and makes a damaged index anew; it merges files with conflict markers of git as `mem merge-driver` does, but for
    lines that both sides changed, settles what one side put away and the other changed as `mem sync` does, tells git of
    the files it settled, and flags memories that fill one key; it exits with 3 when other problems remain.
    --cited names the memories whose cited lines changed or are gone.
    As a git hook (.git/hooks/pre-commit): mem check --staged
    In a workflow: mem check --since origin/main...
    """
    if fix and in_index:
        raise UsageError("--fix changes files on disk, not what is staged", "run `mem check --fix`, then `git add`")
    if dry_run and not (fix or refresh):
        raise UsageError("--dry-run shows what --fix or --refresh would do", "give both")
    if since and (fix or in_index or cited or refresh):
        raise UsageError("--since looks at what changed since a commit", "give it alone")
    where = workspaces.writing(common, even_off=True)
    if cited or refresh:
        if fix or in_index or for_secrets:
            raise UsageError("--cited and --refresh look at cited lines alone", "give no --fix, --staged or --secrets")
        _show_cited(where, refresh, dry_run=dry_run, as_json=common.as_json)
        return
    if since:
        report = api.check_since(where, since)
    elif in_index:
        report = api.check_staged(where)
    else:
        report = api.check(where, secrets=for_secrets, fix=fix, dry_run=dry_run)
    if common.as_json:
        output.say_json(report.as_dict())
    elif dry_run:
        output.say(report.diff, end="")
    else:
        _tell(where, report, fix=fix, for_secrets=for_secrets)
    if report.problems:
        raise typer.Exit(3 if report.fixed else 1)


def _tell(where: Workspace, report: api.CheckReport, *, fix: bool, for_secrets: bool) -> None:
    for reason in report.fixed:
        output.note(f"mended {reason}")
    for fault in report.problems:
        output.say_wrapped(str(replace(fault, path=workspaces.here(where, fault.path))))
    fixable = sum(fault.fixable for fault in report.problems)
    if fixable and not fix:
        output.note(f"{fixable:,} of these can be mended: `mem check{' --secrets' * for_secrets} --fix`")
    if report.nameless:
        what = number_of(report.nameless, "entry", "has no id but its", "have no id but their")
        output.note(f"{what} path: `mem check --fix` gives one")
    if not report.problems and output.is_heard():
        output.note(f"{number_of(report.files, 'file')}, nothing wrong")


def _show_cited(where: Workspace, accept: str, *, dry_run: bool, as_json: bool) -> None:
    """Print the citations that are not what they were, after accepting those asked for; exit with 1 or 3 for any."""
    report = api.check_cited(where, accept=accept, dry_run=dry_run)
    if as_json:
        output.say_json(report.as_dict())
    elif dry_run:
        output.say(report.diff, end="")
    else:
        for reason in report.accepted:
            output.note(f"accepted {reason}")
        for line in report.cited:
            output.say_wrapped(f"{workspaces.here(where, line.path)}:{line.line}: {line.reason}")
        ids = list(dict.fromkeys(line.id for line in report.cited if line.now))
        if ids:
            more = " (`all` for every one)" if len(ids) > 1 else ""
            way = f"`mem check --refresh {ids[0]}` accepts what stands there{more}"
            output.note(f"read it again; if it still holds, {way}")
        if not report.cited and output.is_heard():
            output.note("every cited line is as it was")
    if report.cited:
        raise typer.Exit(3 if report.fixed else 1)


FILES = {"entry": "of entries", "memory": "of long-term memory", "note": "of notes", "session": "of sessions"}
FILES |= {"history": "of history"}


def stats(common: Common = COMMON) -> None:
    """Show what is in memory, how it grows, what is used and what fades.

    A pipe gets lines of section, name and value.
    """
    where = workspaces.writing(common, "counted in")
    report = counted(where)
    if common.as_json:
        output.say_json(report.as_dict())
    elif output.is_watched():
        _draw(report)
    else:
        for line in _lines(report):
            output.say_row(line)


def _lines(report: Stats) -> Iterator[tuple[object, ...]]:
    """Yield the numbers as lines of section, name, value and, for an entry, what it says."""
    for section, numbers in _sections(report):
        for name, count in numbers.items():
            yield section, name, count
    yield from (("used", entry.id, entry.accesses, entry.summary) for entry in report.most_used)
    yield from (("stale", entry.id, f"{entry.age_days:.0f}", entry.summary) for entry in report.stalest)
    yield from (("conflict", entry.id, " ".join(entry.conflicts_with), entry.summary) for entry in report.conflicts)
    yield from (("is", name, count) for name, count in (("pinned", report.pinned), ("faded", report.faded)))
    yield from (("file", kind, count) for kind, count in report.files.items())
    yield from (("memory", name, getattr(report.memory, name)) for name in ("bytes", "budget"))
    yield "index", "texts", report.index.chunks
    yield "index", "not embedded", report.index.not_embedded
    yield "index", "bytes", report.index.bytes
    yield "index", "problems", len(report.problems)


def _sections(report: Stats) -> list[tuple[str, Mapping[str, int]]]:
    return [
        ("status", report.statuses),
        ("type", report.types),
        ("layer", report.layers),
        ("source", report.sources),
        ("age", report.ages),
        ("tag", report.tags),
        ("project", report.projects),
        ("month", report.growth),
    ]


def _draw(report: Stats) -> None:
    """Draw the numbers for a person, on one screen."""
    state, page = report.index, report.memory
    output.say_wrapped(f"{number_of(report.entries, 'entry')}: {_listed(report.statuses)}; {report.pinned:,} pinned")
    for name, numbers in _sections(report)[1:]:
        if numbers:
            output.say_wrapped(f"{name}: {_listed(numbers)}")
    for head, rows in (
        ("reads", [(f"{entry.accesses:,}", entry.id, entry.summary) for entry in report.most_used]),
        ("days old", [(f"{entry.age_days:,.0f}", entry.id, entry.summary) for entry in report.stalest]),
        ("conflicts with", [(row.conflicts_with[0], row.id, row.summary) for row in report.conflicts[:TOP]]),
    ):
        if rows:
            output.say("")
            output.table((head, "id", "what it says"), rows, 2)
    output.say("")
    kinds = {FILES.get(kind, kind): count for kind, count in report.files.items()}
    output.say_wrapped(f"{page.path}: {page.bytes:,} of {page.budget:,} bytes; files: {_listed(kinds)}")
    output.say_wrapped(
        f"index: {number_of(state.chunks, 'text')}, {state.not_embedded:,} not embedded, {state.bytes / 1e6:.1f} MB"
    )
    for count, what, command in (
        (len(report.problems), "problems", "mem check"),
        (len(report.conflicts), "in conflict", "mem ls --conflicts"),
        (report.faded, "faded", "mem decay"),
    ):
        if count:
            output.say_wrapped(f"{what}: {count:,} ({command})")


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in numbers.items()) or "none"
