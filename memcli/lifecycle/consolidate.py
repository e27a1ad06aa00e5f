"""Make memory of what was said: one history record, entries, an update of the page, and the session's cursor, as one.

The messages stay due until all of that is on disk. No lock is held while an LLM thinks: consolidations queue on a lock
of their own, and what the plan was made from is looked at again when it is applied. No text is embedded under it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from ..consolidation.drafts import Batch, plain, sound
from ..consolidation.stages import Extraction, extract, fallback
from ..errors import LlmError, RefusedError
from ..store import access, disk
from ..store.journal import apply, exclusive
from ..store.lock import locked
from ..store.redaction import redactor
from ..store.review_log import note_added
from ..store.sessions import Session, at
from ..store.sessions.counting import is_due
from ..store.sessions.ids import identified, settle_ids
from ..store.turn import next_turn, one_by_one
from ..store.workspace import Workspace
from ..text.session import Event
from ..text.times import stamp
from .admit import Looked, Settled, ask_judge, look, settle
from .consolidation import Outcome, fallback_plan, kept_plan
from .llm import Llm
from .neighbours import Opened
from .page import read_page
from .waiting import all_events, batches, behind, but_for, home

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge

_TRIES = 3


@dataclass(frozen=True)
class _Thought:
    """What was found worth keeping of some events, which have no secrets any more."""

    outcome: Outcome
    batch: Batch
    found: Extraction


@contextmanager
def queue(workspace: Workspace, session: Session, wait: float) -> Iterator[None]:
    """Take a turn among those who think about conversations; others may write meanwhile.

    Raises BusyError when another one takes longer than `wait` seconds.
    """
    disk.make_folder(workspace.derived)
    command = f"mem consolidate {session.id}"
    with locked(workspace.derived / "queue", command=command, now=stamp(workspace.now), wait=wait):
        with exclusive(workspace, command):
            pass  # what a killed one left half done is finished before anything is read
        yield


def consolidate(
    workspace: Workspace,
    session: Session,
    llm: Llm | None,
    *,
    keep: int = 0,
    wait: float = 600.0,
    most: int | None = None,
    judge: "LlmJudge | None" = None,
    opened: Opened | None = None,
) -> list[Outcome]:
    """Consolidate what waits of a session but for the last `keep` messages, in turn with others.

    An LLM is shown a long conversation in parts, at most `most` of them; each is kept before the next. A judge says
    what is found is to what is known; `opened` holds the embedding model for who consolidates many sessions.
    """
    with queue(workspace, session, wait):
        return in_turn(workspace, session, llm, keep=keep, most=most, judge=judge, opened=opened)


def in_turn(
    workspace: Workspace,
    session: Session,
    llm: Llm | None,
    *,
    keep: int = 0,
    most: int | None = None,
    judge: "LlmJudge | None" = None,
    opened: Opened | None = None,
) -> list[Outcome]:
    """Consolidate for one who holds the queue."""
    session = at(workspace, session.folder, session.id)
    if session.problem:
        raise RefusedError(session.problem, "mend it or move it away")
    events = all_events(workspace, session)
    if any(before is not after for before, after in zip(events, identified(session.id, events), strict=True)):
        settle_ids(workspace, session)
        events = all_events(workspace, session)
    found = behind(events, session.metadata.consolidated_to)
    outcomes: list[Outcome] = []
    for batch in islice(_batches(found, llm, keep), most):
        outcome = _applied(workspace, session, batch, found, llm, judge, opened)
        outcomes.append(outcome)
        if outcome.how in ("fallback", "nothing"):
            break
        session = at(workspace, session.folder, session.id)
    return outcomes or [Outcome(session.id, "nothing")]


def preview(
    workspace: Workspace,
    session: Session,
    llm: Llm | None,
    *,
    keep: int = 0,
    events: Sequence[Event] | None = None,
    judge: "LlmJudge | None" = None,
) -> list[Outcome]:
    """Show what would become of a session, or of events that are in none yet, writing nothing; the first batch only."""
    found = identified(session.id, all_events(workspace, session) if events is None else events)
    found = behind(found, session.metadata.consolidated_to)
    parts = list(_batches(found, llm, keep))
    if not parts:
        return [Outcome(session.id, "nothing")]
    thought = _thought(workspace, session, parts[0], llm)
    looked = look(workspace, thought.found.drafts, keep=False)
    settled = settle(workspace, looked, ask_judge(workspace, looked, judge) if judge else None)
    planned = _planned(workspace, session, found, thought, settled)
    if len(parts) > 1:
        planned = replace(planned, remarks=(*planned.remarks, f"only the first of {len(parts)} parts is shown"))
    return [planned]


def _batches(found: Sequence[Event], llm: Llm | None, keep: int) -> Iterator[list[Event]]:
    events = but_for(found, keep)
    if llm is None:
        yield from [events] if events else []
    else:
        yield from batches(events)


def _applied(
    workspace: Workspace,
    session: Session,
    events: Sequence[Event],
    found: Sequence[Event],
    llm: Llm | None,
    judge: "LlmJudge | None",
    opened: Opened | None = None,
) -> Outcome:
    """Consolidate one batch: think and look around without a lock, then apply under it."""
    thought = _thought(workspace, session, events, llm)
    command = f"mem consolidate {session.id}"
    looked: Looked | None = Looked((), (), opened.look(), "") if opened else None
    heard = None
    if judge is not None and thought.outcome.how != "fallback":  # who just failed is not asked again
        looked = look(workspace, thought.found.drafts, looked)
        heard = ask_judge(workspace, looked, judge)
    for attempt in range(_TRIES):
        is_last = attempt == _TRIES - 1
        with one_by_one(workspace, command):
            looked = look(workspace, thought.found.drafts, looked)
            if opened:
                opened.embedder = looked.seen.embedder
            with exclusive(workspace, command) as held:
                now = home(workspace, session, events[-1].id)
                if now is None:
                    gone = f"{session.id} was deleted meanwhile: nothing is kept of it"
                    return Outcome(session.id, "nothing", remarks=(gone,))
                if now.metadata.consolidated_to != session.metadata.consolidated_to:
                    others = f"{session.id} was consolidated meanwhile by another"
                    return Outcome(session.id, "nothing", remarks=(others,))
                if not looked.is_current(workspace):
                    if not is_last:
                        continue  # embedding what others wrote meanwhile is not for those who hold the lock
                    looked = look(workspace, thought.found.drafts, looked, budget=0.0)
                settled = settle(workspace, looked, heard)
                planned = _planned(workspace, now, found, thought, settled)
                next_turn(workspace)
                try:
                    applied = apply(workspace, planned.plan.steps, held)
                    access.confirm(workspace, [one for one in settled.confirmed if not thought.found.is_pasted(one[1])])
                    note_added(workspace, settled.made, f"the conversation {session.id}")
                except RefusedError:
                    # An editor takes no lock: what it saved while this was planned is planned for once more.
                    if is_last:
                        raise
                    continue
        kept = tuple(f"{path} was changed meanwhile: our text is in {place}" for path, place in applied.kept)
        return replace(planned, remarks=planned.remarks + kept)
    raise AssertionError("unreachable")


def _thought(workspace: Workspace, session: Session, events: Sequence[Event], llm: Llm | None) -> _Thought:
    """Find what is worth keeping; where the LLM fails, what the user asked for outright."""
    guard = redactor(workspace, session.path)
    events = [guard.event(event) for event in events]
    outcome = Outcome(session.id, "rules", messages=sum(map(is_due, events)), redacted=tuple(guard.found))
    shown = redactor(workspace, workspace.layout.memory).text(read_page(workspace).text) if llm else ""
    batch = Batch(workspace, session, events, shown)
    try:
        found = extract(batch, llm)
    except LlmError as failure:
        found = fallback(batch)
        outcome = replace(outcome, how="fallback", error=failure.message)
    else:
        outcome = replace(outcome, how="llm" if llm else "rules")
    guard = redactor(workspace, "what is to be kept")
    found = replace(
        found,
        drafts=tuple(sound(found.drafts, guard)),
        history=plain(found.history, guard),
        told=found.told.mapped(lambda text: plain(text, guard)),
        page=None if found.page is None else plain(found.page, guard),
    )
    return _Thought(replace(outcome, redacted=outcome.redacted + tuple(guard.found)), batch, found)


def _planned(
    workspace: Workspace, session: Session, waiting: Sequence[Event], thought: _Thought, settled: Settled
) -> Outcome:
    batch = replace(thought.batch, workspace=workspace, session=session)
    if thought.outcome.how == "fallback":
        return fallback_plan(batch, waiting, settled, thought.outcome)
    return kept_plan(batch, thought.found, settled, thought.outcome)
