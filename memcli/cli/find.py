"""`mem search`."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ..api.choice import Choice, require_types
from ..errors import UsageError
from ..formats.text_lines import FileProblem
from ..index.filters import SORTS, Filter
from ..index.index import Index, ask
from ..search.results import DOCUMENT, MODES, Hit, SearchResults
from ..store.addresses import prefixes
from . import context, output, value_completion
from .options import AsJson, InScope, InWorkspace, choosing


@choosing
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question or some words; - reads standard input.")],
    limit: Annotated[int | None, typer.Option("-n", "--limit", help="How many hits.", show_default="5")] = None,
    mode: Annotated[
        str, typer.Option(autocompletion=value_completion.among(MODES), help="hybrid, vector or keyword.")
    ] = "hybrid",
    min_score: Annotated[
        float | None,
        typer.Option(help="Leave out hits below this relevance.", show_default="0.02, or 0 without the built-in model"),
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each relevance is made of.")] = False,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Find memories by meaning and by words.

    Prints relevance, id, type, date, path:line and the passage that fits, best first; `mem read ID` shows the whole.
    Nothing found is exit code 1. --kind document looks in the folders that the setting index.include names. Where
    the best hit is weak (below 0.5), passages of conversations compete with the others, and stderr says how many more
    turns match; --kind session shows these alone.
    """
    from ..search.index_search import SearchRequest
    from ..search.search import search as find

    if query == "-":
        query = context.standard_input("the query")
    if not query.strip():
        raise UsageError("the query is empty", "say what to look for; `mem ls` lists entries")
    if mode not in MODES:
        raise UsageError(f"no mode {mode!r}", f"use one of {', '.join(MODES)}")
    found_in = context.reading(workspace, scope)
    require_types(choice.type or (), found_in)
    settings = found_in[0].settings
    if limit is not None and limit < 1:
        raise UsageError(f"-n {limit}", "ask for at least one hit")
    if min_score is not None and not 0 <= min_score <= 1:
        raise UsageError(f"--min-score {min_score}", "relevance is between 0 and 1")
    request = SearchRequest(
        query=query,
        limit=limit or settings["search.limit"],
        wanted=replace(
            choice.filter(found_in[0], settings["search.kinds"], also=(DOCUMENT,)),
            paths=tuple(path for one in found_in for path in choice.paths(one)),
        ),
        mode=mode,
        min_score=(least if (least := settings["search.min_score"]) >= 0 else None) if min_score is None else min_score,
        vector_weight=weight if (weight := settings["search.vector_weight"]) >= 0 else None,
        embed_budget=settings["search.embed_budget"],
        may_mean_alone=True,
        draws_on_talk=settings["search.conversations"] and choice.is_open,
        folder=Path.cwd(),
    )
    found = find(found_in, request)
    if as_json:
        output.say_json(_document(query, found, explain))
    else:
        roots = {one.scope: one for one in found_in}
        for hit in found.hits:
            _show(hit, f"{context.here(roots[hit.scope], hit.path)}:{hit.line}", explain)
    for notice in found.notices:
        output.note(notice)
    if found.talk > sum(hit.kind == "session" for hit in found.hits):
        told = "1 turn matches" if found.talk == 1 else f"{found.talk:,} turns match"
        output.note(f"{told} in conversations: mem search --kind session {shlex.quote(query)}")
    context.tell_problems(found_in, found.problems)
    if not found.hits:
        if found.weaker:
            output.note(f"nothing found but {found.weaker} of hardly any relevance: --min-score 0 shows them")
        elif not as_json:
            output.note("nothing found")
        raise typer.Exit(1)


def _document(query: str, found: SearchResults, explain: bool) -> dict[str, Any]:
    hits = []
    for hit in found.hits:
        fields = asdict(hit)
        fields["relevance"] = round(hit.relevance, 4)
        parts = fields.pop("parts")
        if explain:
            fields["parts"] = {name: round(value, 4) for name, value in parts.items()}
        hits.append(fields)
    return {
        "query": query,
        "hits": hits,
        "problems": [asdict(problem) for problem in found.problems],
        "notices": list(found.notices),
        "not_embedded": found.missing,
        "in_conversations": found.talk,
    }


