"""The steps that make findings memory: a history record, entries, an episode, the page, and the session's cursor.

Nothing is written here, and nothing an LLM said can make the whole fail: what cannot stand as it is, is said.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

from ..beliefs.drafts import Admitted, Settled
from ..beliefs.plan import Page, Plan, ours_of, read_page, without_lines
from ..errors import RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document
from ..formats.history import is_dated
from ..formats.memory_page import heading_of, line_of, size_of_ours, statement_of, with_lines
from ..formats.page_merge import accepted, lines_lost
from ..formats.session_event import Event
from ..formats.text_lines import shorten
from ..formats.times import day_of, parse_time
from ..store import atomic_files
from ..store.entries import decoded, entry_text
from ..store.history import history_steps
from ..store.journal import Append, Change, Step
from ..store.redaction import Redacted
from ..store.replaced_texts import page_version
from ..store.sessions.counts import is_due
from ..store.sessions.sessions import Session, page_change
from ..store.workspace import Workspace
from .drafts import Batch, unconflicted
from .llm_extractor import is_borne_out, own_words
from .llm_reply import clean_text
from .stages import FALLBACK_TO, Extraction

FALLBACK = "[raw-fallback]"
HISTORY = "history"
"""Key of a session's page: its last record of history."""

_LAST, _EACH = 10, 200
FALLBACKS = "fallbacks"
"""Key of a session's page: the records of fallbacks that no good record stands for yet."""


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
    unheard: str = ""  # why a judge said nothing of some memories
    redacted: tuple[Redacted, ...] = ()

    @property
    def entries(self) -> int:
        """Count the entries that were made."""
        return sum(one.action == "created" for one in self.admitted)


@dataclass(frozen=True)
class Kept:
    """What was found worth keeping of some messages, and what became of it."""

    batch: Batch
    found: Extraction
    settled: Settled
    outcome: Outcome


def kept_plans(workspace: Workspace, kept: Sequence[Kept]) -> list[Outcome]:
    """Propose what becomes of conversations, an outcome each; their plans are one, and applied together."""
    page = read_page(workspace)
    stands = {step.path: step.after for one in kept for step in one.settled.plan.steps if isinstance(step, Change)}
    remarks: tuple[str, ...]
    if kept[0].found.page is not None:  # an LLM is shown one conversation at a time
        page_steps, remarks = _proposed_page(kept[0].batch, kept[0].found.page, page)
    else:
        page_steps, remarks = _with_our_lines(workspace, kept, stands, page)
    proposed: list[Outcome] = []
    has_record = False
    for one in kept:
        *steps, cursor = _kept_steps(one, stands, is_next=has_record)
        has_record |= any(isinstance(step, Append) for step in steps)
        proposed.append(_with_admitted(one.outcome, [*steps, *page_steps, cursor], one.settled, remarks))
        page_steps, remarks = [], ()
    return proposed


def _kept_steps(kept: Kept, stands: Mapping[str, str | None], *, is_next: bool) -> list[Step]:
    """Give the steps of one conversation; the last one marks its messages as kept."""
    batch, found, settled = kept.batch, kept.found, kept.settled
    workspace, session = batch.workspace, batch.session
    steps: list[Step] = []
    history = _with_moment(batch, found.history)
    marked = {key: value for key, value in session.metadata.metadata.items() if key not in (FALLBACK_TO, FALLBACKS)}
    fallbacks = _fallbacks(session)
    if fallbacks and not history:
        history = _with_moment(batch, f"{session.id}: nothing came of it.")  # what stands for the fallback
    if history:
        records = history_steps(workspace, history, batch.noise("history"), instead_of=fallbacks, is_next=is_next)
        marked[HISTORY] = records[0].mark
        steps += records
    steps += settled.plan.steps
    # Of commits both would say the same: what was committed.
    has_episode = workspace.settings["consolidate.episodes"] and session.metadata.channel_type != "git"
    if has_episode and found.told.episode():
        steps.append(_episode(batch, found, _label(workspace, stands, settled)))
    return [*steps, page_change(workspace, session, consolidated_to=batch.events[-1].id, metadata=marked)]


