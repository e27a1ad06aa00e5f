"""The steps that make drafts memory: a history record, entries, an episode, the page, and the session's cursor.

Nothing is written here, and nothing an LLM said can make the whole fail: what cannot stand as it is, is said.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import PurePath
from typing import Annotated

from ..beliefs.forgotten import all_forgotten
from ..beliefs.plan import Page, Plan, read_page
from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter import document
from ..formats.history import is_dated
from ..formats.ids import day_of, parse_time
from ..formats.memory_page import heading_of, page_line, size_of_ours, statements, with_lines
from ..formats.text_lines import BLANK, blanked, clean_text, normalized, shorten, unconflicted
from ..results import OptionalDiff, SessionId
from ..store import atomic_files
from ..store.entries import Admitted, decoded, entry_text
from ..store.entry_revision import page_version
from ..store.history import history_steps
from ..store.journal import Append, Change, Step
from ..store.page_lines import promotable
from ..store.redaction import RedactedPlaces
from ..store.sessions.reading import PROJECT_LINE
from ..store.sessions.sessions import Session, at, page_change
from ..store.workspace import Workspace
from .batch import Batch
from .requests import FALLBACK_TO, KEPT, kept_at_once
from .stages import Findings


def proposed_page(batch: Batch, proposed: str, page: Page) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps that change long-term memory as an LLM proposes it, under the guards of its update."""
    workspace, shown = batch.workspace, batch.page
    limit = workspace.settings["consolidate.page_size"]
    size = len(proposed.encode())
    fault = page.problem or (
        f"an update of {size:,} bytes is too large" if size > max(4 * limit, 2 * len(page.text.encode())) else ""
    )
    if fault:
        path = workspace.free_name(f"{workspace.layout.archive}{page.path.removesuffix('.md')}-proposed.md")
        return [Change(path, None, proposed + "\n")], (f"{fault}: the proposed page is in {path}",)
    shrink_to = limit if len(shown.encode()) > limit else 0
    from ..formats.page_merge import accepted, lines_lost  # for an LLM's page alone

    update = accepted(shown, proposed, page.text, shrink_to=shrink_to, is_borne_out=_bearing_out(batch))
    remarks: tuple[str, ...] = (update.remark,) if update.remark else ()
    if update.text == page.text:
        return [], remarks
    steps: list[Step] = []
    if page.text.strip():
        path = page_version(workspace, page.path)
        steps.append(Change(path, None, page.text))
        if lost := lines_lost(page.text, update.text):
            remarks += (f"{lost} line{'' if lost == 1 else 's'} of {page.path} changed: the page before is {path}",)
    return [*steps, Change(page.path, page.before, update.text)], remarks


def _bearing_out(batch: Batch) -> Callable[[str], bool]:
    """Return what tells whether a line says what the user said themselves, or what the page says already."""
    from .llm_extractor import is_borne_out, own_words

    words = " ".join([batch.page, *map(own_words, batch.events)])
    return lambda line: is_borne_out(line, words)


def with_our_lines(
    workspace: Workspace, pairs: Sequence[tuple[Findings, Plan]], stands: Mapping[str, str | None], page: Page
) -> tuple[list[Step], tuple[str, ...]]:
    """Return the steps that change the lines between mem's own marks."""
    lines, headings = _lines(workspace, pairs, stands, page) if workspace.settings["consolidate.page"] else ({}, {})
    if not lines:
        return [], ()
    if page.problem:
        return [], (f"{page.problem}: no lines were added to it",)
    try:
        new = with_lines(page.text, lines, headings=headings)
    except RefusedError as error:
        return [], (f"{page.path}: {error}: no lines were added to it",)
    return ([Change(page.path, page.before, new)] if new != page.text else []), ()


