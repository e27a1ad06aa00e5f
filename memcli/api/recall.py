"""Recall the memories a prompt should have, replay what those of a session were given, prove what it taught."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ..dataclass import dataclass
from ..errors import NotFoundError, UsageError
from ..recall.pack import DOCUMENTS, FORMATS, LONG_TERM, RELEVANT, SECTIONS, STANDING, Memory, Pack
from ..recall.recall import recall as _recall
from ..recall.request import Judge, RecallRequest, judge_of
from .workspace import Workspace, Workspaces, every, lazily

if TYPE_CHECKING:
    from ..consolidation.proof import ProofAnswer
    from ..consolidation.replay import GivenPrompt, Replayed, Side
    from ..store.sessions.sessions import Session


__all__ = [
    "DOCUMENTS",
    "FORMATS",
    "RELEVANT",
    "SECTIONS",
    "STANDING",
    "Budget",
    "GivenPrompt",
    "Memory",
    "Pack",
    "Proof",
    "ProofAnswer",
    "Replay",
    "Replayed",
    "Side",
    "prove",
    "recall",
    "replay",
]


__getattr__ = lazily(
    __name__,
    {
        "GivenPrompt": "consolidation.replay",
        "ProofAnswer": "consolidation.proof",
        "Replayed": "consolidation.replay",
        "Side": "consolidation.replay",
    },
)


@dataclass(frozen=True)
class Budget:
    """How long a pack may be; None takes the setting, or no limit for `characters`."""

    soft: int | None = None  # tokens after which no further memory begins; the setting is recall.soft_budget
    hard: int | None = None  # tokens never exceeded; the setting is recall.hard_budget
    characters: int | None = None  # characters never exceeded


def recall(
    workspaces: Workspaces,
    query: str = "",
    *,
    session: str = "",
    within_ms: int | None = None,
    sections: Sequence[str] = (),
    budget: Budget = Budget(),
    gate: bool = False,
    as_of: str = "",
    fresh: bool = False,
) -> Pack:
    """Return the memories that the prompt `query` should have, as a pack whose `text()` stands before the prompt.

    An empty query recalls only what follows from the day. With `session` nothing is given twice in that session, of
    which the first workspace keeps the state; `fresh` forgets it. `within_ms` is the time to answer in, with what there
    is by then; a pack that `is_late` has left threads at work. `sections` are some of `SECTIONS`, all if empty. With
    `gate` a prompt that asks for no memory gets none. `as_of` is a date, to give what was believed then without
    MEMORY.md and documents. Raise UsageError for a budget or time below 0, for no section and for no date.
    """
    if fresh and not session:
        raise UsageError("nothing to forget: no session is named", "give --session ID, or leave out --fresh")
    found_in = every(workspaces)
    chosen = tuple(sections) or SECTIONS
    moment = found_in[0].moment("as of", as_of, end=True)
    if moment:
        # A page says what holds now, and what it said then only git knows.
        chosen = tuple(one for one in chosen if one not in (LONG_TERM, DOCUMENTS))
        found_in = [replace(one, now=datetime.fromisoformat(moment)) for one in found_in]
    request = RecallRequest(
        query=query,
        session=session,
        within_ms=within_ms,
        budget_soft=budget.soft,
        budget_hard=budget.hard,
        characters=budget.characters,
        gate=gate,
        judge=_judge(found_in[0], chosen),
        sections=chosen,
        fresh=fresh,
        as_of=moment,
    )
    return _recall(found_in, request)


def _judge(workspace: Workspace, sections: Sequence[str]) -> Judge | None:
    """Return the judge that the settings ask for, if anything is searched for that could be judged."""
    if not workspace.settings["recall.judge"] or not {RELEVANT, DOCUMENTS} & set(sections):
        return None
    return judge_of(workspace.settings)


@dataclass(frozen=True)
class Proof:
    """Which of the questions asked and answered in a session memory alone can answer."""

    session: str  # its id
    answers: tuple["ProofAnswer", ...]  # one a question, in their order

    @property
    def is_answered(self) -> bool:
        """Return whether memory answers all of them."""
        return all(one.is_answered for one in self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Return one of the `sessions` of the JSON document of `mem check --recall`."""
        return {
            "session": self.session,
            "asked": len(self.answers),
            "answered": sum(one.is_answered for one in self.answers),
            "questions": [
                {**asdict(one.asked), "found": list(one.found), "hits": list(one.hits), "answered": one.is_answered}
                for one in self.answers
            ],
        }


def prove(workspace: Workspace, names: Sequence[str] = ()) -> tuple[Proof, ...]:
    """Ask memory the questions of the sessions named, of all of the workspace if none is, without their conversations.

    Sessions that cannot be read are left out. Raise NotFoundError for a session that there is not, UnavailableError
    where the index fails.
    """
    from ..consolidation.backlog import all_events
    from ..consolidation.proof import asked_in, proof
    from ..store.sessions.sessions import find, sessions

    chosen = [find(workspace, name) for name in names] if names else sessions(workspace)
    return tuple(
        Proof(one.id, tuple(proof(workspace, asked_in(all_events(workspace, one)))))
        for one in chosen
        if not one.problem
    )


@dataclass(frozen=True)
class Replay:
    """What memory would have given to prompts of a session then, and gives now."""

    session: str  # its id
    prompts: tuple["Replayed", ...]  # in their order
    total: int  # prompts that the session has

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what is to be said of the recalls, each line once."""
        return tuple(dict.fromkeys(line for one in self.prompts for line in one.now.notices))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document of `mem replay`."""
        return {"session": self.session, "prompts": [one.as_dict() for one in self.prompts]}


def replay(workspaces: Workspaces, name: str, *, turn: int | None = None, limit: int = 20) -> Replay:
    """Ask memory again for the last `limit` prompts of a session, or for the one at the position `turn`.

    The first workspace that has the session counts; its memories and those of the others are asked for. Writes
    nothing. Raise NotFoundError for a session that there is not or that has no prompt, UsageError for another turn.
    """
    from ..consolidation.replay import prompts
    from ..consolidation.replay import replay as ask_again

    found_in = every(workspaces)
    where, session = _session(found_in, name)
    asked = prompts(where, session)
    if turn is not None and not any(one.turn == turn for one in asked):
        raise UsageError(f"turn {turn} is no prompt of {session.id}", _prompts_there(asked))
    if limit < 1:
        raise UsageError(f"a limit of {limit}", "ask for at least one prompt")
    chosen = [one for one in asked if one.turn == turn] if turn is not None else asked[-limit:]
    if not chosen:
        raise NotFoundError(
            f"{session.id} has no prompt of a user", f"`mem session show {session.id}` shows what it has"
        )
    return Replay(session.id, tuple(ask_again(found_in, session.id, one) for one in chosen), len(asked))


def _session(workspaces: Sequence[Workspace], name: str) -> "tuple[Workspace, Session]":
    """Return a session in the first workspace that has it."""
    from ..store.sessions.sessions import find

    missing = NotFoundError(f"no session {name!r}")
    for number, where in enumerate(workspaces):
        try:
            return where, find(where, name)
        except NotFoundError as error:
            missing = missing if number else error
    raise missing


def _prompts_there(asked: "Sequence[GivenPrompt]") -> str:
    there = ", ".join(str(one.turn) for one in asked[:10])
    return f"prompts are at {there}{', …' if len(asked) > 10 else ''}" if asked else "it has none"
