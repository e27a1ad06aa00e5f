"""Make memory of what was said: one history record, entries, an update of the page, and the session's cursor, as one.

The messages stay due until all of that is on disk. No lock is held while an LLM thinks: consolidations queue on a lock
of their own, and what the plan was made from is looked at again when it is applied.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from ..errors import LlmError
from ..store import files
from ..store.entries import entry_text
from ..store.history import history_steps
from ..store.journal import Change, Step, apply, exclusive
from ..store.lock import locked
from ..store.redaction import Redacted, redactor
from ..store.session_counts import is_due
from ..store.session_file import read_events
from ..store.sessions import Session, at, page_change
from ..store.workspace import Workspace
from ..text.page_update import accepted
from ..text.promoted import statement_of, with_lines
from ..text.session import Event
from ..text.summary import shorten
from ..text.times import parse_time, stamp
from .episode import episode
from .findings import Finding, Findings, asked_to_keep, by_llm, by_rules
from .llm import Llm
from .plan import Plan

BATCH = 60_000
"""Characters of conversation an LLM is shown at once; the rest is the next batch."""
FALLBACK = "[raw-fallback]"
_LAST, _EACH = 10, 200
_ON_PAGE = ("preference", "constraint", "correction")
"""Types that the extractive consolidator puts on the page, when the user said them."""

Noise = Callable[[int], bytes]


@dataclass(frozen=True)
class Outcome:
    """What became of one session's waiting messages."""

    session: str
    how: str  # llm, rules, fallback or nothing
    plan: Plan = field(default_factory=Plan)
    messages: int = 0
    entries: int = 0
    remarks: tuple[str, ...] = ()
    error: str = ""  # why the LLM gave nothing
    redacted: tuple[Redacted, ...] = ()


def consolidate(
    workspace: Workspace, session: Session, llm: Llm | None, *, keep: int = 0, wait: float, dry_run: bool = False
) -> list[Outcome]:
    """Consolidate what waits of a session but for the last `keep` messages, batch by batch.

    Raises BusyError when another consolidation runs for longer than `wait` seconds.
    """
    with locked(
        workspace.derived / "queue", command=f"mem consolidate {session.id}", now=stamp(workspace.now), wait=wait
    ):
        outcomes: list[Outcome] = []
        while True:
            session = at(workspace, session.folder, session.id)
            events = waiting(workspace, session, keep)
            batch = _batch(events) if llm else events
            if not batch:
                return outcomes or [Outcome(session.id, "nothing")]
            outcome = _one(workspace, session, batch, llm, dry_run=dry_run)
            outcomes.append(outcome)
            if dry_run or outcome.how in ("fallback", "nothing") or len(batch) == len(events):
                return outcomes


def waiting(workspace: Workspace, session: Session, keep: int = 0) -> list[Event]:
    """Read the events behind the last one consolidated, but for the last `keep` messages."""
    last = session.metadata.consolidated_to
    events: list[Event] = []
    found = not last
    for _, event in read_events(workspace.path(session.path)):
        if found:
            events.append(event)
        elif event.id == last:
            found = True
    if not found:  # the last one consolidated was put away by compaction: all that is here came after it
        events = [event for _, event in read_events(workspace.path(session.path))]
    messages = [place for place, event in enumerate(events) if is_due(event)]
    if keep and messages:
        events = events[: messages[-keep]] if len(messages) > keep else []
    return events if any(is_due(event) for event in events) else []


def _batch(events: Sequence[Event]) -> list[Event]:
    size = 0
    batch: list[Event] = []
    for event in events:
        size += min(len(event.text), 4000)
        if batch and size > BATCH and is_due(event) and event.role == "user":
            break
        batch.append(event)
    return batch


def _one(workspace: Workspace, session: Session, events: Sequence[Event], llm: Llm | None, *, dry_run: bool) -> Outcome:
    """Consolidate one batch: think without a lock, then apply under it."""
    guard = redactor(workspace, session.path)
    events = [guard.event(event) for event in events]
    told = tuple(guard.found)
    old = page_text(workspace)
    settings = workspace.settings
    how, error = "rules", ""
    try:
        if llm is None:
            findings = by_rules(events, workspace.now, workspace.zone)
        else:
            how = "llm"
            limit = settings["consolidate.page_size"]
            shrink = limit if len(old.encode()) > limit else 0
            findings = by_llm(llm, old, events, workspace.zone, timeout=settings["llm.timeout"], shrink_to=shrink)
    except LlmError as failure:
        how, error = "fallback", failure.message
        findings = Findings("", None, asked_to_keep(events))
    messages = sum(is_due(event) for event in events)
    outcome = Outcome(session.id, how, messages=messages, error=error, redacted=told)
    if dry_run:
        return _planned(workspace, session, events, findings, old, outcome)
    with exclusive(workspace, f"mem consolidate {session.id}") as held:
        session = at(workspace, session.folder, session.id)
        planned = _planned(workspace, session, events, findings, old, outcome)
        applied = apply(workspace, planned.plan.steps, held)
    kept = tuple(f"{path} was changed meanwhile: our text is in {place}" for path, place in applied.kept)
    return replace(planned, remarks=planned.remarks + kept)