def _lines(
    workspace: Workspace, pairs: Sequence[tuple[Findings, Plan]], stands: Mapping[str, str | None], page: Page
) -> tuple[dict[str, str], dict[str, str]]:
    """Return statements and headings by id: what the user asked to be remembered, or bound everybody to, as it stands.

    What does not fit the budget stays out; `mem promote` weighs it against what is there.
    """
    settings = workspace.settings
    room = settings["promote.budget"] - size_of_ours(page.text)
    room = min(room, settings["memory.budget"] - len(page.text.encode())) if settings["memory.budget"] else room
    lines, headings = {}, {}
    there = statements(page.text)
    for admitted in (done for findings, admission in pairs for done in _lasting(findings, admission)):
        if admitted.id in lines:
            continue
        entry = entry_as_planned(workspace, stands, admitted.path)
        statement, fault = promotable(entry)
        room -= len(page_line(admitted.id, statement).encode()) + 1
        if fault or normalized(statement) in there:
            continue
        if entry.status == "active" and entry.source == "user" and room >= 0:
            lines[admitted.id], headings[admitted.id] = statement, heading_of(entry.type)
    return lines, headings


def _lasting(findings: Findings, admission: Plan) -> Iterator[Admitted]:
    """Yield what became of the drafts that the user asked to remember, or that bind from now on."""
    for draft, admitted in zip(findings.drafts, admission.admitted, strict=True):
        if draft.body in findings.lasting and admitted.is_let_in:
            yield admitted


def entry_as_planned(workspace: Workspace, stands: Mapping[str, str | None], path: str) -> Entry:
    """Return an entry as it will be; `stands` are the texts that a plan writes, by path."""
    text = stands[path] if path in stands else decoded(path, atomic_files.read(workspace.path(path)))
    return read_entry(document.parse(text or ""), path, workspace.now)[0]


FALLBACK = "[raw-fallback]"
HISTORY = "history"
"""Key of a session's page: its last record of history."""

_LAST, _EACH = 10, 200
FALLBACKS = "fallbacks"
"""Key of a session's page: the records of fallbacks that no good record stands for yet."""


@dataclass(frozen=True)
class Outcome:
    """What became, or would become, of one session's waiting messages."""

    session: SessionId
    how: Annotated[str, "llm, rules, fallback or nothing"]
    plan: Plan = field(default_factory=Plan)
    messages: Annotated[int, "how many messages"] = 0
    memories: Annotated[tuple[Admitted, ...], "what became of each memory"] = ()
    remarks: Annotated[tuple[str, ...], "what a person should know"] = ()
    error: Annotated[str, "what went wrong; empty where nothing did"] = ""  # why the LLM gave nothing
    unheard: str = ""  # why a judge said nothing of some memories
    redacted: RedactedPlaces = ()
    diff: OptionalDiff = None  # for a dry run

    @property
    def entries(self) -> Annotated[int, "how many entries"]:
        """Count the entries that were made."""
        return self._count("created")

    @property
    def forgotten(self) -> Annotated[int, "how many memories were left out because they were forgotten"]:
        """Count the memories that were left out."""
        return self._count("forgotten")

    @property
    def held(
        self,
    ) -> Annotated[int, "how many wait in the inbox for a yes"]:
        """Count the memories that wait in the inbox."""
        return self._count("held") + self._count("waits")

    @property
    def paths(self) -> Annotated[list[str], "paths of the files"]:
        """Return the files that change."""
        return list(dict.fromkeys(step.path for step in self.plan.steps))

    def _count(self, action: str) -> int:
        return sum(memory.action == action for memory in self.memories)