def _show(hit: Hit, place: str, explain: bool) -> None:
    day = hit.timestamp[:10]
    outdated = (f"may be outdated by {hit.outdated_by}",) if hit.outdated_by else ()
    alike = (f"probably says the same as {', '.join(hit.likely_same)}",) if hit.likely_same else ()
    remark = "; ".join((*outdated, *alike, *hit.changed))
    parts = " + ".join(f"{value:.3f} {name}" for name, value in hit.parts.items())
    if not output.is_watched():
        row = [f"{hit.relevance:.2f}", hit.id, hit.type or hit.kind, day, place, hit.summary]
        row += [remark] if remark else []
        output.say_row([*row, f"{hit.relevance:.3f} = {parts}"] if explain else row)
        return
    output.say_styled((f"{hit.relevance:.2f}  ", "1"), (output.wrapped(hit.summary, 6), ""))
    about = f"      {hit.id} · {hit.type or hit.kind} · {day}"
    if output.fits(f"{about} · {place}"):
        output.say_styled((f"{about} · ", "36"), (place, "2"))
    else:
        output.say_styled((about, "36"))
        output.say_styled((f"      {place}", "2"))
    if remark:
        output.say_styled((f"      {remark}", "33"))
    if explain:
        output.say(f"      {hit.relevance:.3f} = {parts}")


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
        str, typer.Option(autocompletion=value_completion.among(list(SORTS)), help=f"Order: {', '.join(SORTS)}.")
    ] = "updated",
    limit: Annotated[int, typer.Option("-n", "--limit", help="How many.", show_default="all")] = 0,
    conflicts: Annotated[bool, typer.Option("--conflicts", help="Only entries that another one contradicts.")] = False,
    choice: Choice = Choice(),
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """List entries.

    Prints id, type, date, path and what each says, the latest change first.
    """
    if sort not in SORTS:
        raise UsageError(f"no order {sort!r}", f"use one of {', '.join(SORTS)}")
    if limit < 0:
        raise UsageError(f"-n {limit}", "ask for at least one, or leave it out for all")
    found_in = context.reading(workspace, scope)
    require_types(choice.type or (), found_in)
    rows: list[dict[str, Any]] = []
    places: list[str] = []  # as the current folder has them
    problems: list[FileProblem] = []
    for where in found_in:
        wanted = choice.filter(where)
        if prefix:
            wanted = replace(wanted, below=prefixes(where, prefix, Path.cwd()))

        def answer(index: Index, wanted: Filter = wanted) -> tuple[list[dict[str, Any]], list[FileProblem]]:
            index.refresh()
            listed = index.list_entries(wanted, SORTS[sort], -1 if conflicts else limit or -1)
            return _in_conflict(index, listed) if conflicts else listed, index.problems(wanted)

        found, wrong = ask(where, answer)
        places += [context.here(where, row["path"]) for row in found]
        rows += [{**row, "scope": where.scope} for row in found]
        problems += wrong
    rows = rows[: limit or None]
    for row in rows:
        row.pop("file", None)
    context.tell_problems(found_in, problems)
    if as_json:
        output.say_json({"entries": rows, "problems": [asdict(one) for one in problems]})
        return
    shown = [(row["id"], row["type"], row["updated_at"][:10], row["summary"]) for row in rows]
    if output.is_watched():
        if shown:
            output.table(("id", "type", "changed", "what it says"), shown, flexible=3)
        else:
            output.note("no entries")
    else:
        for one, place in zip(shown, places, strict=False):
            output.say_row((*one[:3], place, one[3]))


def _in_conflict(index: Index, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Pick the entries that contradict one that is not over."""
    from ..beliefs.supersession import is_in_conflict, over

    gone = over(index.list_entries(Filter(statuses=()), "id"))
    return [row for row in rows if is_in_conflict(row, gone)]
