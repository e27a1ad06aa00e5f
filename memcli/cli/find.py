"""`mem search`, `mem ls` and `mem grep`."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from ..api import find as api
from ..api.find import MODES, SORTS, Choice, Hit, LineMatch
from ..results import number_of
from . import completion, output
from . import workspaces as world
from .options import COMMON, Common, choosing

_COLOURS = {"clear": "1;32", "likely": "1", "possible": "", "weak": "2"}


@choosing
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or some words; - reads standard input.")],
    limit: Annotated[int | None, typer.Option("-n", "--limit", help="How many hits.", show_default="5")] = None,
    mode: Annotated[
        str, typer.Option(autocompletion=completion.among(MODES), help="hybrid, vector or keyword.")
    ] = "hybrid",
    min_score: Annotated[
        float | None,
        typer.Option(help="Leave out hits below this relevance.", show_default="0.02, or 0 without the built-in model"),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each relevance is made of.")] = False,
    choice: Choice = Choice(),
    common: Common = COMMON,
) -> None:
    """Find memories by meaning and by words.

    Prints relevance, id, type, date, path:line and the passage that fits, best first; `mem read ID` shows the whole.
    On a terminal a word stands for the relevance: clear (nine of ten such hits are right), likely (eight of ten),
    possible (a quarter) or weak (a tenth); --explain gives the number and what it is made of. Nothing found is exit
    code 1. --kind document looks in the folders that the setting index.include names. Where the best hit is
    below 0.5, or there is none, passages of conversations compete with the others and take the places that are left;
    where more turns match stderr says how many, and --kind session shows these alone.
    A time in the query ("in March", "last Friday", "before Christmas", "since 2026-03-10") puts behind what is of
    another time, the farther the more; --explain says how much.
    """
    if query == "-":
        query = world.standard_input("the query")
    found_in = world.reading(common)
    results = api.search(
        found_in, query, limit=limit, mode=mode, min_score=min_score, choice=choice, explain=explain and common.as_json
    )
    if common.as_json:
        output.say_json(results.as_dict())
    else:
        roots = {workspace.scope: workspace for workspace in found_in}
        for hit in results.hits:
            _show_hit(hit, f"{world.here(roots[hit.scope], hit.path_)}:{hit.line}", explain)
    output.notes(results.notices)
    if results.in_conversations > sum(_turns(hit) for hit in results.hits if hit.kind == "session"):
        text = number_of(results.in_conversations, "turn", "matches", "match")
        from shlex import quote

        output.note(f"{text} in conversations: mem search --kind session {quote(query)}")
    world.tell_problems(found_in, results.problems)
    if not results.hits:
        if results.weaker:
            output.note(f"nothing found but {results.weaker} of hardly any relevance: --min-score 0 shows them")
        elif not common.as_json:
            output.note(_with("nothing found", api.why_nothing(found_in, choice)))
        raise typer.Exit(1)


def _with(message: str, why: str) -> str:
    return f"{message}: {why}" if why else message


def _turns(hit: Hit) -> int:
    """Return how many turns a hit in conversations shows, by its address: session:ID#4:6 are three."""
    first, _, last = hit.id.rpartition("#")[2].partition(":")
    return int(last) - int(first) + 1 if last.isdecimal() and first.isdecimal() else 1


def _expired(moment: str) -> str:
    """Say since when a memory is no longer true; empty where it is."""
    return f"expired {moment[:10]}" if moment else ""


def _show_hit(hit: Hit, address: str, explain: bool) -> None:
    day = hit.timestamp[:10]
    outdated = (f"outdated by {hit.outdated_by}",) if hit.outdated_by else ()
    later = f"says later what {hit.later_than} says" if hit.later_than else ""
    elsewhere = "" if hit.is_here else "not on this machine yet"
    remark = "; ".join(filter(None, (elsewhere, _expired(hit.expired), later, *outdated, *hit.changed)))
    if not output.is_watched():
        row = [f"{hit.relevance:.2f}", hit.id, hit.type or hit.kind, day, address, hit.summary]
        row += [remark] if remark else []
        parts = " + ".join(f"{value:.3f} {name}" for name, value in hit.parts.items())
        why = f"{hit.relevance:.3f} = {parts}"
        output.say_row([*row, why] if explain else row)
        return
    indent = max(map(len, _COLOURS)) + 2
    summary = output.wrapped(hit.summary, indent)
    output.say_styled((f"{hit.certainty:{indent}}", _COLOURS[hit.certainty]), (summary, ""))
    about = " · ".join(filter(None, (hit.id, hit.type or hit.kind, day)))
    about = f"{'':{indent}}{output.wrapped(about, indent)}"
    if output.width(f"{about} · {address}") <= output.columns():
        output.say_styled((f"{about} · ", "36"), (address, "2"))
    else:
        output.say_styled((about, "36"))
        output.say_styled((f"{'':{indent}}{address}", "2"))
    if remark:
        output.say_styled((f"{'':{indent}}{output.wrapped(remark, indent)}", "33"))
    if explain:
        output.say(f"{'':{indent}}{output.wrapped(hit.explained(), indent)}")


