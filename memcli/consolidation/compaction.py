"""Make a session shorter: old messages become one summary at its beginning, and lie in the archive from then on.

Nothing is lost: the archived part keeps every line as it was, and what of it was not consolidated stays due there.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, NamedTuple

from ..beliefs.admission import with_current
from ..beliefs.plan import Plan
from ..dataclass import dataclass
from ..errors import LlmError, MemError, RefusedError
from ..formats.frontmatter import document
from ..formats.ids import blake2b, new_id
from ..formats.session_event import (
    CHARACTERS_PER_TOKEN,
    OVERHEAD_TOKENS,
    Event,
    SessionMetadata,
    parse_event,
    render_event,
    render_metadata,
)
from ..llm import chosen_llm
from ..llm.client import Llm
from ..results import Result, SessionId
from ..store import atomic_files
from ..store.entries import decoded, entry_text
from ..store.journal import Change, Step
from ..store.redaction import Redacted, redactor
from ..store.sessions.append import identified, settle_ids
from ..store.sessions.event_file import EVENTS, METADATA, count_events
from ..store.sessions.reading import session_source
from ..store.sessions.sessions import Session, at, counts, free_place
from ..store.workspace import Workspace
from .backlog import MARK, all_events, is_summary, limits, queue
from .batch import Batch
from .consolidate import consolidate, in_turn
from .plan import Outcome
from .requests import FALLBACK_TO
from .stages import told_by_rules

SUMMARY = "summary"
"""Key of a session's page: the entry that tells what was compacted last."""


def plan_compaction(
    workspace: Workspace, session: Session, old: Sequence[Event], summary: Event, how: str
) -> tuple[Plan, tuple[str, int, str]]:
    """Return the steps that put the `old` events of a session away behind their summary, told by `how`.

    Raises RefusedError where these events are not in the session's file any more.
    """
    text = decoded(session.path, atomic_files.read(workspace.path(session.path)))
    first, remaining = _cut(text, old[-1].id)
    if not first:
        raise RefusedError(f"{session.id} was changed meanwhile", "run the command again")
    folder = free_place(workspace, session)
    shortened = f"{render_event(summary)}\n{remaining}"
    steps: list[Step] = [Change(f"{folder}/{EVENTS}", None, first)]
    page = _archived_page(session.metadata, old, remaining)
    steps.append(Change(f"{folder}/{METADATA}", None, render_metadata(page)))
    entry, entry_step = _entry(workspace, session, old, summary, how)
    steps += entry_step
    steps.append(Change(session.path, text, shortened))
    sums = count_events(filter(None, map(parse_event, shortened.split("\n"))), session.metadata.consolidated_to)
    marked = {**session.metadata.metadata, SUMMARY: entry}
    new = replace(sums.on_page(session.metadata), metadata=marked, updated_at=workspace.stamp)
    steps.append(Change(session.page_path, session.page, render_metadata(new)))
    return Plan(tuple(steps)), (folder, sums.tokens, entry)


def summary_event(workspace: Workspace, session: Session, old: Sequence[Event], text: str) -> Event:
    """Return the message that stands for the `old` ones, with the time of the last of them."""
    noise = blake2b(f"{session.id}\0{old[-1].id}\0summary".encode(), digest_size=8).digest()
    moment = next((event.timestamp for event in reversed(old) if event.timestamp), workspace.stamp)
    return Event(new_id("msg", workspace.now, noise), "message", "system", f"{MARK} {text}", moment)


def _cut(text: str, last: str) -> tuple[str, str]:
    """Cut a session's file behind an event; lines that are no events go with those before them."""
    end = 0
    for line in text.split("\n"):
        end += len(line) + 1
        event = parse_event(line)
        if event and event.id == last:
            return text[:end].rstrip("\n") + "\n", text[end:]
    return "", text


