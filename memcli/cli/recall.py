"""`mem recall` and `mem replay`, and what `mem check --recall` and `mem consolidate --prove` show of a session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import recall as api
from ..api.recall import FORMATS, Budget, Proof
from ..api.reference import shorten
from . import context, output
from .options import AsJson, InScope, InWorkspace, in_format
from .session_show import Id

if TYPE_CHECKING:
    from ..api.recall import Replayed, Side
    from ..api.workspace import Workspace

ALL = "all"
_SHOWN = 100  # characters of a question or prompt shown in one line
_LEFT_OUT = 5  # memories left out that are named


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


def replay(
    name: Id,
    turn: Annotated[
        int | None,
        typer.Option("--turn", metavar="N", help="The prompt at this position of the session, with all reasons."),
    ] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="Without --turn: how many prompts, the last ones.")] = 20,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Say what memory would have given to a prompt of a session then, what it gives now, and why.

    Without --turn, a line for each prompt: its position, its time, how many memories it is given then and now, and how
    many of them differ. `mem session show ID` has the positions. Only what is searched for the prompt is replayed:
    MEMORY.md and notes, which a session is given at its start, are left out, and what the session was shown already
    counts for nothing. What was forgotten since is not among what was known then.
    """
    told = api.replay(context.reading(workspace, scope), name, turn=turn, limit=limit)
    if as_json:
        output.say_json(told.as_dict())
    else:
        for one in told.prompts:
            _tell(one, whole=turn is not None)
        if turn is None and told.total > len(told.prompts):
            output.note(f"the last {len(told.prompts)} of {told.total} prompts: -n shows more")
    for notice in told.notices:
        output.note(notice)


def _tell(one: "Replayed", *, whole: bool) -> None:
    text = shorten(one.prompt.text, _SHOWN)
    then = "?" if one.then is None else str(len(one.then.given))
    if not whole and not output.is_watched():
        output.say_row((one.prompt.turn, one.prompt.moment, then, len(one.now.given), len(one.changed), text))
        return
    output.say_styled((f"#{one.prompt.turn}  ", "1"), (text, ""))
    if not whole:
        changed = f" · {len(one.changed)} differ" if one.changed else ""
        output.say_styled((f"      {_day(one)} · then {then} · now {len(one.now.given)}{changed}", "36"))
        return
    if one.then is None:
        output.say("then: the message has no time, so nobody knows what was known")
    else:
        _tell_side(f"then ({_day(one)})", one.then)
    _tell_side("now", one.now)
    if one.then is not None:
        output.say("changed" if one.changed else "nothing changed")
    for difference in one.changed:
        sign = "+" if difference.is_new else "-"
        output.say(f"  {sign} {difference.id} ({shorten(difference.summary, 60)}): {difference.why}")


def _tell_side(name: str, side: "Side") -> None:
    output.say(f"{name}: {_sum(side)}")
    for given in side.given:
        memory = given.memory
        output.say_styled((f"  {memory.score:.2f}  ", "1"), (shorten(memory.summary or memory.text, _SHOWN), ""))
        output.say_styled((f"        {memory.id} · {memory.type or memory.kind} · {memory.date}", "36"))
        output.say(f"        {given.why}")
    left = list(side.left_out.items())
    for name_, why in left[:_LEFT_OUT]:
        output.say(f"  left out: {name_}: {why}")
    if len(left) > _LEFT_OUT:
        output.say(f"  left out: {len(left) - _LEFT_OUT} more")


def _sum(side: "Side") -> str:
    if side.is_gated:
        return f"nothing: the prompt asks for no memory (the best has relevance {side.relevance:.2f})"
    if not side.given:
        return "nothing was found that fits" if not side.left_out else "nothing of what was found"
    return output.number_of(len(side.given), "memory")


def _day(one: "Replayed") -> str:
    return "no time" if one.then is None else one.prompt.moment[:16].replace("T", " ")
