"""What `mem check --recall` and `mem consolidate --prove` show: which questions of a session memory can answer."""

from collections.abc import Sequence
from dataclasses import asdict

from ..consolidation.proof import Answer, asked_in, proof
from ..lifecycle.waiting import all_events
from ..store.sessions import Session, find, sessions
from ..store.workspace import Workspace
from ..text.summary import shorten
from . import output

ALL = "all"
_SHOWN = 100  # characters of a question

Proof = tuple[Session, list[Answer]]


def show_proof(where: Workspace, name: str, *, as_json: bool) -> bool:
    """Print which questions of a session memory alone answers; tell whether it answers all of them."""
    found = proofs_of(where, sessions(where) if name == ALL else [find(where, name)])
    if as_json:
        output.say_json({"sessions": list(map(proof_document, found))})
    else:
        for one in found:
            tell_proof(one)
    return all(answer.is_answered for _, answers in found for answer in answers)


def proofs_of(where: Workspace, chosen: Sequence[Session]) -> list[Proof]:
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
