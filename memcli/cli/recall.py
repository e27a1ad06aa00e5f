"""`mem recall`."""

from typing import Annotated

import typer

from ..api import recall as api
from ..api.recall import FORMATS, Budget
from . import output, workspaces
from .options import COMMON, Common, in_format


def recall(
    query: Annotated[
        str, typer.Argument(metavar="[QUERY]", help="The prompt; - reads standard input.", show_default=False)
    ] = "",
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Show nothing twice in this session.", show_default=False)
    ] = "",
    form: Annotated[str, in_format(FORMATS, "markdown or block.")] = "markdown",
    gate: Annotated[bool, typer.Option("--gate", help="Give nothing for a prompt that asks for no memory.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="SECTION", help="Only this: long_term, notes, recent, relevant, documents."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Tokens after which nothing more is begun.", show_default="1,800")
    ] = None,
    characters: Annotated[
        int | None, typer.Option(help="Characters never exceeded.", show_default="those of 3,500 tokens")
    ] = None,
    as_of: Annotated[
        str,
        typer.Option(
            "--as-of", metavar="DATE", help="Give what was believed then; without MEMORY.md.", show_default=False
        ),
    ] = "",
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what the session was shown.")] = False,
    common: Common = COMMON,
) -> None:
    """Return the memories that a prompt should have, as text to put before it.

    Long-term memory, today's notes, the days before and what fits the prompt, within a budget, each with its source and
    date; where no memory fits, passages of conversations do. Where there is nothing, nothing is printed. --json tells
    what was chosen, what was left out and why.
    """
    if query == "-":
        query = workspaces.standard_input("the prompt")
    found_in = workspaces.reading(common)
    pack = api.recall(
        found_in,
        query,
        session=session,
        sections=tuple(only or ()),
        budget=Budget(soft=budget, characters=characters),
        gate=gate,
        as_of=as_of,
        fresh=fresh,
    )
    if common.as_json:
        output.say_json(pack.as_dict())
    elif text := pack.text(form):
        output.say(text, end="" if text.endswith("\n") else "\n")
    output.notes(pack.notices)
    workspaces.tell_problems(found_in, pack.problems)