def fallback_plan(batch: Batch, waiting: Sequence[Event], settled: Settled, outcome: Outcome) -> Outcome:
    """Keep the last messages as they are; the cursor stays, and the same messages get no second record.

    `waiting` are all the events that wait, of which those of the batch were to be consolidated.
    """
    workspace, session = batch.workspace, batch.session
    due = [event for event in _behind(session, batch.events, waiting) if is_due(event)]
    if not due:
        return replace(outcome, plan=Plan())
    said = " | ".join(f"{event.name or event.role}: {shorten(event.text, _EACH)}" for event in due[-_LAST:])
    text = f"[{workspace.now.astimezone(workspace.zone):%Y-%m-%d %H:%M}] {FALLBACK} {session.id}: {clean_text(said)}"
    records = history_steps(workspace, text, replace(batch, events=due).noise("fallback"))
    steps: list[Step] = [*records, *settled.plan.steps, *without_lines(workspace, settled.superseded).steps]
    marked = {FALLBACK_TO: batch.events[-1].id, FALLBACKS: [*_fallbacks(session), records[0].mark]}
    steps.append(page_change(workspace, session, metadata={**session.metadata.metadata, **marked}))
    return _with_admitted(outcome, steps, settled)


def _fallbacks(session: Session) -> list[str]:
    named = session.metadata.metadata.get(FALLBACKS)
    return [str(one) for one in named] if isinstance(named, list) else []


def _with_admitted(outcome: Outcome, steps: Sequence[Step], settled: Settled, remarks: tuple[str, ...] = ()) -> Outcome:
    return replace(
        outcome,
        plan=Plan(tuple(steps), settled.plan.reasons),
        admitted=settled.admitted,
        unheard=settled.error,
        remarks=outcome.remarks + settled.notices + remarks,
    )


def _behind(session: Session, events: Sequence[Event], waiting: Sequence[Event]) -> list[Event]:
    """Give the events that no fallback has kept yet."""
    places = {event.id: place for place, event in enumerate(waiting)}
    kept = places.get(str(session.metadata.metadata.get(FALLBACK_TO, "")), -1)
    return [event for event in events if places[event.id] > kept]


def _episode(batch: Batch, found: Extraction, label: str) -> Change:
    said = next((event.timestamp for event in reversed(batch.events) if event.timestamp), "")
    moment = parse_time(said) or batch.workspace.now
    tags = dict.fromkeys(tag for draft in found.drafts for tag in draft.told["tags"])
    project = _project(batch.session, label)
    told = {
        "type": "episode",
        "title": clean_text(found.told.title),
        "tags": tuple(tags)[:6],
        "source": "observed",
        "sources": (batch.source_of(),),
        "created_at": batch.said_at(said),
        **({"project": project} if project else {}),
    }
    body = unconflicted(clean_text(found.told.episode()))
    folder = f"episodes/{day_of(moment, batch.workspace.zone)}"
    _, path, text = entry_text(batch.workspace, told, body, batch.noise("episode"), folder=folder)
    return Change(path, None, text)


def _proposed_page(batch: Batch, proposed: str, page: Page) -> tuple[list[Step], tuple[str, ...]]:
    """Settle long-term memory as an LLM proposes it, under the guards of its update."""
    workspace, shown = batch.workspace, batch.page
    limit = workspace.settings["consolidate.page_size"]
    size = len(proposed.encode())
    fault = page.problem or (
        f"an update of {size:,} bytes is too large" if size > max(4 * limit, 2 * len(page.text.encode())) else ""
    )
    if fault:
        place = workspace.free_name(f"{workspace.layout.archive}{page.path.removesuffix('.md')}-proposed.md")
        return [Change(place, None, proposed + "\n")], (f"{fault}: the proposed page is in {place}",)
    shrink_to = limit if len(shown.encode()) > limit else 0
    update = accepted(shown, proposed, page.text, shrink_to=shrink_to, is_borne_out=_bearing_out(batch))
    remarks: tuple[str, ...] = (update.remark,) if update.remark else ()
    if update.text == page.text:
        return [], remarks
    steps: list[Step] = []
    if page.text.strip():
        place = page_version(workspace, page.path)
        steps.append(Change(place, None, page.text))
        if lost := lines_lost(page.text, update.text):
            remarks += (f"{lost} line{'' if lost == 1 else 's'} of {page.path} changed: the page before is {place}",)
    return [*steps, Change(page.path, page.before, update.text)], remarks