@choosing
def ls(
    prefix: Annotated[
        str,
        typer.Argument(
            metavar="[PREFIX]",
            help="Only entries whose path, from here, in the workspace or in its entries, begins so.",
            show_default=False,
        ),
    ] = "",
    sort: Annotated[
        str, typer.Option(autocompletion=completion.among(list(SORTS)), help=f"Order: {', '.join(SORTS)}.")
    ] = "updated",
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.", show_default="all")] = 0,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="Only entries that another one contradicts.")] = False,
    forgotten: Annotated[bool, typer.Option("--forgotten", help="Only what was forgotten.")] = False,
    choice: Choice = Choice(),
    common: Common = COMMON,
) -> None:
    """List entries.

    Prints id, type, date, path and what each says, the latest change first.
    """
    found_in = world.reading(common)
    listed = api.list_entries(
        found_in, prefix, sort=sort, limit=limit, conflicts=conflicts, forgotten=forgotten, choice=choice
    )
    world.tell_problems(found_in, listed.problems)
    if common.as_json:
        output.say_json(listed.as_dict())
    elif not output.is_watched():
        for entry in listed.entries:
            path = world.here(entry.workspace, entry.path)
            row = (entry.id, entry.type, entry.updated_at[:10], path, entry.summary)
            output.say_row((*row, _expired(entry.expired)) if entry.expired else row)
    elif listed.entries:
        rows = [
            (row.id, row.type, row.updated_at[:10], " · ".join(filter(None, (_expired(row.expired), row.summary))))
            for row in listed.entries
        ]
        output.table(("id", "type", "changed", "what it says"), rows, flexible=3)
    else:
        output.note(
            _with("no entries", api.why_nothing(found_in, replace(choice, path=[prefix]) if prefix else choice))
        )


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
    common: Common = COMMON,
) -> None:
    """Find lines by their exact text, in every file.

    Prints path:line:text, MEMORY.md, history and files that do not parse included; conversations only with --kind
    session or all. No match is exit code 1; 3 where a file took too long or is larger than 64 MiB, of which only the
    beginning is looked through.
    """
    found_in = world.reading(common)
    by_file = names or counts
    results = api.grep(
        found_in,
        pattern,
        fixed=fixed,
        ignore_case=ignore_case,
        words=words,
        context=0 if by_file else context,
        limit=0 if by_file else limit,
        choice=choice,
    )
    world.tell_problems(found_in, results.unindexed)
    for problem in results.late:
        output.note(str(problem))
    if common.as_json:
        output.say_json(results.as_dict())
    else:
        files = Counter(world.here(match.workspace, match.path) for match in results.matches if by_file)
        for path, count in list(files.items())[: limit or None]:
            output.say(path if names else f"{path}:{count}")
        if not by_file:
            _show_matches(results.matches, context)
        if results.is_cut or (limit and len(files) > limit):
            output.note(f"more than {limit:,} match: raise --limit, or look for less")
    if not (results.matches or common.as_json) and (why := api.why_nothing(found_in, choice)):
        output.note(why)
    if results.late or not results.matches:
        raise typer.Exit(3 if results.late else 1)


def _show_matches(matches: Sequence[LineMatch], context: int) -> None:
    last: LineMatch | None = None
    for match in matches:
        path = world.here(match.workspace, match.path)
        if context and last is not None and (last.path != match.path or last.line + 1 != match.line):
            output.say("--")
        mark = ":" if match.is_match else "-"
        output.say_styled((path, "35"), (mark, ""), (str(match.line), "32"), (f"{mark}{match.text}", ""))
        last = match
