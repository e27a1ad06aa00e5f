"""`mem session import` of many conversations: find them, bring them in, and say what became of each tool's."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ..store.workspace import Workspace
from . import context, output
from .session_show import counted

if TYPE_CHECKING:
    from ..transcripts.import_all import Report, Tally
    from ..transcripts.places import FoundSources


def is_many(file: str) -> bool:
    """Tell whether a name stands for more than one transcript."""
    from ..transcripts.sources import holds_many

    path = Path(file).expanduser()
    return file != "-" and (path.is_dir() or (path.is_file() and holds_many(path)))


@dataclass(frozen=True)
class Many:
    """What to bring in: below a folder, in a file of many, or, without either, in the home of the user."""

    file: str
    since: str
    projects: tuple[str, ...]
    dry_run: bool
    allow_secret: bool  # take what a .secretsignore names too


def import_many(where: Workspace, run: Many, *, as_json: bool) -> None:
    """Bring in what is new."""
    from ..transcripts.import_all import ImportRun
    from ..transcripts.sources import wanted

    around = context.surroundings()
    found = _found(where, run.file)
    chosen = wanted(
        where,
        around,
        [around.folder / Path(one).expanduser() for one in run.projects],
        where.moment("since", run.since),
        asked=bool(run.file),
    )
    bar = output.Bar("reading conversations", step=1)
    try:
        report = ImportRun(where, chosen, dry_run=run.dry_run, allow_secret=run.allow_secret).take(found.sources, bar)
    finally:
        bar.clear()
    report.problems |= found.problems
    _tell(report, dry_run=run.dry_run, as_json=as_json)
    if report.problems:
        raise typer.Exit(3)


def _found(where: Workspace, file: str) -> "FoundSources":
    from ..transcripts import places

    around = context.surroundings()
    home = where.root.parent if where.root.name == "memory" else where.root
    near = tuple(dict.fromkeys((around.folder, home, *around.folder.parents, *home.parents)))
    if not file:
        return places.in_home(around.environ, near)
    path = around.folder / Path(file).expanduser()
    if path.is_dir():
        return places.in_folder(path, near, but_for=where.root)
    found = places.FoundSources(near=near)
    found.add("", path)
    return found


def _tell(report: "Report", *, dry_run: bool, as_json: bool) -> None:
    from ..transcripts.sources import ELSEWHERE

    for path, reason in sorted(report.problems.items()):
        output.note(f"{path}: {reason}")
    if report.redacted and not dry_run:
        places = len({one.name for one in report.redacted})
        output.note(f"{counted(len(report.redacted), 'secret')} redacted in {counted(places, 'conversation')}")
    if as_json:
        output.say_json(_document(report))
        return
    if dry_run:
        for one in report.taken:
            output.say_row((one.tool, one.session, one.started[:10], one.added, one.path))
    for tool, tally in sorted(report.tallies.items()):
        _tell_tally(tool, tally, dry_run=dry_run)
    if not report.tallies:
        output.note("no conversations found")
    elif output.is_heard() and not dry_run:
        if any(tally.left_out[ELSEWHERE] for tally in report.tallies.values()):
            output.note("of other projects: `--scope user` takes those of no project, `--project DIR` those of one")
        if report.taken:
            output.note(
                "`mem consolidate --all` makes memories of them, `mem search --kind session` finds what was said"
            )


def _tell_tally(tool: str, tally: "Tally", *, dry_run: bool) -> None:
    """Say what became of the conversations of one tool: on stdout, or beside a list of what would be taken."""
    left = [f"{count:,} {reason}" for reason, count in tally.left_out.most_common() if count]
    if dry_run or output.is_watched():
        sums = {"new": tally.new, "grown": tally.grown, "known": tally.known}
        told = f"{tool}: {', '.join(f'{count:,} {what}' for what, count in sums.items() if count) or 'none taken'}"
        line = f"{told}; left out: {', '.join(left)}" if left else told
        (output.note if dry_run else output.say)(line)
    else:
        output.say_row((tool, tally.new, tally.grown, tally.known, *left))


def _document(report: "Report") -> dict[str, Any]:
    tools = [
        {
            "tool": tool,
            "new": one.new,
            "grown": one.grown,
            "known": one.known,
            "events": one.events,
            "left_out": {reason: count for reason, count in one.left_out.items() if count},
        }
        for tool, one in sorted(report.tallies.items())
    ]
    taken = [asdict(one) | {"path": str(one.path)} for one in report.taken]
    problems = [{"path": path, "reason": reason} for path, reason in sorted(report.problems.items())]
    return {
        "tools": tools,
        "sessions": taken,
        "problems": problems,
        "redacted": [asdict(one) for one in report.redacted],
    }
