"""What `mem check --recall` and `mem consolidate --prove` show: which questions of a session memory can answer."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ..consolidation.backlog import all_events
from ..consolidation.proof import ProofAnswer, asked_in, proof
from ..consolidation.replay import Given, GivenPrompt, Replayed, Side, prompts
from ..consolidation.replay import replay as ask_again
from ..errors import NotFoundError, UsageError
from ..formats.text_lines import shorten
from ..formats.times import parse_time
from ..store.sessions.sessions import Session, find, sessions
from ..store.workspace import Workspace
from . import context, output
from .options import AsJson, InScope, InWorkspace
from .session_show import Id, counted, found

ALL = "all"
_SHOWN = 100  # characters of a question

Proof = tuple[Session, list[ProofAnswer]]


def show_proof(where: Workspace, name: str, *, as_json: bool) -> bool:
    """Print which questions of a session memory alone answers; tell whether it answers all of them."""
    found = _proofs(where, sessions(where) if name == ALL else [find(where, name)])
    if as_json:
        output.say_json({"sessions": list(map(proof_document, found))})
    else:
        for one in found:
            tell_proof(one)
    return all(answer.is_answered for _, answers in found for answer in answers)


def proofs_of(where: Workspace, names: Sequence[str]) -> list[Proof]:
    """Ask memory the questions of each session named."""
    return _proofs(where, [find(where, name) for name in names])


def _proofs(where: Workspace, chosen: Sequence[Session]) -> list[Proof]:
    """Ask memory the questions of each session that can be read."""
    return [(one, proof(where, asked_in(all_events(where, one)))) for one in chosen if not one.problem]


def tell_proof(found: Proof) -> None:
    """Print one session's count, and the questions that memory cannot answer with the words it lacks."""
    session, answers = found
    missing = [one for one in answers if not one.is_answered]
    if not answers:
        output.say(f"{session.id}: no question in it was answered with a number, a name or a path")
        return
    output.say(f"{session.id}: {len(answers) - len(missing)} of {len(answers)} answerable from memory alone")
    for one in missing:
        lacks = ", ".join(word for word in one.asked.words if word not in one.found)
        output.say(f"  not kept: {shorten(one.asked.question, _SHOWN)} ({lacks})")


def proof_document(found: Proof) -> dict[str, object]:
    """Give one session's proof for `--json`."""
    session, answers = found
    return {
        "session": session.id,
        "asked": len(answers),
        "answered": sum(one.is_answered for one in answers),
        "questions": [
            {**asdict(one.asked), "found": list(one.found), "hits": list(one.hits), "answered": one.is_answered}
            for one in answers
        ],
    }


_PROMPT = 100  # characters of a prompt shown in one line
_LEFT_OUT = 5  # memories left out that are named


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
    where, session = found(workspace, scope, name)
    asked = prompts(where, session)
    if turn is not None and not any(one.turn == turn for one in asked):
        raise UsageError(f"--turn {turn} is no prompt of {session.id}", _prompts_there(asked))
    if limit < 1:
        raise UsageError(f"-n {limit}", "ask for at least one prompt")
    chosen = [one for one in asked if one.turn == turn] if turn is not None else asked[-limit:]
    if not chosen:
        raise NotFoundError(
            f"{session.id} has no prompt of a user", f"`mem session show {session.id}` shows what it has"
        )
    found_in = context.reading(workspace, scope)
    told: list[Replayed] = []
    for one in chosen:
        told.append(ask_again(found_in, session.id, one))
        if not as_json:
            _tell(told[-1], whole=turn is not None)
    if as_json:
        output.say_json({"session": session.id, "prompts": [_document(one) for one in told]})
    elif len(asked) > len(chosen) and turn is None:
        output.note(f"the last {len(chosen)} of {len(asked)} prompts: -n shows more")
    for notice in dict.fromkeys(line for one in told for line in one.now.notices):
        output.note(notice)


def _prompts_there(asked: list[GivenPrompt]) -> str:
    there = ", ".join(str(one.turn) for one in asked[:10])
    return f"prompts are at {there}{', …' if len(asked) > 10 else ''}" if asked else "it has none"


def _tell(one: Replayed, *, whole: bool) -> None:
    text = shorten(one.prompt.text, _PROMPT)
    then = "?" if one.then is None else str(len(one.then.given))
    if not whole and not output.is_watched():
        output.say_row((one.prompt.turn, one.prompt.moment, then, len(one.now.given), len(one.changed), text))
        return
    output.say_styled((f"#{one.prompt.turn}  ", "1"), (text, ""))
    if not whole:
        changed = f" · {len(one.changed)} differ" if one.changed else ""
        output.say_styled((f"      {_day(one.prompt)} · then {then} · now {len(one.now.given)}{changed}", "36"))
        return
    if one.then is None:
        output.say("then: the message has no time, so nobody knows what was known")
    else:
        _tell_side(f"then ({_day(one.prompt)})", one.then)
    _tell_side("now", one.now)
    if one.then is not None:
        output.say("changed" if one.changed else "nothing changed")
    for difference in one.changed:
        sign = "+" if difference.is_new else "-"
        output.say(f"  {sign} {difference.id} ({shorten(difference.summary, 60)}): {difference.why}")


def _tell_side(name: str, side: Side) -> None:
    output.say(f"{name}: {_sum(side)}")
    for given in side.given:
        memory = given.memory
        output.say_styled((f"  {memory.score:.2f}  ", "1"), (shorten(memory.summary or memory.text, _PROMPT), ""))
        output.say_styled((f"        {memory.id} · {memory.type or memory.kind} · {memory.date}", "36"))
        output.say(f"        {given.why}")
    left = list(side.left_out.items())
    for name_, why in left[:_LEFT_OUT]:
        output.say(f"  left out: {name_}: {why}")
    if len(left) > _LEFT_OUT:
        output.say(f"  left out: {len(left) - _LEFT_OUT} more")


def _sum(side: Side) -> str:
    if side.is_gated:
        return f"nothing: the prompt asks for no memory (the best has relevance {side.relevance:.2f})"
    if not side.given:
        return "nothing was found that fits" if not side.left_out else "nothing of what was found"
    return counted(len(side.given), "memory").replace("memorys", "memories")


def _day(prompt: GivenPrompt) -> str:
    moment = parse_time(prompt.moment)
    return prompt.moment[:16].replace("T", " ") if moment else "no time"


def _document(one: Replayed) -> dict[str, Any]:
    return {
        "turn": one.prompt.turn,
        "timestamp": one.prompt.moment,
        "prompt": one.prompt.text,
        "then": None if one.then is None else _side_document(one.then),
        "now": _side_document(one.now),
        "changed": [
            {"id": two.id, "summary": two.summary, "is_new": two.is_new, "why": two.why} for two in one.changed
        ],
    }


def _side_document(side: Side) -> dict[str, Any]:
    return {
        "memories": [_memory(given) for given in side.given],
        "left_out": [{"id": name, "why": why} for name, why in side.left_out.items()],
        "is_gated": side.is_gated,
        "relevance": round(side.relevance, 4),
        "found_by": side.found_by,
    }


def _memory(given: Given) -> dict[str, Any]:
    memory = given.memory
    return {
        "id": memory.id,
        "kind": memory.kind,
        "type": memory.type,
        "path": memory.path,
        "scope": memory.scope,
        "date": memory.date,
        "summary": memory.summary,
        "relevance": round(memory.relevance, 4),
        "kept": round(memory.kept, 4),
        "score": round(memory.score, 4),
        "parts": {name: round(value, 4) for name, value in memory.parts.items()},
        "why": given.why,
    }
