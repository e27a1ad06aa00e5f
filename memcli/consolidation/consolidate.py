"""Make memory of what was said: one history record, entries, an update of the page, and the session's cursor, as one.

The messages stay due until all of that is on disk. No lock is held while an LLM thinks: consolidations queue on a lock
of their own, and what the plan was made from is looked at again when it is applied. No text is embedded under it.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from ..beliefs.admission import ask_judge, look, settle_batches, settle_drafts, with_current
from ..beliefs.drafts import Draft, Settled
from ..beliefs.neighbours import Nearby, Opened
from ..beliefs.plan import read_page
from ..errors import BusyError, LlmError, MemError, RefusedError
from ..formats.session_event import Event
from ..formats.times import stamp
from ..index.index import Index, ask
from ..llm.client import Llm
from ..store import file_steps, local_log
from ..store.journal import Step, exclusive
from ..store.local_log import note_added
from ..store.lock import locked
from ..store.redaction import redactor
from ..store.sessions.append import identified, settle_ids
from ..store.sessions.counts import is_due
from ..store.sessions.sessions import Session, at
from ..store.workspace import Workspace
from .apply import Kept, Outcome, fallback_plan, kept_plans
from .backlog import all_events, batches, behind, but_for, home
from .drafts import Batch, safe_text, sound
from .stages import Extraction, extract, fallback

if TYPE_CHECKING:
    from ..beliefs.llm_judge import Heard, LlmJudge

TOGETHER = 20
"""Conversations of a backlog that become memory as one; others who write wait for a few seconds."""


@dataclass(frozen=True)
class _Thought:
    """What was found worth keeping of some events, which have no secrets any more."""

    session: Session  # as it stood when they were read
    waiting: Sequence[Event]  # all that wait in it
    batch: Batch
    found: Extraction
    outcome: Outcome


@contextmanager
def queue(workspace: Workspace, session: Session, wait: float) -> Iterator[None]:
    """Take a turn among those who think about conversations; others may write meanwhile.

    Raises BusyError when another one takes longer than `wait` seconds.
    """
    file_steps.make_folder(workspace.derived)
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


def consolidate_all(
    workspace: Workspace,
    chosen: Sequence[Session],
    llm: Llm | None,
    *,
    keep: Callable[[Session], int],
    wait: float = 600.0,
    judge: "LlmJudge | None" = None,
) -> Iterator[Outcome | MemError]:
    """Consolidate what waits of sessions but for the last messages that `keep` counts, and yield what became of each.

    Of a backlog some are looked up, decided and written together where no LLM has a say: what that costs grows with all
    that is known. What is wrong with one stops none of the rest; only BusyError is raised.
    """
    chosen = list({one.folder: one for one in chosen}.values())
    opened = Opened.for_many(len(chosen))
    size = TOGETHER if opened.in_bulk and llm is None and judge is None else 1
    for block in (chosen[first : first + size] for first in range(0, len(chosen), size)):
        try:
            if len(block) > 1:
                with queue(workspace, block[0], wait):
                    yield from _together(workspace, block, keep, opened)
                continue
        except BusyError:
            raise
        except MemError:
            pass  # one of them; each by itself says which
        for session in block:
            try:
                yield from consolidate(
                    workspace, session, llm, keep=keep(session), wait=wait, judge=judge, opened=opened
                )
            except BusyError:
                raise
            except MemError as failure:
                yield failure


def _together(
    workspace: Workspace, block: Sequence[Session], keep: Callable[[Session], int], opened: Opened
) -> list[Outcome]:
    """Consolidate some sessions as one, for one who holds the queue; where one cannot be, MemError and nothing done."""
    ask(workspace, Index.refresh)
    thoughts: list[_Thought] = []
    said: list[str] = []
    for one in block:
        session, waiting = _read(workspace, one)
        for events in _batches(waiting, None, keep(session)):
            thoughts.append(_thought(workspace, session, waiting, events, None, said))
            said += (draft.body for draft in thoughts[-1].found.drafts)
    done = _applied(workspace, thoughts, None, opened) if thoughts else []
    busy = {one.session.folder for one in thoughts}
    return [*done, *(Outcome(one.id, "nothing") for one in block if one.folder not in busy)]


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
    session, found = _read(workspace, session)
    outcomes: list[Outcome] = []
    for batch in islice(_batches(found, llm, keep), most):
        thought = _thought(workspace, session, found, batch, llm)
        outcomes += _applied(workspace, [thought], judge, opened)
        if outcomes[-1].how in ("fallback", "nothing"):
            break
        session = at(workspace, session.folder, session.id)
    return outcomes or [Outcome(session.id, "nothing")]


def _read(workspace: Workspace, session: Session) -> tuple[Session, list[Event]]:
    """Read a session as it is now, and the events that wait in it; each has an id then."""
    session = at(workspace, session.folder, session.id)
    if session.problem:
        raise RefusedError(session.problem, "mend it or move it away")
    events = all_events(workspace, session)
    if any(before is not after for before, after in zip(events, identified(session.id, events), strict=True)):
        settle_ids(workspace, session)
        events = all_events(workspace, session)
    return session, behind(events, session.metadata.consolidated_to)


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
    thought = _thought(workspace, session, found, parts[0], llm)
    looked = look(workspace, thought.found.drafts, keep=False)
    settled = settle_drafts(workspace, looked, ask_judge(workspace, looked, judge) if judge else None)
    (planned,) = _planned(workspace, [thought], [session], [settled])
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
    workspace: Workspace, thoughts: Sequence[_Thought], judge: "LlmJudge | None", opened: Opened | None = None
) -> list[Outcome]:
    """Apply what was found in some conversations as one; what others changed meanwhile is looked at first."""
    command = f"mem consolidate {thoughts[0].session.id}"
    seen: Nearby | None = opened.look() if opened else None
    heard: Heard | None = None
    if judge is not None and thoughts[0].outcome.how != "fallback":  # who just failed is not asked again
        seen = look(workspace, _drafts(thoughts), seen)
        heard = ask_judge(workspace, seen, judge)
    elif len(thoughts) > 1:
        seen = look(workspace, _drafts(thoughts), seen)  # others need not wait for what this embeds
    lost: list[Outcome] = []
    while thoughts:
        try:
            return [*lost, *_applied_to(workspace, thoughts, command, heard, seen, opened)]
        except _LostError as failure:
            lost += filter(None, failure.outcomes)
            thoughts = [one for one, told in zip(thoughts, failure.outcomes, strict=True) if not told]
            seen = opened.look() if opened else None
    return lost


def _applied_to(
    workspace: Workspace,
    thoughts: Sequence[_Thought],
    command: str,
    heard: "Heard | None",
    seen: Nearby | None,
    opened: Opened | None,
) -> list[Outcome]:
    """Apply what was found in conversations that are all there still; _LostError where one is not."""

    def again(last: Nearby | None, seconds: float | None) -> Nearby:
        now = look(workspace, _drafts(thoughts), last, budget=seconds)
        if opened:
            opened.embedder = now.embedder
        return now

    def decide(now: Nearby) -> tuple[list[Step], tuple[list[Settled], list[Outcome]]]:
        homes = [home(workspace, one.session, one.batch.events[-1].id) for one in thoughts]
        fates = [_lost(one, at) for one, at in zip(thoughts, homes, strict=True)]
        if any(fates):
            raise _LostError(fates)
        parts = settle_batches(workspace, now, [len(one.found.drafts) for one in thoughts], heard)
        planned = _planned(workspace, thoughts, [at for at in homes if at], parts)
        return [step for one in planned for step in one.plan.steps], (parts, planned)

    def note(result: tuple[list[Settled], list[Outcome]]) -> None:
        local_log.confirm(workspace, [one for settled in result[0] for one in settled.confirmed])
        for one, settled in zip(thoughts, result[0], strict=True):
            note_added(workspace, settled.made, f"the conversation {one.session.id}")

    (_, (first, *others)), applied = with_current(workspace, command, again, decide, seen, note=note)
    kept = tuple(f"{path} was changed meanwhile: our text is in {place}" for path, place in applied.kept)
    return [replace(first, remarks=first.remarks + kept), *others]


class _LostError(Exception):
    """Some conversations went away, or were consolidated by another, while they were thought about."""

    def __init__(self, outcomes: Sequence[Outcome | None]) -> None:
        super().__init__()
        self.outcomes = outcomes  # for each conversation; None where it may be kept


def _drafts(thoughts: Sequence[_Thought]) -> list[Draft]:
    return [draft for thought in thoughts for draft in thought.found.drafts]


def _lost(thought: _Thought, now: Session | None) -> Outcome | None:
    """Say why nothing may be kept of a conversation any more; None where it may."""
    session = thought.session
    if now is None:
        return Outcome(session.id, "nothing", remarks=(f"{session.id} was deleted meanwhile: nothing is kept of it",))
    if now.metadata.consolidated_to != session.metadata.consolidated_to:
        others = f"{session.id} was consolidated meanwhile by another"
        return Outcome(session.id, "nothing", remarks=(others,))
    return None


def _thought(
    workspace: Workspace,
    session: Session,
    waiting: Sequence[Event],
    events: Sequence[Event],
    llm: Llm | None,
    before: Sequence[str] | None = None,
) -> _Thought:
    """Find what is worth keeping of events; where the LLM fails, what the user asked for outright.

    `before` is what is kept of conversations that become memory with it; the index is in step with the disk then.
    """
    guard = redactor(workspace, session.path)
    events = [guard.event(event) for event in events]
    outcome = Outcome(session.id, "rules", messages=sum(map(is_due, events)), redacted=tuple(guard.found))
    shown = redactor(workspace, workspace.layout.memory).text(read_page(workspace).text) if llm else ""
    batch = Batch(workspace, session, events, shown, before)
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
        history=safe_text(found.history, guard),
        told=found.told.mapped(lambda text: safe_text(text, guard)),
        page=None if found.page is None else safe_text(found.page, guard),
    )
    outcome = replace(outcome, redacted=outcome.redacted + tuple(guard.found))
    return _Thought(session, waiting, batch, found, outcome)


def _planned(
    workspace: Workspace, thoughts: Sequence[_Thought], homes: Sequence[Session], parts: Sequence[Settled]
) -> list[Outcome]:
    """Propose what becomes of conversations, where each lies now."""
    kept = [
        Kept(replace(one.batch, workspace=workspace, session=now), one.found, settled, one.outcome)
        for one, now, settled in zip(thoughts, homes, parts, strict=True)
    ]
    if kept[0].outcome.how == "fallback":  # an LLM is asked about one conversation at a time
        return [fallback_plan(kept[0].batch, thoughts[0].waiting, kept[0].settled, kept[0].outcome)]
    return kept_plans(workspace, kept)
