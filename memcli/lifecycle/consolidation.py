"""The steps that make findings memory: a history record, entries, an episode, the page, and the session's cursor.

Nothing is written here, and nothing an LLM said can make the whole fail: what cannot stand as it is, is said.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import PurePath

from ..errors import RefusedError
from ..store.entries import entry_text, free_name
from ..store.history import history_steps
from ..store.journal import Change, Step
from ..store.redaction import Redacted, Redactor, redactor
from ..store.sessions import Session, page_change
from ..store.sessions.counting import is_due
from ..store.sessions.span import session_source
from ..store.workspace import Workspace
from ..text.page_update import accepted
from ..text.promoted import statement_of, with_lines
from ..text.session import Event
from ..text.summary import shorten
from ..text.times import parse_time, stamp
from .episode import episode
from .findings import Finding, Findings, asked_to_keep
from .page import Page, read_page
from .plan import Plan
from .reply import clean_text

FALLBACK = "[raw-fallback]"
FALLBACK_TO, HISTORY = "fallbackTo", "history"
"""Keys of a session's page: up to where the fallback has kept it, and its last record of history."""

_LAST, _EACH = 10, 200
_ON_PAGE = ("preference", "constraint", "correction")
"""Types that the extractive consolidator puts on the page, when the user said them."""
_DATED = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]")
_CONFLICT = re.compile(r"^(?=[<=>|]{7}(?:\s|$))", re.MULTILINE)


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


def kept_plan(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, shown: str, outcome: Outcome
) -> Outcome:
    """Propose what the findings come to; `shown` is the page as the LLM saw it."""
    remarks: list[str] = []
    steps: list[Step] = []
    guard = redactor(workspace, "what is to be kept")
    findings = _sound(findings, guard)
    history = _with_moment(workspace, findings.history, events)
    marked = {key: value for key, value in session.metadata.metadata.items() if key != FALLBACK_TO}
    if history:
        records = history_steps(workspace, history, _noise(session, events[-1], "history"))
        marked[HISTORY] = records[0].mark
        steps += records
    memories = [one for one in findings.memories if not _is_kept_already(session, events, one)]
    entries, made = _admitted(workspace, session, events, memories)
    steps += made
    if workspace.settings["consolidate.episodes"] and history:
        steps.append(_episode(workspace, session, events, findings, history))
    page = read_page(workspace)
    page_steps, remark = _page(workspace, findings, entries, shown, page)
    if remark:
        remarks.append(remark)
    steps += page_steps
    steps.append(page_change(workspace, session, consolidated_to=events[-1].id, metadata=marked))
    return replace(
        outcome,
        plan=Plan(tuple(steps), tuple(f"{one.type}: {one.text}" for one, _ in entries)),
        entries=len(entries),
        remarks=tuple(remarks),
        redacted=outcome.redacted + tuple(guard.found),
    )


def fallback_plan(
    workspace: Workspace, session: Session, events: Sequence[Event], waiting: Sequence[Event], outcome: Outcome
) -> Outcome:
    """Keep the last messages as they are; the cursor stays, and the same messages get no second record.

    `waiting` are all the events that wait, of which `events` were to be consolidated.
    """
    fresh = _behind(session, events, waiting)
    due = [event for event in fresh if is_due(event)]
    if not due:
        return replace(outcome, plan=Plan())
    said = " | ".join(f"{event.name or event.role}: {shorten(event.text, _EACH)}" for event in due[-_LAST:])
    text = f"[{workspace.now.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {FALLBACK} {session.id}: {clean_text(said)}"
    steps: list[Step] = list(history_steps(workspace, text, _noise(session, due[-1], "fallback")))
    asked = _sound(Findings("", None, asked_to_keep(events)), redactor(workspace, session.path)).memories
    asked = tuple(one for one in asked if not _is_kept_already(session, events, one))
    entries, made = _admitted(workspace, session, events, asked)
    steps += made
    steps.append(page_change(workspace, session, metadata={**session.metadata.metadata, FALLBACK_TO: events[-1].id}))
    return replace(outcome, plan=Plan(tuple(steps)), entries=len(entries))


def _behind(session: Session, events: Sequence[Event], waiting: Sequence[Event]) -> list[Event]:
    """Give the events that no fallback has kept yet."""
    places = {event.id: place for place, event in enumerate(waiting)}
    kept = places.get(str(session.metadata.metadata.get(FALLBACK_TO, "")), -1)
    return [event for event in events if places[event.id] > kept]


def _is_kept_already(session: Session, events: Sequence[Event], finding: Finding) -> bool:
    """Tell whether an earlier fallback has kept what a user asked to be remembered."""
    names = [event.id for event in events]
    done = str(session.metadata.metadata.get(FALLBACK_TO, ""))
    if not finding.message or done not in names:
        return False
    asked = asked_to_keep(events[: names.index(done) + 1])
    return any(one.message == finding.message and finding.text.startswith(one.text[:40]) for one in asked)


