"""`mem grep`."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..api.choice import Choice, require_types
from ..errors import UsageError
from ..formats.text_lines import FileProblem
from ..index.filters import Filter
from ..index.index import Index, ask
from ..search.grep import GrepLine, Pattern, count_matches, first_matches
from ..search.grep import grep as matches
from ..store.layouts import KINDS
from ..store.workspace import Workspace
from . import context as world
from . import output
from .options import AsJson, InScope, InWorkspace, choosing


@choosing
def grep(
    pattern: Annotated[str, typer.Argument(metavar="PATTERN", help="A regular expression.")],
    fixed: Annotated[bool, typer.Option("-F", "--fixed-strings", help="Take the pattern as it stands.")] = False,
    ignore_case: Annotated[
        bool, typer.Option("-i", "--ignore-case", help="Take upper and lower case as the same.")
    ] = False,
    words: Annotated[bool, typer.Option("-w", "--word-regexp", help="Match whole words only.")] = False,
    names: Annotated[bool, typer.Option("-l", "--files-with-matches", help="Print the names of files only.")] = False,
    counts: Annotated[bool, typer.Option("-c", "--count", help="Print the number of matching lines a file.")] = False,
    context: Annotated[int, typer.Option("-C", "--context", min=0, help="Lines to show around a match.")] = 0,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=0, help="At most so many matches, or files.", show_default="all")
    ] = 0,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Find lines by their exact text, in every file.

    Prints path:line:text, MEMORY.md, history and files that do not parse included; conversations only with --kind
    session or all. No match is exit code 1; 3 where a file took too long or is larger than 64 MiB, of which only the
    beginning is looked through.
    """
    if not pattern:
        raise UsageError("the pattern is empty", "say what to look for")
    found_in = world.reading(workspace, scope)
    require_types(choice.type or (), found_in)
    rows: list[dict[str, Any]] = []
    places: list[str] = []  # as the current folder has them
    problems: list[FileProblem] = []
    is_cut = False
    late: list[FileProblem] = []
    for where in found_in:
        looked = Pattern(pattern, fixed, ignore_case, words, where.settings["grep.timeout"])
        wanted = _everything(choice, where)

        room = limit - sum(row.get("is_match", True) for row in rows) if limit else None

        def answer(
            index: Index, looked: Pattern = looked, wanted: Filter = wanted, room: int | None = room
        ) -> tuple[list[dict[str, Any]], bool, list[FileProblem], list[FileProblem]]:
            late: list[FileProblem] = []
            index.refresh(talk="session" in wanted.kinds)
            if names or counts:
                files = [{"path": path, "count": number} for path, number in count_matches(index, looked, wanted, late)]
                found, more = files[:room], len(files) > len(files[:room])
            else:
                lines, more = first_matches(matches(index, looked, wanted, context, late), room, context)
                found = [asdict(line) for line in lines]
            return found, more, index.problems(wanted, within="texts"), late

        found, more, wrong, slow = ask(where, answer)
        late += slow
        is_cut |= more
        places += [world.here(where, row["path"]) for row in found]
        rows += _named(where, found_in, found)
        problems += wrong
    if not rows and any(not one.left_out for one in late):
        raise UsageError(
            f"{pattern!r} took more than {found_in[0].settings['grep.timeout']:g} s",
            "simplify it, or raise the setting grep.timeout",
        )
    world.tell_problems(found_in, problems)
    problems = late + problems
    for one in late:
        output.note(str(one))
    if as_json:
        told = {"pattern": pattern, "matches": rows, "is_cut": is_cut}
        output.say_json({**told, "problems": [asdict(one) for one in problems]})
    elif names:
        for place in places:
            output.say(place)
    elif counts:
        for place, row in zip(places, rows, strict=True):
            output.say(f"{place}:{row['count']}")
    else:
        _show([GrepLine(**{**row, "path": place}) for place, row in zip(places, rows, strict=True)], context)
    if is_cut and not as_json:
        output.note(f"more than {limit:,} match: raise --limit, or look for less")
    if late or not rows:
        raise typer.Exit(3 if late else 1)


def _everything(choice: Choice, workspace: Workspace) -> Filter:
    """Look through superseded memories too: grep is for what is written, not for what holds."""
    chosen = choice.filter(workspace, tuple(kind for kind in KINDS if kind != "session"))
    if choice.status:
        return chosen
    return Filter(**{**asdict(chosen), "statuses": (*chosen.statuses, "superseded")})


def _named(workspace: Workspace, all_of_them: list[Workspace], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give paths of a second workspace in full, since the first one's are relative."""
    if workspace is all_of_them[0]:
        return rows
    return [{**row, "path": str(workspace.root / row["path"])} for row in rows]


def _show(lines: Iterable[GrepLine], context: int) -> None:
    last: GrepLine | None = None
    for line in lines:
        if context and last is not None and (last.path != line.path or last.line + 1 != line.line):
            output.say("--")
        mark = ":" if line.is_match else "-"
        output.say_styled((line.path, "35"), (mark, ""), (str(line.line), "32"), (f"{mark}{line.text}", ""))
        last = line