def _planned(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, old: str, outcome: Outcome
) -> Outcome:
    if outcome.how == "fallback":
        return _fallback(workspace, session, events, findings, outcome)
    remarks: list[str] = []
    guard = redactor(workspace, "what is to be kept")
    steps: list[Step] = []
    history = guard.text(_dated(workspace, findings.history, events))
    if history:
        steps += history_steps(workspace, history, _noise(session, events[-1], "history"))
    entries: list[tuple[Finding, str]] = []
    for finding in findings.memories:
        finding = replace(finding, text=guard.text(finding.text))
        identifier, change = _entry(workspace, session, events, finding)
        entries.append((finding, identifier))
        steps.append(change)
    if workspace.settings["consolidate.episodes"] and history:
        steps.append(_episode(workspace, session, events, findings, history))
    page = page_text(workspace)
    new, remark = _page(workspace, findings, entries, old, page, guard.text)
    if remark:
        remarks.append(remark)
    if new != page:
        name = workspace.layout.memory
        if page.strip():
            put_by = f"archive/{name.removesuffix('.md')}-{stamp(workspace.now).replace(':', '')}.md"
            if not workspace.path(put_by).exists():
                steps.append(Change(put_by, None, page))
        steps.append(Change(name, page if workspace.path(name).exists() else None, new))
    steps.append(page_change(workspace, session, consolidated_to=events[-1].id))
    reasons = tuple(f"{finding.type}: {finding.text}" for finding, _ in entries)
    return replace(
        outcome,
        plan=Plan(tuple(steps), reasons),
        entries=len(entries),
        remarks=tuple(remarks),
        redacted=outcome.redacted + tuple(guard.found),
    )


def _fallback(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, outcome: Outcome
) -> Outcome:
    """Keep the last messages as they are; the cursor stays, and the same messages get no second record."""
    done = str(session.metadata.metadata.get("fallbackTo", ""))
    ids = [event.id for event in events]
    fresh = events[ids.index(done) + 1 :] if done in ids else list(events)
    due = [event for event in fresh if is_due(event)]
    if not due:
        return replace(outcome, plan=Plan())
    said = " | ".join(f"{event.name or event.role}: {shorten(event.text, _EACH)}" for event in due[-_LAST:])
    text = f"[{workspace.now.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {FALLBACK} {session.id}: {said}"
    steps: list[Step] = list(history_steps(workspace, text, _noise(session, due[-1], "fallback")))
    asked = [finding for finding in findings.memories if finding.message in {event.id for event in fresh}]
    steps += [_entry(workspace, session, events, finding)[1] for finding in asked]
    marked = {**session.metadata.metadata, "fallbackTo": due[-1].id}
    steps.append(page_change(workspace, session, metadata=marked))
    return replace(outcome, plan=Plan(tuple(steps)), entries=len(asked))


def _entry(workspace: Workspace, session: Session, events: Sequence[Event], finding: Finding) -> tuple[str, Change]:
    span = finding.message or (f"{events[0].id}:{events[-1].id}" if events else "")
    told = {
        "type": finding.type,
        "tags": finding.tags,
        "source": finding.source,
        "files": finding.files,
        "sources": (f"session:{session.id}#{span}",),
    }
    identifier, path, text = entry_text(workspace, told, finding.text, _noise(session, events[-1], finding.text))
    return identifier, Change(path, None, text)


def _episode(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, history: str
) -> Change:
    title, body, tags, day = episode(session.id, events, findings, history, workspace.now, workspace.zone)
    told = {
        "type": "episode",
        "title": title,
        "tags": tags,
        "source": "observed",
        "sources": (f"session:{session.id}#{events[0].id}:{events[-1].id}",),
    }
    noise = _noise(session, events[-1], "episode")
    _, path, text = entry_text(workspace, told, body, noise, folder=f"episodes/{day}")
    return Change(path, None, text)


def _page(
    workspace: Workspace,
    findings: Findings,
    entries: Sequence[tuple[Finding, str]],
    old: str,
    page: str,
    guarded: Callable[[str], str],
) -> tuple[str, str]:
    """Settle long-term memory: the LLM's update under its guards, or lines between mem's own marks."""
    if findings.page is not None:
        may_shrink = len(old.encode()) > workspace.settings["consolidate.page_size"]
        update = accepted(old, guarded(findings.page), page, may_shrink=may_shrink)
        return update.text, update.remark
    lines = {
        identifier: statement_of("", finding.text)
        for finding, identifier in entries
        if finding.source == "user" and finding.type in _ON_PAGE
    }
    return (with_lines(page, lines) if lines and workspace.settings["consolidate.page"] else page), ""


def page_text(workspace: Workspace) -> str:
    """Read long-term memory; empty where there is none."""
    target = workspace.path(workspace.layout.memory)
    return files.read(target).decode("utf-8", "surrogateescape") if target.exists() else ""


def _dated(workspace: Workspace, text: str, events: Sequence[Event]) -> str:
    """Begin a history paragraph with the moment it tells of, where it does not."""
    text = " ".join(text.split())
    if not text or text.startswith("["):
        return text
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or workspace.now
    return f"[{moment.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {text}"


def _noise(session: Session, event: Event, what: str) -> bytes:
    """Draw the same id for the same finding, so that doing it again is doing it once."""
    return blake2b(f"{session.id}\0{event.id}\0{what}".encode("utf-8", "replace"), digest_size=8).digest()