def _admitted(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Sequence[Finding]
) -> tuple[list[tuple[Finding, str]], list[Step]]:
    """Make entries of findings: the one place where what is new meets what is known.

    Gives each finding with the id of its entry, and the steps.
    """
    entries: list[tuple[Finding, str]] = []
    steps: list[Step] = []
    for finding in {one.text: one for one in reversed(findings)}.values():
        identifier, change = _entry(workspace, session, events, finding)
        entries.insert(0, (finding, identifier))
        steps.insert(0, change)
    return entries, steps


def _entry(workspace: Workspace, session: Session, events: Sequence[Event], finding: Finding) -> tuple[str, Change]:
    told = {
        "type": finding.type,
        "tags": finding.tags,
        "source": finding.source,
        "files": finding.files,
        "sources": (_source(session, events, finding.message),),
    }
    identifier, path, text = entry_text(workspace, told, finding.text, _noise(session, events[-1], finding.text))
    return identifier, Change(path, None, text)


def _episode(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, history: str
) -> Change:
    title, body, tags, day = episode(session.id, events, findings, history, workspace.now, workspace.zone)
    title, body = clean_text(title), _unconflicted(clean_text(body))
    told = {
        "type": "episode",
        "title": title,
        "tags": tags,
        "source": "observed",
        "sources": (_source(session, events),),
    }
    project = _project(session)
    noise = _noise(session, events[-1], "episode")
    told |= {"project": project} if project else {}
    _, path, text = entry_text(workspace, told, body, noise, folder=f"episodes/{day}")
    return Change(path, None, text)


def _page(
    workspace: Workspace, findings: Findings, entries: Sequence[tuple[Finding, str]], shown: str, page: Page
) -> tuple[list[Step], str]:
    """Settle long-term memory: the LLM's update under its guards, or lines between mem's own marks."""
    limit = workspace.settings["consolidate.page_size"]
    if findings.page is None:
        lines = {
            identifier: statement_of("", finding.text)
            for finding, identifier in entries
            if finding.source == "user" and finding.type in _ON_PAGE
        }
        if not lines or not workspace.settings["consolidate.page"]:
            return [], ""
        if page.problem:
            return [], f"{page.problem}: no lines were added to it"
        try:
            new = with_lines(page.text, lines)
        except RefusedError as error:
            return [], f"{page.path}: {error}: no lines were added to it"
        return ([Change(page.path, page.before, new)] if new != page.text else []), ""
    size = len(findings.page.encode())
    fault = page.problem or (
        f"an update of {size:,} bytes is too large" if size > max(4 * limit, 2 * len(page.text.encode())) else ""
    )
    if fault:
        place = free_name(workspace, _aside(workspace, page.path, "proposed"))
        return [Change(place, None, findings.page + "\n")], f"{fault}: the proposed page is in {place}"
    update = accepted(shown, findings.page, page.text, shrink_to=limit if len(shown.encode()) > limit else 0)
    if update.text == page.text:
        return [], ""
    steps: list[Step] = []
    if page.text.strip():
        place = free_name(workspace, _aside(workspace, page.path, stamp(workspace.now).replace(":", "")))
        steps.append(Change(place, None, page.text))
    return [*steps, Change(page.path, page.before, update.text)], update.remark


def _aside(workspace: Workspace, path: str, what: str) -> str:
    return f"archive/{path.removesuffix('.md')}-{what}.md"


def _sound(findings: Findings, guard: Redactor) -> Findings:
    """Make findings fit to be written: no secrets, no control characters, no lines that git would take for its own."""

    def plain(text: str) -> str:
        return guard.text(_unconflicted(clean_text(text)))

    return Findings(
        plain(findings.history),
        None if findings.page is None else plain(findings.page),
        tuple(
            replace(
                one,
                text=text,
                files=tuple(map(plain, one.files)),
                tags=tuple(plain(" ".join(tag.split())) for tag in one.tags),
            )
            for one in findings.memories
            if (text := plain(one.text))
        ),
    )


def _unconflicted(text: str) -> str:
    return _CONFLICT.sub(" ", text)


def _project(session: Session) -> str:
    """Name what a conversation was about: as the session says, else by the folder it took place in."""
    told = session.metadata.metadata
    folder = session.metadata.channel_id if session.metadata.channel_type == "git" else told.get("cwd", "")
    named = told.get("project")
    return str(named) if named else PurePath(folder).name if isinstance(folder, str) else ""


def _source(session: Session, events: Sequence[Event], message: str = "") -> str:
    return session_source(session.id, message) if message else session_source(session.id, events[0].id, events[-1].id)


def _with_moment(workspace: Workspace, text: str, events: Sequence[Event]) -> str:
    """Begin a history paragraph with the moment it tells of, where it does not."""
    text = " ".join(text.split())
    if not text or _DATED.match(text):
        return text
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or workspace.now
    return f"[{moment.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {text}"


def _noise(session: Session, event: Event, what: str) -> bytes:
    return blake2b(f"{session.id}\0{event.id}\0{what}".encode("utf-8", "replace"), digest_size=8).digest()