def plan_batches(workspace: Workspace, all_findings: Sequence[Findings], parts: Sequence[Plan]) -> list[Outcome]:
    """Propose what becomes of some batches, an outcome each; their plans are one, and applied together.

    `parts` are what became of the drafts of each.
    """
    if all_findings[0].how == "fallback":  # an LLM is asked about one conversation at a time
        return [_fallback(all_findings[0], parts[0])]
    all_findings = _without_forgotten(workspace, all_findings, parts)
    page = read_page(workspace)
    pairs = list(zip(all_findings, parts, strict=True))
    stands = {step.path: step.after for admission in parts for step in admission.steps if isinstance(step, Change)}
    remarks: tuple[str, ...]
    if all_findings[0].page is not None:  # an LLM is shown one conversation at a time
        page_steps, remarks = proposed_page(all_findings[0].batch, all_findings[0].page, page)
    else:
        page_steps, remarks = with_our_lines(workspace, pairs, stands, page)
    proposed: list[Outcome] = []
    has_record = False
    for findings, admission in pairs:
        *steps, cursor = _steps(findings, admission, stands, is_next=has_record)
        has_record |= any(isinstance(step, Append) for step in steps)
        proposed.append(_outcome(findings, admission, [*steps, *page_steps, cursor], remarks))
        page_steps, remarks = [], ()
    return proposed


def _without_forgotten(
    workspace: Workspace, all_findings: Sequence[Findings], parts: Sequence[Plan]
) -> Sequence[Findings]:
    """Return what was found with what is forgotten blanked out of history, episode and page, but for what is lifted."""
    texts = all_forgotten(workspace)
    if not texts:
        return all_findings
    drafts = [draft for findings in all_findings for draft in findings.drafts]
    pairs = list(zip(drafts, (done for part in parts for done in part.admitted), strict=True))
    texts -= {normalized(draft.body) for draft, done in pairs if done.is_let_in}
    texts |= {normalized(draft.body) for draft, done in pairs if done.action == "held"}

    def blank(text: str) -> str:
        return blanked(text, texts)

    return [
        replace(
            findings,
            history=blank(findings.history),
            summary=findings.summary.mapped(blank),
            page=None if findings.page is None else blank(findings.page),
        )
        for findings in all_findings
    ]


def plan_requests(findings: Findings, admission: Plan, messages: Sequence[str]) -> Plan:
    """Propose to keep what some messages ask to remember, and to mark these on the page of their session."""
    workspace, session = findings.batch.workspace, findings.batch.session
    texts = {step.path: step.after for step in admission.steps if isinstance(step, Change)}
    lines, _ = with_our_lines(workspace, [(findings, admission)], texts, read_page(workspace))
    session = at(workspace, session.folder, session.id)
    marked = {**session.metadata.metadata, KEPT: [*kept_at_once(session), *messages]}
    return replace(admission, steps=(*admission.steps, *lines, page_change(workspace, session, metadata=marked)))


def _steps(findings: Findings, admission: Plan, stands: Mapping[str, str | None], *, is_next: bool) -> list[Step]:
    """Return the steps of one batch; the last one marks its messages as consolidated."""
    batch = findings.batch
    workspace, session = batch.workspace, batch.session
    steps: list[Step] = []
    history = _with_moment(batch, findings.history)
    marked = {
        key: value for key, value in session.metadata.metadata.items() if key not in (FALLBACK_TO, FALLBACKS, KEPT)
    }
    if later := [message for message in kept_at_once(session) if not batch.event(message).id]:
        marked[KEPT] = later
    if batch.project_line:
        marked[PROJECT_LINE] = batch.project_line
    fallbacks = _fallbacks(session)
    if fallbacks and not history:
        history = _with_moment(batch, f"{session.id}: nothing came of it.")  # what stands for the fallback
    if history:
        records = history_steps(workspace, history, batch.noise("history"), instead_of=fallbacks, is_next=is_next)
        marked[HISTORY] = records[0].mark
        steps += records
    steps += admission.steps
    # Of commits both would say the same: what was committed.
    has_episode = workspace.settings["consolidate.episodes"] and session.metadata.channel_type != "git"
    # Where memories wait for a yes an episode would tell them, and where its topic was forgotten there is none.
    tells = workspace.settings["memory.writing"] != "ask" and BLANK not in findings.summary.title
    if has_episode and tells and findings.summary.title:
        steps.append(_episode(batch, findings, _label(workspace, stands, admission)))
    return [*steps, page_change(workspace, session, consolidated_to=batch.events[-1].id, metadata=marked)]


