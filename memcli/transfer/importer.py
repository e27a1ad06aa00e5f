"""Bring the lines of an export, or of another tool, into a workspace: each file whole or not at all, and none twice.

Never overwrites what stands there, and never leaves the workspace. Secrets are blanked out, and memories are let in by
`beliefs.admission`.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from ..beliefs.admission import UNHEARD, ask_judge, is_settled_here, look, settle_drafts, with_current
from ..beliefs.forgotten import forgotten_since, pass_by_the_forgotten, purged_files
from ..beliefs.neighbours import Nearby
from ..beliefs.plan import Draft, Plan, applied
from ..beliefs.supersession import EntryFile, read_entry_file, restored_text
from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.entry import TRUST, Entry
from ..formats.foreign_record import TOOL, unread_dates
from ..formats.frontmatter.document import parse
from ..formats.text_lines import normalized
from ..index.filters import Filter
from ..results import number_of
from ..store import access_log, atomic_files, entries
from ..store.access_log import EDITED, RESTORED, Access
from ..store.entries import Admitted
from ..store.file_steps import discard
from ..store.journal import Change, Step
from ..store.layouts import is_archived
from ..store.privacy import IGNORE, require_open
from ..store.redaction import Redacted, nameable, redactor
from ..store.workspace import Workspace
from .export import (
    SETTINGS,
    USUAL_MODES,
    BundledFile,
    ImportedLine,
    is_another_tools_store,
    passes,
    place_in,
    take_settings,
    unpacked,
    without_purged,
)
from .foreign_memories import RecordLine, file_from_record, is_made_here, up_to_a_fault
from .import_target import (
    IMPORT_SOURCE,
    RESTORING,
    ImportTarget,
    KnownMemories,
    lasting_name,
    without_forgotten,
    without_secrets,
)

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge


@dataclass(frozen=True)
class ImportCandidate:
    """A file that is to be let in."""

    line: int
    file: BundledFile
    entry: Entry
    text: str


@dataclass(frozen=True)
class AdmittedFiles:
    """What became of files, and the notices about all of them."""

    admitted: list[Admitted | None]  # None for what comes in as it is because its place cannot be changed
    notices: tuple[str, ...] = ()
    unheard: str = ""  # why a judge said nothing of some


def import_candidate(line: int, file: BundledFile, entry: Entry) -> ImportCandidate | None:
    """Return what is to be compared with what stands; None for what comes in as it is."""
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if is_archived(file.path):
        return None
    is_sound = is_settled_here(entry) and entry.body.strip() and not parse(text).problem
    return ImportCandidate(line, file, entry, text) if is_sound else None


def admit_files(
    workspace: Workspace,
    candidates: Sequence[ImportCandidate],
    together: frozenset[str],
    make: Callable[[BundledFile], None],
    judge: "LlmJudge | None" = None,
    *,
    dry_run: bool,
) -> AdmittedFiles:
    """Admit files as one change; `together` are existing paths of the same export, `make` makes one as it is.

    A judge says what each is to what stands, before a lock is taken.
    """
    try:
        plan = _admit(workspace, candidates, together, make, judge, dry_run=dry_run)
    except RefusedError:
        if len(candidates) == 1:
            return AdmittedFiles([None])
        half = len(candidates) // 2
        parts = [
            admit_files(workspace, part, together, make, judge, dry_run=dry_run)
            for part in (candidates[:half], candidates[half:])
        ]
        errors = dict.fromkeys(part.unheard for part in parts if part.unheard)
        return AdmittedFiles(
            [admitted for part in parts for admitted in part.admitted], parts[0].notices, "; ".join(errors)
        )
    return AdmittedFiles(list(plan.admitted), plan.notices, plan.unheard)


def _admit(
    workspace: Workspace,
    candidates: Sequence[ImportCandidate],
    together: frozenset[str],
    make: Callable[[BundledFile], None],
    judge: "LlmJudge | None",
    *,
    dry_run: bool,
) -> Plan:
    drafts = [Draft({}, candidate.entry.body, b"", candidate.file.path, candidate.text) for candidate in candidates]
    seen: Nearby | None = None
    heard = UNHEARD
    if dry_run or judge is not None:
        seen = look(workspace, drafts)
        apart = _apart(seen, candidates, together)
        heard = ask_judge(workspace, apart, judge) if judge is not None else UNHEARD
        if dry_run:
            return settle_drafts(workspace, apart, heard)

    def decide(now: Nearby) -> tuple[Plan, tuple[Plan, list[BundledFile]]]:
        plan = settle_drafts(workspace, _apart(now, candidates, together), heard)
        changes, as_they_are = _sorted_out(plan, candidates, make)
        return replace(plan, steps=tuple(changes)), (plan, as_they_are)

    (plan, as_they_are), _ = with_current(workspace, "mem import", partial(look, workspace, drafts), decide, seen)
    for file in as_they_are:
        make(file)
    return plan


def _apart(seen: Nearby, candidates: Sequence[ImportCandidate], together: frozenset[str]) -> Nearby:
    """Leave out that files of one export are like each other, and name where each comes from."""
    near, before, entries = [], [], []
    for candidate, neighbours, earlier, entry in zip(candidates, seen.near, seen.before, seen.entries, strict=True):
        is_foreign = is_made_here(candidate.file.path)
        near.append({path: cosine for path, cosine in neighbours.items() if is_foreign or path not in together})
        before.append({row: cosine for row, cosine in earlier.items() if is_foreign})
        entries.append(replace(entry, sources=(*entry.sources, IMPORT_SOURCE + lasting_name(candidate.file, entry))))
    return replace(seen, entries=tuple(entries), near=near, before=before)


def _sorted_out(
    plan: Plan, candidates: Sequence[ImportCandidate], make: Callable[[BundledFile], None]
) -> tuple[list[Step], list[BundledFile]]:
    """Return what is changed as one, and what only has to be put in its place, with its age and its mode."""
    texts = {candidate.file.path: candidate for candidate in candidates}
    changes: list[Step] = []
    as_they_are: list[BundledFile] = []
    for step in plan.steps:
        if not isinstance(step, Change):  # what had faded comes back
            changes.append(step)
            continue
        candidate = texts.get(step.path) if step.before is None else None
        if candidate is None:
            changes.append(step)
        elif step.after == candidate.text:
            as_they_are.append(candidate.file)
        elif candidate.file.mode in USUAL_MODES:
            changes.append(step)
        else:  # a private file is private from its first moment
            make(candidate.file)
            changes.append(replace(step, before=candidate.text))
    return changes, as_they_are


TOGETHER = 1000
"""Memories that are let in as one change."""
_TELLING = 64
"""Lines that tell one export from another."""
_FIELDS = ("type", "title", "tags", "key", "project", "source", "trust", "expires_at")
"""What is taken over besides the words; what a tool counts or computes, such as its confidence, is not."""


class _LaterText(Exception):
    """A record has the id of another one that waits to be admitted, and says it later."""


class Importer:
    """One run over one file."""

    def __init__(
        self,
        workspace: Workspace,
        wanted: Filter,
        memories: KnownMemories,
        *,
        dedup: bool = True,
        judge: "LlmJudge | None" = None,
        dry_run: bool = False,
        allow_secret: bool = False,
    ) -> None:
        """Take where the memories go and which are wanted; a dry run writes nothing and says the same.

        Without `dedup` memories are compared with nothing that stands; a judge says what each is to what does.
        Memories of one's own that come into an empty workspace are not asked about; all others wait for somebody to
        look at them.
        """
        self.workspace = workspace
        self.wanted = wanted
        self.dedup = dedup
        self.judge = judge
        self.dry_run = dry_run
        self.notices: list[str] = []  # about the whole import
        self.unheard = ""  # why the judge said nothing of some
        self._target = ImportTarget(workspace, memories, dry_run=dry_run)
        self._noted = access_log.counts(workspace)
        self._guard = None if allow_secret else redactor(workspace, "")
        self._names = redactor(workspace, "")
        self._undated = 0  # dates that could not be read
        self._capped: Counter[str] = Counter()  # memories that state more trust than their source has, by source
        self._seen: dict[str, tuple[str, str]] = {}  # id of a record → its path here, and how late its text is
        self._together: set[str] = set()  # paths that stand here and in the file: they lived together before

    @property
    def redacted(self) -> Sequence[Redacted]:
        """Return where secrets were blanked out."""
        return self._guard.found if self._guard else ()

    def run(self, lines: Iterable[RecordLine]) -> Iterator[ImportedLine]:
        """Take in line after line and yield what became of each, in their order."""
        waiting: list[ImportedLine | ImportCandidate] = []
        count = 0
        faults: list[MemError] = []
        lines = up_to_a_fault(lines, faults)
        first = list(islice(lines, _TELLING))
        if first and first[0].record and "path" in first[0].record:
            self._begin(first)
        for line in chain(first, lines):
            try:
                try:
                    taken = self._take(line)
                except _LaterText:
                    yield from self._admit(waiting)
                    waiting, count = [], 0
                    taken = self._take(line)
            except (ValueError, MemError, RecursionError) as error:
                reason = "its lists and objects are nested too deeply" if type(error) is RecursionError else str(error)
                taken = ImportedLine(line.number, "refused", "", reason)
            if isinstance(taken, ImportedLine) and not waiting:
                yield taken
                continue
            waiting.append(taken)
            count += isinstance(taken, ImportCandidate)
            if count == TOGETHER:
                yield from self._admit(waiting)
                waiting, count = [], 0
        yield from self._admit(waiting)
        if faults:
            raise faults[0]
        if not self.dry_run:
            discard(self.workspace.derived / RESTORING)
        self.notices += [
            f"{number_of(count, 'memory', 'says', 'say')} more trust than source {source} has: {TRUST[source]:g} counts"
            for source, count in sorted(self._capped.items())
        ]
        if self._undated:
            unread = number_of(self._undated, "unreadable date")
            self.notices.append(f"{unread}: dated as of {self.workspace.stamp[:10]}, the text is in metadata")

    def _begin(self, first: Sequence[RecordLine]) -> None:
        """Note that an export comes into an empty workspace, or go on as there where its import was cut off.

        What was forgotten since it began stays so; what was forgotten before that came with the export.
        """
        target = self._target
        told = [[line.record, str(line.modified)] for line in first]
        name = atomic_files.digest(json.dumps(told, sort_keys=True).encode())
        restoring, _, since = target.known.restoring.partition(" ")
        if restoring == name:
            forgotten = forgotten_since(self.workspace, target.known.forgotten, since)
            target.known = replace(target.known, taken_in={}, is_empty=True, forgotten=forgotten)
        elif target.known.is_empty and not self.dry_run:
            with suppress(OSError):
                access_log.replace_text(self.workspace, RESTORING, f"{name} {self.workspace.stamp}")

    def _take(self, line: RecordLine) -> "ImportedLine | ImportCandidate":
        if line.record is None:
            raise ValueError(line.fault)
        layout, target = self.workspace.layout, self._target
        own = "path" in line.record
        file = unpacked(line.record) if own else self._from_record(line)
        if isinstance(file, ImportedLine):
            return file
        if file.kind == SETTINGS:
            return self._take_settings(line, file)
        if is_another_tools_store(layout, file):
            return ImportedLine(line.number, "left out", file.path, "import the file by itself")
        path = nameable(self._names, place_in(layout, file))
        if self._guard is not None:
            require_open(self.workspace.root / path, kinds=(IGNORE,))
        file = replace(file, path=path, kind=file.kind or layout.kind_of(path) or "")
        if not passes(self.wanted, file, target.entry_of(file)):
            return ImportedLine(line.number, "left out", file.path)
        file = without_purged(self.workspace, without_secrets(self._guard, file))
        file = without_forgotten(file, target.known.forgotten)
        entry = target.entry_of(file)
        is_restored = own and target.known.is_empty
        earlier = target.earlier(file, entry)
        if earlier and entry is not None:
            if not layout.is_archived(earlier) and (barred := self._forgotten(entry)):
                return ImportedLine(line.number, "forgotten", earlier, barred)
            action, reason = follow(self.workspace, earlier, entry, self._noted, dry_run=self.dry_run)
        else:
            action, reason = target.compare(file, entry, own=own)
        if not own and action in ("", "updated"):
            self._undated += len(unread_dates(line.record, self.workspace.zone))
        if entry is not None and entry.trust > TRUST[entry.source] and action in ("", "updated"):
            self._capped[entry.source] += 1
        if action == "updated" and entry is not None:
            return ImportedLine(line.number, action, earlier, reason, entry.id)
        if not action and entry is not None and self.dedup and not is_restored:
            candidate = import_candidate(line.number, file, entry)
            if candidate is not None:
                target.plan(file, entry)
                return candidate
        if not action and entry is not None and (barred := self._forgotten(entry)):
            return ImportedLine(line.number, "forgotten", file.path, barred)
        if not action:
            action, reason = target.make(file)
        if action == "created" and entry is not None and entry.id != file.path:
            target.known.paths.setdefault(entry.id, file.path)
        if own and not is_restored and action in ("created", "unchanged"):
            self._together.add(file.path)
        return ImportedLine(line.number, action, file.path, reason)

    def _from_record(self, line: RecordLine) -> BundledFile | ImportedLine:
        """Return the file of another tool's record, with an id of its own where another memory has the record's.

        Of two texts of one id the later one counts: raise _LaterText if the earlier one waits to be admitted.
        """
        target, record = self._target, line.record or {}
        make = partial(
            file_from_record, record, self.workspace.layout, self.workspace.now, self.workspace.zone, line.modified
        )
        file = make()
        entry = target.entry_of(file)
        if entry is None or target.stands(file.path):
            return file
        path, updated = self._seen.get(entry.id, ("", ""))
        if path and entry.id.isdecimal() and TOOL not in entry.metadata:  # the number of a row, as every store has it
            return make(is_clash=True)
        if path and entry.updated_at < updated:
            return ImportedLine(line.number, "left out", path, "a later text of its id came before it")
        if path and entry.updated_at > updated:
            if target.waits(path):
                if self.dry_run:
                    return ImportedLine(line.number, "updated", path, "", entry.id)
                raise _LaterText
        elif path or target.is_anothers(file, entry):
            return make(is_clash=True)
        self._seen[entry.id] = path or file.path, entry.updated_at
        return file

    def _forgotten(self, entry: Entry) -> str:
        """Return a line about a forgotten text that an entry which comes in as it is repeats; "" if it repeats none."""
        is_known = normalized(entry.body) in self._target.known.forgotten or purged_files(self.workspace, [entry.body])
        if entry.status != "active" or not is_known:
            return ""
        try:
            pass_by_the_forgotten(self.workspace, {}, entry.body, "mem import", entry=entry, dry_run=self.dry_run)
        except RefusedError as error:
            return error.message
        return ""

    def _take_settings(self, line: RecordLine, file: BundledFile) -> ImportedLine:
        if not passes(self.wanted, file, None):
            return ImportedLine(line.number, "left out", file.path)
        action, notice = take_settings(self.workspace, without_secrets(self._guard, file), dry_run=self.dry_run)
        self.notices += [notice] if notice else []
        return ImportedLine(line.number, action, file.path, notice)

    def _admit(self, waiting: Sequence["ImportedLine | ImportCandidate"]) -> Iterator[ImportedLine]:
        """Admit the waiting files as one change and yield all results in their order."""
        candidates = [candidate for candidate in waiting if isinstance(candidate, ImportCandidate)]
        if not candidates:
            return
        faults: dict[str, tuple[str, str]] = {}

        def make(file: BundledFile) -> None:
            action, reason = self._target.make(file)
            if action != "created":
                faults[file.path] = action, reason

        for held in candidates:
            self._target.unplan(held.file.path)
        together = frozenset(self._together)
        try:
            done = admit_files(self.workspace, candidates, together, make, self.judge, dry_run=self.dry_run)
        except MemError as error:
            for pending in waiting:
                if isinstance(pending, ImportCandidate):
                    yield ImportedLine(pending.line, "refused", pending.file.path, str(error))
                else:
                    yield pending
            return
        self.notices += [notice for notice in done.notices if notice not in self.notices]
        self.unheard = self.unheard or done.unheard
        became = iter(done.admitted)
        for pending in waiting:
            if isinstance(pending, ImportCandidate):
                admitted = next(became)
                if admitted is None:
                    make(pending.file)
                yield self._imported(pending, admitted, faults)
            else:
                yield pending

    def _imported(
        self, candidate: ImportCandidate, done: Admitted | None, faults: dict[str, tuple[str, str]]
    ) -> ImportedLine:
        path = candidate.file.path
        if path in faults:
            return ImportedLine(candidate.line, faults[path][0], path, faults[path][1])
        if done is None or done.is_let_in:
            self._together.add(path)
        if done is None:
            return ImportedLine(candidate.line, "created", path, id=candidate.entry.id)
        if not done.is_let_in:
            self._target.known.paths.pop(candidate.entry.id, None)
            return ImportedLine(candidate.line, done.action, path, done.reason, done.id)
        if done.action == "merged":
            self._target.known.paths.pop(candidate.entry.id, None)
            return ImportedLine(candidate.line, "merged", done.path, done.reason, done.id)
        settled = done.supersedes, done.superseded_by, done.conflicts_with
        return ImportedLine(candidate.line, "created", path, done.reason, done.id, *settled)


def follow(
    workspace: Workspace, path: str, entry: Entry, noted: Mapping[str, Access], *, dry_run: bool
) -> tuple[str, str]:
    """Change the memory at a path to what another tool's record says; return what was done, or why nothing was.

    The text that goes stays in the archive. A change counts where it is later than the last one here, also one by hand
    that is `noted`; that a memory is no longer held counts without a time, since tools note none, but not for one that
    was restored here. One that is held again is in use again, unless something took its place here.
    """
    if workspace.layout.is_archived(path):
        return "unchanged", f"it was put away: {path}"
    existing = read_entry_file(workspace, path)
    # A record without a time is as young as this import: nobody knows whether it is later than what stands here.
    edited, restored = (noted.get(kind + entry.id, Access(0, "")).last for kind in (EDITED, RESTORED))
    is_later = max(existing.entry.updated_at, edited) < entry.updated_at < workspace.stamp
    is_same = (existing.entry.title, existing.entry.body.split()) == (entry.title, entry.body.split())
    fields = {key: getattr(entry, key) for key in _FIELDS if getattr(entry, key) != getattr(existing.entry, key)}
    is_changed = is_later and (not is_same or bool(fields))
    is_revived = (
        entry.status == "active" != existing.entry.status == "superseded"
        and not existing.entry.superseded_by
        and existing.entry.superseded_at < entry.updated_at < workspace.stamp
    )
    is_retired = entry.status != "active" == existing.entry.status and (is_same or is_later)
    if is_retired and is_same and restored > entry.updated_at:
        return "unchanged", "it was restored here"
    if not is_changed and not is_retired and not is_revived:
        if is_same or existing.entry.status != "active":
            return "unchanged", f"it stands at {path}"
        return "conflict", f"{path} has its id {entry.id} and says something else"
    if not dry_run:
        if is_changed:
            changed = {**fields, "updated_at": entry.updated_at}
            entries.update(workspace, path, changed, None if is_same else entry.body)
        if is_revived:
            existing = read_entry_file(workspace, path)
            applied(workspace, Plan((Change(path, existing.text, restored_text(workspace, existing)),)), "mem import")
        if is_retired:
            _retire(workspace, read_entry_file(workspace, path), entry)
    return "updated", ""


def _retire(workspace: Workspace, existing: EntryFile, entry: Entry) -> None:
    retired: dict[str, Any] = {"status": entry.status, "superseded_by": entry.superseded_by}
    if entry.status == "superseded":
        retired["superseded_at"] = workspace.stamp
    text = entries.revised(workspace, existing.path, existing.text, retired)
    applied(workspace, Plan((Change(existing.path, existing.text, text),)), "mem import")