def _archived_page(page: SessionMetadata, old: Sequence[Event], remaining: str) -> SessionMetadata:
    """Make the page of the archived part: consolidated as far as the session is, and no further than itself."""
    staying = {event.id for line in remaining.split("\n") if (event := parse_event(line))}

    def within(name: str) -> str:
        return old[-1].id if name in staying else name

    marked = dict(page.metadata)
    if FALLBACK_TO in marked:
        marked[FALLBACK_TO] = within(str(marked[FALLBACK_TO]))
    sums = count_events(old, page.consolidated_to)
    to = within(page.consolidated_to)
    return replace(sums.on_page(page), state="TERMINATED", consolidated_to=to, metadata=marked)


def _entry(
    workspace: Workspace, session: Session, old: Sequence[Event], summary: Event, how: str
) -> tuple[str, list[Step]]:
    """Keep the summary as an entry; it takes the place of the one before, which tells less."""
    fields = {
        "type": "summary",
        "title": f"Conversation {session.id}",
        "source": "inferred" if how == "llm" else "observed",
        "sources": (session_source(session.id, old[0].id, old[-1].id),),
    }
    noise = blake2b(f"{session.id}\0{old[-1].id}\0entry".encode(), digest_size=8).digest()
    body = summary.text.removeprefix(MARK).strip()
    identifier, path, text = entry_text(workspace, fields, body, noise, folder="conversations")
    steps: list[Step] = [Change(path, None, text)]
    earlier = str(session.metadata.metadata.get(SUMMARY, ""))
    if earlier and workspace.layout.kind_of(earlier) == "entry" and workspace.path(earlier).is_file():
        try:
            before = atomic_files.read(workspace.path(earlier)).decode("utf-8")
            after = document.edit(before, {"status": "superseded", "superseded_by": identifier})
        except (UnicodeDecodeError, RefusedError):
            return path, steps  # what cannot be read is left as it is
        steps.append(Change(earlier, before, after))
    return path, steps


PROTECTED = 20_000
"""Tokens at the end of a session that stay as they are, unless the hard limit is passed."""


class ConsolidatedPart(NamedTuple):
    """What was consolidated before a session was made shorter."""

    how: Annotated[str, "llm, rules, fallback or nothing"]
    messages: Annotated[int, "how many messages"]
    error: Annotated[str, "what went wrong; empty where nothing did"]


@dataclass(frozen=True)
class Compacted:
    """What became of a session."""

    session: SessionId
    moved: Annotated[int, "events moved to the archive"] = 0
    archived: Annotated[str | None, "where the messages went; null where nothing was moved"] = None
    tokens_before: Annotated[int, "tokens there were"] = 0
    tokens_after: Annotated[int, "tokens that are left"] = 0
    how: Annotated[str | None, "llm, rules, fallback or nothing"] = None
    summary: Annotated[str | None, "id of the entry the summary is kept as; null where there is none"] = None
    error: Annotated[str, "what went wrong; empty where nothing did"] = ""  # why the LLM gave no summary
    outcomes: tuple[Outcome, ...] = ()  # of consolidating first

    @property
    def consolidated(self) -> Annotated[list[ConsolidatedPart], "what was consolidated first"]:
        """Return what was consolidated first."""
        return [ConsolidatedPart(outcome.how, outcome.messages, outcome.error) for outcome in self.outcomes]

    @property
    def notices(self) -> tuple[str, ...]:
        """Return what an LLM failed at."""
        text = f"{self.session}: the LLM failed ({self.error}); the summary is made of what was said"
        failed = [outcome for outcome in self.outcomes if outcome.error]
        late = [f"{outcome.session}: the LLM failed ({outcome.error}); the messages stay due" for outcome in failed]
        return (*([text] if self.error else ()), *late)


@dataclass(frozen=True)
class CompactReport(Result):
    """What became of sessions that were to be made shorter."""

    sessions: Annotated[tuple[Compacted, ...], "the sessions"]

    @property
    def fell_back(self) -> bool:
        """Return whether the LLM failed where something was to be consolidated first."""
        return any(part.how == "fallback" for session in self.sessions for part in session.consolidated)


