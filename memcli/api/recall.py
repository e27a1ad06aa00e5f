"""Recall the memories a prompt should have."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from ..dataclass import dataclass
from ..errors import UsageError
from ..recall import late
from ..recall.late import Behind as Behind
from ..recall.pack import DOCUMENTS, FORMATS, LONG_TERM, RELEVANT, SECTIONS
from ..recall.pack import Memory as Memory
from ..recall.pack import Pack as Pack
from ..recall.recall import recall as _recall
from ..recall.request import Judge, RecallRequest, judge_of
from .workspace import Workspace, Workspaces, every


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
    sections: Sequence[str] = (),
    budget: Budget = Budget(),
    gate: bool = False,
    as_of: str = "",
    fresh: bool = False,
    counts: bool = True,
) -> Pack:
    """Return the memories that the prompt `query` should have, as a pack whose `text()` stands before the prompt.

    An empty query recalls only what follows from the day. With `session` nothing is given twice in that session, of
    which the first workspace keeps the state; `fresh` forgets it. `sections` are some of `SECTIONS`, all if empty. With
    `gate` a prompt that asks for no memory gets none. `as_of` is a date, to give what was believed then without
    MEMORY.md and documents. Nothing is noted as used, or as shown, unless it `counts`. Raise UsageError for a budget
    below 0, for no section and for no date.
    """
    if fresh and not session:
        raise UsageError("nothing to forget: no session is named", "give --session ID, or leave out --fresh")
    found_in = every(workspaces)
    chosen = tuple(sections) or SECTIONS
    moment = found_in[0].moment("as of", as_of, end=True)
    if moment:
        # A page says what holds now, and what it said then only git knows.
        chosen = tuple(section for section in chosen if section not in (LONG_TERM, DOCUMENTS))
        found_in = [replace(workspace, now=datetime.fromisoformat(moment)) for workspace in found_in]
    request = RecallRequest(
        query=query,
        session=session,
        budget_soft=budget.soft,
        budget_hard=budget.hard,
        characters=budget.characters,
        gate=gate,
        judge=_judge(found_in[0], chosen),
        sections=chosen,
        fresh=fresh,
        counts=counts,
        as_of=moment,
    )
    return _recall(found_in, request)


def recall_in_time(
    workspaces: Sequence[Workspace],
    query: str,
    *,
    session: str,
    before: Sequence[str],
    seconds: float,
    behind: Behind,
    characters: int,
    gate: bool,
) -> tuple[Pack, Pack]:
    """Return what fits the prompt of a session within the time, and what came too late for earlier prompts.

    What comes later still is given with the next prompt: the search goes on `behind` this process. `before` are the
    messages before a prompt, which may say little without them.
    """
    sections = (RELEVANT, DOCUMENTS)
    request = RecallRequest(
        query,
        tuple(before),
        session,
        characters=characters,
        gate=gate,
        judge=_judge(workspaces[0], sections),
        sections=sections,
    )
    return late.recall_in_time(workspaces, request, seconds, behind)


def _judge(workspace: Workspace, sections: Sequence[str]) -> Judge | None:
    """Return the judge that the settings ask for, if anything is searched for that could be judged."""
    if not workspace.settings["recall.judge"] or not {RELEVANT, DOCUMENTS} & set(sections):
        return None
    return judge_of(workspace.settings)
