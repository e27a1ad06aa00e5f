"""The steps that make findings memory: a history record, entries, an episode, the page, and the session's cursor.

Nothing is written here, and nothing an LLM said can make the whole fail: what cannot stand as it is, is said.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ..errors import RefusedError
from ..store import files
from ..store.entries import decoded, entry_text, free_name
from ..store.history import history_steps
from ..store.journal import Change, Step
from ..store.redaction import Redacted
from ..store.sessions import Session, page_change
from ..store.sessions.counting import is_due
from ..store.workspace import Workspace
from ..text import frontmatter
from ..text.entry import Entry, read_entry
from ..text.page_update import accepted
from ..text.promoted import statement_of, with_lines
from ..text.session import Event
from ..text.summary import shorten
from ..text.times import parse_time, stamp
from .admission import Admitted
from .admit import Settled
from .drafting import FALLBACK_TO, noise, said_at, source_of, unconflicted
from .episode import episode
from .findings import Finding, Findings
from .page import Page, ours_of, read_page, without_lines
from .plan import Plan
from .reply import clean_text

FALLBACK = "[raw-fallback]"
HISTORY = "history"
"""Key of a session's page: its last record of history."""

_LAST, _EACH = 10, 200
_ON_PAGE = ("preference", "constraint", "correction")
"""Types that the extractive consolidator puts on the page, when the user said them."""
_DATED = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d\]")


@dataclass(frozen=True)
class Outcome:
    """What became of one session's waiting messages."""

    session: str
    how: str  # llm, rules, fallback or nothing
    plan: Plan = field(default_factory=Plan)
    messages: int = 0
    admitted: tuple[Admitted, ...] = ()  # what became of each memory found
    remarks: tuple[str, ...] = ()
    error: str = ""  # why the LLM gave nothing
    redacted: tuple[Redacted, ...] = ()

    @property
    def entries(self) -> int:
        """Count the entries that were made."""
        return sum(one.action == "created" for one in self.admitted)


def kept_plan(
    workspace: Workspace,
    session: Session,
    events: Sequence[Event],
    findings: Findings,
    settled: Settled,
    shown: str,
    outcome: Outcome,
) -> Outcome:
    """Propose what the findings come to and what became of their memories; `shown` is the page as the LLM saw it."""
    steps: list[Step] = []
    history = _with_moment(workspace, findings.history, events)
    marked = {key: value for key, value in session.metadata.metadata.items() if key != FALLBACK_TO}
    if history:
        records = history_steps(workspace, history, noise(session, events[-1], "history"))
        marked[HISTORY] = records[0].mark
        steps += records
    steps += settled.plan.steps
    if workspace.settings["consolidate.episodes"] and history:
        steps.append(_episode(workspace, session, events, findings, history, _label(workspace, settled)))
    page_steps, remark = _page(workspace, findings, settled, shown, read_page(workspace))
    steps += page_steps
    steps.append(page_change(workspace, session, consolidated_to=events[-1].id, metadata=marked))
    return _with_admitted(outcome, steps, settled, (remark,) if remark else ())


