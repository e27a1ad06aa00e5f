"""`mem recall`, and what `mem check --recall` and `mem consolidate --prove` show of a session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import recall as api
from ..api.recall import FORMATS, Budget, Proof
from ..api.reference import shorten
from . import context, output
from .options import AsJson, InScope, InWorkspace, in_format

if TYPE_CHECKING:
    from ..api.workspace import Workspace

ALL = "all"
_SHOWN = 100  # characters of a question shown in one line


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


def show_proof(where: "Workspace", name: str, *, as_json: bool) -> bool:
    """Print which questions of a session memory alone answers; return whether it answers all of them."""
    found = api.prove(where, () if name == ALL else (name,))
    if as_json:
        output.say_json({"sessions": [one.as_dict() for one in found]})
    else:
        for one in found:
            tell_proof(one)
    return all(one.is_answered for one in found)


def proofs_of(where: "Workspace", names: Sequence[str]) -> Sequence[Proof]:
    """Ask memory the questions of each session named that can be read."""
    return api.prove(where, names) if names else ()


def tell_proof(found: Proof) -> None:
    """Print one session's count, and the questions that memory cannot answer with the words it lacks."""
    missing = [one for one in found.answers if not one.is_answered]
    if not found.answers:
        output.say(f"{found.session}: no question in it was answered with a number, a name or a path")
        return
    answered = len(found.answers) - len(missing)
    output.say(f"{found.session}: {answered} of {len(found.answers)} answerable from memory alone")
    for one in missing:
        lacks = ", ".join(word for word in one.asked.words if word not in one.found)
        output.say(f"  not kept: {shorten(one.asked.question, _SHOWN)} ({lacks})")


def proof_document(found: Proof) -> dict[str, object]:
    """Return one session's proof for `--json`."""
    return found.as_dict()