def _fallback(findings: Findings, admission: Plan) -> Outcome:
    """Keep the last messages as they are; the cursor stays, and the same messages get no second record."""
    batch = findings.batch
    workspace, session = batch.workspace, batch.session
    due = batch.messages_behind(str(session.metadata.metadata.get(FALLBACK_TO, "")))
    if not due:
        return replace(_outcome(findings, admission, ()), memories=(), unheard="", remarks=())
    last_messages = " | ".join(f"{event.name or event.role}: {shorten(event.text, _EACH)}" for event in due[-_LAST:])
    last_messages = blanked(last_messages, all_forgotten(workspace))
    day = f"[{workspace.now.astimezone(workspace.zone):%Y-%m-%d %H:%M}]"
    text = f"{day} {FALLBACK} {session.id}: {clean_text(last_messages)}"
    records = history_steps(workspace, text, replace(batch, events=due).noise("fallback"))
    steps: list[Step] = [*records, *admission.steps]
    marked = {FALLBACK_TO: batch.events[-1].id, FALLBACKS: [*_fallbacks(session), records[0].mark]}
    steps.append(page_change(workspace, session, metadata={**session.metadata.metadata, **marked}))
    return _outcome(findings, admission, steps)


def _fallbacks(session: Session) -> list[str]:
    named = session.metadata.metadata.get(FALLBACKS)
    return [str(name) for name in named] if isinstance(named, list) else []


def _outcome(findings: Findings, admission: Plan, steps: Sequence[Step], remarks: tuple[str, ...] = ()) -> Outcome:
    return Outcome(
        findings.batch.session.id,
        findings.how,
        replace(admission, steps=tuple(steps), reasons=admission.reasons if steps else ()),
        findings.batch.messages,
        admission.admitted,
        admission.notices + admission.left_out + admission.held_back + remarks,
        findings.error,
        admission.unheard,
        findings.redacted,
    )


def _episode(batch: Batch, findings: Findings, label: str) -> Change:
    last_time = next((event.timestamp for event in reversed(batch.events) if event.timestamp), "")
    moment = parse_time(last_time) or batch.workspace.now
    tags = tuple(dict.fromkeys(tag for draft in findings.drafts for tag in draft.told["tags"]))[:6]
    day = day_of(moment, batch.workspace.zone)
    project = batch.project or label or _folder(batch.session)
    fields = {
        "type": "episode",
        "title": clean_text(findings.summary.title),
        "tags": tags,
        "source": "observed",
        "sources": (batch.source_of(),),
        "created_at": batch.said_at(last_time),
        **({"project": project} if project else {}),
    }
    body = unconflicted(clean_text(findings.summary.episode(day.isoformat(), batch.source_of(), tags)))
    folder = f"episodes/{day}"
    _, path, text = entry_text(batch.workspace, fields, body, batch.noise("episode"), folder=folder)
    return Change(path, None, text)


def _label(workspace: Workspace, stands: Mapping[str, str | None], admission: Plan) -> str:
    """Return the project that most of the entries made or confirmed belong to, the first of equals; "" for none."""
    labels = Counter(
        entry_as_planned(workspace, stands, path).project
        for path in {admitted.path: 0 for admitted in admission.admitted if admitted.is_let_in}
    )
    del labels[""]
    return labels.most_common(1)[0][0] if labels else ""


def _folder(session: Session) -> str:
    """Return the name of the folder a conversation took place in; empty where it is not known."""
    page = session.metadata
    folder = page.channel_id if page.channel_type == "git" else page.metadata.get("cwd", "")
    return PurePath(folder).name if isinstance(folder, str) else ""


def _with_moment(batch: Batch, text: str) -> str:
    """Begin a history paragraph with the moment it tells of, where it does not."""
    text = " ".join(text.split())
    if not text or is_dated(text):
        return text
    moment = next((parse_time(event.timestamp) for event in batch.events if event.timestamp), None)
    moment = moment or batch.workspace.now
    return f"[{moment.astimezone(batch.workspace.zone):%Y-%m-%d %H:%M}] {text}"
