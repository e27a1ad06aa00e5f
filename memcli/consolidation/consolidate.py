"""Make memory of what was said: one history record, entries, an update of the page, and the session's cursor, as one.

The messages stay due until all of that is on disk. No lock is held while an LLM thinks: consolidations queue on a lock
of their own, and what the plan was made from is looked at again when it is applied. No text is embedded under it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated

from ..beliefs.admission import UNHEARD, ask_judge, look, settle_batches, settle_drafts, with_current
from ..beliefs.neighbours import Comparer, Nearby
from ..beliefs.plan import Draft, Plan
from ..dataclass import dataclass
from ..errors import BusyError, MemError
from ..formats.session_event import Event
from ..results import Result, SessionId
from ..store.sessions.event_file import recent_events
from ..store.sessions.sessions import Session, at
from ..store.workspace import Workspace
from .backlog import queue
from .batch import Batch, home, parts, read_batch, read_waiting, waiting_as_read
from .plan import Outcome, plan_batches, plan_requests
from .stages import Findings, extract_or_fall_back, requests

if TYPE_CHECKING:
    from ..beliefs.llm_judge import Heard, LlmJudge
    from ..llm.client import Llm
    from ..transcripts.session_import import ImportedSession

TOGETHER = 20
"""Conversations of a backlog that become memory as one; others who write wait for a few seconds."""


@dataclass(frozen=True)
class ConsolidationReport(Result):
    """What became, or would become, of sessions."""

    sessions: Annotated[tuple[Outcome, ...], "the sessions"]
    asked: int  # sessions looked at
    imported: "tuple[tuple[str, ImportedSession], ...]" = ()  # transcripts that became a session first, by name
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
    upto: str = "",
    wait: float = 600.0,
    most: int | None = None,
    judge: "LlmJudge | None" = None,
    comparer: Comparer | None = None,
) -> list[Outcome]:
    """Consolidate what waits of a session, `upto` as in `parts`, but for the last `keep` messages, in turn with others.

    An LLM is shown a long conversation in parts, at most `most` of them; each is kept before the next. A judge says
    what is found is to what is known; `comparer` holds the models for who consolidates many sessions.
    """
    with queue(workspace, session, wait):
        return in_turn(workspace, [(session, keep)], llm, upto=upto, most=most, judge=judge, comparer=comparer)


def consolidate_all(
    workspace: Workspace,
    chosen: Iterable[tuple[Session, int]],
    llm: "Llm | None",
    *,
    wait: float,
    judge: "LlmJudge | None" = None,
) -> Iterator[Outcome | MemError]:
    """Consolidate what waits of sessions but for so many of the last messages, and yield what became of each.

    Of a backlog some are looked up, decided and written together where no LLM has a say: what that costs grows with all
    that is known. What is wrong with one stops none of the rest; only BusyError is raised.
    """
    sessions = list({session.folder: (session, keep) for session, keep in chosen}.values())
    comparer = Comparer.for_many(len(sessions))
    size = TOGETHER if comparer.in_bulk and llm is None and judge is None else 1
    for block in (sessions[first : first + size] for first in range(0, len(sessions), size)):
        try:
            if len(block) > 1:
                with queue(workspace, block[0][0], wait):
                    yield from in_turn(workspace, block, None, comparer=comparer)
                continue
        except BusyError:
            raise
        except MemError:
            pass  # one of them; each by itself says which
        for session, keep in block:
            try:
                yield from consolidate(workspace, session, llm, keep=keep, wait=wait, judge=judge, comparer=comparer)
            except BusyError:
                raise
            except MemError as failure:
                yield failure


def in_turn(
    workspace: Workspace,
    block: Sequence[tuple[Session, int]],
    llm: "Llm | None",
    *,
    upto: str = "",
    most: int | None = None,
    judge: "LlmJudge | None" = None,
    comparer: Comparer | None = None,
) -> list[Outcome]:
    """Consolidate sessions but for so many last messages of each as one, for one who holds the queue.

    Raise what is wrong with one of them, and do nothing. An LLM is shown one session alone, in parts,
    each of which is kept before the next.
    """
    outcomes: list[Outcome] = []
    all_findings: list[Findings] = []
    bodies: list[str] = []
    busy: set[str] = set()
    for part, keep in block:
        session, waiting = read_waiting(workspace, part)
        for events in islice(parts(waiting, keep, for_llm=llm is not None, upto=upto), most):
            batch = read_batch(workspace, session, waiting, events, with_page=llm is not None, before=bodies)
            all_findings.append(_asking(extract_or_fall_back(batch, llm)))
            bodies += (draft.body for draft in all_findings[-1].drafts)
            busy.add(session.folder)
            if llm is not None:
                outcomes += _applied(workspace, all_findings, judge, comparer or Comparer())
                if outcomes[-1].how in ("fallback", "nothing"):
                    break
                all_findings, session = [], at(workspace, session.folder, session.id)
    if llm is None and all_findings:
        outcomes = _applied(workspace, all_findings, judge, comparer or Comparer())
    return [*outcomes, *(Outcome(part.id, "nothing") for part, _ in block if part.folder not in busy)]


def preview(
    workspace: Workspace,
    session: Session,
    llm: "Llm | None",
    *,
    keep: int,
    upto: str,
    events: Sequence[Event] | None,
    judge: "LlmJudge | None",
) -> list[Outcome]:
    """Show what would become of a session, or of events that are in none yet, writing nothing; the first batch only."""
    waiting = waiting_as_read(workspace, session, events)
    each = list(parts(waiting, keep, for_llm=llm is not None, upto=upto))
    if not each:
        return [Outcome(session.id, "nothing")]
    batch = read_batch(workspace, session, waiting, each[0], with_page=llm is not None)
    findings = _asking(extract_or_fall_back(batch, llm))
    seen = look(workspace, findings.drafts, keep=False)
    admission = settle_drafts(workspace, seen, ask_judge(workspace, seen, judge) if judge else UNHEARD)
    (planned,) = plan_batches(workspace, [findings], [admission])
    if len(each) > 1:
        planned = replace(planned, remarks=(*planned.remarks, f"only the first of {len(each)} parts is shown"))
    return [planned]


@dataclass(frozen=True)
class ReplyRequest(Result):
    """What an LLM would be asked about the first part of what waits in a session."""

    session: SessionId
    messages: Annotated[
        Sequence[Mapping[str, str]], "the prompt: role and content of each message; none, nothing waits"
    ]
    schema: Annotated[Mapping[str, object], "JSON Schema of the reply"]
    covers: Annotated[Sequence[str], "ids of the messages and calls it shows, by their number"]
    parts: Annotated[int, "how many parts wait, of which this is the first"]

    @property
    def upto(self) -> Annotated[str, "the first and the last of them, which --upto takes; empty where there is none"]:
        """Return the first and the last of what it covers as `FIRST..LAST`."""
        return f"{self.covers[0]}..{self.covers[-1]}" if self.covers else ""


def reply_request(workspace: Workspace, session: Session, *, keep: int, events: Sequence[Event] | None) -> ReplyRequest:
    """Return what an LLM would be asked about a session, or about events that are in none yet, writing nothing."""
    from .llm_extractor import SCHEMA, messages_for

    waiting = waiting_as_read(workspace, session, events)
    each = list(parts(waiting, keep, for_llm=True))
    if not each:
        return ReplyRequest(session.id, (), SCHEMA, (), 0)
    batch = read_batch(workspace, session, waiting, each[0], with_page=True)
    covers = [event.id for event in batch.events]
    return ReplyRequest(session.id, messages_for(batch), SCHEMA, covers, len(each))


def _applied(
    workspace: Workspace, all_findings: Sequence[Findings], judge: "LlmJudge | None", comparer: Comparer
) -> list[Outcome]:
    """Apply what was found in some conversations as one; what others changed meanwhile is looked at first."""
    seen = Nearby([], [], comparer=comparer)
    heard = UNHEARD
    if judge is not None and all_findings[0].how != "fallback":  # who just failed is not asked again
        seen = look(workspace, _drafts(all_findings), seen)
        heard = ask_judge(workspace, seen, judge)
    elif len(all_findings) > 1:
        seen = look(workspace, _drafts(all_findings), seen)  # others need not wait for what this embeds
    lost: list[Outcome] = []
    while all_findings:
        try:
            return [*lost, *_applied_to(workspace, all_findings, heard, seen)]
        except _LostError as failure:
            lost += filter(None, failure.outcomes)
            all_findings = [
                findings for findings, outcome in zip(all_findings, failure.outcomes, strict=True) if not outcome
            ]
            seen = Nearby([], [], comparer=comparer)
    return lost


def _applied_to(workspace: Workspace, all_findings: Sequence[Findings], heard: "Heard", seen: Nearby) -> list[Outcome]:
    """Apply what was found in conversations that are all there still; raise _LostError where one is not."""

    def decide(now: Nearby) -> tuple[Plan, list[Outcome]]:
        homes = [home(workspace, findings.batch.session, findings.batch.events[-1].id) for findings in all_findings]
        fates = [_lost(findings.batch.session, at_) for findings, at_ in zip(all_findings, homes, strict=True)]
        if any(fates):
            raise _LostError(fates)
        moved = [
            replace(findings, batch=replace(findings.batch, session=at_))
            for findings, at_ in zip(all_findings, homes, strict=True)
            if at_
        ]
        admissions = settle_batches(workspace, now, [len(findings.drafts) for findings in all_findings], heard)
        outcomes = plan_batches(workspace, moved, admissions)
        return sum((outcome.plan for outcome in outcomes), Plan()), outcomes

    command = f"mem consolidate {all_findings[0].batch.session.id}"
    look_again = partial(look, workspace, _drafts(all_findings))
    (first, *others), applied = with_current(workspace, command, look_again, decide, seen)
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
    findings = requests(Batch(workspace, session, recent_events(workspace.path(session.path))), messages)
    if not findings.drafts:
        return (), ()

    def decide(seen: Nearby) -> tuple[Plan, Plan]:
        plan = plan_requests(findings, settle_drafts(workspace, seen), messages)
        return plan, plan

    try:
        plan, _ = with_current(workspace, "mem session append", partial(look, workspace, findings.drafts), decide)
    except MemError as error:
        return (), (f"what the user asked to remember waits for consolidation: {error.message}",)
    ids = (admitted.id for admitted in plan.admitted if admitted.is_let_in)
    return tuple(dict.fromkeys(ids)), (*plan.notices, *plan.left_out, *plan.held_back)


def _asking(findings: Findings) -> Findings:
    """Let what was found wait for a yes where the settings say so, but for what the user asked to be remembered."""
    if findings.batch.workspace.settings["memory.writing"] != "ask":
        return findings
    drafts = tuple(replace(draft, waits=draft.body not in findings.requested) for draft in findings.drafts)
    return replace(findings, drafts=drafts, page=None)


class _LostError(Exception):
    """Some conversations went away, or were consolidated by another, while they were thought about."""

    def __init__(self, outcomes: Sequence[Outcome | None]) -> None:
        super().__init__()
        self.outcomes = outcomes  # for each conversation; None where it may be kept


def _drafts(all_findings: Sequence[Findings]) -> list[Draft]:
    return [draft for findings in all_findings for draft in findings.drafts]


def _lost(session: Session, now: Session | None) -> Outcome | None:
    """Return why nothing may be kept of a conversation any more; None where it may."""
    if now is None:
        return Outcome(session.id, "nothing", remarks=(f"{session.id} was deleted meanwhile: nothing is kept of it",))
    if now.metadata.consolidated_to != session.metadata.consolidated_to:
        others = f"{session.id} was consolidated meanwhile by another"
        return Outcome(session.id, "nothing", remarks=(others,))
    return None
