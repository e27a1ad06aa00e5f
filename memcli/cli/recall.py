"""`mem recall`."""

from typing import Annotated

import typer

from ..api import recall as api
from ..api.context import START_CHARACTERS, session_start
from ..api.recall import FORMATS, Budget
from . import context, output
from .options import AsJson, InScope, InWorkspace, in_format


def recall(
    query: Annotated[
        str, typer.Argument(metavar="[QUERY]", help="The prompt; - reads standard input.", show_default=False)
    ] = "",
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Show nothing twice in this session.", show_default=False)
    ] = "",
    within: Annotated[
        int | None, typer.Option("--within", metavar="MS", help="Answer within this time with what there is.")
    ] = None,
    form: Annotated[str, in_format(FORMATS, "markdown, block or json.")] = "markdown",
    gate: Annotated[bool, typer.Option("--gate", help="Give nothing for a prompt that asks for no memory.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SECTION", help="Only this: long_term, notes, recent, relevant, documents."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Tokens after which nothing more is begun.", show_default="1,800")
    ] = None,
    most: Annotated[int | None, typer.Option(help="Tokens never exceeded.", show_default="3,500")] = None,
    characters: Annotated[
        int | None, typer.Option(help="Characters never exceeded.", show_default="as many as the tokens have")
    ] = None,
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of", metavar="DATE", help="Give what was believed then; without MEMORY.md.", show_default=False
        ),
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what the session was shown.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Return the memories that a prompt should have, as text to put before it.

    Long-term memory, today's notes, the days before and what fits the prompt, within a budget, each with its source and
    date; where no memory fits, passages of conversations do. Where there is nothing, nothing is printed. --format json
    tells what was chosen, what was left out and why.
    """
    form = "json" if as_json else form
    if query == "-":
        query = context.standard_input("the prompt")
    found_in = context.reading(workspace, scope)
    pack = api.recall(
        found_in,
        query,
        session=session,
        within_ms=within,
        sections=tuple(only or ()),
        budget=Budget(budget, most, characters),
        gate=gate,
        as_of=as_of,
        fresh=fresh,
    )
    text = pack.text(form)
    if text:
        output.say(text, end="" if text.endswith("\n") else "\n", raw=form == "json")
    for notice in pack.notices:
        output.note(notice)
    context.tell_problems(found_in, pack.problems)
    if pack.is_late:
        output.leave()


def context_(
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each line with its tokens and why it is told.")
    ] = False,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Note it as shown in this session.", show_default=False)
    ] = "",
    characters: Annotated[int, typer.Option(min=500, help="Characters never exceeded.")] = START_CHARACTERS,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Print what an agent is told at the start of a session.

    Long-term memory, then at most 6,000 characters: rules and preferences, where the last session stood, the last
    days, and an index of what is known here with the ids that `mem read` takes.
    """
    found_in = context.reading(workspace, scope)
    start = session_start(found_in, session=session, characters=characters)
    if as_json:
        output.say_json(start.as_dict())
    elif explain:
        for line in start.lines:
            output.say(f"{line.tokens:>5}  {line.text}\n       {line.why}")
        output.say(f"{start.tokens:>5}  in all")
    elif start.text:
        output.say(start.text, end="")
    context.tell_problems(found_in, start.problems)
