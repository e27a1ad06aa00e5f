"""Make memory of what was said: one history record, entries, an update of the page, and the session's cursor, as one.

The messages stay due until all of that is on disk. No lock is held while an LLM thinks: consolidations queue on a lock
of their own, and what the plan was made from is looked at again when it is applied. No text is embedded under it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from ..beliefs.admission import Steps, ask_judge, look, note_settled, settle_batches, settle_drafts, with_current
from ..beliefs.neighbours import Nearby, Opened
from ..beliefs.plan import Draft, Settled
from ..dataclass import dataclass
from ..errors import BusyError, MemError
from ..formats.session_event import Event
from ..results import Result
from ..store.sessions.event_file import recent_events
from ..store.sessions.sessions import Session, at
from ..store.workspace import Workspace
from .backlog import ImportedTranscript, queue
from .batch import Batch, home, parts, read_batch, read_waiting, waiting_as_read
from .plan import Outcome, plan_batches, plan_requests
from .stages import Extraction, extract_or_fall_back, requests

if TYPE_CHECKING:
    from ..beliefs.llm_judge import Heard, LlmJudge
    from ..llm.client import Llm

TOGETHER = 20
"""Conversations of a backlog that become memory as one; others who write wait for a few seconds."""


@dataclass(frozen=True)
class ConsolidationReport(Result):
    """What became, or would become, of sessions."""

    sessions: Annotated[tuple[Outcome, ...], "the sessions"]
    asked: int  # sessions looked at
    imported: tuple[ImportedTranscript, ...] = ()
    failed: tuple[MemError, ...] = ()  # what is wrong with a session stops none of the others
    notices: tuple[str, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Tell whether an LLM failed, so that rules decided or messages stay due."""
        return any(outcome.how == "fallback" or outcome.unheard for outcome in self.sessions)