def consolidate_before(
    workspace: Workspace, session: Session, *, wait: float, most: int
) -> tuple[tuple[Redacted, ...], tuple[str, ...]]:
    """Consolidate what a session is about to lose; return what was blanked out, and what a person is to be told.

    What fails stays due in the archive.
    """
    if not workspace.settings["consolidate.enabled"] or not counts(workspace, session).waiting:
        return (), ()
    try:
        outcomes = consolidate(workspace, session, chosen_llm(workspace.settings), wait=wait, most=most)
    except MemError as error:
        return (), (f"not consolidated yet ({error.message}): `mem consolidate` does it from the archive",)
    notices: list[str] = []
    for outcome in outcomes:
        notices += outcome.remarks
        if outcome.error:
            notices.append(f"the LLM failed ({outcome.error}): `mem consolidate` tries again from the archive")
    return tuple(redacted for outcome in outcomes for redacted in outcome.redacted), tuple(notices)


def compact(
    workspace: Workspace, session: Session, llm: Llm | None, *, keep: int = 20, force: bool = False, wait: float = 600.0
) -> Compacted:
    """Compact a session that is past its soft limit, or with `force` any; its latest `keep` messages stay.

    What waits is consolidated first, as far as that goes.
    """
    if session.is_archived:
        raise RefusedError(f"{session.folder} is in the archive", "it is out of the way already")
    with queue(workspace, session, wait):
        session = at(workspace, session.folder, session.id)
        if session.problem:
            raise RefusedError(session.problem, "mend it or move it away")
        soft, hard, _ = limits(workspace.settings)
        before = counts(workspace, session).tokens
        events = all_events(workspace, session)
        start = _start(events, keep, 0 if force else PROTECTED, hard) if force or before > soft else 0
        if not any(event.type == "message" and not is_summary(event) for event in events[:start]):
            return Compacted(session.id, tokens_before=before, tokens_after=before)
        outcomes: tuple[Outcome, ...] = ()
        if workspace.settings["consolidate.enabled"]:
            outcomes = tuple(in_turn(workspace, [(session, keep)], llm))
            session = at(workspace, session.folder, session.id)  # the summary tells also what was kept at once
        if any(event is not other for event, other in zip(events, identified(session.id, events), strict=True)):
            settle_ids(workspace, session)
            events = all_events(workspace, session)[: len(events)]
        old = events[:start]
        guard = redactor(workspace, session.path)
        text, how, error = _told(workspace, session, guard.events(old), llm)
        summary = summary_event(workspace, session, old, guard.text(text))

        def look(last: Session | None, seconds: float | None) -> Session:
            return at(workspace, session.folder, session.id)

        def decide(now: Session) -> tuple[Plan, tuple[str, int, str]]:
            return plan_compaction(workspace, now, old, summary, how)

        (folder, tokens, entry), _ = with_current(workspace, f"mem session compact {session.id}", look, decide)
    return Compacted(session.id, len(old), folder, before, tokens, how, entry or None, error, outcomes)


def _start(events: Sequence[Event], keep: int, protected: int, hard: int) -> int:
    """Find where the part begins that stays."""
    sizes = [len(event.text) / CHARACTERS_PER_TOKEN for event in events]
    start, messages, tokens = len(events), 0, 0.0
    while start and (messages < keep or tokens + sizes[start - 1] <= protected):
        start -= 1
        tokens += sizes[start]
        messages += events[start].type == "message"
    while start < len(events) - 1 and tokens + OVERHEAD_TOKENS > hard:
        tokens -= sizes[start]
        start += 1
    # What a tool answered belongs to who called it.
    while 0 < start < len(events) and events[start].type == "tool_result":
        start += 1
    return start


def _told(workspace: Workspace, session: Session, old: Sequence[Event], llm: Llm | None) -> tuple[str, str, str]:
    """Tell the old part: by whom, and why not by the LLM."""
    error = ""
    if llm is not None:
        from .llm_extractor import material_of, told_by_llm

        try:
            summary = told_by_llm(llm, "the older part of a conversation", material_of(old, workspace.zone))
            return summary, "llm", ""
        except LlmError as failure:
            error = failure.message
    summary = told_by_rules(Batch(workspace, session, [event for event in old if not is_summary(event)]))
    earlier = [event.text.removeprefix(MARK).strip() for event in old if is_summary(event)]
    return "\n".join([*earlier, summary]), "rules", error
