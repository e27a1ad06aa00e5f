"""`mem context`."""

from typing import Annotated

import typer

from ..api.context import START_CHARACTERS, session_start
from . import output, workspaces
from .options import COMMON, Common


def context(
    explain: Annotated[
        bool, typer.Option("--explain", help="Show each line with its tokens and why it is told.")
    ] = False,
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="Note it as shown in this session.", show_default=False)
    ] = "",
    characters: Annotated[int, typer.Option(min=500, help="Characters never exceeded.")] = START_CHARACTERS,
    common: Common = COMMON,
) -> None:
    """Print what an agent is told at the start of a session.

    Long-term memory, then at most 6,000 characters: rules and preferences, where the last session stood, the last
    days, and an index of what is known here with the ids that `mem read` takes.
    """
    found_in = workspaces.reading(common)
    start = session_start(found_in, session=session, characters=characters)
    if common.as_json:
        output.say_json(start.as_dict())
    elif explain:
        for line in start.lines:
            output.say(f"{line.tokens:>5}  {line.text}\n       {line.why}")
        output.say(f"{start.tokens:>5}  in all")
    elif start.text:
        output.say(start.text, end="")
    workspaces.tell_problems(found_in, start.problems)