def consolidate(
    workspace: Workspace,
    session: Session,
    llm: "Llm | None",
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
        return in_turn(workspace, [session], llm, keep=lambda _: keep, most=most, judge=judge, opened=opened)


def consolidate_all(
    workspace: Workspace,
    chosen: Sequence[Session],
    llm: "Llm | None",
    *,
    keep: Callable[[Session], int],
    wait: float = 600.0,
    judge: "LlmJudge | None" = None,
) -> Iterator[Outcome | MemError]:
    """Consolidate what waits of sessions but for the last messages that `keep` counts, and yield what became of each.

    Of a backlog some are looked up, decided and written together where no LLM has a say: what that costs grows with all
    that is known. What is wrong with one stops none of the rest; only BusyError is raised.
    """
    chosen = list({session.folder: session for session in chosen}.values())
    opened = Opened.for_many(len(chosen))
    size = TOGETHER if opened.in_bulk and llm is None and judge is None else 1
    for block in (chosen[first : first + size] for first in range(0, len(chosen), size)):
        try:
            if len(block) > 1:
                with queue(workspace, block[0], wait):
                    yield from in_turn(workspace, block, None, keep=keep, opened=opened)
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


def in_turn(
    workspace: Workspace,
    block: Sequence[Session],
    llm: "Llm | None",
    *,
    keep: Callable[[Session], int],
    most: int | None = None,
    judge: "LlmJudge | None" = None,
    opened: Opened | None = None,
) -> list[Outcome]:
    """Consolidate sessions as one, for one who holds the queue; raise what is wrong with one of them, and do nothing.

    An LLM is shown one session alone, in parts, each of which is kept before the next.
    """
    outcomes: list[Outcome] = []
    extractions: list[Extraction] = []
    bodies: list[str] = []
    busy: set[str] = set()
    for part in block:
        session, waiting = read_waiting(workspace, part)
        for events in islice(parts(waiting, keep(session), for_llm=llm is not None), most):
            batch = read_batch(workspace, session, waiting, events, with_page=llm is not None, before=bodies)
            extractions.append(extract_or_fall_back(batch, llm))
            bodies += (draft.body for draft in extractions[-1].drafts)
            busy.add(session.folder)
            if llm is not None:
                outcomes += _applied(workspace, extractions, judge, opened or Opened())
                if outcomes[-1].how in ("fallback", "nothing"):
                    break
                extractions, session = [], at(workspace, session.folder, session.id)
    if llm is None and extractions:
        outcomes = _applied(workspace, extractions, judge, opened or Opened())
    return [*outcomes, *(Outcome(part.id, "nothing") for part in block if part.folder not in busy)]


def preview(
    workspace: Workspace,
    session: Session,
    llm: "Llm | None",
    *,
    keep: int = 0,
    events: Sequence[Event] | None = None,
    judge: "LlmJudge | None" = None,
) -> list[Outcome]:
    """Show what would become of a session, or of events that are in none yet, writing nothing; the first batch only."""
    waiting = waiting_as_read(workspace, session, events)
    each = list(parts(waiting, keep, for_llm=llm is not None))
    if not each:
        return [Outcome(session.id, "nothing")]
    batch = read_batch(workspace, session, waiting, each[0], with_page=llm is not None)
    extraction = extract_or_fall_back(batch, llm)
    seen = look(workspace, extraction.drafts, keep=False)
    settled = settle_drafts(workspace, seen, ask_judge(workspace, seen, judge) if judge else None)
    (planned,) = plan_batches(workspace, [extraction], [settled])
    if len(each) > 1:
        planned = replace(planned, remarks=(*planned.remarks, f"only the first of {len(each)} parts is shown"))
    return [planned]


def _applied(
    workspace: Workspace, extractions: Sequence[Extraction], judge: "LlmJudge | None", opened: Opened
) -> list[Outcome]:
    """Apply what was found in some conversations as one; what others changed meanwhile is looked at first."""
    seen = Nearby([], [], opened=opened)
    heard: Heard | None = None
    if judge is not None and extractions[0].how != "fallback":  # who just failed is not asked again
        seen = look(workspace, _drafts(extractions), seen)
        heard = ask_judge(workspace, seen, judge)
    elif len(extractions) > 1:
        seen = look(workspace, _drafts(extractions), seen)  # others need not wait for what this embeds
    lost: list[Outcome] = []
    while extractions:
        try:
            return [*lost, *_applied_to(workspace, extractions, heard, seen)]
        except _LostError as failure:
            lost += filter(None, failure.outcomes)
            extractions = [
                extraction for extraction, outcome in zip(extractions, failure.outcomes, strict=True) if not outcome
            ]
            seen = Nearby([], [], opened=opened)
    return lost


def _applied_to(
    workspace: Workspace, extractions: Sequence[Extraction], heard: "Heard | None", seen: Nearby
) -> list[Outcome]:
    """Apply what was found in conversations that are all there still; raise _LostError where one is not."""

    def again(last: Nearby | None, seconds: float | None) -> Nearby:
        return look(workspace, _drafts(extractions), last, budget=seconds)

    def decide(now: Nearby) -> tuple[Steps, tuple[list[Settled], list[Outcome]]]:
        homes = [
            home(workspace, extraction.batch.session, extraction.batch.events[-1].id) for extraction in extractions
        ]
        fates = [_lost(extraction.batch.session, at_) for extraction, at_ in zip(extractions, homes, strict=True)]
        if any(fates):
            raise _LostError(fates)
        moved = [
            replace(extraction, batch=replace(extraction.batch, session=at_))
            for extraction, at_ in zip(extractions, homes, strict=True)
            if at_
        ]
        settled = settle_batches(workspace, now, [len(extraction.drafts) for extraction in extractions], heard)
        planned = plan_batches(workspace, moved, settled)
        return [step for extraction in planned for step in extraction.plan.steps], (settled, planned)

    def note(result: tuple[list[Settled], list[Outcome]]) -> None:
        for settled in result[0]:
            note_settled(workspace, settled)

    (_, (first, *others)), applied = with_current(
        workspace, f"mem consolidate {extractions[0].batch.session.id}", again, decide, seen, note=note
    )
    set_aside = tuple(
        f"{path} was changed meanwhile: our text is in {archived}" for path, archived in applied.unapplied
    )
    return [replace(first, remarks=first.remarks + set_aside), *others]


def keep_requests(
    workspace: Workspace, session: Session, messages: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Keep at once what the user asks to remember in some messages of a session; return ids of entries, and notices.

    What one of the messages takes back is not kept. Where nothing can be written consolidation does it later, and that
    is told: who hears that it failed would say the messages again.
    """
    extraction = requests(Batch(workspace, session, recent_events(workspace.path(session.path))), messages)
    if not extraction.drafts:
        return (), ()

    def again(last: Nearby | None, seconds: float | None) -> Nearby:
        return look(workspace, extraction.drafts, last, budget=seconds)

    def decide(seen: Nearby) -> tuple[Steps, Settled]:
        settled = settle_drafts(workspace, seen)
        return plan_requests(extraction, settled, messages), settled

    def note(settled: Settled) -> None:
        note_settled(workspace, settled)

    try:
        settled, _ = with_current(workspace, "mem session append", again, decide, note=note)
    except MemError as error:
        return (), (f"what the user asked to remember waits for consolidation: {error.message}",)
    ids = (admitted.id for admitted in settled.admitted if admitted.is_let_in)
    return tuple(dict.fromkeys(ids)), (*settled.notices, *settled.left_out, *settled.held_back)


class _LostError(Exception):
    """Some conversations went away, or were consolidated by another, while they were thought about."""

    def __init__(self, outcomes: Sequence[Outcome | None]) -> None:
        super().__init__()
        self.outcomes = outcomes  # for each conversation; None where it may be kept


def _drafts(extractions: Sequence[Extraction]) -> list[Draft]:
    return [draft for extraction in extractions for draft in extraction.drafts]


def _lost(session: Session, now: Session | None) -> Outcome | None:
    """Return why nothing may be kept of a conversation any more; None where it may."""
    if now is None:
        return Outcome(session.id, "nothing", remarks=(f"{session.id} was deleted meanwhile: nothing is kept of it",))
    if now.metadata.consolidated_to != session.metadata.consolidated_to:
        others = f"{session.id} was consolidated meanwhile by another"
        return Outcome(session.id, "nothing", remarks=(others,))
    return None