def fallback_plan(
    workspace: Workspace,
    session: Session,
    events: Sequence[Event],
    waiting: Sequence[Event],
    settled: Settled,
    outcome: Outcome,
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
    steps: list[Step] = list(history_steps(workspace, text, noise(session, due[-1], "fallback")))
    steps += [*settled.plan.steps, *without_lines(workspace, settled.superseded).steps]
    steps.append(page_change(workspace, session, metadata={**session.metadata.metadata, FALLBACK_TO: events[-1].id}))
    return _with_admitted(outcome, steps, settled)


def _with_admitted(outcome: Outcome, steps: Sequence[Step], settled: Settled, remarks: tuple[str, ...] = ()) -> Outcome:
    return replace(
        outcome,
        plan=Plan(tuple(steps), settled.plan.reasons),
        admitted=settled.admitted,
        remarks=outcome.remarks + settled.notices + remarks,
    )


def _behind(session: Session, events: Sequence[Event], waiting: Sequence[Event]) -> list[Event]:
    """Give the events that no fallback has kept yet."""
    places = {event.id: place for place, event in enumerate(waiting)}
    kept = places.get(str(session.metadata.metadata.get(FALLBACK_TO, "")), -1)
    return [event for event in events if places[event.id] > kept]


def _episode(
    workspace: Workspace, session: Session, events: Sequence[Event], findings: Findings, history: str, label: str
) -> Change:
    title, body, tags, day = episode(session.id, events, findings, history, workspace.now, workspace.zone)
    title, body = clean_text(title), unconflicted(clean_text(body))
    told = {
        "type": "episode",
        "title": title,
        "tags": tags,
        "source": "observed",
        "sources": (source_of(session, events),),
        "created_at": said_at(workspace, next((one.timestamp for one in reversed(events) if one.timestamp), "")),
    }
    project = _project(session, label)
    told |= {"project": project} if project else {}
    _, path, text = entry_text(workspace, told, body, noise(session, events[-1], "episode"), folder=f"episodes/{day}")
    return Change(path, None, text)


def _page(workspace: Workspace, findings: Findings, settled: Settled, shown: str, page: Page) -> tuple[list[Step], str]:
    """Settle long-term memory: the LLM's update under its guards, or lines between mem's own marks."""
    limit = workspace.settings["consolidate.page_size"]
    if findings.page is None:
        lines = _lines(workspace, findings.memories, settled) if workspace.settings["consolidate.page"] else {}
        gone = ours_of(page.text, settled.superseded)
        if not lines and not gone:
            return [], ""
        if page.problem:
            return [], f"{page.problem}: no lines were added to it"
        try:
            new = with_lines(page.text, lines, gone)
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


def _lines(workspace: Workspace, found: Sequence[Finding], settled: Settled) -> dict[str, str]:
    """Say for the page what the user said and is believed, as it stands now."""
    stands = {step.path: step.after for step in settled.plan.steps if isinstance(step, Change)}
    lines = {}
    for finding, one in zip(found, settled.admitted, strict=True):
        if finding.source != "user" or finding.type not in _ON_PAGE:
            continue
        entry = _as_settled(workspace, stands, one.path)
        if entry.status == "active":
            lines[one.id] = statement_of("", entry.body)
    return lines


def _aside(workspace: Workspace, path: str, what: str) -> str:
    return f"archive/{path.removesuffix('.md')}-{what}.md"


def _as_settled(workspace: Workspace, stands: Mapping[str, str | None], path: str) -> Entry:
    """Read an entry as it will be; `stands` are the texts that the plan writes."""
    text = stands[path] if path in stands else decoded(path, files.read(workspace.path(path)))
    return read_entry(frontmatter.parse(text or ""), path, workspace.now)[0]


def _label(workspace: Workspace, settled: Settled) -> str:
    """Return the project that most of the entries made or confirmed belong to, the first of equals; "" for none."""
    stands = {step.path: step.after for step in settled.plan.steps if isinstance(step, Change)}
    labels = Counter(_as_settled(workspace, stands, path).project for path in {one.path: 0 for one in settled.admitted})
    del labels[""]
    return labels.most_common(1)[0][0] if labels else ""


def _project(session: Session, label: str) -> str:
    """Name what a conversation was about: as the session says, else its entries, else the folder it took place in."""
    told = session.metadata.metadata
    folder = session.metadata.channel_id if session.metadata.channel_type == "git" else told.get("cwd", "")
    named = told.get("project")
    return str(named or label) if named or label else PurePath(folder).name if isinstance(folder, str) else ""


def _with_moment(workspace: Workspace, text: str, events: Sequence[Event]) -> str:
    """Begin a history paragraph with the moment it tells of, where it does not."""
    text = " ".join(text.split())
    if not text or _DATED.match(text):
        return text
    moment = next((parse_time(event.timestamp) for event in events if event.timestamp), None) or workspace.now
    return f"[{moment.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {text}"