def _bearing_out(batch: Batch) -> Callable[[str], bool]:
    """Return what tells whether a line says what the user said themselves, or what the page says already."""
    said = " ".join([batch.page, *map(own_words, batch.events)])
    return lambda line: is_borne_out(line, said)


def _with_our_lines(
    workspace: Workspace, kept: Sequence[Kept], stands: Mapping[str, str | None], page: Page
) -> tuple[list[Step], tuple[str, ...]]:
    """Settle the lines between mem's own marks."""
    lines, headings = _lines(workspace, kept, stands, page) if workspace.settings["consolidate.page"] else ({}, {})
    gone = ours_of(page.text, frozenset().union(*(one.settled.superseded for one in kept)))
    if not lines and not gone:
        return [], ()
    if page.problem:
        return [], (f"{page.problem}: no lines were added to it",)
    try:
        new = with_lines(page.text, lines, gone, headings)
    except RefusedError as error:
        return [], (f"{page.path}: {error}: no lines were added to it",)
    return ([Change(page.path, page.before, new)] if new != page.text else []), ()


def _lines(
    workspace: Workspace, kept: Sequence[Kept], stands: Mapping[str, str | None], page: Page
) -> tuple[dict[str, str], dict[str, str]]:
    """Return statements and headings by id: what the user asked to be remembered, or bound everybody to, as it stands.

    What does not fit the budget stays out; `mem promote` weighs it against what is there.
    """
    settings = workspace.settings
    room = settings["promote.budget"] - size_of_ours(page.text)
    room = min(room, settings["memory.budget"] - len(page.text.encode())) if settings["memory.budget"] else room
    lines, headings = {}, {}
    for one in (done for each in kept for done in _lasting(each)):
        if one.id in lines:
            continue
        entry = _as_settled(workspace, stands, one.path)
        said = statement_of("", entry.body)
        room -= len(line_of(one.id, said).encode()) + 1
        if entry.status == "active" and entry.source == "user" and room >= 0:
            lines[one.id], headings[one.id] = said, heading_of(entry.type)
    return lines, headings


def _lasting(kept: Kept) -> Iterator[Admitted]:
    for draft, one in zip(kept.found.drafts, kept.settled.admitted, strict=True):
        if draft.body in kept.found.lasting:
            yield one


def _as_settled(workspace: Workspace, stands: Mapping[str, str | None], path: str) -> Entry:
    """Read an entry as it will be; `stands` are the texts that the plan writes."""
    text = stands[path] if path in stands else decoded(path, atomic_files.read(workspace.path(path)))
    return read_entry(document.parse(text or ""), path, workspace.now)[0]


def _label(workspace: Workspace, stands: Mapping[str, str | None], settled: Settled) -> str:
    """Return the project that most of the entries made or confirmed belong to, the first of equals; "" for none."""
    labels = Counter(_as_settled(workspace, stands, path).project for path in {one.path: 0 for one in settled.admitted})
    del labels[""]
    return labels.most_common(1)[0][0] if labels else ""


def _project(session: Session, label: str) -> str:
    """Name what a conversation was about: as the session says, else its entries, else the folder it took place in."""
    told = session.metadata.metadata
    folder = session.metadata.channel_id if session.metadata.channel_type == "git" else told.get("cwd", "")
    named = told.get("project")
    return str(named or label) if named or label else PurePath(folder).name if isinstance(folder, str) else ""


def _with_moment(batch: Batch, text: str) -> str:
    """Begin a history paragraph with the moment it tells of, where it does not."""
    text = " ".join(text.split())
    if not text or is_dated(text):
        return text
    moment = next((parse_time(event.timestamp) for event in batch.events if event.timestamp), None)
    moment = moment or batch.workspace.now
    return f"[{moment.astimezone(batch.workspace.zone):%Y-%m-%d %H:%M}] {text}"
